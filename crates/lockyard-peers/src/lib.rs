//! The locks that people use instead of lockyard's, for measuring both side by side on a real host: `lockyard measure
//! --peers`.
//!
//! The peers are rows of one table, in [`table`]: to add one, add a row there. They are native code: the library does not
//! depend on this crate, and neither does the simulated machine, which cannot run what it did not see written over its
//! platform.
//!
//! Beside the locks there are subjects of another kind, in [`tables`]: what people use instead of lockyard's tables, caches, counters and
//! reclamation (`lockyard measure-tables`).

mod bare;
mod peer;
#[cfg(target_os = "linux")]
mod pthread;
pub mod straight;
pub mod table;
pub mod tables;

pub use bare::BareLock;
pub use peer::Peer;
pub use table::{PEERS, find};
