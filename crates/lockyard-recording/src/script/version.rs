//! Changes of a recorded program, and numbers of its host.

/// Numbers of locks into which `split` divides one.
pub const PARTS: [usize; 2] = [4, 16];

/// Number of visits that a batch puts together.
pub const BATCH: usize = 8;

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

/// Groups of locks that a change is of, by their places in the model. The first 64 may be among
/// them: a model has the most acquired ones first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed(u64);

impl Changed {
    /// Returns the set of these groups. Places from 64 on are left out.
    pub fn of(groups: &[usize]) -> Changed {
        let bits = groups.iter().filter(|group| **group < 64).map(|group| 1 << group);
        Changed(bits.fold(0, |all, bit: u64| all | bit))
    }

    /// Returns true if a group is in the set.
    pub fn has(self, group: usize) -> bool {
        group < 64 && self.0 >> group & 1 == 1
    }
}

/// A change of the recorded program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Change {
    /// None.
    #[default]
    None,
    /// The time under some groups' locks halved.
    HoldHalved(Changed),
    /// Each lock of some groups split in this many.
    Split(Changed, usize),
    /// One visit to the locks of some groups for the work of [`BATCH`] visits.
    Batched(Changed),
    /// A reader-writer lock in place of each lock of some groups. A share of [`READS`] of all its
    /// sections is shared.
    ReadMostly(Changed),
    /// The work under the locks of some groups done without any lock.
    Without(Changed),
    /// Each lock in a cache line of its own.
    OwnLines,
}

impl Change {
    /// Returns the number of locks into which each one of a group is divided.
    pub(super) fn parts(self, group: usize) -> usize {
        match self {
            Change::Split(changed, parts) if changed.has(group) => parts.max(1),
            _ => 1,
        }
    }

    /// Returns true if a group's locks become reader-writer locks.
    pub(super) fn reads_mostly(self, group: usize) -> bool {
        matches!(self, Change::ReadMostly(changed) if changed.has(group))
    }

    /// Returns true if a group's locks are gone.
    pub(super) fn removes(self, group: usize) -> bool {
        matches!(self, Change::Without(changed) if changed.has(group))
    }
}

/// A variant of the recorded program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Version {
    /// The change.
    pub change: Change,
    /// True if the program is being recorded, as for the comparison with the recorded rate.
    pub recorder: bool,
    /// Requests a second that come from outside, in place of the recorded sleeps outside of locks.
    pub open: Option<f64>,
}
