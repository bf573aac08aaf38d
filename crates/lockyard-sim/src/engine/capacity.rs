//! Caches that hold so many lines: who has room, who gives way, and what is in memory only.
//!
//! ```text
//!   core      first level  ⊆  second level      every valid line of a core is in its second level
//!   complex   last level   ⊇  second levels     if it is inclusive: what it gives up its cores lose too
//!             last level   ←  second levels     if not: it takes what the last of its cores gives up
//!   machine   memory at the line's home         what no complex has
//! ```
//!
//! Replacement is random, over the whole cache: a line that comes takes the place of a random other one, drawn from a stream of
//! random numbers of its own, so that a run whose lines all fit is the run of a machine whose caches hold everything.
//! What gives way is written back if it was modified, and its agent knows at once: the message costs nobody any time, as the
//! core that evicts does not wait for it. A line at which something is under way (a miss, a locked operation, a snoop, an
//! invalidation, a thread that waits) does not give way. If no other does, the cache holds more for the moment,
//! as fill buffers do.
//!
//! A line that is taken from a core keeps its place there until it gives way: invalid places are not preferred.
//!
//! What was laid out before threads run was written by somebody: it is in its home's last-level cache, as far as that
//! holds it. Which lines those are is drawn when they are first touched: of `untouched` lines of a home `cached` are in its cache,
//! so that one is with the probability `cached / untouched`. When another line needs room the cache's own lines and those are
//! drawn from together. So a million objects cost nothing until they are used. Memory that a running thread gets is in no cache.

use super::Engine;
use super::line::{Miss, State, View};
use crate::machine::Machine;
use crate::random::Random;

/// The place of a line that is not in a cache.
pub(super) const NOWHERE: u32 = u32::MAX;

/// So often a line that may give way is drawn before all are looked at.
const DRAWS: u32 = 8;

/// The lines of one cache, in any order: in a last level by their numbers, in a core's levels by those of the core's views of them.
struct Cache {
    /// How many it holds.
    room: usize,
    lines: Vec<u32>,
}

impl Cache {
    fn new(kib: f64, line_bytes: usize) -> Self {
        let lines = (kib * 1024.0) as usize / line_bytes;
        let room = if kib == 0.0 { usize::MAX } else { lines.max(1) };
        Cache { room, lines: Vec::new() }
    }

    fn holds_everything(&self) -> bool {
        self.room == usize::MAX
    }

    /// Takes `line` in; returns its place.
    fn push(&mut self, line: u32) -> u32 {
        if self.holds_everything() {
            return 0;
        }
        self.lines.push(line);
        (self.lines.len() - 1) as u32
    }

    /// Gives up the line at `place`; returns the line that is there now, which was the last one.
    fn remove(&mut self, place: u32) -> Option<u32> {
        if self.holds_everything() {
            return None;
        }
        self.lines.swap_remove(place as usize);
        self.lines.get(place as usize).copied()
    }
}

/// The last-level cache of a complex.
struct LastLevel {
    cache: Cache,
    /// Lines that were laid out in this home before threads ran, and not touched since.
    untouched: u64,
    /// How many of those are in the cache.
    cached: u64,
    /// How many were laid out when they were counted last.
    laid_out: u64,
}

/// The caches of the machine.
pub(super) struct Capacity {
    random: Random,
    /// Of each core.
    first: Vec<Cache>,
    /// Of each core.
    second: Vec<Cache>,
    /// Of each complex.
    last: Vec<LastLevel>,
    /// The last level has all that its cores have.
    inclusive: bool,
}

impl Capacity {
    pub(super) fn new(machine: &Machine, seed: u64) -> Self {
        let n = machine.numbers();
        let bytes = machine.line_bytes();
        let last = |_| LastLevel {
            cache: Cache::new(n.shared_kib, bytes),
            untouched: 0,
            cached: 0,
            laid_out: 0,
        };
        Capacity {
            random: Random::new(seed ^ 0xcac4e),
            first: (0..machine.cores()).map(|_| Cache::new(n.first_kib, bytes)).collect(),
            second: (0..machine.cores()).map(|_| Cache::new(n.second_kib, bytes)).collect(),
            last: (0..machine.complexes()).map(last).collect(),
            inclusive: n.shared_inclusive > 0,
        }
    }
}

