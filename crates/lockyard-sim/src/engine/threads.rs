//! The threads: what each operation does at its core, the store buffer, waiting and parking.

use super::accounting::Phase;
use super::coroutine::Progress;
use super::event::Event;
use super::line::{State, Waiter};
use super::schedule::Whereabouts;
use super::{Engine, Fate, Noted, Op, Pause, Rmw, Thread};
use crate::shared;

/// What a thread is doing, for siblings and for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Running,
    /// Waits for a line, for its store buffer, asleep in a wait, parked, or in a pause: the core is its
    /// siblings'.
    Yielding,
    /// Its code has returned; stores are still in its buffer.
    Draining,
    Finished,
}

impl Engine {
    /// Lets the thread's code run until its next operation.
    #[inline(always)]
    pub(super) fn resume(&mut self, thread: u32, value: u64) {
        if self.schedule.is_some() && !self.goes_on(thread, value) {
            return;
        }
        self.works(thread);
        let now = self.now();
        let entry = &mut self.threads[thread as usize];
        let Thread { coroutine, op, doing, waited, ahead, .. } = entry;
        let Some(coroutine) = coroutine else { return };
        let code = || coroutine.resume(value);
        self.shared.set_stalled(*waited, ahead.hidden());
        let (progress, does) = self.shared.while_running(thread, now, *doing, op, code);
        let differs = entry.doing != does;
        if matches!(progress, Progress::Suspended) {
            entry.location = self.shared.location();
            entry.ahead.begins(now);
        }
        if differs {
            self.does(thread, does);
        }
        match progress {
            Progress::Suspended => {
                self.note(thread);
                if self.machine.numbers().exclusive_loads > 0 {
                    self.follows(thread);
                }
                self.execute(thread);
            }
            Progress::Finished => self.returned(thread),
            Progress::Panicked(message) => {
                self.returned(thread);
                self.fails(Fate::Panicked { thread, message });
            }
        }
    }

    /// The code of a thread has returned.
    fn returned(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        entry.coroutine.take().expect("it has just returned").recycle();
        self.becomes(thread, Activity::Draining);
        self.spends(thread, None, None);
        self.finish_if_drained(thread);
        self.ends(thread);
    }

    /// The code of a thread has returned: its CPU is free.
    fn ends(&mut self, thread: u32) {
        if self.schedule.is_some() {
            self.gives_up(thread, Whereabouts::Gone);
        }
    }

    /// A thread whose code has returned is finished when its stores are in memory.
    fn finish_if_drained(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        if entry.activity == Activity::Draining && entry.stores.is_empty() {
            let core = entry.core;
            self.becomes(thread, Activity::Finished);
            self.shares_reach(core);
            self.live -= 1;
            self.over |= self.live == 0;
        }
    }

