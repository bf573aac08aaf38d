//! The directory: the agents of the domains, and the home agents above them.
//!
//! An agent serves one request for a line at a time. A transfer between two cores of a domain, in
//! cycles (`machine.cycles`):
//!
//! ```text
//!   dispatch t0 -> snoop at the owner t0 + leg
//!                  (parks until the data has arrived, the first operation is done, the lock released)
//!               -> answered at t = .. + owner_snoop
//!   data at the requester      t + transfer + jitter
//!   agent free again           t + leg + dispatch + hold_exclusive   (hold_shared after a demotion)
//! ```
//!
//! So the *ownership window*, in which the owner may operate again before the next snoop reaches it,
//! is not a timer of its own: it is the agent holding the line's entry until the requester's
//! completion has come back, while the data travels directly.
//!
//! A domain's own cores are served inside the domain while the domain has the line: ownership is
//! sticky. A snoop from another domain counts as `snoop_weight` requests in the random draw, however many wait behind it
//! in the domain that asks. An agent that waits for a grant serves only snoops, or two domains would wait for each other. After the grant of an exclusive line
//! the agent is busy until the home agent has been told and has answered: for `granted_legs` of the longest leg of the line's way in the
//! mean, uniformly more or less by the share `granted_spread`: from nothing to a round trip if that is 1. (Where the home is, is not looked at.) So
//! long the first owner in the domain keeps the line, and does many operations where one within a domain does two.
//!
//! Where all sockets are snooped, the home agent grants a line only when all have answered that they do not have it (any more). A
//! socket to which no thread was ever given is asleep and answers late (`idle_answer`): a line goes faster between sockets if all are awake.
//! Only the home's own socket does not wait, for a line of which the home agent knows that no other socket has it (Intel, *Xeon Processor
//! E7-8800/4800/2800 Product Families, Datasheet*, volume 2, 5.2: Directory Assisted Snoopy).

use super::Engine;
use super::accounting::LineTrace;
use super::event::Event;
use super::line::{Line, Miss, Request, State};
use super::work::whole;
use crate::machine::Order;

/// A grant that meets a busy agent comes again after so many cycles.
const GRANT_RETRY: u64 = 4;

/// What a domain's own request weighs in a draw: weights are whole numbers, hundredths of it.
const WEIGHT: f64 = 100.0;

impl Engine {
    /// A request arrives at the agent of `domain`.
    pub(super) fn arrive(&mut self, line: u32, domain: u16, request: Request) {
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        if let Request::Snoop { .. } = request {
            debug_assert!(agent.snoop.is_none(), "the home agent serves one domain at a time");
            agent.snoop = Some(agent.queue.len());
        }
        agent.queue.push(request);
        let length = agent.queue.len() as u64;
        self.statistics.queue_length += length;
        self.statistics.requests += 1;
        let counts = &mut self.traces[line as usize].counts;
        counts.queue_length += length;
        counts.requests += 1;
        self.pump(line, domain);
    }

    pub(super) fn agent_free(&mut self, line: u32, domain: u16) {
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        agent.busy = false;
        agent.current = None;
        self.pump(line, domain);
    }

    /// Serves the next request, if the agent is free.
    fn pump(&mut self, line: u32, domain: u16) {
        let agent = &self.lines[line as usize].agents[domain as usize];
        let waiting = agent.queue.len();
        if waiting == 0 || agent.busy {
            return;
        }
        debug_assert_eq!(
            agent.snoop,
            agent.queue.iter().position(|request| matches!(request, Request::Snoop { .. })),
            "the note of where another domain's request waits"
        );
        let chosen = if agent.awaiting_grant.is_some() {
            match agent.snoop {
                Some(snoop) => snoop,
                None => return,
            }
        } else {
            match self.machine.order() {
                Order::Fifo => 0,
                Order::Random => self.drawn(line, domain),
            }
        };
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        let request = agent.take(chosen);
        self.serve(line, domain, request, false);
    }

