//! Threads that wait: asleep in a waiting loop, or parked (see `kernel.rs`).

use super::accounting::phase::CyclePhase;
use super::event::Event;
use super::line::State;
use super::state::Engine;
use crate::op::Op;
use crate::shared;

impl Engine {
    /// Continues a waiting loop whose poll saw `seen`, and which waits for another value. The
    /// thread sleeps until the line is taken away or changed.
    pub(super) fn sleep(
        &mut self,
        thread: u32,
        address: usize,
        mask: u64,
        seen: u64,
        deadline: Option<u64>,
    ) {
        let now = self.now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            self.at(now, Event::Resume { thread, value: shared::DEADLINE });
            return;
        }
        let core = self.threads[thread as usize].core;
        let line = self.line_index(address);
        let as_seen = |&core_line: &u32| {
            self.core_lines[core_line as usize].state != State::Invalid
                && self.value(thread, address) & mask == seen
        };
        let Some(core_line) = self.directory.line(line).core_line(core).filter(as_seen) else {
            let n = self.machine.numbers();
            let period = n.pause + n.poll;
            let rest = self.random.below(period + 1);
            self.start_waiting(thread, CyclePhase::Waiting, Some(line));
            self.at(now + rest, Event::Resume { thread, value: shared::LOOK_AGAIN });
            return;
        };
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        entry.pending = true;
        let generation = entry.generation;
        self.start_waiting(thread, CyclePhase::Waiting, Some(line));
        self.core_lines[core_line as usize].sleepers.push(thread);
        if let Some(deadline) = deadline {
            self.at(deadline, Event::Deadline { thread, generation });
        }
        if self.schedule.is_some() {
            self.plan_pause_exit(thread, now);
        }
    }

    /// Wakes a sleeper to poll again, after its line was taken away. Returns the value with which
    /// it resumes, if it resumes now.
    pub(super) fn wake(&mut self, thread: u32, generation: u32) -> Option<u64> {
        let entry = &mut self.threads[thread as usize];
        if entry.generation != generation
            || !matches!(entry.pending(), Some(Op::Sleep { .. } | Op::Park { .. }))
        {
            return None;
        }
        entry.pending = false;
        let parked = matches!(entry.op.get(), Op::Park { .. });
        self.resume_woken(thread, parked, shared::LOOK_AGAIN)
    }

    /// Resumes a thread with `value`, after a sleep in a waiting loop or a park. A parked thread
    /// resumes when it has a CPU.
    fn resume_woken(&mut self, thread: u32, parked: bool, value: u64) -> Option<u64> {
        if parked && self.schedule.is_some() {
            self.make_runnable(thread, value, true);
            return None;
        }
        Some(value)
    }

    /// Ends a sleep whose budget is spent, or a park whose timeout expires. Returns the value with
    /// which the thread resumes, if it resumes now.
    pub(super) fn reach_deadline(&mut self, thread: u32, generation: u32) -> Option<u64> {
        let entry = &mut self.threads[thread as usize];
        if entry.generation != generation {
            return None;
        }
        match entry.pending() {
            Some(Op::Sleep { address, .. }) => {
                let core = entry.core;
                entry.pending = false;
                let line = self.line_index(address);
                let core_line = self.core_line(line, core);
                self.core_lines[core_line as usize].sleepers.retain(|&t| t != thread);
                Some(shared::DEADLINE)
            }
            Some(Op::Park { .. }) => {
                // A thread that is not in the list was woken, and its wake-up is in progress.
                if !self.parked.remove_thread(thread) {
                    return None;
                }
                self.threads[thread as usize].pending = false;
                self.ledger.count().sleeps += 1;
                self.resume_woken(thread, true, shared::DEADLINE)
            }
            _ => None,
        }
    }
}
