//! TLB shootdowns: a thread interrupts all other processors of its group, and goes on when all have
//! answered.
//!
//! A running thread answers when the interrupt arrives, which prolongs its current operation. A
//! thread that is off its CPU answers only when it next runs, which makes overcommitment expensive.
//! A parked thread is woken to answer, and then checks its word again. The thread that waits for
//! answers spins, and answers others meanwhile.

use super::accounting::phase::CyclePhase;
use super::event::Event;
use super::report::Fate;
use super::scheduler::Whereabouts;
use super::state::Engine;
use crate::op::Op;

impl Engine {
    /// Interrupts all other threads of this thread's group.
    pub(super) fn wait_for_others(&mut self, thread: u32) {
        let now = self.now();
        if self.schedule.is_none() {
            let message = "a thread waits for other processors, but the run has no scheduler";
            self.fail(Fate::Fatal { thread, message });
            return;
        }
        let s = self.scheduler();
        let group = s.task(thread).group;
        let (interrupt, threads) = (s.interrupt, s.tasks.len() as u32);
        let mut asked = 0;
        for other in (0..threads).filter(|&other| other != thread) {
            let task = self.scheduler().task(other);
            let is_there = !matches!(task.whereabouts, Whereabouts::New | Whereabouts::Gone);
            if task.group == group && is_there {
                asked += 1;
                self.at(now + interrupt, Event::Interrupt { thread: other, from: thread });
            }
        }
        self.scheduler().task(thread).missing = asked;
        self.keep_waiting(thread, now);
    }

    /// Makes the running thread wait for missing answers, from `now` on.
    pub(super) fn keep_waiting(&mut self, thread: u32, now: u64) {
        self.start_waiting(thread, CyclePhase::Answers, None);
        if self.scheduler().task(thread).missing == 0 {
            self.at(now, Event::Resume { thread, value: 0 });
            return;
        }
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        debug_assert!(matches!(entry.op.get(), Op::WaitForOthers));
        entry.pending = true;
        self.plan_pause_exit(thread, now);
    }

    /// Delivers an interrupt to a thread: `from` waits for its answer.
    pub(super) fn deliver_interrupt(&mut self, thread: u32, from: u32) {
        self.ledger.count().interrupts += 1;
        let s = self.scheduler();
        let work = s.interrupt_work;
        let task = s.task(thread);
        match task.whereabouts {
            Whereabouts::Running => {
                task.debt += work;
                self.answer(from);
            }
            Whereabouts::Queued | Whereabouts::Coming => task.owed.push(from),
            Whereabouts::Blocked => {
                task.owed.push(from);
                self.wake_to_answer(thread);
            }
            Whereabouts::New | Whereabouts::Gone => self.answer(from),
        }
    }

    /// Wakes a parked thread, unless it is already waking up.
    fn wake_to_answer(&mut self, thread: u32) {
        let now = self.now();
        let Some(index) = self.parked.iter().position(|parked| parked.thread == thread) else {
            return;
        };
        self.parked.remove(index);
        let generation = self.threads[thread as usize].generation;
        let wakeup = self.machine.numbers().wakeup;
        self.at(now + wakeup, Event::Wake { thread, generation });
    }

    /// Answers all threads that wait for this one. Called when this thread runs again, or will
    /// never run again.
    pub(super) fn answer_all(&mut self, thread: u32) {
        let s = self.scheduler();
        let work = s.interrupt_work;
        let task = s.task(thread);
        if task.owed.is_empty() {
            return;
        }
        let owed = std::mem::take(&mut task.owed);
        task.debt += work * owed.len() as u64;
        for from in owed {
            self.answer(from);
        }
    }

    /// Gives `thread` one more answer. The thread goes on if that was the last one and it has a
    /// CPU.
    fn answer(&mut self, thread: u32) {
        let now = self.now();
        let task = self.scheduler().task(thread);
        debug_assert!(task.missing > 0, "an answer that no thread waits for");
        task.missing -= 1;
        let all = task.missing == 0;
        let entry = &mut self.threads[thread as usize];
        if all && matches!(entry.pending(), Some(Op::WaitForOthers)) {
            entry.pending = false;
            entry.generation += 1;
            self.at(now, Event::Resume { thread, value: 0 });
        }
    }
}