    /// One of the waiting requests by chance. A domain's own weigh one each; another domain's `snoop_weight`.
    fn drawn(&mut self, line: u32, domain: u16) -> usize {
        let agent = &self.lines[line as usize].agents[domain as usize];
        let waiting = agent.queue.len() as u64;
        let Some(snoop) = agent.snoop else {
            return self.random.below(waiting) as usize;
        };
        let weight = whole(self.machine.numbers().snoop_weight * WEIGHT);
        let drawn = self.random.below(weight + (waiting - 1) * WEIGHT as u64);
        match drawn.checked_sub(weight) {
            None => snoop,
            Some(drawn) => {
                let other = (drawn / WEIGHT as u64) as usize;
                other + usize::from(other >= snoop)
            }
        }
    }

    /// Begins to serve `request`; `granted`: the home agent has just granted the line for it.
    fn serve(&mut self, line: u32, domain: u16, request: Request, granted: bool) {
        match request {
            Request::Core { view, exclusive } => {
                self.serve_core(line, domain, view, exclusive, granted);
            }
            Request::Snoop { domain: from, exclusive } => {
                self.serve_domain_snoop(line, domain, from, exclusive);
            }
        }
    }

    fn serve_core(&mut self, line: u32, domain: u16, view: u32, exclusive: bool, granted: bool) {
        let now = self.now();
        self.has_waited(view);
        let core = self.views[view as usize].core;
        let n = self.machine.numbers();
        let (leg, dispatch, last_level, shared_read) =
            (n.leg, n.dispatch, n.last_level, n.shared_read);
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        let permitted = match agent.permission {
            State::Modified => true,
            State::Shared => !exclusive,
            State::Invalid => false,
        };
        if !permitted {
            agent.awaiting_grant = Some(Request::Core { view, exclusive });
            let home = self.lines[line as usize].home;
            let travel = self.between(domain, home);
            self.at(now + travel, Event::Ask { line, domain, exclusive });
            self.pump(line, domain);
            return;
        }
        agent.busy = true;
        agent.current = Some(Request::Core { view, exclusive });
        let in_memory = std::mem::take(&mut agent.in_memory);
        let from_memory = if in_memory { n.dram } else { 0 };
        self.statistics.memory_reads += u64::from(in_memory);
        let bit = self.places.bit(core);
        if let Some(owner) = agent.owner {
            if owner == core {
                // A stale request: the core has the line already.
                self.at(now + leg, Event::Data { view, exclusive: true });
                self.at(now + dispatch, Event::AgentFree { line, domain });
                return;
            }
            let owner_bit = self.places.bit(owner);
            if exclusive {
                agent.owner = Some(core);
                agent.sharers = 0;
            } else {
                agent.owner = None;
                agent.sharers = owner_bit | bit;
            }
            self.statistics.local_transfers += 1;
            let jitter = self.jitter();
            let way = self.rest_of_way(view, leg + jitter);
            self.views[view as usize].asked_at = now + way;
            let owner = self.view(line, owner);
            self.at(now + way, Event::Snoop { view: owner, exclusive });
            return;
        }
        if exclusive {
            let others = agent.sharers & !bit;
            let shared_already = agent.sharers & bit != 0;
            agent.owner = Some(core);
            agent.sharers = 0;
            let way = self.rest_of_way(view, leg);
            let invalidated = self.invalidate_all(line, domain, others, way);
            // An upgrade needs no data, only the invalidations.
            let data = now + if shared_already { dispatch } else { last_level + from_memory };
            let ready = invalidated.max(data);
            let jitter = self.jitter();
            // Not before the others have lost it.
            let rest = self.rest_of_way(view, ready + leg + jitter - now).max(way);
            self.at(now + rest, Event::Data { view, exclusive: true });
            // No owner has to complete anything: the agent is free once the sharers have answered; after a grant,
            // once the home agent has been told.
            let hold = if granted { self.hold_granted(line, domain) } else { 0 };
            self.at(ready.max(now + dispatch) + hold, Event::AgentFree { line, domain });
        } else {
            agent.sharers |= bit;
            let jitter = self.jitter();
            let ready = now + from_memory;
            self.at(ready + last_level + leg + jitter, Event::Data { view, exclusive: false });
            self.at(ready + shared_read, Event::AgentFree { line, domain });
        }
    }

