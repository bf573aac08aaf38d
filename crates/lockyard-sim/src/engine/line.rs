//! State of one cache line: each core's copy, and the activity of its agents.
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
/// number, so no look-up is needed. (Each fills two whole cache lines of the host.)
#[repr(align(64))]
pub(super) struct CoreLine {
    pub line: u32,
    pub core: u16,
    pub state: State,
    /// A locked operation holds the line until this time.
    pub locked_until: u64,
    /// Thread whose locked operation was the last one since the line arrived.
    pub last_thread: Option<u32>,
    /// Time at which a waiting thread's turn begins; 0 if no other thread waits.
    pub turn_at: u64,
    pub miss: Miss,
    /// Cycles by which the current miss began before its simulated request, minus the time that the
    /// request has already taken or waited.
    pub head_start: u64,
    /// Time at which the request, or the snoop for it, arrived where it is served.
    pub asked_at: u64,
    /// Time at which the line last arrived, was taken away, or was made shared.
    pub changed_at: u64,
    /// An invalidation overtook the shared fill that is under way. The data is used once and then
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

/// A domain's agent for one line.
pub(super) struct Agent {
    pub queue: Vec<Request>,
    /// Position in the queue of another domain's request. There is at most one, as the home agent
    /// serves one domain at a time.
    pub snoop: Option<u16>,
    pub busy: bool,
    /// Permission of the domain for the line.
    pub permission: State,
    /// The core that has the line modified.
    pub owner: Option<u16>,
    /// Cores that may have the line shared, as bits by index within the domain.
    pub sharers: u128,
    pub current: Option<Request>,
    /// A request that waits for the home agent's grant.
    pub awaiting_grant: Option<Request>,
    /// Place in the domain's last-level cache.
    pub place: u32,
    /// No cache has the line. Used only in a machine with one domain. With several domains, the
    /// domain then has no permission.
    pub in_memory: bool,
    /// Longest leg of the grant's way, in cycles.
    pub granted_from: u64,
}

/// Placeholder for a core line's number.
pub(super) const NO_CORE_LINE: u32 = u32::MAX;

impl Agent {
    /// Returns the agent of a domain for a line that no core has. The line's home is one of
    /// `domains` domains, whose last-level cache may have the line. In a machine with one domain,
    /// no permission has to be requested.
    pub(super) fn new(domains: usize, at_home: bool) -> Self {
        Agent {
            queue: Vec::new(),
            snoop: None,
            busy: false,
            permission: if domains == 1 { State::Modified } else { State::Invalid },
            owner: None,
            sharers: 0,
            current: None,
            awaiting_grant: None,
            place: NOWHERE,
            in_memory: domains == 1 && !at_home,
            granted_from: 0,
        }
    }

    /// Removes the request at `index` from the queue. The queue keeps its order, which
    /// first-in-first-out service needs.
    pub(super) fn take(&mut self, index: usize) -> Request {
        self.snoop = match self.snoop {
            Some(snoop) if snoop as usize == index => None,
            Some(snoop) => Some(snoop - u16::from(index < snoop as usize)),
            None => None,
        };
        self.queue.remove(index)
    }
}

/// One cache line.
pub(super) struct Line {
    /// The domain that is the line's home.
    pub home: u16,
    /// Number of each core's core line. Cores that never needed the line have [`NO_CORE_LINE`], or
    /// no entry if they are beyond the end.
    pub core_lines: Vec<u32>,
    /// Domains that wait for the home agent.
    pub home_queue: Vec<HomeRequest>,
    pub home_busy: bool,
    /// Time at which the last idle socket answers that it does not have the line being granted. 0:
    /// no answer is missing.
    pub settled_at: u64,
    /// State of the directory: a socket other than the home's was granted the line, and since then
    /// the home's own socket was not granted it exclusively.
    pub away: bool,
    /// No domain has used the line, and its home's last-level cache has it.
    pub at_home: bool,
    /// The line's value in memory is out of date.
    pub dirty: bool,
}

impl Line {
    /// Returns a line that no core has, and that its home's last-level cache may have.
    pub(super) fn new(home: u16, at_home: bool) -> Self {
        Line {
            home,
            core_lines: Vec::new(),
            home_queue: Vec::new(),
            home_busy: false,
            settled_at: 0,
            away: false,
            at_home,
            dirty: false,
        }
    }

    /// Number of a core's core line, if it has one.
    #[inline(always)]
    pub(super) fn core_line(&self, core: u16) -> Option<u32> {
        self.core_lines.get(core as usize).copied().filter(|&core_line| core_line != NO_CORE_LINE)
    }

    pub(super) fn set_core_line(&mut self, core: u16, core_line: u32) {
        let core = core as usize;
        if self.core_lines.len() <= core {
            // Of a million lines, most are used by only one core.
            self.core_lines.reserve_exact(core + 1 - self.core_lines.len());
            self.core_lines.resize(core + 1, NO_CORE_LINE);
        }
        self.core_lines[core] = core_line;
    }

    /// Returns the numbers of the core lines that exist, in order of cores.
    pub(super) fn known_core_lines(&self) -> impl Iterator<Item = u32> {
        self.core_lines.iter().copied().filter(|&core_line| core_line != NO_CORE_LINE)
    }
}
