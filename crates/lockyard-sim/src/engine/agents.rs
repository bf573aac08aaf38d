//! The directory's lower level: the agents of the domains.
//!
//! An agent serves one request for a line at a time. A transfer between two cores of a domain
//! takes, in cycles (`machine.cycles`):
//!
//! ```text
//!   dispatch t0 -> snoop at the owner t0 + leg
//!                  (parks until the data has arrived, the first operation is done,
//!                  the lock is released)
//!               -> answered at t = .. + owner_snoop
//!   data at the requester      t + transfer + jitter
//!   agent free again           t + leg + dispatch + hold_exclusive
//!                              (hold_shared after a demotion)
//! ```
//!
//! The *ownership window* is the time that the owner may operate again before the next snoop
//! reaches it. It has no timer. It results because the agent holds the line's entry until the
//! requester's completion arrives, while the data travels directly.
//!
//! While a domain has the line, the domain serves its own cores: ownership is sticky. A snoop from
//! another domain counts as `snoop_weight` requests in the random draw, no matter how many requests
//! wait behind it in the requesting domain. An agent that waits for a grant serves only snoops.
//! Otherwise two domains could wait for each other.
//!
//! After the grant of an exclusive line, the agent stays busy until it has told the home agent and
//! got an answer. The mean of this time is `granted_legs` times the longest leg of the line's path.
//! The time varies uniformly by the share `granted_spread`; at 1 it is between zero and a round
//! trip. (It does not depend on where the home is.) Meanwhile the first owner in the domain keeps
//! the line. That owner does many operations, while an owner within a domain does two.
//!
//! `home_agent.rs` has the upper level.

use super::cycles::whole;
use super::directory::agent::{Agent, Granted, Holders};
use super::event::Event;
use super::line::{Miss, Request, State};
use super::state::Engine;
use crate::machine::description::{Machine, ServiceOrder};
use crate::random::Random;

/// Cycles until a grant that met a busy agent is tried again.
const GRANT_RETRY: u64 = 4;

/// Weight of a domain's own request in a draw. Weights are whole numbers, in hundredths of a
/// request.
const WEIGHT: f64 = 100.0;

/// Takes the next request from the agent's queue, if the agent is free.
#[inline(always)]
fn next_request(agent: &mut Agent, machine: &Machine, random: &mut Random) -> Option<Request> {
    agent.next(|waiting, snoop| match machine.order() {
        ServiceOrder::Fifo => 0,
        ServiceOrder::Random => {
            draw_request(random, machine.numbers().snoop_weight, waiting, snoop)
        }
    })
}

/// Draws one of `waiting` requests. Each of the domain's own requests has weight 1. Another
/// domain's request, at index `snoop`, has weight `snoop_weight`.
fn draw_request(
    random: &mut Random,
    snoop_weight: f64,
    waiting: usize,
    snoop: Option<usize>,
) -> usize {
    let waiting = waiting as u64;
    let Some(snoop) = snoop else {
        return random.below(waiting) as usize;
    };
    let weight = whole(snoop_weight * WEIGHT);
    let drawn = random.below(weight + (waiting - 1) * WEIGHT as u64);
    match drawn.checked_sub(weight) {
        None => snoop,
        Some(drawn) => {
            let other = (drawn / WEIGHT as u64) as usize;
            other + usize::from(other >= snoop)
        }
    }
}

impl Engine {
    /// Queues a request that arrives at the agent of `domain`.
    pub(super) fn arrive(&mut self, line: u32, domain: u16, request: Request) {
        let agent = self.directory.agent_mut(line, domain);
        let length = agent.enqueue(request);
        self.ledger.request(line, length);
        if let Some(request) = next_request(agent, &self.machine, &mut self.random) {
            self.serve(line, domain, request, false);
        }
    }

    pub(super) fn free_agent(&mut self, line: u32, domain: u16) {
        let agent = self.directory.agent_mut(line, domain);
        agent.finish();
        if let Some(request) = next_request(agent, &self.machine, &mut self.random) {
            self.serve(line, domain, request, false);
        }
    }

    /// Starts to serve `request`. `granted` is true if the home agent has just granted the line for
    /// it.
    fn serve(&mut self, line: u32, domain: u16, request: Request, granted: bool) {
        match request {
            Request::Core { core_line, exclusive } => {
                self.serve_core(line, domain, core_line, exclusive, granted);
            }
            Request::Snoop { domain: from, exclusive } => {
                self.serve_domain_snoop(line, domain, from, exclusive);
            }
        }
    }