    /// Counts the operation that the thread has just asked for, and mixes it into the run's hash.
    #[inline(always)]
    fn note(&mut self, thread: u32) {
        let Noted { kind, place, value } = self.shared.noted();
        self.statistics.platform_operations += 1;
        self.statistics.loads += u64::from(kind == Noted::LOAD);
        for word in [self.wheel.now(), u64::from(thread) << 8 | kind, place, value] {
            self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    /// Begins an operation, or goes on with one that waited. (Each has a room of its own, so that it keeps no more than it needs.)
    pub(super) fn execute(&mut self, thread: u32) {
        match self.threads[thread as usize].op.get() {
            Op::Load { address, mask, poll } => self.load(thread, address, mask, poll),
            Op::Store { address, mask, value } => self.begin_store(thread, address, mask, value),
            Op::Rmw { address, .. } => self.begin_rmw(thread, address),
            Op::Work { cycles, behind_entry } => self.work(thread, cycles, behind_entry),
            Op::Pause(pause) => self.pause(thread, pause),
            _ => self.execute_other(thread),
        }
    }

    #[inline(never)]
    fn begin_store(&mut self, thread: u32, address: usize, mask: u64, value: u64) {
        let now = self.now();
        let entry = &mut self.threads[thread as usize];
        if entry.stores.len() as u64 >= self.machine.numbers().store_buffer {
            entry.stalled = true;
            self.waits_for_stores(thread);
            return;
        }
        entry.stores.push_back((address, mask, value));
        self.statistics.stores += 1;
        self.at(now + 1, Event::Resume { thread, value: 0 });
        if self.machine.numbers().early_stores > 0 {
            self.asks_early(thread, address);
        }
        self.drain(thread);
    }

    #[inline(never)]
    fn work(&mut self, thread: u32, cycles: u64, behind_entry: bool) {
        if behind_entry {
            self.starts_over(thread);
        }
        let left = self.left_of(thread, cycles);
        self.begin_work(thread, left);
    }

    #[inline(never)]
    fn pause(&mut self, thread: u32, pause: Pause) {
        let n = self.machine.numbers();
        let cycles = match pause {
            Pause::Instruction => n.pause,
            Pause::Yield if self.schedule.is_some() && self.steps_back(thread) => return,
            Pause::Yield => self.machine.numbers().wakeup,
        };
        self.starts_over(thread);
        self.waits(thread, Phase::Waiting, None);
        self.at(self.now() + cycles, Event::Resume { thread, value: 0 });
    }

    /// Begins an operation of which a run has few.
    #[inline(never)]
    fn execute_other(&mut self, thread: u32) {
        let now = self.now();
        let index = thread as usize;
        match self.threads[index].op.get() {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Rmw { .. }
            | Op::Work { .. }
            | Op::Pause(_) => {
                unreachable!("it has a room of its own")
            }
            Op::Fence => {
                self.starts_over(thread);
                if self.threads[index].stores.is_empty() {
                    // About what a locked operation costs that has its line.
                    let n = self.machine.numbers();
                    let cost = n.rmw_before_lock + n.rmw_lock;
                    self.at(now + cost, Event::Resume { thread, value: 0 });
                } else {
                    self.threads[index].stalled = true;
                    self.waits_for_stores(thread);
                }
            }
            Op::Sleep { address, mask, seen, deadline } => {
                self.starts_over(thread);
                self.sleep(thread, address, mask, seen, deadline);
            }
            // The host's locks are read-modify-writes: the thread's stores are in memory first.
            Op::Park { .. } | Op::Unpark { .. } | Op::WaitForOthers
                if !self.threads[index].stores.is_empty() =>
            {
                self.threads[index].stalled = true;
                self.waits_for_stores(thread);
            }
            Op::Park { word, expected, timeout } => {
                self.starts_over(thread);
                self.park(thread, word, expected, timeout);
            }
            Op::Unpark { word, count } => self.unpark(thread, word, count),
            Op::WaitForOthers => {
                self.starts_over(thread);
                self.wait_for_others(thread);
            }
            Op::Fatal(message) => self.fails(Fate::Fatal { thread, message }),
        }
    }

    /// The word at `address` as the thread sees it: memory, with its own buffered stores.
    fn value(&self, thread: u32, address: usize) -> u64 {
        let mut value = self.arena.read(address);
        for &(stored, mask, bits) in &self.threads[thread as usize].stores {
            if stored == address {
                value = (value & !mask) | (bits & mask);
            }
        }
        value
    }

    #[inline(never)]
    fn load(&mut self, thread: u32, address: usize, mask: u64, poll: bool) {
        let now = self.now();
        let core = self.threads[thread as usize].core;
        let line = self.line_index(address);
        let cost = self.machine.numbers().load;
        let buffered = self.threads[thread as usize]
            .stores
            .iter()
            .filter(|&&(stored, ..)| stored == address)
            .fold(0, |all, &(_, mask, _)| all | mask);
        if mask != 0 && buffered & mask == mask {
            // Forwarded from the store buffer: the line is not needed.
            let value = self.value(thread, address);
            self.looked(thread, now + cost, poll);
            self.at(now + cost, Event::Resume { thread, value });
            return;
        }
        if !poll && self.loaded_early(thread, line) {
            self.found(thread, line, address);
            let value = self.value(thread, address);
            self.at(now, Event::Resume { thread, value });
            return;
        }
        let exclusive = self.machine.numbers().exclusive_loads > 0 && !poll && {
            self.fetches_exclusively(thread, line)
        };
        let view = self.view(line, core);
        if self.views[view as usize].state == State::Invalid {
            self.statistics.load_misses += 1;
            self.missed(thread, line, address, poll);
            self.threads[thread as usize].pending = true;
            self.attach(thread, view, exclusive, false);
        } else if self.is_held(thread, view, now) {
            // By a sibling's locked operation, or by the turn after one.
            self.views[view as usize].waiters.push(Waiter { thread, store: false });
            self.threads[thread as usize].pending = true;
            self.waits_for(thread, line);
        } else {
            self.found(thread, line, address);
            let cost = cost + self.comes_nearer(view);
            let value = self.value(thread, address);
            self.looked(thread, now + cost, poll);
            self.at(now + cost, Event::Resume { thread, value });
        }
    }

    /// A load completes at `end`.
    fn looked(&mut self, thread: u32, end: u64, poll: bool) {
        if poll { self.starts_over(thread) } else { self.ran_ahead(thread, end) }
    }

    #[inline(never)]
    fn begin_rmw(&mut self, thread: u32, address: usize) {
        let now = self.now();
        let before_lock = self.machine.numbers().rmw_before_lock;
        let entry = &mut self.threads[thread as usize];
        if !entry.stores.is_empty() {
            entry.stalled = true;
            self.waits_for_stores(thread);
            return;
        }
        let core = entry.core;
        let view = self.view_if_used(address, core);
        let before_lock = before_lock + view.map_or(0, |view| self.comes_nearer_if_here(view));
        if before_lock > 0 {
            self.at(now + before_lock, Event::Lock { thread, view });
        } else {
            self.lock(thread, view);
        }
    }

    /// The unlocked part of a read-modify-write is done; `view`: its core's view of the line, if that was made.
    pub(super) fn lock(&mut self, thread: u32, view: Option<u32>) {
        let now = self.now();
        let view = match view {
            Some(view) => view,
            None => self.view_for_rmw(thread),
        };
        if self.views[view as usize].state != State::Modified {
            self.threads[thread as usize].pending = true;
            self.attach(thread, view, true, false);
        } else if self.is_held(thread, view, now) {
            let cache = &mut self.views[view as usize];
            cache.waiters.push(Waiter { thread, store: false });
            let line = cache.line;
            self.threads[thread as usize].pending = true;
            self.waits_for(thread, line);
        } else {
            self.statistics.rmw_hits += 1;
            self.do_rmw(thread, view);
        }
    }

    /// The view that the thread's read-modify-write needs.
    #[cold]
    fn view_for_rmw(&mut self, thread: u32) -> u32 {
        let Thread { op, core, .. } = &self.threads[thread as usize];
        let (op, core) = (op.get(), *core);
        let Op::Rmw { address, .. } = op else { unreachable!("it is a read-modify-write") };
        let line = self.line_index(address);
        self.view(line, core)
    }

    /// The line is here, exclusively, and free: the read-modify-write happens now.
    pub(super) fn do_rmw(&mut self, thread: u32, view: u32) {
        let line = self.views[view as usize].line;
        let Op::Rmw { address, rmw } = self.threads[thread as usize].op.get() else { return };
        let now = self.now();
        self.statistics.rmws += 1;
        let old = self.arena.read(address);
        let (new, matched) = rmw.apply(old);
        self.touched(thread, line, address);
        let counts = &mut self.traces[line as usize].counts;
        counts.rmws += 1;
        match matched {
            Some(true) => {
                counts.exchanged += 1;
                self.statistics.compare_exchanges += 1;
                self.won(thread, line);
            }
            Some(false) => {
                counts.failed += 1;
                self.statistics.failed_compare_exchanges += 1;
                self.lost(thread, line);
            }
            None => {}
        }
        self.works(thread);
        self.arena.write(address, new);
        let end = now + self.machine.numbers().rmw_lock;
        let success = if let Rmw::Swap { .. } = rmw { Some(new != old) } else { matched };
        let wrongly = success.is_some_and(|success| self.guesses_wrongly(thread, success));
        if matched.is_some() {
            self.exchanged(thread, line, end, wrongly);
        } else {
            self.guessed(thread, line, end, wrongly);
        }
        let cache = &mut self.views[view as usize];
        cache.locked_until = end;
        // A turn that is over was not used: who waited for it would have gone first.
        if cache.last_thread != Some(thread) || cache.turn_at <= now {
            cache.last_thread = Some(thread);
            cache.turn_at = 0;
        }
        if new != old {
            self.wake_sleepers(view, Some(thread));
        }
        let redirect = self.machine.numbers().redirect;
        let entry = &mut self.threads[thread as usize];
        entry.locks = view;
        entry.redirect = if wrongly { redirect } else { 0 };
        self.at(end, Event::Unlock { thread, value: old });
    }

    /// The end of a thread's locked operation: the thread goes on with `value`. The line first: a parked snoop wins over the
    /// thread's next operation.
    pub(super) fn unlock(&mut self, thread: u32, value: u64) -> Option<u64> {
        let Thread { locks, redirect, .. } = &mut self.threads[thread as usize];
        let (locks, redirect) = (*locks, std::mem::take(redirect));
        self.lock_end(locks);
        // The line is free: only the thread waits for its instructions.
        if redirect > 0 && !self.over {
            let now = self.now();
            self.at(now + redirect, Event::Resume { thread, value });
            return None;
        }
        (!self.over).then_some(value)
    }

    /// Commits buffered stores, in order, as far as their lines are here; then lets an operation
    /// that waited for the buffer go on.
    pub(super) fn drain(&mut self, thread: u32) {
        let index = thread as usize;
        while !self.threads[index].store_waits {
            let Some(&(address, mask, bits)) = self.threads[index].stores.front() else { break };
            let line = self.line_index(address);
            let core = self.threads[index].core;
            let now = self.now();
            let view = self.view(line, core);
            if self.views[view as usize].state != State::Modified {
                self.threads[index].store_waits = true;
                self.attach(thread, view, true, true);
            } else if self.is_held(thread, view, now) {
                self.views[view as usize].waiters.push(Waiter { thread, store: true });
                self.threads[index].store_waits = true;
            } else {
                self.threads[index].stores.pop_front();
                // That it has to come nearer first costs the thread nothing.
                self.comes_nearer(view);
                self.touched(thread, line, address);
                let old = self.arena.read(address);
                let new = (old & !mask) | (bits & mask);
                self.arena.write(address, new);
                if new != old {
                    self.wake_sleepers(view, Some(thread));
                }
            }
        }
        let entry = &mut self.threads[index];
        let room = entry.stores.is_empty()
            || entry.stalled
                && matches!(entry.op.get(), Op::Store { .. })
                && (entry.stores.len() as u64) < self.machine.numbers().store_buffer;
        if room && std::mem::take(&mut entry.stalled) {
            self.works(thread);
            self.execute(thread);
        }
        self.finish_if_drained(thread);
    }

    /// A waiting loop saw `seen` and waits for something else: asleep until the line is taken away
    /// or changed.
    fn sleep(&mut self, thread: u32, address: usize, mask: u64, seen: u64, deadline: Option<u64>) {
        let now = self.now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            self.at(now, Event::Resume { thread, value: shared::DEADLINE });
            return;
        }
        let core = self.threads[thread as usize].core;
        let line = self.line_index(address);
        let as_seen = |&view: &u32| {
            self.views[view as usize].state != State::Invalid
                && self.value(thread, address) & mask == seen
        };
        let Some(view) = self.lines[line as usize].view(core).filter(as_seen) else {
            let n = self.machine.numbers();
            let period = n.pause + n.poll;
            let rest = self.random.below(period + 1);
            self.waits(thread, Phase::Waiting, Some(line));
            self.at(now + rest, Event::Resume { thread, value: shared::LOOK_AGAIN });
            return;
        };
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        entry.pending = true;
        let generation = entry.generation;
        self.waits(thread, Phase::Waiting, Some(line));
        self.views[view as usize].sleepers.push(thread);
        if let Some(deadline) = deadline {
            self.at(deadline, Event::Deadline { thread, generation });
        }
        if self.schedule.is_some() {
            self.begins_to_spin(thread, now);
        }
    }

    /// A sleeper's line was taken away: it looks again. Returns with what it goes on, if it does now.
    pub(super) fn wake(&mut self, thread: u32, generation: u32) -> Option<u64> {
        let entry = &mut self.threads[thread as usize];
        if entry.generation != generation
            || !matches!(entry.pending(), Some(Op::Sleep { .. } | Op::Park { .. }))
        {
            return None;
        }
        entry.pending = false;
        let parked = matches!(entry.op.get(), Op::Park { .. });
        self.woken(thread, parked, shared::LOOK_AGAIN)
    }

    /// A thread that slept in a waiting loop, or was parked, goes on with `value`; the parked one when it has a CPU.
    fn woken(&mut self, thread: u32, parked: bool, value: u64) -> Option<u64> {
        if parked && self.schedule.is_some() {
            self.can_run(thread, value, true);
            return None;
        }
        Some(value)
    }

    /// A sleeper's budget is spent, or a parked thread's time. Returns with what it goes on, if it does now.
    pub(super) fn deadline(&mut self, thread: u32, generation: u32) -> Option<u64> {
        let entry = &mut self.threads[thread as usize];
        if entry.generation != generation {
            return None;
        }
        match entry.pending() {
            Some(Op::Sleep { address, .. }) => {
                let core = entry.core;
                entry.pending = false;
                let line = self.line_index(address);
                let view = self.view(line, core);
                self.views[view as usize].sleepers.retain(|&t| t != thread);
                Some(shared::DEADLINE)
            }
            Some(Op::Park { word, .. }) => {
                entry.pending = false;
                self.parked.retain(|&(parked, t)| (parked, t) != (word, thread));
                self.woken(thread, true, shared::DEADLINE)
            }
            _ => None,
        }
    }

    /// The host compares and blocks in one step (its own lock's cost is not modelled).
    fn park(&mut self, thread: u32, word: usize, expected: u32, timeout: Option<u64>) {
        let now = self.now();
        let shift = (word % 8) * 8;
        if (self.arena.read(word & !7) >> shift) as u32 != expected {
            self.at(now, Event::Resume { thread, value: shared::LOOK_AGAIN });
            return;
        }
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        entry.pending = true;
        let generation = entry.generation;
        let line = self.line_index(word);
        self.waits(thread, Phase::Waiting, Some(line));
        self.parked.push((word, thread));
        if let Some(timeout) = timeout {
            self.at(now.saturating_add(timeout), Event::Deadline { thread, generation });
        }
        if self.schedule.is_some() {
            self.gives_up(thread, Whereabouts::Blocked);
        }
    }

    fn unpark(&mut self, thread: u32, word: usize, count: u32) {
        let now = self.now();
        let wakeup = self.machine.numbers().wakeup;
        let mut left = count;
        let mut woken = Vec::new();
        self.parked.retain(|&(parked, sleeper)| {
            let wake = parked == word && left > 0;
            if wake {
                left -= 1;
                woken.push(sleeper);
            }
            !wake
        });
        for sleeper in woken {
            let generation = self.threads[sleeper as usize].generation;
            self.at(now + wakeup, Event::Wake { thread: sleeper, generation });
        }
        self.at(now, Event::Resume { thread, value: 0 });
    }
}