impl Engine {
    /// The line comes to a core, which has it from now on.
    #[inline]
    pub(super) fn makes_room(&mut self, view: u32) {
        let cache = &self.views[view as usize];
        if cache.first == NOWHERE || cache.second == NOWHERE {
            self.enters_core(view);
        }
    }

    /// A load or a locked operation finds the line at its core: what it costs more, if the line is not in the first level. It
    /// is from now on.
    #[inline]
    pub(super) fn comes_nearer(&mut self, view: u32) -> u64 {
        let is_near = self.views[view as usize].first != NOWHERE;
        if is_near { 0 } else { self.comes_from_second(view) }
    }

    #[cold]
    fn comes_from_second(&mut self, view: u32) -> u64 {
        self.enters_first(view);
        self.statistics.second_level_hits += 1;
        let n = self.machine.numbers();
        n.second_load.saturating_sub(n.load)
    }

    /// A core's view of the line of `address`, if that was used before: only then does it cost more than its miss.
    pub(super) fn view_if_used(&self, address: usize, core: u16) -> Option<u32> {
        let line = self.places.line(address - self.arena.base());
        let line = self.line_of.get(line).filter(|&&line| line != u32::MAX);
        line.and_then(|&line| self.lines[line as usize].view(core))
    }

    /// As [`comes_nearer`](Self::comes_nearer), of a line that the core may not have.
    pub(super) fn comes_nearer_if_here(&mut self, view: u32) -> u64 {
        let is_here = self.views[view as usize].state == State::Modified;
        if is_here { self.comes_nearer(view) } else { 0 }
    }

    #[cold]
    fn enters_core(&mut self, view: u32) {
        let View { line, core, .. } = self.views[view as usize];
        if self.capacity.inclusive {
            let domain = self.domain_of(core);
            self.enters_last_level(line, domain);
        }
        if self.views[view as usize].second == NOWHERE {
            self.shrink_second(core, 1);
            let place = self.capacity.second[core as usize].push(view);
            self.views[view as usize].second = place;
        }
        if self.views[view as usize].first == NOWHERE {
            self.enters_first(view);
        }
    }

    fn enters_first(&mut self, view: u32) {
        let core = self.views[view as usize].core;
        while self.capacity.first[core as usize].lines.len()
            >= self.capacity.first[core as usize].room
        {
            let lines = self.capacity.first[core as usize].lines.len() as u64;
            let place = self.capacity.random.below(lines) as usize;
            let other = self.capacity.first[core as usize].lines[place];
            self.leaves_first(other);
        }
        let place = self.capacity.first[core as usize].push(view);
        self.views[view as usize].first = place;
    }

    fn leaves_first(&mut self, view: u32) {
        let cache = &mut self.views[view as usize];
        let place = std::mem::replace(&mut cache.first, NOWHERE);
        if place == NOWHERE {
            return;
        }
        if let Some(moved) = self.capacity.first[cache.core as usize].remove(place) {
            self.views[moved as usize].first = place;
        }
    }

