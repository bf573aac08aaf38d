//! Shared-memory behaviour of each experiment, written once for all platforms.
//!
//! A *script* (TOML; [`Script`]) names shared objects, places them in lines, and lists the steps of
//! one operation. [`Prepared`] lays out the objects and performs the steps on any [`Stage`]: this
//! host, or a simulated machine. The crate contains no lock algorithm; the objects come from the
//! library.
//!
//! The crate has three modules. `model` defines a scenario, `read` makes one from the text of a
//! script, and `perform` runs one. `read` and `perform` import `model`, but not each other.
//!
//! The format is described in `docs/model/scenarios.md`.

mod model;
mod perform;
mod read;

pub use lockyard::platform::{Activity, Region};
pub use model::{
    Access, Act, Among, CPU_SHARE_PREFIX, Calibration, Choice, Condition, Conserved,
    DIRECTION_PREFIX, Disturbance, Doubtful, Figure, FirstValue, Foreign, ForeignLock,
    GetOperation, Gives, KeyChoice, LeftOut, Length, LoadedLock, LockFunction, LockKind, LockKinds,
    Meeting, MeetingKind, Metric, Object, ObjectKind, OfTasks, OnHost, Operand, Order, OwnLock,
    PageKind, Place, Profile, PublishedRun, PutOperation, Rate, RegionPart, Register, Rounds,
    SAMPLE_COUNT_PREFIX, SampleTotal, Samples, Script, Starts, Step, Sum, Symbol, Table,
    TableOperation, Times, Value, Variant, VariantPair, VariantSamples, Visit, Walk,
};
pub use perform::{Exchanges, Prepared, Stage, Stuck, Violation};
pub use read::{MAX_FILE_BYTES, ScriptError};
