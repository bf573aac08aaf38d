//! The operations that a simulated thread asks the engine for.

use crate::arena::Arena;

/// A read-modify-write of the 64-bit unit that contains an atomic. `mask` selects the atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rmw {
    Swap { mask: u64, value: u64 },
    CompareExchange { mask: u64, current: u64, new: u64 },
    Add { mask: u64, value: u64 },
    Or { value: u64 },
    And { value: u64 },
}

impl Rmw {
    /// Returns the new unit. For a compare-exchange, also returns `true` if it matched.
    pub(crate) fn apply(self, old: u64) -> (u64, Option<bool>) {
        match self {
            Rmw::Swap { mask, value } => ((old & !mask) | (value & mask), None),
            Rmw::CompareExchange { mask, current, new } => {
                if old & mask == current & mask {
                    ((old & !mask) | (new & mask), Some(true))
                } else {
                    (old, Some(false))
                }
            }
            Rmw::Add { mask, value } => {
                ((old & !mask) | ((old & mask).wrapping_add(value) & mask), None)
            }
            Rmw::Or { value } => (old | value, None),
            Rmw::And { value } => (old & value, None),
        }
    }
}

/// A short pause of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    /// The processor's pause instruction.
    Instruction,
    /// A yield to the host's scheduler.
    Yield,
}

/// A platform operation that a simulated thread requests. An `address` is the address of a 64-bit
/// unit; `word` is the address of a 32-bit word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// `mask`: the bits that are read; 0 only touches the line. `poll`: a later poll of a waiting
    /// loop.
    Load {
        address: usize,
        mask: u64,
        poll: bool,
    },
    /// `mask`: the bits that are written; 0 only touches the line.
    Store {
        address: usize,
        mask: u64,
        value: u64,
    },
    Rmw {
        address: usize,
        rmw: Rmw,
    },
    /// Waits until the store buffer is empty. Costs about as much as a locked operation.
    Fence,
    Work {
        cycles: u64,
        /// The work needs memory or follows a kernel entry, so none of it is done ahead.
        in_order: bool,
    },
    Pause(Pause),
    /// A poll saw `seen`. The waiting loop continues until `deadline`.
    Sleep {
        address: usize,
        mask: u64,
        seen: u64,
        deadline: Option<u64>,
    },
    /// Waits for the service of a call on a word. The call waits on it, or wakes.
    EnterBucket {
        word: usize,
        waits: bool,
    },
    Park {
        word: usize,
        expected: u32,
        timeout: Option<u64>,
    },
    Unpark {
        word: usize,
        count: u32,
        /// Time from which the wake-up counts.
        since: u64,
    },
    /// Interrupts all other threads of the group, and waits until every one has answered.
    WaitForOthers,
    /// The primitive cannot continue.
    Fatal(&'static str),
}

/// The part of an operation that goes into a run's hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noted {
    /// The operation's number.
    pub kind: u64,
    /// Offset in the arena; 0 for operations without an address.
    pub place: u64,
    pub value: u64,
}

impl Noted {
    /// Number of the kind `Load`.
    pub(crate) const LOAD: u64 = 1;
}

impl Op {
    /// Returns the part that goes into the hash. Called where the operation is requested, because
    /// its kind is known there.
    #[inline(always)]
    pub(crate) fn noted(&self, arena: &Arena) -> Noted {
        let base = arena.base();
        // The arena's address depends on the host, so a pointer into the arena counts as its
        // offset.
        let offset = |value: u64| {
            let pointer = arena.contains(value as usize, 1);
            if pointer { value - base as u64 } else { value }
        };
        let (kind, place, value) = match *self {
            Op::Load { address, .. } => (Noted::LOAD, address - base, 0),
            Op::Store { address, value, .. } => (2, address - base, offset(value)),
            Op::Rmw { address, .. } => (3, address - base, 0),
            Op::Fence => (4, 0, 0),
            Op::Work { cycles, .. } => (5, 0, cycles),
            Op::Pause(_) => (6, 0, 0),
            Op::Sleep { address, seen, .. } => (7, address - base, offset(seen)),
            Op::Park { word, .. } => (8, word - base, 0),
            Op::Unpark { word, .. } => (9, word.wrapping_sub(base), 0),
            Op::Fatal(_) => (10, 0, 0),
            Op::WaitForOthers => (11, 0, 0),
            Op::EnterBucket { word, .. } => (12, word.wrapping_sub(base), 0),
        };
        Noted { kind, place: place as u64, value }
    }

    /// Describes the operation for a report. `place` turns an address into text.
    pub(crate) fn describe(&self, place: impl Fn(usize) -> String) -> String {
        match *self {
            Op::Load { address, .. } => format!("load of {}", place(address)),
            Op::Store { address, .. } => format!("store to {}", place(address)),
            Op::Rmw { address, .. } => format!("read-modify-write of {}", place(address)),
            Op::Fence => "fence".to_owned(),
            Op::Work { cycles, .. } => format!("work of {cycles} cycles"),
            Op::Pause(_) => "pause".to_owned(),
            Op::Sleep { address, .. } => format!("wait on {}", place(address)),
            Op::EnterBucket { word, .. } => format!("call of the kernel on {}", place(word)),
            Op::Park { word, .. } => format!("parked on {}", place(word)),
            Op::Unpark { word, .. } => format!("unpark of {}", place(word)),
            Op::WaitForOthers => "wait for the answers of others".to_owned(),
            Op::Fatal(message) => format!("fatal: {message}"),
        }
    }
}
