//! A domain's agent for one line: the requests that it serves, and its record of the cores' copies.
//!
//! The agent decides, and the engine acts. Each function changes only the agent, and returns the
//! messages to send.

use crate::engine::line::{NOWHERE, Request, State};

/// A domain's agent for one line.
pub(crate) struct Agent {
    queue: Vec<Request>,
    /// Position in the queue of another domain's request. There is at most one, as the home agent
    /// serves one domain at a time.
    snoop: Option<u16>,
    busy: bool,
    /// Permission of the domain for the line.
    permission: State,
    /// The core that has the line modified.
    owner: Option<u16>,
    /// Cores that may have the line shared, as bits by index within the domain.
    sharers: u128,
    current: Option<Request>,
    /// A request that waits for the home agent's grant.
    awaiting_grant: Option<Request>,
    /// Place in the domain's last-level cache.
    place: u32,
    /// No cache has the line. Used only in a machine with one domain. With several domains, the
    /// domain then has no permission.
    in_memory: bool,
    /// Longest leg of the grant's path, in cycles.
    granted_from: u64,
}

/// Supply of a line to a core of the domain.
pub(crate) struct Supply {
    /// The core that has the line modified.
    pub owner: Option<u16>,
    /// `true` if the line comes from memory.
    pub from_memory: bool,
}

/// The domain's cores from which another domain's request takes the line.
pub(crate) enum Holders {
    Owner(u16),
    /// Cores that lose their shared copies, as bits.
    Sharers(u128),
}

