//! The directory's upper level: the home agents. Each grants its line to one domain at a time, and
//! takes it away from the others.
//!
//! On machines that snoop all sockets, the home agent grants a line only after all sockets have
//! answered that they do not have the line (any more). A socket to which no thread was ever
//! assigned is asleep and answers late (`idle_answer`). So lines move faster between sockets when
//! all of them are awake. There is one exception: the home's own socket does not wait if the home
//! agent knows that no other socket has the line (Intel, *Xeon Processor E7-8800/4800/2800 Product
//! Families, Datasheet*, volume 2, 5.2: Directory Assisted Snoopy).

use super::event::Event;
use super::line::{HomeRequest, Request, State};
use super::state::Engine;
use crate::machine::description::ServiceOrder;

impl Engine {
    /// Queues a domain's request for the line at the home agent.
    pub(super) fn ask_home(&mut self, line: u32, domain: u16, exclusive: bool) {
        self.directory.line_mut(line).enqueue(HomeRequest { domain, exclusive });
        self.pump_home(line);
    }

    pub(super) fn free_home(&mut self, line: u32) {
        self.directory.line_mut(line).finish();
        self.pump_home(line);
    }

    /// Serves the next domain, if the home agent is free.
    fn pump_home(&mut self, line: u32) {
        let entry = self.directory.line_mut(line);
        let next = entry.next(|waiting| match self.machine.order() {
            ServiceOrder::Fifo => 0,
            ServiceOrder::Random => self.random.below(waiting as u64) as usize,
        });
        let Some(HomeRequest { domain, exclusive }) = next else { return };
        let home = entry.home();
        let now = self.now();
        let n = self.machine.numbers();
        let (memory, directory) = (n.memory, if domain == home { n.directory } else { 0 });
        // If no other socket has the line, the home's own socket does not wait for the others'
        // answers.
        let asks = self.directory.line(line).is_away() || !self.places.same_socket(domain, home);
        let waits = self.idle_sockets != 0 && n.idle_answer != 0 && asks;
        self.directory.line_mut(line).settle_at(if waits { now + n.idle_answer } else { 0 });
        let mut victims: Vec<u16> = (0..self.places.domains() as u16)
            .filter(|&other| other != domain)
            .filter(|&other| {
                let permission = self.directory.agent(line, other).permission();
                permission == State::Modified || (exclusive && permission == State::Shared)
            })
            .collect();
        // The farthest domain supplies the line. When its answer arrives, the other domains have
        // lost theirs.
        victims.sort_by_key(|&victim| std::cmp::Reverse(self.between(home, victim)));
        let Some((&supplier, others)) = victims.split_first() else {
            let travel = self.between(home, domain);
            // No other domain has the line, so no domain has to be told, and there is no hold after
            // this grant.
            self.directory.agent_mut(line, domain).set_granted_from(0);
            let at_home = self.directory.line_mut(line).leave_home();
            let is_anywhere = self.directory.is_anywhere(line);
            let in_memory = !at_home && !is_anywhere;
            let from_memory = if in_memory { self.machine.numbers().dram } else { 0 };
            self.ledger.count().memory_reads += u64::from(in_memory);
            let ready = now + memory + from_memory;
            self.grant_at(ready + travel, line, domain, exclusive);
            return;
        };
        debug_assert!(
            victims.len() == 1
                || victims
                    .iter()
                    .all(|&v| self.directory.agent(line, v).permission() == State::Shared),
            "a modified line is in one domain"
        );
        let way = self.between(home, supplier).max(self.between(supplier, domain));
        let way = way.max(self.between(home, domain));
        self.directory.agent_mut(line, domain).set_granted_from(way);
        // The other sharing domains lose the line while the supplier sends it.
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
        let mut sharers = self.directory.agent_mut(line, domain).revoke();
        while sharers != 0 {
            let index = sharers.trailing_zeros();
            sharers &= sharers - 1;
            let core = self.places.core(domain, index);
            let core_line = self.core_line(line, core);
            self.core_lines[core_line as usize].invalidations += 1;
            self.at(now + directory + travel + leg, Event::Invalidate { core_line });
        }
    }

    /// Handles the arrival of the home agent's grant at a domain.
    pub(super) fn grant(&mut self, line: u32, domain: u16, exclusive: bool) {
        self.ledger.count().remote_grants += 1;
        let now = self.now();
        let home = self.directory.line(line).home();
        let travel = self.between(domain, home);
        self.at(now + travel, Event::HomeFree { line });
        let near = self.places.same_socket(domain, home);
        let (entry, agent) = self.directory.line_and_agent(line, domain);
        entry.note_grant(near, exclusive);
        agent.grant(exclusive);
        self.take_grant(line, domain);
    }

    /// Grants the line to `domain`. The line arrives at `time`. The grant is delayed until the home
    /// agent has heard from every socket.
    pub(super) fn grant_at(&mut self, time: u64, line: u32, domain: u16, exclusive: bool) {
        let entry = self.directory.line(line);
        let settled = entry.settled_at() + self.between(entry.home(), domain);
        self.at(time.max(settled), Event::Grant { line, domain, exclusive });
    }

    /// One-way travel time between two domains.
    pub(super) fn between(&self, a: u16, b: u16) -> u64 {
        if a == b {
            return 0;
        }
        let n = self.machine.numbers();
        if self.places.same_socket(a, b) { n.complex_leg } else { n.socket_leg }
    }
}
