//! System calls that put threads to sleep and wake them: the service in a bucket, sleeps, and
//! wake-ups.
//!
//! - **Service.** A thread that makes a call enters the bucket of its word, and leaves the bucket
//!   when the call takes effect. Meanwhile the thread is not preempted. A waking call enters the
//!   bucket only if another call waits on the word, or a thread sleeps there: otherwise it finds no
//!   thread to wake.
//! - **Sleep.** A thread whose word has not changed leaves its CPU, which takes some time. A thread
//!   that is woken before it has left has not slept, and continues.
//! - **Wake-up.** The longer the CPU has been idle, the longer the wake-up takes.
//!
//! The parts of a call that its own thread spends are in `platform/host.rs`.

use super::accounting::phase::CyclePhase;
use super::event::Event;
use super::scheduler::Whereabouts;
use super::state::Engine;
use crate::shared::{CHANGED, NOBODY};

impl Engine {
    /// Begins the service of a call on a word, or queues it. The thread resumes with the number of
    /// other calls, plus 1.
    pub(super) fn enter_bucket(&mut self, thread: u32, word: usize, waits: bool) {
        let now = self.now();
        if !waits && !self.buckets.has_waits(word) && !self.parked.is_waited_on(word) {
            self.at(now, Event::Resume { thread, value: NOBODY });
        } else if self.buckets.enter(word, thread, waits) {
            self.threads[thread as usize].served = true;
            self.at(now, Event::Resume { thread, value: 1 });
        } else {
            self.threads[thread as usize].pending = true;
            self.start_waiting(thread, CyclePhase::Waiting, None);
        }
    }

    /// Ends the service of a thread's call, and begins the service of the next call.
    fn leave_bucket(&mut self, thread: u32, word: usize) {
        let now = self.now();
        if !std::mem::take(&mut self.threads[thread as usize].served) {
            return;
        }
        if let Some((next, others)) = self.buckets.leave(word) {
            let entry = &mut self.threads[next as usize];
            entry.pending = false;
            entry.served = true;
            self.at(now, Event::Resume { thread: next, value: 1 + others });
        }
    }

    /// Compares the word, and puts the thread to sleep if it has not changed. The end of the call's
    /// service.
    pub(super) fn park(&mut self, thread: u32, word: usize, expected: u32, timeout: Option<u64>) {
        let now = self.now();
        self.leave_bucket(thread, word);
        let shift = (word % 8) * 8;
        if (self.arena.read(word & !7) >> shift) as u32 != expected {
            self.at(now, Event::Resume { thread, value: CHANGED });
            return;
        }
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        entry.pending = true;
        entry.parked_at = now;
        let generation = entry.generation;
        let line = self.line_index(word);
        self.start_waiting(thread, CyclePhase::Waiting, Some(line));
        self.parked.add(word, thread);
        if let Some(timeout) = timeout {
            self.at(now.saturating_add(timeout), Event::Deadline { thread, generation });
        }
        if self.schedule.is_some() {
            self.release_cpu(thread, Whereabouts::Blocked);
        }
    }

    /// Ends the service of a call that wakes up to `count` sleepers of the word. The wake-ups count
    /// from time `since`. The caller resumes with the number of threads woken.
    pub(super) fn unpark(&mut self, thread: u32, word: usize, count: u32, since: u64) {
        let now = self.now();
        self.leave_bucket(thread, word);
        let mut slept = 0;
        for sleeper in self.parked.take(word, count) {
            if self.goes_on(sleeper) {
                continue;
            }
            self.wake_sleeper(sleeper, since + slept * self.kernel.wake_next);
            slept += 1;
        }
        self.at(now, Event::Resume { thread, value: slept });
    }

    /// Lets a thread continue that was woken before it left its CPU. Returns `false` if it has
    /// left.
    fn goes_on(&mut self, thread: u32) -> bool {
        let now = self.now();
        let block = self.kernel.block;
        let entry = &mut self.threads[thread as usize];
        if self.schedule.is_some() || now >= entry.parked_at + block {
            return false;
        }
        entry.pending = false;
        entry.generation += 1;
        self.at(now, Event::Resume { thread, value: CHANGED });
        true
    }

    /// Wakes a thread that has left its CPU: it runs some time after `from`, when the call began.
    pub(super) fn wake_sleeper(&mut self, thread: u32, from: u64) {
        let entry = &self.threads[thread as usize];
        let (parked_at, generation) = (entry.parked_at, entry.generation);
        let now = self.now();
        // A thread without a scheduler has its own CPU, idle since it parked. A CPU that runs
        // another thread needs no wake-up: the scheduler switches it.
        let idle_since = match &self.schedule {
            None => Some(parked_at),
            Some(schedule) => schedule.idle_since(thread, entry.stores.is_empty()),
        };
        let idle = |since: u64| now.saturating_sub(since + self.kernel.block);
        let wakeup = idle_since.map_or(0, |since| self.kernel.wakeup(idle(since)));
        self.ledger.count().sleeps += 1;
        self.at(now.max(from + wakeup), Event::Wake { thread, generation });
    }
}
