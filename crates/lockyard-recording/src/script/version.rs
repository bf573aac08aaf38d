//! Changes of a recorded program, and numbers of its host.

/// Number of locks into which `split` divides one.
pub const PARTS: usize = 4;

/// Share of the sections that read in `read-mostly`. The recording of a mutex does not tell it.
pub const READS: f64 = 0.95;

/// Numbers of a host that a script needs beside the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostNumbers {
    /// Cost of the recorded program's plain acquisition and release beyond that of the simulated
    /// lock, in nanoseconds: instructions of the C library.
    pub call: f64,
    /// The same for sections of a reader-writer lock: exclusive ones, and shared ones. Below 0 if
    /// the simulated lock costs more than the recorded program's mutex, whose cost is taken off.
    pub read_write_calls: [f64; 2],
    /// Cost of a line of data that comes from another core, in nanoseconds.
    pub line: f64,
}

/// A change of the recorded program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Change {
    /// None.
    #[default]
    None,
    /// The time under a group's locks halved.
    HoldHalved(usize),
    /// A group's locks split in [`PARTS`].
    Split(usize),
    /// A reader-writer lock in place of each of a group's locks. A share of [`READS`] of all its
    /// sections is shared.
    ReadMostly(usize),
    /// Each lock in a cache line of its own.
    OwnLines,
}

/// A variant of the recorded program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Version {
    /// The change.
    pub change: Change,
    /// True if the program is being recorded, as for the comparison with the recorded rate.
    pub recorder: bool,
}