    /// Lets lines give way until the core's second level has room for `more`.
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
            self.leaves_core(self.capacity.second[core as usize].lines[place as usize]);
        }
    }

    /// A random one of `lines` places at which `may_leave` holds.
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

    /// Whether nothing is under way at the core that needs the line there.
    pub(super) fn may_leave_core(&self, view: u32) -> bool {
        let cache = &self.views[view as usize];
        if cache.miss != Miss::None || !cache.waiters.is_empty() {
            return false;
        }
        match cache.state {
            State::Invalid => true,
            State::Shared => cache.invalidations == 0,
            State::Modified => {
                let domain = self.domain_of(cache.core);
                let agent = &self.lines[cache.line as usize].agents[domain as usize];
                cache.parked_snoop.is_none()
                    && cache.locked_until <= self.now()
                    // No snoop is on its way: with it, the agent notes another owner, or none.
                    && agent.owner == Some(cache.core)
            }
        }
    }

    /// The line gives way at the core: its agent has it from now on.
    fn leaves_core(&mut self, view: u32) {
        let View { line, core, .. } = self.views[view as usize];
        let domain = self.domain_of(core);
        let bit = self.places.bit(core);
        self.leaves_first(view);
        let now = self.now();
        let cache = &mut self.views[view as usize];
        let place = std::mem::replace(&mut cache.second, NOWHERE);
        let state = std::mem::replace(&mut cache.state, State::Invalid);
        cache.changed_at = now;
        if place != NOWHERE
            && let Some(moved) = self.capacity.second[core as usize].remove(place)
        {
            self.views[moved as usize].second = place;
        }
        if state == State::Invalid {
            return;
        }
        self.statistics.evictions += 1;
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        if state == State::Modified {
            agent.owner = None;
            self.statistics.write_backs += 1;
        }
        agent.sharers &= !bit;
        let was_last = agent.owner.is_none() && agent.sharers == 0;
        self.wake_sleepers(view, None);
        if was_last && !self.capacity.inclusive {
            self.enters_last_level(line, domain);
        }
    }

    /// The last-level cache of the domain takes the line in, if it has not got it.
    fn enters_last_level(&mut self, line: u32, domain: u16) {
        if self.lines[line as usize].agents[domain as usize].place != NOWHERE {
            return;
        }
        // It is not to give way to itself.
        self.shrink_last_level(domain, 1);
        let place = self.capacity.last[domain as usize].cache.push(line);
        self.lines[line as usize].agents[domain as usize].place = place;
    }

    /// Lets lines give way until the domain's last level has room for `more`.
    fn shrink_last_level(&mut self, domain: u16, more: usize) {
        loop {
            let LastLevel { cache, cached, .. } = &self.capacity.last[domain as usize];
            let (lines, cached) = (cache.lines.len() as u64, *cached);
            if lines.saturating_add(cached).saturating_add(more as u64) <= cache.room as u64 {
                return;
            }
            // The lines that nobody has touched come first.
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
                self.leaves_last_level(line, domain);
            }
        }
    }

    /// Whether nothing is under way in the domain, or towards it, that needs the line in its last-level cache.
    fn may_leave_domain(&self, line: u32, domain: u16) -> bool {
        let entry = &self.lines[line as usize];
        let agent = &entry.agents[domain as usize];
        if !self.capacity.inclusive && (agent.owner.is_some() || agent.sharers != 0) {
            // Its cores keep it.
            return true;
        }
        let idle = !entry.home_busy
            && entry.home_queue.is_empty()
            && !agent.busy
            && agent.queue.is_empty()
            && agent.awaiting_grant.is_none();
        idle && self.views_in(line, domain).all(|view| self.may_leave_core(view))
    }

    /// The views of the cores of the domain that have the line, or wait for it, or have a place for it.
    fn views_in(&self, line: u32, domain: u16) -> impl Iterator<Item = u32> {
        self.lines[line as usize].made_views().filter(move |&view| {
            let cache = &self.views[view as usize];
            self.domain_of(cache.core) == domain
                && (cache.state != State::Invalid
                    || cache.second != NOWHERE
                    || cache.miss != Miss::None)
        })
    }

    /// The line gives way in the domain's last-level cache.
    fn leaves_last_level(&mut self, line: u32, domain: u16) {
        let agent = &mut self.lines[line as usize].agents[domain as usize];
        let place = std::mem::replace(&mut agent.place, NOWHERE);
        if place != NOWHERE
            && let Some(moved) = self.capacity.last[domain as usize].cache.remove(place)
        {
            self.lines[moved as usize].agents[domain as usize].place = place;
        }
        if self.capacity.inclusive {
            let views: Vec<u32> = self.views_in(line, domain).collect();
            for view in views {
                self.leaves_core(view);
            }
        }
        let domains = self.places.domains();
        let entry = &mut self.lines[line as usize];
        let agent = &mut entry.agents[domain as usize];
        if agent.owner.is_some() || agent.sharers != 0 || agent.permission == State::Invalid {
            return;
        }
        self.statistics.last_level_evictions += 1;
        if agent.permission == State::Modified && std::mem::take(&mut entry.dirty) {
            self.statistics.memory_writes += 1;
        }
        if domains == 1 {
            agent.in_memory = true;
        } else {
            agent.permission = State::Invalid;
        }
    }

    /// Counts what was laid out since the last time.
    fn count_laid_out(&mut self, home: u16) {
        let laid_out = self.arena.laid_out(home);
        let last = &mut self.capacity.last[home as usize];
        let more = laid_out - std::mem::replace(&mut last.laid_out, laid_out);
        last.untouched += more;
        let room = (last.cache.room as u64).saturating_sub(last.cache.lines.len() as u64);
        last.cached = last.cached.saturating_add(more).min(room.max(last.cached));
    }

    /// A line of this home, laid out before threads ran, is used for the first time: whether it is in its home's cache.
    pub(super) fn is_cached_at_first(&mut self, home: u16) -> bool {
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

    /// Empties all caches of all lines at which nothing is under way, and of those that nobody has touched.
    pub(crate) fn empty_caches(&mut self) {
        for domain in 0..self.places.domains() as u16 {
            self.count_laid_out(domain);
            self.capacity.last[domain as usize].cached = 0;
        }
        for line in 0..self.lines.len() as u32 {
            let views: Vec<u32> = self.lines[line as usize].made_views().collect();
            for view in views {
                if self.may_leave_core(view) {
                    self.leaves_core(view);
                }
            }
            for domain in 0..self.places.domains() as u16 {
                if self.may_leave_domain(line, domain) {
                    self.leaves_last_level(line, domain);
                }
            }
            let entry = &mut self.lines[line as usize];
            if entry.agents.iter().all(|agent| agent.permission == State::Invalid) {
                entry.at_home = false;
            }
        }
    }

    /// Evicts what is beyond the caches' room: when nothing is under way, nothing keeps a line.
    pub(crate) fn settle_caches(&mut self) {
        for core in 0..self.capacity.second.len() as u16 {
            self.shrink_second(core, 0);
        }
        for domain in 0..self.places.domains() as u16 {
            self.shrink_last_level(domain, 0);
        }
    }

    /// Whether the caches and the lines agree on who has what, and no cache has more than it holds.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(super) fn check_caches(&self) -> Result<(), String> {
        for (level, caches) in [(1, &self.capacity.first), (2, &self.capacity.second)] {
            for (core, cache) in caches.iter().enumerate() {
                if cache.lines.len() > cache.room {
                    return Err(format!("core {core}: level {level} has more than it holds"));
                }
                for (place, &view) in cache.lines.iter().enumerate() {
                    let entry = &self.views[view as usize];
                    let said = if level == 1 { entry.first } else { entry.second };
                    let is_there = said == place as u32 && entry.second != NOWHERE;
                    if !is_there || entry.core as usize != core {
                        let line = entry.line;
                        return Err(format!("core {core}: level {level} has lost line {line}"));
                    }
                }
            }
        }
        for (domain, last) in self.capacity.last.iter().enumerate() {
            let lines = &last.cache.lines;
            if lines.len() as u64 + last.cached > last.cache.room as u64 {
                return Err(format!("complex {domain}: the last level has more than it holds"));
            }
            let lost = |(place, &line): (usize, &u32)| {
                self.lines[line as usize].agents[domain].place != place as u32
            };
            if lines.iter().enumerate().any(lost) {
                return Err(format!("complex {domain}: the last level has lost a line"));
            }
        }
        for (number, line) in self.lines.iter().enumerate() {
            for cache in line.made_views().map(|view| &self.views[view as usize]) {
                let core = cache.core;
                let domain = self.domain_of(core) as usize;
                if cache.state != State::Invalid && cache.second == NOWHERE {
                    return Err(format!("line {number}: core {core} has it in no cache"));
                }
                let agent = &line.agents[domain];
                let is_owner = agent.owner == Some(core);
                let shares = agent.sharers & self.places.bit(core) != 0;
                if is_owner != (cache.state == State::Modified)
                    || shares != (cache.state == State::Shared)
                {
                    return Err(format!(
                        "line {number}: what core {core} has is not what its agent notes"
                    ));
                }
                let held = !self.capacity.inclusive || line.agents[domain].place != NOWHERE;
                if cache.second != NOWHERE && !held {
                    return Err(format!("line {number}: core {core} has what its complex lacks"));
                }
            }
        }
        Ok(())
    }
}
