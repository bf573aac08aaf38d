//! State of one cache line: each core's copy. The module `directory` has the state of the line's
//! agents.
//!
//! ```text
//!   home agent of the line                one for the machine
//!        |  grants a line to a domain; takes it from the domain that has it
//!   agent of a domain (core complex)      one a domain, if it serves the line at all
//!        |  serves one request at a time
//!   core                                  Invalid, Shared or Modified
//! ```

/// Place of a line that is not in a cache.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Permission of a cache, or of a domain, for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Invalid,
    Shared,
    Modified,
}

/// A request that waits at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A core of the domain wants the line. `core_line` is its copy.
    Core { core_line: u32, exclusive: bool },
    /// Another domain wants the line, through the home agent.
    Snoop { domain: u16, exclusive: bool },
}

/// A domain that waits for the home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HomeRequest {
    pub domain: u16,
    pub exclusive: bool,
}

/// A miss that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    None,
    Shared,
    Exclusive,
}

/// A thread that waits for a line at a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub thread: u32,
    /// `true` if the head of the thread's store buffer waits, not its current operation.
    pub store: bool,
}

/// A core's copy of a line, and its pending miss. The core lines of all lines are in one table,
/// `Engine::core_lines`, in the order in which they were made. Events refer to core lines by
/// number, so no look-up is needed. (Each core line fills exactly two cache lines of the host.)
#[repr(align(64))]
pub(super) struct CoreLine {
    pub line: u32,
    pub core: u16,
    pub state: State,
    /// A locked operation holds the line until this time.
    pub locked_until: u64,
    /// Thread whose locked operation was the last one since the line arrived.
    pub last_thread: Option<u32>,
    /// Time when a waiting thread's turn begins; 0 if no other thread waits.
    pub turn_at: u64,
    pub miss: Miss,
    /// Cycles by which the current miss began before its simulated request, minus the time that the
    /// request has already taken or waited.
    pub head_start: u64,
    /// Time when the request, or the snoop for it, arrived where it is served.
    pub asked_at: u64,
    /// Time when the line last arrived, was taken away, or was made shared.
    pub changed_at: u64,
    /// An invalidation overtook the shared fill that is in progress. The data is used once and then
    /// dropped.
    pub drop_fill: bool,
    /// Invalidations that are on their way.
    pub invalidations: u32,
    /// A snoop that waits for the data or for the end of a locked operation. `true`: exclusive.
    pub parked_snoop: Option<bool>,
    /// Place in the core's first-level cache.
    pub first: u32,
    /// Place in the core's second-level cache. An invalidated line keeps both places.
    pub second: u32,
    pub waiters: Vec<Waiter>,
    /// Threads that spin on the line. They sleep until the line is taken away or changed.
    pub sleepers: Vec<u32>,
}

impl CoreLine {
    pub(super) fn new(line: u32, core: u16) -> Self {
        CoreLine {
            line,
            core,
            state: State::Invalid,
            locked_until: 0,
            last_thread: None,
            turn_at: 0,
            miss: Miss::None,
            head_start: 0,
            asked_at: 0,
            changed_at: 0,
            drop_fill: false,
            invalidations: 0,
            parked_snoop: None,
            first: NOWHERE,
            second: NOWHERE,
            waiters: Vec::new(),
            sleepers: Vec::new(),
        }
    }
}

/// Placeholder for a core line's number.
pub(super) const NO_CORE_LINE: u32 = u32::MAX;
