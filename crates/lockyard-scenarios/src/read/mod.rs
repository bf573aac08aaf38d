//! Reading scripts: strict, and with an error that says where, what, and what is allowed.
//!
//! A file here reads one kind of entry, and checks it. `script.rs` puts the entries together.

mod calibration;
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
mod shipped;
mod source;
mod step_entry;
mod steps;
mod table_settings;
mod variant_pairs;
mod variants;

pub use script::MAX_FILE_BYTES;
pub use source::ScriptError;
