//! The threads: the effect of each operation at its core.

use super::accounting::phase::CyclePhase;
use super::activity::Activity;
use super::coroutine::Progress;
use super::event::Event;
use super::line::{State, Waiter};
use super::report::Fate;
use super::scheduler::Whereabouts;
use super::state::Engine;
use super::thread::Thread;
use crate::op::{Op, Pause, Rmw};

impl Engine {
    /// Runs the thread's code until its next operation.
    #[inline(always)]
    pub(super) fn resume(&mut self, thread: u32, value: u64) {
        if self.schedule.is_some() && !self.continue_or_leave(thread, value) {
            return;
        }
        self.start_working(thread);
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
            entry.ahead.begin(now);
        }
        if differs {
            self.start_doing(thread, does);
        }
        match progress {
            Progress::Suspended => {
                self.note(thread);
                if self.machine.numbers().exclusive_loads > 0 {
                    self.learn_follower(thread);
                }
                self.execute(thread);
            }
            Progress::Finished => self.finish_code(thread),
            Progress::Panicked(message) => {
                self.finish_code(thread);
                self.fail(Fate::Panicked { thread, message });
            }
        }
    }

    /// Handles the return of a thread's code.
    fn finish_code(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        entry.coroutine.take().expect("it has just returned").recycle();
        self.set_activity(thread, Activity::Draining);
        self.change_phase(thread, None, None);
        self.finish_if_drained(thread);
        self.free_cpu(thread);
    }

    /// Frees the CPU of a thread whose code has returned.
    fn free_cpu(&mut self, thread: u32) {
        if self.schedule.is_some() {
            self.release_cpu(thread, Whereabouts::Gone);
        }
    }

    /// Counts the operation that the thread has just requested, and adds it to the run's hash.
    #[inline(always)]
    fn note(&mut self, thread: u32) {
        self.ledger.operation(self.wheel.now(), thread, self.shared.noted());
    }

    /// Begins an operation, or continues one that waited. (Each operation has a separate function,
    /// so each needs only its own stack.)
    pub(super) fn execute(&mut self, thread: u32) {
        match self.threads[thread as usize].op.get() {
            Op::Load { address, mask, poll } => self.load(thread, address, mask, poll),
            Op::Store { address, mask, value } => self.begin_store(thread, address, mask, value),
            Op::Rmw { address, .. } => self.begin_rmw(thread, address),
            Op::Work { cycles, in_order } => self.work(thread, cycles, in_order),
            Op::Pause(pause) => self.pause(thread, pause),
            _ => self.execute_other(thread),
        }
    }

    #[inline(never)]
    fn work(&mut self, thread: u32, cycles: u64, in_order: bool) {
        if in_order {
            self.discard_run_ahead(thread);
        }
        let left = self.spend_run_ahead(thread, cycles);
        self.begin_work(thread, left);
    }

    #[inline(never)]
    fn pause(&mut self, thread: u32, pause: Pause) {
        let n = self.machine.numbers();
        let cycles = match pause {
            Pause::Instruction => n.pause,
            Pause::Yield if self.schedule.is_some() && self.yield_cpu(thread) => return,
            Pause::Yield => self.kernel.yields,
        };
        self.discard_run_ahead(thread);
        self.start_waiting(thread, CyclePhase::Waiting, None);
        self.at(self.now() + cycles, Event::Resume { thread, value: 0 });
    }

    /// Begins an operation of a rare kind.
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
                unreachable!("it has a place of its own")
            }
            Op::Fence => {
                self.discard_run_ahead(thread);
                if self.threads[index].stores.is_empty() {
                    // This is about the cost of a locked operation whose line is present.
                    let n = self.machine.numbers();
                    let cost = n.rmw_before_lock + n.rmw_lock;
                    self.at(now + cost, Event::Resume { thread, value: 0 });
                } else {
                    self.threads[index].stalled = true;
                    self.wait_for_stores(thread);
                }
            }
            Op::Sleep { address, mask, seen, deadline } => {
                self.discard_run_ahead(thread);
                self.sleep(thread, address, mask, seen, deadline);
            }
            // On a real host these calls take locks, which are read-modify-writes. So the thread's
            // stores reach memory first.
            Op::EnterBucket { .. } | Op::Park { .. } | Op::Unpark { .. } | Op::WaitForOthers
                if !self.threads[index].stores.is_empty() =>
            {
                self.threads[index].stalled = true;
                self.wait_for_stores(thread);
            }
            Op::EnterBucket { word, waits } => {
                self.discard_run_ahead(thread);
                self.enter_bucket(thread, word, waits);
            }
            Op::Park { word, expected, timeout } => {
                self.discard_run_ahead(thread);
                self.park(thread, word, expected, timeout);
            }
            Op::Unpark { word, count, since } => self.unpark(thread, word, count, since),
            Op::WaitForOthers => {
                self.discard_run_ahead(thread);
                self.wait_for_others(thread);
            }
            Op::Fatal(message) => self.fail(Fate::Fatal { thread, message }),
        }
    }

    #[inline(never)]
    fn load(&mut self, thread: u32, address: usize, mask: u64, poll: bool) {
        let now = self.now();
        let core = self.threads[thread as usize].core;
        let line = self.line_index(address);
        let mut cost = self.machine.numbers().load;
        let buffered = self.threads[thread as usize]
            .stores
            .iter()
            .filter(|store| store.address == address)
            .fold(0, |all, store| all | store.mask);
        if mask != 0 && buffered & mask == mask {
            // The value is forwarded from the store buffer, so the line is not needed.
            let value = self.value(thread, address);
            self.complete_load(thread, now + cost, poll);
            self.at(now + cost, Event::Resume { thread, value });
            return;
        }
        match if poll { None } else { self.take_load_behind_lock(thread, line) } {
            Some(0) => {
                self.count_hit(thread, line, address);
                let value = self.value(thread, address);
                self.at(now, Event::Resume { thread, value });
                return;
            }
            Some(cycles) => cost = cycles,
            None => {}
        }
        let exclusive = self.machine.numbers().exclusive_loads > 0 && !poll && {
            self.predict_exclusive(thread, line)
        };
        let core_line = self.core_line(line, core);
        if self.core_lines[core_line as usize].state == State::Invalid {
            self.ledger.count().load_misses += 1;
            self.note_miss(thread, line, address, poll);
            self.threads[thread as usize].pending = true;
            self.attach(thread, core_line, exclusive, false);
        } else if self.defer_to_holder(thread, core_line, now) {
            // A sibling's locked operation holds the line, or the turn after such an operation is
            // not over.
            self.core_lines[core_line as usize].waiters.push(Waiter { thread, store: false });
            self.threads[thread as usize].pending = true;
            self.wait_for_line(thread, line);
        } else {
            self.count_hit(thread, line, address);
            let cost = cost + self.promote(core_line);
            let value = self.value(thread, address);
            self.complete_load(thread, now + cost, poll);
            self.at(now + cost, Event::Resume { thread, value });
        }
    }

    /// Completes a load at `end`.
    fn complete_load(&mut self, thread: u32, end: u64, poll: bool) {
        if poll { self.discard_run_ahead(thread) } else { self.earn_run_ahead(thread, end) }
    }

    #[inline(never)]
    fn begin_rmw(&mut self, thread: u32, address: usize) {
        let now = self.now();
        let before_lock = self.machine.numbers().rmw_before_lock;
        let entry = &mut self.threads[thread as usize];
        if !entry.stores.is_empty() {
            entry.stalled = true;
            self.wait_for_stores(thread);
            return;
        }
        let core = entry.core;
        let core_line = self.core_line_if_used(address, core);
        let before_lock =
            before_lock + core_line.map_or(0, |core_line| self.promote_if_here(core_line));
        if before_lock > 0 {
            self.at(now + before_lock, Event::LineHeld { thread, core_line });
        } else {
            self.hold_line(thread, core_line);
        }
    }

    /// Ends the unlocked part of a read-modify-write. `core_line` is the core's copy of the line,
    /// if there is one.
    pub(super) fn hold_line(&mut self, thread: u32, core_line: Option<u32>) {
        let now = self.now();
        let core_line = match core_line {
            Some(core_line) => core_line,
            None => self.core_line_for_rmw(thread),
        };
        if self.core_lines[core_line as usize].state != State::Modified {
            self.threads[thread as usize].pending = true;
            self.attach(thread, core_line, true, false);
        } else if self.defer_to_holder(thread, core_line, now) {
            let cache = &mut self.core_lines[core_line as usize];
            cache.waiters.push(Waiter { thread, store: false });
            let line = cache.line;
            self.threads[thread as usize].pending = true;
            self.wait_for_line(thread, line);
        } else {
            self.ledger.count().rmw_hits += 1;
            self.do_rmw(thread, core_line);
        }
    }

    /// Core line that the thread's read-modify-write needs.
    #[cold]
    fn core_line_for_rmw(&mut self, thread: u32) -> u32 {
        let Thread { op, core, .. } = &self.threads[thread as usize];
        let (op, core) = (op.get(), *core);
        let Op::Rmw { address, .. } = op else { unreachable!("it is a read-modify-write") };
        let line = self.line_index(address);
        self.core_line(line, core)
    }

    /// Performs the read-modify-write. The line is present, exclusive and free.
    pub(super) fn do_rmw(&mut self, thread: u32, core_line: u32) {
        let line = self.core_lines[core_line as usize].line;
        let Op::Rmw { address, rmw } = self.threads[thread as usize].op.get() else { return };
        let now = self.now();
        let old = self.arena.read(address);
        let (new, matched) = rmw.apply(old);
        self.count_touch(thread, line, address);
        self.ledger.rmw(line);
        match matched {
            Some(true) => {
                let failures = self.threads[thread as usize].streak.end(line);
                self.ledger.exchange(line, failures);
            }
            Some(false) => {
                self.ledger.failed_exchange(line);
                self.threads[thread as usize].streak.extend(line);
            }
            None => {}
        }
        self.start_working(thread);
        self.arena.write(address, new);
        let end = now + self.machine.numbers().rmw_lock;
        let success = if let Rmw::Swap { .. } = rmw { Some(new != old) } else { matched };
        let entry = &mut self.threads[thread as usize];
        let mispredicted = success.is_some_and(|success| {
            let location = entry.location.expect("an operation has a place");
            entry.predictor.learn_outcome(location, success)
        });
        if matched.is_some() {
            self.complete_compare_exchange(thread, line, end, mispredicted);
        } else {
            self.complete_rmw(thread, line, end, mispredicted);
        }
        let cache = &mut self.core_lines[core_line as usize];
        cache.locked_until = end;
        // A turn that is over was not used, because a thread waiting for it would already have run.
        if cache.last_thread != Some(thread) || cache.turn_at <= now {
            cache.last_thread = Some(thread);
            cache.turn_at = 0;
        }
        if new != old {
            self.wake_sleepers(core_line, Some(thread));
        }
        let redirect = self.machine.numbers().redirect;
        let entry = &mut self.threads[thread as usize];
        entry.held_line = core_line;
        entry.redirect = if mispredicted { redirect } else { 0 };
        self.at(end, Event::LineFreed { thread, value: old });
    }

    /// Ends a thread's locked operation. The thread continues with `value`. The line is served
    /// first, so a parked snoop has priority over the thread's next operation.
    pub(super) fn free_line(&mut self, thread: u32, value: u64) -> Option<u64> {
        let Thread { held_line, redirect, .. } = &mut self.threads[thread as usize];
        let (held_line, redirect) = (*held_line, std::mem::take(redirect));
        self.serve_freed_line(held_line);
        // The line is free. The thread still waits for its instructions.
        if redirect > 0 && !self.over {
            let now = self.now();
            self.at(now + redirect, Event::Resume { thread, value });
            return None;
        }
        (!self.over).then_some(value)
    }
}