/// Action of an agent when a grant arrives.
pub(crate) enum Granted {
    /// The agent serves another request.
    Busy,
    /// The agent serves the waiting request, if there is one.
    Serves(Option<Request>),
}

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

    /// Queues a request. Returns the number of requests that wait.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, request: Request) -> u64 {
        if let Request::Snoop { .. } = request {
            debug_assert!(self.snoop.is_none(), "the home agent serves one domain at a time");
            self.snoop = Some(self.queue.len() as u16);
        }
        self.queue.push(request);
        self.queue.len() as u64
    }

    /// Ends the service of a request.
    #[inline(always)]
    pub(crate) fn finish(&mut self) {
        self.busy = false;
        self.current = None;
    }

    /// Takes the next request from the queue, if the agent is free. `draw` chooses one of the
    /// waiting requests, given their number and the place of another domain's request. While the
    /// agent waits for a grant, it serves only another domain's request.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        draw: impl FnOnce(usize, Option<usize>) -> usize,
    ) -> Option<Request> {
        if self.queue.is_empty() || self.busy {
            return None;
        }
        let snoop = self.snoop.map(usize::from);
        debug_assert_eq!(
            snoop,
            self.queue.iter().position(|request| matches!(request, Request::Snoop { .. })),
            "the note of where another domain's request waits"
        );
        let chosen = match self.awaiting_grant {
            Some(_) => snoop?,
            None => draw(self.queue.len(), snoop),
        };
        Some(self.take(chosen))
    }

    /// Removes the request at `index` from the queue. The queue keeps its order, which
    /// first-in-first-out service needs.
    #[inline(always)]
    fn take(&mut self, index: usize) -> Request {
        self.snoop = match self.snoop {
            Some(snoop) if snoop as usize == index => None,
            Some(snoop) => Some(snoop - u16::from(index < snoop as usize)),
            None => None,
        };
        self.queue.remove(index)
    }

    /// Serves a core's request, if the domain has the permission. Otherwise the request waits for
    /// the home agent's grant.
    #[inline]
    pub(crate) fn serve_core(&mut self, core_line: u32, exclusive: bool) -> Option<Supply> {
        let request = Request::Core { core_line, exclusive };
        let permitted = match self.permission {
            State::Modified => true,
            State::Shared => !exclusive,
            State::Invalid => false,
        };
        if !permitted {
            self.awaiting_grant = Some(request);
            return None;
        }
        self.busy = true;
        self.current = Some(request);
        let from_memory = std::mem::take(&mut self.in_memory);
        Some(Supply { owner: self.owner, from_memory })
    }

    /// Serves another domain's request: the agent's own domain loses the line, or shares it.
    /// `bit_of` returns the bit of a core.
    #[inline]
    pub(crate) fn serve_domain(
        &mut self,
        from: u16,
        exclusive: bool,
        bit_of: impl FnOnce(u16) -> u128,
    ) -> Holders {
        debug_assert!(self.permission != State::Invalid, "a domain is asked for what it has");
        self.busy = true;
        self.current = Some(Request::Snoop { domain: from, exclusive });
        self.permission = if exclusive { State::Invalid } else { State::Shared };
        match self.owner.take() {
            Some(owner) => {
                self.sharers = if exclusive { 0 } else { bit_of(owner) };
                Holders::Owner(owner)
            }
            None if exclusive => Holders::Sharers(std::mem::take(&mut self.sharers)),
            None => Holders::Sharers(0),
        }
    }

    /// Handles the home agent's grant of the line to the domain.
    #[inline]
    pub(crate) fn grant(&mut self, exclusive: bool) {
        self.permission = if exclusive { State::Modified } else { State::Shared };
    }

    /// Takes the request that waited for a grant, once the agent is free.
    #[inline]
    pub(crate) fn take_granted(&mut self) -> Granted {
        if self.busy { Granted::Busy } else { Granted::Serves(self.awaiting_grant.take()) }
    }

    /// Takes the line from the domain, which must have it shared. Returns the cores that lose the
    /// line.
    pub(crate) fn revoke(&mut self) -> u128 {
        self.permission = State::Invalid;
        std::mem::take(&mut self.sharers)
    }

    /// Makes `core` the owner. Returns the cores that shared the line.
    #[inline]
    pub(crate) fn make_owner(&mut self, core: u16) -> u128 {
        self.owner = Some(core);
        std::mem::take(&mut self.sharers)
    }

    /// Makes the cores of `bits` sharers. None of the domain's cores owns the line any more.
    #[inline]
    pub(crate) fn make_shared(&mut self, bits: u128) {
        self.owner = None;
        self.sharers = bits;
    }

    /// Adds a core to the sharers.
    #[inline]
    pub(crate) fn add_sharer(&mut self, bit: u128) {
        self.sharers |= bit;
    }

    /// Removes a core that has evicted the line. Returns `true` if no core of the domain has it any
    /// more.
    pub(crate) fn remove_core(&mut self, bit: u128, owned: bool) -> bool {
        if owned {
            self.owner = None;
        }
        self.sharers &= !bit;
        !self.is_held()
    }

    /// Takes the line from the domain's last-level cache, if no core of the domain has it. Returns
    /// the permission that the domain had.
    pub(crate) fn leave_domain(&mut self, domains: usize) -> Option<State> {
        if self.is_held() || self.permission == State::Invalid {
            return None;
        }
        let had = self.permission;
        if domains == 1 {
            self.in_memory = true;
        } else {
            self.permission = State::Invalid;
        }
        Some(had)
    }

    /// Returns `true` if a core of the domain has the line.
    pub(crate) fn is_held(&self) -> bool {
        self.owner.is_some() || self.sharers != 0
    }

    /// Returns `true` if the agent has no request.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy && self.queue.is_empty() && self.awaiting_grant.is_none()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    #[inline]
    pub(crate) fn permission(&self) -> State {
        self.permission
    }

    #[inline]
    pub(crate) fn owner(&self) -> Option<u16> {
        self.owner
    }

    /// Returns `true` if the core with this bit is a sharer.
    pub(crate) fn is_shared_by(&self, bit: u128) -> bool {
        self.sharers & bit != 0
    }

    /// The request that the agent serves.
    #[inline]
    pub(crate) fn current(&self) -> Option<Request> {
        self.current
    }

    /// Longest leg of the last grant's path, in cycles.
    #[inline]
    pub(crate) fn granted_from(&self) -> u64 {
        self.granted_from
    }

    #[inline]
    pub(crate) fn set_granted_from(&mut self, leg: u64) {
        self.granted_from = leg;
    }

    /// Place in the domain's last-level cache.
    #[inline]
    pub(crate) fn place(&self) -> u32 {
        self.place
    }

    /// Sets the place in the domain's last-level cache. Returns the previous one.
    #[inline]
    pub(crate) fn set_place(&mut self, place: u32) -> u32 {
        std::mem::replace(&mut self.place, place)
    }
}
