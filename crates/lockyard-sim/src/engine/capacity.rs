//! The capacity of caches: which lines fit, which are evicted, and which are in memory only.
//!
//! ```text
//!   core      first level  ⊆  second level     every valid line of a core is in its second level
//!   complex   last level   ⊇  second levels    if inclusive: what it gives up, its cores lose too
//!             last level   ←  second levels    if not: it takes what the last core gives up
//!   machine   memory at the line's home        what no complex has
//! ```
//!
//! Replacement is random, over the whole cache: a new line evicts a random other line. The draws
//! have a separate stream of random numbers. So when all lines fit, a run is the same as on a
//! machine whose caches hold everything.
//!
//! An evicted line is written back if it was modified, and its agent knows immediately. The message
//! delays no thread, as the evicting core does not wait for it. A line is not evicted while
//! something is under way there: a miss, a locked operation, a snoop, an invalidation, or a waiting
//! thread. If no line can be evicted, the cache exceeds its capacity for the moment. Real fill
//! buffers allow the same.
//!
//! A line that is taken from a core keeps its place there until it is evicted: invalid places are
//! not preferred.
//!
//! Some processor wrote the memory that was laid out before threads run. So this memory is in its
//! home's last-level cache, as far as it fits. The model draws at the first touch of a line whether
//! the line is there. If `cached` of a home's `untouched` lines are in its cache, the probability
//! is `cached / untouched`. When another line needs room, the victim is drawn from the cache's
//! known lines and the untouched ones together. So a million objects cost nothing until they are
//! used. Memory that a running thread allocates is in no cache.

use super::cache_contents::{Cache, LastLevel};
use super::line::{CoreLine, Miss, NOWHERE, State};
use super::state::Engine;

/// Number of random draws for a line to evict, before all lines are searched.
const DRAWS: u32 = 8;

impl Engine {
    /// Makes room at a core for a line that arrives there.
    #[inline]
    pub(super) fn make_room(&mut self, core_line: u32) {
        let cache = &self.core_lines[core_line as usize];
        if cache.first == NOWHERE || cache.second == NOWHERE {
            self.insert_into_core(core_line);
        }
    }

    /// Brings a line that its core already has into the first level, for a load or a locked
    /// operation. Returns the extra cycles compared with a hit.
    #[inline]
    pub(super) fn promote(&mut self, core_line: u32) -> u64 {
        let is_near = self.core_lines[core_line as usize].first != NOWHERE;
        if is_near { 0 } else { self.promote_from_second(core_line) }
    }

    #[cold]
    fn promote_from_second(&mut self, core_line: u32) -> u64 {
        self.insert_into_first(core_line);
        self.ledger.count().second_level_hits += 1;
        let n = self.machine.numbers();
        n.second_load.saturating_sub(n.load)
    }

    /// Does the same as [`promote`](Self::promote), for a line that the core may not have.
    pub(super) fn promote_if_here(&mut self, core_line: u32) -> u64 {
        let is_here = self.core_lines[core_line as usize].state == State::Modified;
        if is_here { self.promote(core_line) } else { 0 }
    }

    #[cold]
    fn insert_into_core(&mut self, core_line: u32) {
        let CoreLine { line, core, .. } = self.core_lines[core_line as usize];
        if self.capacity.inclusive {
            let domain = self.domain_of(core);
            self.insert_into_last_level(line, domain);
        }
        if self.core_lines[core_line as usize].second == NOWHERE {
            self.shrink_second(core, 1);
            let place = self.capacity.second[core as usize].push(core_line);
            self.core_lines[core_line as usize].second = place;
        }
        if self.core_lines[core_line as usize].first == NOWHERE {
            self.insert_into_first(core_line);
        }
    }

    fn insert_into_first(&mut self, core_line: u32) {
        let core = self.core_lines[core_line as usize].core;
        while self.capacity.first[core as usize].lines.len()
            >= self.capacity.first[core as usize].room
        {
            let lines = self.capacity.first[core as usize].lines.len() as u64;
            let place = self.capacity.random.below(lines) as usize;
            let other = self.capacity.first[core as usize].lines[place];
            self.evict_from_first(other);
        }
        let place = self.capacity.first[core as usize].push(core_line);
        self.core_lines[core_line as usize].first = place;
    }

    fn evict_from_first(&mut self, core_line: u32) {
        let cache = &mut self.core_lines[core_line as usize];
        let place = std::mem::replace(&mut cache.first, NOWHERE);
        if place == NOWHERE {
            return;
        }
        if let Some(moved) = self.capacity.first[cache.core as usize].remove(place) {
            self.core_lines[moved as usize].first = place;
        }
    }

