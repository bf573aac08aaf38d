//! The state of one cache line: what each core has of it, and what its agents are doing.
//!
//! ```text
//!   home agent of the line                one for the machine
//!        |  grants a line to a domain; takes it from the domain that has it
//!   agent of a domain (core complex)      one a domain, if it serves the line at all
//!        |  serves one request at a time
//!   core                                  Invalid, Shared or Modified
//! ```

use super::Engine;
use super::capacity::NOWHERE;

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
    /// A core of the domain wants the line, of which it has this view.
    Core { view: u32, exclusive: bool },
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

/// A core's view of a line. Those of all lines are in one table, [`Engine::views`], in the order in which they were made, and
/// are known by their numbers: an event says which it is for, and nothing is looked up. (Each has two whole cache lines of the host.)
#[repr(align(64))]
pub(super) struct View {
    pub line: u32,
    pub core: u16,
    pub state: State,
    /// A locked operation holds the line until then.
    pub locked_until: u64,
    /// The thread whose locked operation was the last one since the line came.
    pub last_thread: Option<u32>,
    /// When it is the turn of another thread that waits; 0 if none does.
    pub turn_at: u64,
    pub miss: Miss,
    /// Cycles by which the miss under way began before its request was simulated, less those that the request took or waited.
    pub head_start: u64,
    /// When the request, or the snoop for it, came where it is served.
    pub asked_at: u64,
    /// When the line last came, was taken away, or was made shared.
    pub changed_at: u64,
    /// An invalidation overtook the shared fill that is under way: use the data once, then drop it.
    pub drop_fill: bool,
    /// Invalidations that are on their way.
    pub invalidations: u32,
    /// A snoop that waits for the data or for the end of a locked operation: exclusive or not.
    pub parked_snoop: Option<bool>,
    /// Its place in the core's first-level cache.
    pub first: u32,
    /// Its place in the core's second-level cache. A line that was taken away keeps both.
    pub second: u32,
    pub waiters: Vec<Waiter>,
    /// Threads that spin on the line: asleep until it is taken away or changed.
    pub sleepers: Vec<u32>,
}

impl View {
    fn new(line: u32, core: u16) -> Self {
        View {
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

/// A domain's agent, for one line.
pub(super) struct Agent {
    pub queue: Vec<Request>,
    /// Where in the queue another domain's request is: one at most, as the home agent serves one domain at a time.
    pub snoop: Option<usize>,
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
    /// Its place in the domain's last-level cache.
    pub place: u32,
    /// No cache has it. Only said in a machine of one domain; in others it has no permission then.
    pub in_memory: bool,
    /// The longest leg of the way on which the grant comes, in cycles.
    pub granted_from: u64,
}

/// In the place of a view's number.
const NO_VIEW: u32 = u32::MAX;

impl Agent {
    /// Takes the request at `index` out of the queue, which keeps its order: first-in-first-out service needs it.
    pub(super) fn take(&mut self, index: usize) -> Request {
        self.snoop = match self.snoop {
            Some(snoop) if snoop == index => None,
            Some(snoop) => Some(snoop - usize::from(index < snoop)),
            None => None,
        };
        self.queue.remove(index)
    }
}

/// One cache line.
pub(super) struct Line {
    /// The domain that is the line's home.
    pub home: u16,
    pub agents: Vec<Agent>,
    /// The number of each core's view; [`NO_VIEW`], or nothing beyond the end, for cores that never needed the line.
    pub views: Vec<u32>,
    /// Domains that wait for the home agent.
    pub home_queue: Vec<(u16, bool)>,
    pub home_busy: bool,
    /// Until then the home agent has not heard from idle sockets that they do not have the line that it grants; 0: it need not.
    pub settled_at: u64,
    /// The directory: another socket than the home's has been granted the line, and the home's own not exclusively since.
    pub away: bool,
    /// No domain has used it, and its home's last-level cache has it.
    pub at_home: bool,
    /// Memory has an older value.
    pub dirty: bool,
}

impl Line {
    /// A line that no core has, and perhaps its home's last-level cache. In a machine of one domain there is nobody to ask for
    /// permission.
    pub(super) fn new(home: u16, domains: usize, at_home: bool) -> Self {
        let permission = if domains == 1 { State::Modified } else { State::Invalid };
        let agent = || Agent {
            queue: Vec::new(),
            snoop: None,
            busy: false,
            permission,
            owner: None,
            sharers: 0,
            current: None,
            awaiting_grant: None,
            place: NOWHERE,
            in_memory: domains == 1 && !at_home,
            granted_from: 0,
        };
        Line {
            home,
            agents: (0..domains).map(|_| agent()).collect(),
            views: Vec::new(),
            home_queue: Vec::new(),
            home_busy: false,
            settled_at: 0,
            away: false,
            at_home,
            dirty: false,
        }
    }

    /// The number of a core's view, if it has one.
    #[inline(always)]
    pub(super) fn view(&self, core: u16) -> Option<u32> {
        self.views.get(core as usize).copied().filter(|&view| view != NO_VIEW)
    }

    /// The numbers of the views that were made, by ascending cores.
    pub(super) fn made_views(&self) -> impl Iterator<Item = u32> {
        self.views.iter().copied().filter(|&view| view != NO_VIEW)
    }
}

impl Engine {
    /// The number of a core's view of a line, made at its first use.
    #[inline(always)]
    pub(super) fn view(&mut self, line: u32, core: u16) -> u32 {
        match self.lines[line as usize].view(core) {
            Some(view) => view,
            None => self.new_view(line, core),
        }
    }

    #[cold]
    fn new_view(&mut self, line: u32, core: u16) -> u32 {
        let view = self.views.len() as u32;
        assert!(view != NO_VIEW, "no host has memory for so many");
        self.views.push(View::new(line, core));
        let views = &mut self.lines[line as usize].views;
        if views.len() <= core as usize {
            // Of a million lines most are used by one core.
            views.reserve_exact(core as usize + 1 - views.len());
            views.resize(core as usize + 1, NO_VIEW);
        }
        views[core as usize] = view;
        view
    }
}
