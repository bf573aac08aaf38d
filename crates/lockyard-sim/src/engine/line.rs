//! The state of one cache line: what each core has of it, and what its agents are doing.
//!
//! ```text
//!   home agent of the line                one for the machine
//!        |  grants a line to a domain; takes it from the domain that has it
//!   agent of a domain (core complex)      one a domain, if it serves the line at all
//!        |  serves one request at a time
//!   core                                  Invalid, Shared or Modified
//! ```

use super::sparse::Sparse;

/// What a cache, or a domain, may do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Invalid,
    Shared,
    Modified,
}

/// A request that waits at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A core of the domain wants the line.
    Core { core: u16, exclusive: bool },
    /// Another domain wants it, through the home agent.
    Snoop { domain: u16, exclusive: bool },
}

/// A miss that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    None,
    Shared,
    Exclusive,
}

/// Who waits for a line at a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub thread: u32,
    /// The head of the thread's store buffer waits, not its current operation.
    pub store: bool,
}

/// A core's view of a line.
#[derive(Clone)]
pub(super) struct CoreLine {
    pub state: State,
    /// A locked operation holds the line until then.
    pub locked_until: u64,
    /// The thread whose locked operation was the last one since the line came.
    pub last_thread: Option<u32>,
    /// When it is the turn of another thread that waits; 0 if none does.
    pub turn_at: u64,
    pub miss: Miss,
    /// An invalidation overtook the shared fill that is under way: use the data once, then drop it.
    pub drop_fill: bool,
    /// Invalidations that are on their way.
    pub invalidations: u32,
    /// A snoop that waits for the data or for the end of a locked operation: exclusive or not.
    pub parked_snoop: Option<bool>,
    pub waiters: Vec<Waiter>,
    /// Threads that spin on the line: asleep until it is taken away or changed.
    pub sleepers: Vec<u32>,
}

impl CoreLine {
    fn new() -> Self {
        CoreLine {
            state: State::Invalid,
            locked_until: 0,
            last_thread: None,
            turn_at: 0,
            miss: Miss::None,
            drop_fill: false,
            invalidations: 0,
            parked_snoop: None,
            waiters: Vec::new(),
            sleepers: Vec::new(),
        }
    }
}

/// A domain's agent, for one line.
pub(super) struct Agent {
    pub queue: Vec<Request>,
    pub busy: bool,
    /// What the domain may do with the line.
    pub permission: State,
    /// The core that has it modified.
    pub owner: Option<u16>,
    /// The cores that may have it shared, as bits of the index within the domain.
    pub sharers: u128,
    pub current: Option<Request>,
    /// A request that waits for the home agent's grant.
    pub awaiting_grant: Option<Request>,
    /// The longest leg of the way on which the grant comes, in cycles.
    pub granted_from: u64,
}

/// One cache line.
pub(super) struct Line {
    /// The domain that is the line's home.
    pub home: u16,
    pub agents: Vec<Agent>,
    pub cores: Sparse<CoreLine>,
    /// Domains that wait for the home agent.
    pub home_queue: Vec<(u16, bool)>,
    pub home_busy: bool,
}

impl Line {
    /// A line that no cache has. In a machine of one domain there is nobody to ask for permission.
    pub(super) fn new(home: u16, domains: usize) -> Self {
        let permission = if domains == 1 { State::Modified } else { State::Invalid };
        let agent = || Agent {
            queue: Vec::new(),
            busy: false,
            permission,
            owner: None,
            sharers: 0,
            current: None,
            awaiting_grant: None,
            granted_from: 0,
        };
        Line {
            home,
            agents: (0..domains).map(|_| agent()).collect(),
            cores: Sparse::new(CoreLine::new()),
            home_queue: Vec::new(),
            home_busy: false,
        }
    }
}