    /// Evicts lines until the core's second level has room for `more`.
    fn shrink_second(&mut self, core: u16, more: usize) {
        loop {
            let Cache { room, lines } = &self.capacity.second[core as usize];
            if lines.len().saturating_add(more) <= *room {
                return;
            }
            let lines = lines.len() as u64;
            let Some(place) = self.draw(lines, |engine, place| {
                engine.may_leave_core(engine.capacity.second[core as usize].lines[place as usize])
            }) else {
                return;
            };
            self.evict_from_core(self.capacity.second[core as usize].lines[place as usize]);
        }
    }

    /// Draws one of `lines` places for which `may_leave` returns `true`.
    fn draw(&mut self, lines: u64, may_leave: impl Fn(&Engine, u64) -> bool) -> Option<u64> {
        let mut place = 0;
        for _ in 0..DRAWS.min(lines as u32) {
            place = self.capacity.random.below(lines);
            if may_leave(self, place) {
                return Some(place);
            }
        }
        (place..lines).chain(0..place).find(|&place| may_leave(self, place))
    }

    /// Returns `true` if nothing is under way at the core that needs the line to stay there.
    pub(super) fn may_leave_core(&self, core_line: u32) -> bool {
        let cache = &self.core_lines[core_line as usize];
        if cache.miss != Miss::None || !cache.waiters.is_empty() {
            return false;
        }
        match cache.state {
            State::Invalid => true,
            State::Shared => cache.invalidations == 0,
            State::Modified => {
                let domain = self.domain_of(cache.core);
                let agent = self.directory.agent(cache.line, domain);
                cache.parked_snoop.is_none()
                    && cache.locked_until <= self.now()
                    // No snoop is in flight. Otherwise the agent would already record another
                    // owner, or none.
                    && agent.owner() == Some(cache.core)
            }
        }
    }

    /// Evicts the line from the core. From now on its agent supplies it.
    fn evict_from_core(&mut self, core_line: u32) {
        let CoreLine { line, core, .. } = self.core_lines[core_line as usize];
        let domain = self.domain_of(core);
        let bit = self.places.bit(core);
        self.evict_from_first(core_line);
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        let place = std::mem::replace(&mut cache.second, NOWHERE);
        let state = std::mem::replace(&mut cache.state, State::Invalid);
        cache.changed_at = now;
        if place != NOWHERE
            && let Some(moved) = self.capacity.second[core as usize].remove(place)
        {
            self.core_lines[moved as usize].second = place;
        }
        if state == State::Invalid {
            return;
        }
        self.ledger.count().evictions += 1;
        if self.observer.is_some() && state == State::Modified {
            self.tell_line_of(core_line);
        }
        let agent = self.directory.agent_mut(line, domain);
        let was_last = agent.remove_core(bit, state == State::Modified);
        self.ledger.count().write_backs += u64::from(state == State::Modified);
        self.wake_sleepers(core_line, None);
        if was_last && !self.capacity.inclusive {
            self.insert_into_last_level(line, domain);
        }
    }

    /// Adds the line to the domain's last-level cache, if it is not there.
    fn insert_into_last_level(&mut self, line: u32, domain: u16) {
        if self.directory.agent(line, domain).place() != NOWHERE {
            return;
        }
        // Make room first, so that the line cannot evict itself.
        self.shrink_last_level(domain, 1);
        let place = self.capacity.last[domain as usize].cache.push(line);
        self.directory.agent_mut(line, domain).set_place(place);
    }

    /// Evicts lines until the domain's last level has room for `more`.
    fn shrink_last_level(&mut self, domain: u16, more: usize) {
        loop {
            let LastLevel { cache, cached, .. } = &self.capacity.last[domain as usize];
            let (lines, cached) = (cache.lines.len() as u64, *cached);
            if lines.saturating_add(cached).saturating_add(more as u64) <= cache.room as u64 {
                return;
            }
            // Indices below `cached` are the lines that no thread has touched.
            let Some(place) = self.draw(cached + lines, |engine, place| {
                place < cached || {
                    let lines = &engine.capacity.last[domain as usize].cache.lines;
                    engine.may_leave_domain(lines[(place - cached) as usize], domain)
                }
            }) else {
                return;
            };
            let last = &mut self.capacity.last[domain as usize];
            if place < cached {
                last.cached -= 1;
            } else {
                let line = last.cache.lines[(place - cached) as usize];
                self.evict_from_last_level(line, domain);
            }
        }
    }

