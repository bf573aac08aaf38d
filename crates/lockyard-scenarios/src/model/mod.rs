//! The model of a scenario: objects, steps, variants, and facts about the published run.
//!
//! This module contains only types. `read` makes values of them from the text of a script, and
//! `perform` runs them.

mod access;
mod calibration;
mod conserved;
mod figure;
mod foreign;
mod loaded;
mod lock_kinds;
mod lock_object;
mod meeting;
mod metric;
mod metric_rules;
mod named_kinds;
mod object;
mod own_lock;
mod placement;
mod profile;
mod profile_rules;
mod published_run;
mod region_parts;
mod samples;
mod script;
mod starts;
mod step;
mod table;
mod table_kinds;
mod times;
mod value;
mod variant;
mod variant_pairs;

pub use access::Access;
pub use calibration::{Calibration, Gives};
pub(crate) use conserved::ChainWords;
pub use conserved::Conserved;
pub use figure::{DIRECTION_PREFIX, Figure};
pub use foreign::{Foreign, ForeignLock};
pub use loaded::{LoadedLock, LockFunction};
pub use lock_kinds::LockKinds;
pub(crate) use lock_kinds::{NAME_RULE, is_name};
pub(crate) use lock_object::LockObject;
pub use meeting::{Act, Meeting, MeetingKind};
pub use metric::{Metric, Rate};
pub(crate) use named_kinds::for_each_kind;
pub use named_kinds::{LockKind, PageKind};
pub use object::{Object, ObjectKind};
pub(crate) use own_lock::{LockRefObject, LockRefSettings};
pub use own_lock::{OnHost, OwnLock};
pub use placement::Order;
pub(crate) use profile::UNNAMED_METRICS;
pub use profile::{
    CPU_SHARE_PREFIX, Profile, SAMPLE_COUNT_PREFIX, SampleTotal, Symbol, VariantSamples,
};
pub use published_run::{Length, PublishedRun};
pub use region_parts::RegionPart;
pub use samples::{Disturbance, OfTasks, Samples};
pub use script::{Doubtful, LeftOut, Script};
pub use starts::Starts;
pub(crate) use step::Effect;
pub use step::{GetOperation, PutOperation, Rounds, Step, Visit, Walk};
pub(crate) use table::{Allowed, Setting, TableKind};
pub use table::{KeyChoice, Table, TableOperation};
pub(crate) use table_kinds::MOST_RECORDS;
pub use times::{Among, Choice, Times};
pub use value::{Condition, FirstValue, Operand, Place, Register, Sum, Value};
pub(crate) use value::{REGISTERS, RegisterFile, TASK, first_registers};
#[cfg(test)]
pub(crate) use variant::LARGEST_FACTOR;
pub use variant::Variant;
pub use variant_pairs::VariantPair;
