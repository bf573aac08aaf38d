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
#[cfg(target_os = "linux")]
mod pthread;
pub mod straight;
pub mod table;
pub mod tables;

pub use bare::BareLock;
pub use table::PEERS;

use lockyard_scenarios::ForeignLock;

/// A lock that people use instead.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its name: a variant's, in results.
    pub name: &'static str,
    /// Where it comes from: the crate and its version, or the system.
    pub from: &'static str,
    /// Its licence, as its package says.
    pub licence: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// Whether it serves in the order of arrival.
    pub fifo: bool,
    /// Whether it is no peer but a yardstick.
    pub control: bool,
    /// How it is made, taken and released.
    pub lock: ForeignLock,
}

/// The peer of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}
