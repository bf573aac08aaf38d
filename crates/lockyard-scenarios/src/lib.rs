//! What each experiment does to shared memory, once, over the platform.
//!
//! A *script* (TOML; [`Script`]) names shared objects, says which of them share a line, and lists the
//! steps of one operation. [`Prepared`] lays the objects out and performs the steps on any [`Stage`]:
//! on this host, or on a simulated machine. There is no lock algorithm here: the objects are the
//! library's.
//!
//! The format is described in `docs/model/scenarios.md`.

mod calibration;
mod draws;
mod figures;
mod file;
mod foreign;
mod head;
mod kinds;
mod metric;
mod named;
mod pages;
mod pairs;
mod parts;
mod prepared;
mod profile;
mod random;
mod samples;
mod script;
mod stage;
mod starts;
mod steps;
mod tables;

pub use figures::{DIRECTION, Figure, Length, RunOf};
pub use file::{MAX_FILE_BYTES, ScriptError};
pub use foreign::{Foreign, ForeignLock};
pub use kinds::LockKind;
pub use lockyard::platform::{Activity, Region};
pub use metric::{Metric, Rate};
pub use pages::PageKind;
pub use pairs::Pair;
pub use prepared::{Prepared, Violation};
pub use profile::{COUNT, Profile, SHARE, Symbol};
pub use samples::{Disturbance, OfTasks, Samples};
pub use script::{
    Calibration, Doubtful, GetOperation, Gives, LeftOut, Object, ObjectKind, Order, Part,
    PutOperation, Script, Step, Variant,
};
pub use stage::Stage;
pub use starts::Starts;
pub use tables::{Key, Operation, Table};
