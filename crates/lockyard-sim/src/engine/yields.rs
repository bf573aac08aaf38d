//! Threads that give their turn away: because the host noticed that they spin, or because they say so.
//!
//! A processor notices a loop of pause instructions: pauses of which each follows the one before within a gap, for longer than a window
//! (Intel's manual, "pause-loop exiting"; the numbers are the hypervisor's parameters). A look at a line that has moved takes
//! longer than the gap, and so begins a new loop; here a loop is one sleep of a waiting loop.
//!
//! Whom it yields to is what the authors of directed yields describe: another virtual CPU of the same guest that
//! could run and does not, preferably none that spun when it left.

use super::event::Event;
use super::schedule::{Held, Whereabouts};
use super::{Engine, Op};
use crate::shared::LOOK_AGAIN;

impl Engine {
    /// A thread begins to spin asleep, or goes on: the host notices after a while.
    pub(super) fn begins_to_spin(&mut self, thread: u32, now: u64) {
        if let Some(window) = self.scheduler().pause_window {
            let generation = self.threads[thread as usize].generation;
            self.at(now + window, Event::PauseExit { thread, generation });
        }
    }

    /// A thread has spun for the window.
    pub(super) fn pause_exit(&mut self, thread: u32, generation: u32) {
        let entry = &self.threads[thread as usize];
        let spins = matches!(entry.pending(), Some(Op::Sleep { .. } | Op::WaitForOthers));
        if entry.generation != generation || !spins {
            return;
        }
        debug_assert_eq!(self.scheduler().task(thread).whereabouts, Whereabouts::Running);
        self.statistics.pause_exits += 1;
        let now = self.now();
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        let exit = s.pause_exit;
        let yields = if s.directed {
            match self.thread_to_yield_to(thread) {
                Some(other) => {
                    self.favours(other);
                    true
                }
                None => false,
            }
        } else {
            !s.cpu(cpu).is_alone()
        };
        let Some(held) = self.interrupted(thread) else { return };
        if yields {
            let task = self.scheduler().task(thread);
            task.spun = true;
            task.passed_over = false;
            self.leaves(thread, held, true);
            return;
        }
        match held {
            Held::Answers => self.goes_on_waiting(thread, now + exit),
            _ => self.at(now + exit, Event::Resume { thread, value: LOOK_AGAIN }),
        }
    }

    /// Another thread of the group that could run: one that did not spin when it left, or was passed over for that once.
    fn thread_to_yield_to(&mut self, thread: u32) -> Option<u32> {
        let s = self.scheduler();
        let group = s.task(thread).group;
        let threads = s.tasks.len() as u32;
        for step in 1..=threads {
            let other = (s.search + step) % threads;
            let task = &mut s.tasks[other as usize];
            if task.group != group || task.whereabouts != Whereabouts::Queued {
                continue;
            }
            if task.spun && !task.passed_over {
                task.passed_over = true;
                continue;
            }
            task.passed_over = false;
            s.search = other;
            return Some(other);
        }
        None
    }

    /// A queued thread gets the next turn of its CPU, if that is fair; now, if another one has the CPU.
    fn favours(&mut self, thread: u32) {
        let now = self.now();
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        if s.favour(cpu, thread, now) {
            self.is_to_leave(cpu);
        }
    }

    /// The running thread steps back; `false` if nobody else waits for its CPU.
    pub(super) fn steps_back(&mut self, thread: u32) -> bool {
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        if s.cpu(cpu).is_alone() {
            return false;
        }
        self.leaves(thread, Held::Value(0), true);
        true
    }
}
