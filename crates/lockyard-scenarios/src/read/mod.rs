//! Strict reading of scripts. An error says where it is, what is wrong, and what is allowed.
//!
//! Each file reads and checks one kind of entry. `script.rs` combines the entries.

mod actions;
mod builder;
mod calibration;
mod conserved;
mod data_locks;
mod header;
mod named_variants;
mod names;
mod objects;
mod placement;
mod profile;
mod published_run;
mod region_parts;
mod samples;
mod script;
mod sections;
mod shipped;
mod single_steps;
mod source;
mod step_entry;
mod steps;
mod table_settings;
mod values;
mod variant_pairs;
mod variants;
mod word_steps;

pub use script::MAX_FILE_BYTES;
pub use source::ScriptError;
