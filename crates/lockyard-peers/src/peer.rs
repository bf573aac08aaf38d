//! A row of the table of peers.

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