    /// Returns `true` if nothing is under way in the domain, or towards it, that needs the line in
    /// its last-level cache.
    fn may_leave_domain(&self, line: u32, domain: u16) -> bool {
        let entry = self.directory.line(line);
        let agent = self.directory.agent(line, domain);
        if !self.capacity.inclusive && agent.is_held() {
            // The domain's cores keep the line.
            return true;
        }
        let idle = entry.is_idle() && agent.is_idle();
        idle && self.core_lines_in(line, domain).all(|core_line| self.may_leave_core(core_line))
    }

    /// Returns the domain's core lines that have the line, wait for it, or have a place for it.
    fn core_lines_in(&self, line: u32, domain: u16) -> impl Iterator<Item = u32> {
        self.directory.line(line).known_core_lines().filter(move |&core_line| {
            let cache = &self.core_lines[core_line as usize];
            self.domain_of(cache.core) == domain
                && (cache.state != State::Invalid
                    || cache.second != NOWHERE
                    || cache.miss != Miss::None)
        })
    }

    /// Evicts the line from the domain's last-level cache.
    fn evict_from_last_level(&mut self, line: u32, domain: u16) {
        let place = self.directory.agent_mut(line, domain).set_place(NOWHERE);
        if place != NOWHERE
            && let Some(moved) = self.capacity.last[domain as usize].cache.remove(place)
        {
            self.directory.agent_mut(moved, domain).set_place(place);
        }
        if self.capacity.inclusive {
            let core_lines: Vec<u32> = self.core_lines_in(line, domain).collect();
            for core_line in core_lines {
                self.evict_from_core(core_line);
            }
        }
        let domains = self.places.domains();
        let (entry, agent) = self.directory.line_and_agent(line, domain);
        let Some(had) = agent.leave_domain(domains) else { return };
        self.ledger.count().last_level_evictions += 1;
        if had == State::Modified && entry.clean() {
            self.ledger.count().memory_writes += 1;
        }
    }

    /// Counts the lines that were laid out since the last call.
    fn count_laid_out(&mut self, home: u16) {
        let laid_out = self.arena.laid_out(home);
        let last = &mut self.capacity.last[home as usize];
        let more = laid_out - std::mem::replace(&mut last.laid_out, laid_out);
        last.untouched += more;
        let room = (last.cache.room as u64).saturating_sub(last.cache.lines.len() as u64);
        last.cached = last.cached.saturating_add(more).min(room.max(last.cached));
    }

    /// Draws whether a line is in its home's cache. The line was laid out in `home` before threads
    /// ran, and is used for the first time now.
    pub(super) fn draw_if_cached(&mut self, home: u16) -> bool {
        self.count_laid_out(home);
        let last = &mut self.capacity.last[home as usize];
        let (untouched, cached) = (last.untouched, last.cached);
        last.untouched = untouched.saturating_sub(1);
        if cached == untouched {
            last.cached = last.untouched;
            return true;
        }
        let is_cached = self.capacity.random.below(untouched) < cached;
        self.capacity.last[home as usize].cached -= u64::from(is_cached);
        is_cached
    }

    /// Empties all caches, except of lines where something is under way. This includes lines
    /// that no thread has touched.
    pub(crate) fn empty_caches(&mut self) {
        for domain in 0..self.places.domains() as u16 {
            self.count_laid_out(domain);
            self.capacity.last[domain as usize].cached = 0;
        }
        for line in 0..self.directory.lines() {
            let core_lines: Vec<u32> = self.directory.line(line).known_core_lines().collect();
            for core_line in core_lines {
                if self.may_leave_core(core_line) {
                    self.evict_from_core(core_line);
                }
            }
            for domain in 0..self.places.domains() as u16 {
                if self.may_leave_domain(line, domain) {
                    self.evict_from_last_level(line, domain);
                }
            }
            if !self.directory.is_anywhere(line) {
                self.directory.line_mut(line).leave_home();
            }
        }
    }

    /// Evicts the lines that exceed the caches' capacity. Every line may leave when nothing is
    /// under way.
    pub(crate) fn settle_caches(&mut self) {
        for core in 0..self.capacity.second.len() as u16 {
            self.shrink_second(core, 0);
        }
        for domain in 0..self.places.domains() as u16 {
            self.shrink_last_level(domain, 0);
        }
    }
}