    /// How long the agent of a domain is busy after this grant.
    fn hold_granted(&mut self, line: u32, domain: u16) -> u64 {
        let n = self.machine.numbers();
        let leg = self.lines[line as usize].agents[domain as usize].granted_from as f64;
        let mean = n.granted_legs * leg;
        let spread = whole(mean * n.granted_spread);
        if spread == 0 {
            return whole(mean);
        }
        whole(mean) - spread + self.random.below(2 * spread + 1)
    }

    /// Sends invalidations to the cores in `sharers`, in parallel; returns when the last one has
    /// answered.
    fn invalidate_all(&mut self, line: u32, domain: u16, mut sharers: u128, way: u64) -> u64 {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, invalidate) = (n.leg, n.invalidate);
        if sharers == 0 {
            return now;
        }
        while sharers != 0 {
            let index = sharers.trailing_zeros();
            sharers &= sharers - 1;
            let core = self.places.core(domain, index);
            let view = self.view(line, core);
            self.views[view as usize].invalidations += 1;
            self.at(now + way, Event::Invalidate { view });
        }
        now + way + leg + invalidate
    }

    /// The owner of a line answers a snoop, and gives the line up (or shares it).
    pub(super) fn answer_snoop(&mut self, view: u32, exclusive: bool) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch, transfer) = (n.leg, n.dispatch, n.transfer);
        let (hold_exclusive, hold_shared) = (n.hold_exclusive, n.hold_shared);
        let answered = now + n.owner_snoop;
        let cache = &mut self.views[view as usize];
        let (line, domain) = (cache.line, self.places.domain_of(cache.core));
        debug_assert!(cache.state == State::Modified, "only an owner is snooped");
        cache.state = if exclusive { State::Invalid } else { State::Shared };
        cache.changed_at = now;
        cache.parked_snoop = None;
        let current = self.lines[line as usize].agents[domain as usize].current;
        let jitter = self.jitter();
        match current {
            Some(Request::Core { view: requester, exclusive: wanted }) => {
                let data = answered + transfer + jitter;
                self.has_waited(requester);
                let rest = self.rest_of_way(requester, data - now);
                self.at(now + rest, Event::Data { view: requester, exclusive: wanted });
                let hold = if wanted { hold_exclusive } else { hold_shared };
                self.at(answered + leg + dispatch + hold, Event::AgentFree { line, domain });
            }
            Some(Request::Snoop { domain: from, exclusive: wanted }) => {
                let travel = self.between(domain, from);
                self.grant_at(answered + leg + travel + jitter, line, from, wanted);
                self.at(answered + leg + dispatch, Event::AgentFree { line, domain });
            }
            None => unreachable!("a snoop belongs to the request that its agent serves"),
        }
        if exclusive {
            self.wake_sleepers(view, None);
            self.issue_again(view);
        } else {
            if cfg!(debug_assertions) {
                self.check_sharers(line);
            }
            // Loads that waited for a locked line can have the shared one.
            self.run_waiters(view);
        }
    }

    /// What is left of a way of `cycles` of a request that had a head start.
    fn rest_of_way(&mut self, view: u32, cycles: u64) -> u64 {
        let cache = &mut self.views[view as usize];
        let done = cycles.min(cache.head_start);
        cache.head_start -= done;
        cycles - done
    }

    /// A request that had a head start is served, or its snoop is answered: it had waited as long if it had begun earlier.
    fn has_waited(&mut self, view: u32) {
        let now = self.now();
        let cache = &mut self.views[view as usize];
        if cache.head_start == 0 {
            return;
        }
        let waited = now.saturating_sub(cache.asked_at);
        cache.head_start = cache.head_start.saturating_sub(waited);
        cache.asked_at = now;
    }

    /// Another domain wants the line.
    fn serve_domain_snoop(&mut self, line: u32, domain: u16, from: u16, exclusive: bool) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch, last_level) = (n.leg, n.dispatch, n.last_level);
        let entry = &mut self.lines[line as usize];
        let agent = &mut entry.agents[domain as usize];
        agent.busy = true;
        agent.current = Some(Request::Snoop { domain: from, exclusive });
        debug_assert!(agent.permission != State::Invalid, "a domain is asked for what it has");
        agent.permission = if exclusive { State::Invalid } else { State::Shared };
        if !exclusive && std::mem::take(&mut entry.dirty) {
            // What domains share is what memory has.
            self.statistics.memory_writes += 1;
        }
        if let Some(owner) = agent.owner.take() {
            agent.sharers = if exclusive { 0 } else { self.places.bit(owner) };
            let owner = self.view(line, owner);
            self.at(now + leg, Event::Snoop { view: owner, exclusive });
            return;
        }
        let mut ready = now + last_level;
        if exclusive {
            let sharers = std::mem::take(&mut agent.sharers);
            ready = ready.max(self.invalidate_all(line, domain, sharers, leg));
        }
        let travel = self.between(domain, from);
        self.grant_at(ready + travel, line, from, exclusive);
        self.at(now + dispatch, Event::AgentFree { line, domain });
    }

    /// The line comes to `domain` at `time`, but the grant not before the home agent has heard of every socket.
    fn grant_at(&mut self, time: u64, line: u32, domain: u16, exclusive: bool) {
        let Line { home, settled_at, .. } = self.lines[line as usize];
        let settled = settled_at + self.between(home, domain);
        self.at(time.max(settled), Event::Grant { line, domain, exclusive });
    }

    /// A domain asks the home agent for the line.
    pub(super) fn ask_home(&mut self, line: u32, domain: u16, exclusive: bool) {
        self.lines[line as usize].home_queue.push((domain, exclusive));
        self.pump_home(line);
    }

    pub(super) fn home_free(&mut self, line: u32) {
        self.lines[line as usize].home_busy = false;
        self.pump_home(line);
    }

    /// The home agent serves the next domain, if it is free.
    fn pump_home(&mut self, line: u32) {
        let entry = &mut self.lines[line as usize];
        if entry.home_busy || entry.home_queue.is_empty() {
            return;
        }
        let chosen = match self.machine.order() {
            Order::Fifo => 0,
            Order::Random => self.random.below(entry.home_queue.len() as u64) as usize,
        };
        let (domain, exclusive) = entry.home_queue.remove(chosen);
        entry.home_busy = true;
        let home = entry.home;
        let now = self.now();
        let n = self.machine.numbers();
        let (memory, directory) = (n.memory, if domain == home { n.directory } else { 0 });
        // Of a line that no other socket has, the home's own does not wait for what they answer.
        let asks = self.lines[line as usize].away || !self.places.same_socket(domain, home);
        let waits = self.idle_sockets != 0 && n.idle_answer != 0 && asks;
        self.lines[line as usize].settled_at = if waits { now + n.idle_answer } else { 0 };
        let mut victims: Vec<u16> = (0..self.places.domains() as u16)
            .filter(|&other| other != domain)
            .filter(|&other| {
                let permission = self.lines[line as usize].agents[other as usize].permission;
                permission == State::Modified || (exclusive && permission == State::Shared)
            })
            .collect();
        // The farthest one supplies the line: when its answer is back, the others have lost theirs.
        victims.sort_by_key(|&victim| std::cmp::Reverse(self.between(home, victim)));
        let Some((&supplier, others)) = victims.split_first() else {
            let travel = self.between(home, domain);
            // Nobody else has it, and nobody has to be told: no hold after this grant.
            let entry = &mut self.lines[line as usize];
            entry.agents[domain as usize].granted_from = 0;
            let at_home = std::mem::take(&mut entry.at_home);
            let is_anywhere = entry.agents.iter().any(|agent| agent.permission != State::Invalid);
            let in_memory = !at_home && !is_anywhere;
            let from_memory = if in_memory { self.machine.numbers().dram } else { 0 };
            self.statistics.memory_reads += u64::from(in_memory);
            let ready = now + memory + from_memory;
            self.grant_at(ready + travel, line, domain, exclusive);
            return;
        };
        debug_assert!(
            victims.len() == 1
                || victims.iter().all(|&v| {
                    self.lines[line as usize].agents[v as usize].permission == State::Shared
                }),
            "a modified line is in one domain"
        );
        let way = self.between(home, supplier).max(self.between(supplier, domain));
        let way = way.max(self.between(home, domain));
        self.lines[line as usize].agents[domain as usize].granted_from = way;
        // The other sharing domains lose the line while the first one supplies it.
        for &other in others {
            self.invalidate_domain(line, home, other, directory);
        }
        let travel = self.between(home, supplier);
        let request = Request::Snoop { domain, exclusive };
        self.at(now + directory + travel, Event::Arrive { line, domain: supplier, request });
    }

    fn invalidate_domain(&mut self, line: u32, home: u16, domain: u16, directory: u64) {
        let now = self.now();
        let leg = self.machine.numbers().leg;
        let travel = self.between(home, domain);
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        agent.permission = State::Invalid;
        let mut sharers = std::mem::take(&mut agent.sharers);
        while sharers != 0 {
            let index = sharers.trailing_zeros();
            sharers &= sharers - 1;
            let core = self.places.core(domain, index);
            let view = self.view(line, core);
            self.views[view as usize].invalidations += 1;
            self.at(now + directory + travel + leg, Event::Invalidate { view });
        }
    }

    /// The home agent's grant arrives at a domain.
    pub(super) fn grant(&mut self, line: u32, domain: u16, exclusive: bool) {
        self.statistics.remote_grants += 1;
        let now = self.now();
        let home = self.lines[line as usize].home;
        let travel = self.between(domain, home);
        self.at(now + travel, Event::HomeFree { line });
        if !self.places.same_socket(domain, home) {
            self.lines[line as usize].away = true;
        } else if exclusive {
            self.lines[line as usize].away = false;
        }
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        agent.permission = if exclusive { State::Modified } else { State::Shared };
        self.take_grant(line, domain);
    }

    /// Serves the request that waited for the grant, as soon as the agent is free.
    pub(super) fn take_grant(&mut self, line: u32, domain: u16) {
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        if agent.busy {
            let now = self.now();
            self.at(now + GRANT_RETRY, Event::TakeGrant { line, domain });
            return;
        }
        if let Some(request) = agent.awaiting_grant.take() {
            self.serve(line, domain, request, true);
        }
    }

    /// A shared copy is taken from a core.
    pub(super) fn invalidate(&mut self, view: u32) {
        let now = self.now();
        let cache = &mut self.views[view as usize];
        cache.invalidations -= 1;
        if cache.miss == Miss::Shared {
            cache.drop_fill = true;
        }
        if cache.state == State::Shared {
            cache.state = State::Invalid;
            cache.changed_at = now;
            self.statistics.invalidations += 1;
            self.wake_sleepers(view, None);
        }
    }

    /// The travel time between two domains, one way.
    pub(super) fn between(&self, a: u16, b: u16) -> u64 {
        if a == b {
            return 0;
        }
        let n = self.machine.numbers();
        if self.places.same_socket(a, b) { n.complex_leg } else { n.socket_leg }
    }

    /// The index of a line's state, made at its first use.
    pub(super) fn line_index(&mut self, address: usize) -> u32 {
        let line = self.places.line(address - self.arena.base());
        match self.line_of.get(line) {
            Some(&index) if index != u32::MAX => index,
            _ => self.new_line(line),
        }
    }

    #[cold]
    fn new_line(&mut self, line: usize) -> u32 {
        if self.line_of.len() <= line {
            self.line_of.resize(line + 1, u32::MAX);
        }
        let home = self.arena.home_of(line) as u16;
        let at_home = self.arena.was_laid_out(line) && self.is_cached_at_first(home);
        self.lines.push(Line::new(home, self.places.domains(), at_home));
        self.traces.push(LineTrace::new());
        self.line_of[line] = (self.lines.len() - 1) as u32;
        self.line_of[line]
    }
}
