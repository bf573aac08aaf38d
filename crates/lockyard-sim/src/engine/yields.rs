//! Threads that give away their turn, because the host noticed that they spin, or by an explicit
//! yield.
//!
//! A processor detects a loop of pause instructions: pauses that follow each other within a gap,
//! for longer than a window. (Intel's manual calls this "pause-loop exiting"; the numbers are the
//! hypervisor's parameters.) A poll of a line that has moved takes longer than the gap, and so
//! starts a new loop. In the model, a loop is one sleep of a waiting loop.
//!
//! The thread to yield to is chosen as the authors of directed yields describe. It is another
//! virtual CPU of the same guest that is runnable but preempted. A virtual CPU that was not
//! spinning when it left is preferred.

use super::event::Event;
use super::scheduler::Held;
use super::scheduler::yields::YieldTo;
use super::state::Engine;
use crate::op::Op;
use crate::shared::LOOK_AGAIN;

impl Engine {
    /// Schedules the moment when the host notices that a sleeping thread spins.
    pub(super) fn plan_pause_exit(&mut self, thread: u32, now: u64) {
        if let Some(window) = self.scheduler().pause_window() {
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
        self.ledger.count().pause_exits += 1;
        let now = self.now();
        let exit = self.scheduler().pause_exit();
        let yields = match self.scheduler().yield_to(thread) {
            YieldTo::Thread(other) => {
                self.favour_thread(other);
                true
            }
            YieldTo::Next => true,
            YieldTo::Nobody => false,
        };
        let Some(held) = self.interrupt_operation(thread) else { return };
        if yields {
            self.scheduler().note_spin(thread);
            self.leave_cpu(thread, held, true);
            return;
        }
        match held {
            Held::Answers => self.keep_waiting(thread, now + exit),
            _ => self.at(now + exit, Event::Resume { thread, value: LOOK_AGAIN }),
        }
    }

    /// Gives a queued thread its CPU's next turn, if that is fair. The thread that now has the CPU
    /// leaves it.
    fn favour_thread(&mut self, thread: u32) {
        let now = self.now();
        if let Some(cpu) = self.scheduler().favour(thread, now) {
            self.preempt(cpu);
        }
    }

    /// Yields the running thread's CPU. Returns `false` if no other thread waits for the CPU.
    pub(super) fn yield_cpu(&mut self, thread: u32) -> bool {
        if self.scheduler().is_alone(thread) {
            return false;
        }
        self.leave_cpu(thread, Held::Value(0), true);
        true
    }
}