    fn serve_core(
        &mut self,
        line: u32,
        domain: u16,
        core_line: u32,
        exclusive: bool,
        granted: bool,
    ) {
        let now = self.now();
        self.age_head_start(core_line);
        let agent = self.directory.agent_mut(line, domain);
        let Some(supply) = agent.serve_core(core_line, exclusive) else {
            let home = self.directory.line(line).home();
            let travel = self.between(domain, home);
            self.at(now + travel, Event::Ask { line, domain, exclusive });
            // Another domain's request is served meanwhile.
            let agent = self.directory.agent_mut(line, domain);
            if let Some(request) = next_request(agent, &self.machine, &mut self.random) {
                self.serve(line, domain, request, false);
            }
            return;
        };
        self.ledger.count().memory_reads += u64::from(supply.from_memory);
        let from_memory = if supply.from_memory { self.machine.numbers().dram } else { 0 };
        match supply.owner {
            Some(owner) => self.transfer_from_owner(line, domain, core_line, owner, exclusive),
            None if exclusive => {
                self.supply_exclusive(line, domain, core_line, from_memory, granted);
            }
            None => self.supply_shared(line, domain, core_line, from_memory),
        }
    }

    /// Serves a core's request for a line that `owner` has modified.
    fn transfer_from_owner(
        &mut self,
        line: u32,
        domain: u16,
        core_line: u32,
        owner: u16,
        exclusive: bool,
    ) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch) = (n.leg, n.dispatch);
        let core = self.core_lines[core_line as usize].core;
        if owner == core {
            // A stale request: the core has the line already.
            self.at(now + leg, Event::Data { core_line, exclusive: true });
            self.at(now + dispatch, Event::AgentFree { line, domain });
            return;
        }
        let agent = self.directory.agent_mut(line, domain);
        if exclusive {
            agent.make_owner(core);
        } else {
            agent.make_shared(self.places.bit(owner) | self.places.bit(core));
        }
        self.ledger.count().local_transfers += 1;
        let jitter = self.jitter();
        let way = self.spend_head_start(core_line, leg + jitter);
        self.core_lines[core_line as usize].asked_at = now + way;
        let owner = self.core_line(line, owner);
        self.at(now + way, Event::Snoop { core_line: owner, exclusive });
    }

    /// Serves a core's exclusive request for a line that no core has modified. The sharers lose the
    /// line.
    fn supply_exclusive(
        &mut self,
        line: u32,
        domain: u16,
        core_line: u32,
        from_memory: u64,
        granted: bool,
    ) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch, last_level) = (n.leg, n.dispatch, n.last_level);
        let core = self.core_lines[core_line as usize].core;
        let bit = self.places.bit(core);
        let sharers = self.directory.agent_mut(line, domain).make_owner(core);
        let others = sharers & !bit;
        let shared_already = sharers & bit != 0;
        let way = self.spend_head_start(core_line, leg);
        let invalidated = self.invalidate_all(line, domain, others, way);
        // An upgrade needs no data, only the invalidations.
        let data = now + if shared_already { dispatch } else { last_level + from_memory };
        let ready = invalidated.max(data);
        let jitter = self.jitter();
        // The data cannot arrive before the sharers have lost the line.
        let rest = self.spend_head_start(core_line, ready + leg + jitter - now).max(way);
        self.at(now + rest, Event::Data { core_line, exclusive: true });
        // No owner has to complete anything. So the agent is free once the sharers have answered.
        // After a grant, it is free once it has told the home agent.
        let hold = if granted { self.draw_grant_hold(line, domain) } else { 0 };
        self.at(ready.max(now + dispatch) + hold, Event::AgentFree { line, domain });
    }

    /// Serves a core's shared request for a line that no core has modified.
    fn supply_shared(&mut self, line: u32, domain: u16, core_line: u32, from_memory: u64) {
        let n = self.machine.numbers();
        let (leg, last_level, shared_read) = (n.leg, n.last_level, n.shared_read);
        let bit = self.places.bit(self.core_lines[core_line as usize].core);
        self.directory.agent_mut(line, domain).add_sharer(bit);
        let jitter = self.jitter();
        let ready = self.now() + from_memory;
        self.at(ready + last_level + leg + jitter, Event::Data { core_line, exclusive: false });
        self.at(ready + shared_read, Event::AgentFree { line, domain });
    }

    /// Draws the time that the agent of a domain stays busy after this grant.
    fn draw_grant_hold(&mut self, line: u32, domain: u16) -> u64 {
        let n = self.machine.numbers();
        let leg = self.directory.agent(line, domain).granted_from() as f64;
        let mean = n.granted_legs * leg;
        let spread = whole(mean * n.granted_spread);
        if spread == 0 {
            return whole(mean);
        }
        whole(mean) - spread + self.random.below(2 * spread + 1)
    }

    /// Sends invalidations to the cores in `sharers`, in parallel. Returns the time of the last
    /// answer.
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
            let core_line = self.core_line(line, core);
            self.core_lines[core_line as usize].invalidations += 1;
            self.at(now + way, Event::Invalidate { core_line });
        }
        now + way + leg + invalidate
    }

    /// Answers a snoop: the owner gives up the line, or shares it.
    pub(super) fn answer_snoop(&mut self, core_line: u32, exclusive: bool) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch, transfer) = (n.leg, n.dispatch, n.transfer);
        let (hold_exclusive, hold_shared) = (n.hold_exclusive, n.hold_shared);
        let answered = now + n.owner_snoop;
        let cache = &mut self.core_lines[core_line as usize];
        let (line, domain) = (cache.line, self.places.domain_of(cache.core));
        debug_assert!(cache.state == State::Modified, "only an owner is snooped");
        cache.state = if exclusive { State::Invalid } else { State::Shared };
        cache.changed_at = now;
        cache.parked_snoop = None;
        if self.observer.is_some() {
            self.tell_line_of(core_line);
        }
        let current = self.directory.agent(line, domain).current();
        let jitter = self.jitter();
        match current {
            Some(Request::Core { core_line: requester, exclusive: wanted }) => {
                let data = answered + transfer + jitter;
                self.age_head_start(requester);
                let rest = self.spend_head_start(requester, data - now);
                self.at(now + rest, Event::Data { core_line: requester, exclusive: wanted });
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
            self.wake_sleepers(core_line, None);
            self.issue_again(core_line);
        } else {
            if cfg!(debug_assertions) {
                self.check_sharers(line);
            }
            // Loads that waited for a locked line can use the shared copy.
            self.run_waiters(core_line);
        }
    }

    /// Uses a request's head start to shorten a path of `cycles`. Returns the remaining cycles.
    fn spend_head_start(&mut self, core_line: u32, cycles: u64) -> u64 {
        let cache = &mut self.core_lines[core_line as usize];
        let done = cycles.min(cache.head_start);
        cache.head_start -= done;
        cycles - done
    }

    /// Shortens a request's head start by the time that the request has waited, because an earlier
    /// request would have waited here as well. Called when the request is served, or when its snoop
    /// is answered.
    fn age_head_start(&mut self, core_line: u32) {
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        if cache.head_start == 0 {
            return;
        }
        let waited = now.saturating_sub(cache.asked_at);
        cache.head_start = cache.head_start.saturating_sub(waited);
        cache.asked_at = now;
    }

    /// Serves another domain's request.
    fn serve_domain_snoop(&mut self, line: u32, domain: u16, from: u16, exclusive: bool) {
        let now = self.now();
        let n = self.machine.numbers();
        let (leg, dispatch, last_level) = (n.leg, n.dispatch, n.last_level);
        let (entry, agent) = self.directory.line_and_agent(line, domain);
        let holders = agent.serve_domain(from, exclusive, |core| self.places.bit(core));
        if !exclusive && entry.clean() {
            // Domains share the line, so memory gets its value.
            self.ledger.count().memory_writes += 1;
        }
        let sharers = match holders {
            Holders::Owner(owner) => {
                let owner = self.core_line(line, owner);
                self.at(now + leg, Event::Snoop { core_line: owner, exclusive });
                return;
            }
            Holders::Sharers(sharers) => sharers,
        };
        let ready = self.invalidate_all(line, domain, sharers, leg).max(now + last_level);
        let travel = self.between(domain, from);
        self.grant_at(ready + travel, line, from, exclusive);
        self.at(now + dispatch, Event::AgentFree { line, domain });
    }

    /// Serves the request that waited for the grant, once the agent is free.
    pub(super) fn take_grant(&mut self, line: u32, domain: u16) {
        match self.directory.agent_mut(line, domain).take_granted() {
            Granted::Busy => {
                let now = self.now();
                self.at(now + GRANT_RETRY, Event::TakeGrant { line, domain });
            }
            Granted::Serves(Some(request)) => self.serve(line, domain, request, true),
            Granted::Serves(None) => {}
        }
    }

    /// Takes a shared copy from a core.
    pub(super) fn invalidate(&mut self, core_line: u32) {
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        cache.invalidations -= 1;
        if cache.miss == Miss::Shared {
            cache.drop_fill = true;
        }
        if cache.state == State::Shared {
            cache.state = State::Invalid;
            cache.changed_at = now;
            self.ledger.count().invalidations += 1;
            self.wake_sleepers(core_line, None);
        }
    }
}
