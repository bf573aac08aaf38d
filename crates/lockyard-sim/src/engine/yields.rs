//! Threads that give away their turn, because the host noticed that they spin, or by an explicit
//! yield.
//!
//! A processor detects a loop of pause instructions: pauses that follow each other within a gap,
//! for longer than a window. (Intel's manual calls this "pause-loop exiting"; the numbers are the
//! hypervisor's parameters.) A poll of a line that has moved takes longer than the gap, and so
//! starts a new loop. In the model, a loop is one sleep of a waiting loop.
//!
//! The thread to yield to is chosen as the authors of directed yields describe. It is another
//! virtual CPU of the same guest that is runnable but has no CPU. A virtual CPU that was not
//! spinning when it left is preferred.

use super::event::Event;
use super::scheduler::{Held, Whereabouts};
use super::state::Engine;
use crate::op::Op;
use crate::shared::LOOK_AGAIN;

impl Engine {
    /// Schedules the moment at which the host notices that a sleeping thread spins.
    pub(super) fn plan_pause_exit(&mut self, thread: u32, now: u64) {
        if let Some(window) = self.scheduler().pause_window {
            let generation = self.threads[thread as usize].generation;
            self.at(now + window, Event::PauseExit { thread, generation });
        }
    }

    /// Handles a thread that has spun for the whole window.
    pub(super) fn exit_pause_loop(&mut self, thread: u32, generation: u32) {
        let entry = &self.threads[thread as usize];
        let spins = matches!(entry.pending(), Some(Op::Sleep { .. } | Op::WaitForOthers));
        if entry.generation != generation || !spins {
            return;
        }
        debug_assert_eq!(self.scheduler().task(thread).whereabouts, Whereabouts::Running);
        self.ledger.count().pause_exits += 1;
        let now = self.now();
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        let exit = s.pause_exit;
        let yields = if s.directed {
            match self.find_thread_to_yield_to(thread) {
                Some(other) => {
                    self.favour_thread(other);
                    true
                }
                None => false,
            }
        } else {
            !s.cpu(cpu).is_alone()
        };
        let Some(held) = self.interrupt_operation(thread) else { return };
        if yields {
            let task = self.scheduler().task(thread);
            task.spun = true;
            task.passed_over = false;
            self.leave_cpu(thread, held, true);
            return;
        }
        match held {
            Held::Answers => self.keep_waiting(thread, now + exit),
            _ => self.at(now + exit, Event::Resume { thread, value: LOOK_AGAIN }),
        }
    }

    /// Finds another runnable thread of the group. A thread that was spinning when it left its CPU
    /// is passed over once.
    fn find_thread_to_yield_to(&mut self, thread: u32) -> Option<u32> {
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

    /// Gives a queued thread its CPU's next turn, if that is fair. The thread that has the CPU
    /// leaves it now.
    fn favour_thread(&mut self, thread: u32) {
        let now = self.now();
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        if s.favour(cpu, thread, now) {
            self.preempt(cpu);
        }
    }

    /// Yields the running thread's CPU. Returns `false` if no other thread waits for the CPU.
    pub(super) fn yield_cpu(&mut self, thread: u32) -> bool {
        let s = self.scheduler();
        let cpu = s.task(thread).cpu;
        if s.cpu(cpu).is_alone() {
            return false;
        }
        self.leave_cpu(thread, Held::Value(0), true);
        true
    }
}
