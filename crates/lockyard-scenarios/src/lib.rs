//! Shared-memory behaviour of each experiment, written once over the platform.
//!
//! A *script* (TOML; [`Script`]) names shared objects, says which of them share a line, and lists
//! the steps of one operation. [`Prepared`] lays the objects out and performs the steps on any
//! [`Stage`]: on this host, or on a simulated machine. The crate contains no lock algorithm: the
//! objects are the library's.
//!
//! The crate has three parts. `model` is what a scenario is. `read` makes it from the text of a
//! script, and `perform` runs it. Both import the model, and neither imports the other.
//!
//! The format is described in `docs/model/scenarios.md`.

mod model;
mod perform;
mod read;

pub use lockyard::platform::{Activity, Region};
pub use model::{
    CPU_SHARE_PREFIX, Calibration, DIRECTION_PREFIX, Disturbance, Doubtful, Figure, Foreign,
    ForeignLock, GetOperation, Gives, KeyChoice, LeftOut, Length, LockKind, Metric, Object,
    ObjectKind, OfTasks, Order, PageKind, Profile, PublishedRun, PutOperation, Rate, RegionPart,
    SAMPLE_COUNT_PREFIX, SampleTotal, Samples, Script, Starts, Step, Symbol, Table, TableOperation,
    Variant, VariantPair, VariantSamples,
};
pub use perform::{Prepared, Stage, Violation};
pub use read::{MAX_FILE_BYTES, ScriptError};
