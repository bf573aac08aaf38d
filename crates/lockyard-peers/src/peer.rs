//! A row of the table of peers.

use lockyard_scenarios::ForeignLock;

/// A lock of another library.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Name of its variant in results.
    pub name: &'static str,
    /// Origin: the crate and its version, or the system.
    pub from: &'static str,
    /// Licence, as stated by its package.
    pub licence: &'static str,
    /// Description for users.
    pub what: &'static str,
    /// True if threads get the lock in the order of arrival.
    pub fifo: bool,
    /// True for a yardstick, which is not a peer.
    pub control: bool,
    /// The functions that make, take and release the lock.
    pub lock: ForeignLock,
}
