//! TLB shootdowns: a thread interrupts all other threads of its group, and continues when all have
//! answered.
//!
//! A running thread answers when the interrupt arrives, which prolongs its current operation. A
//! preempted thread answers only when it next runs, which makes overcommitment expensive. A parked
//! thread is woken to answer, and then checks its word again. The thread that waits for answers
//! spins, and answers others meanwhile.

use super::accounting::phase::CyclePhase;
use super::event::Event;
use super::report::Fate;
use super::scheduler::answers::Interrupted;
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
        let (asked, interrupt) = self.scheduler().ask_others(thread);
        for other in asked {
            self.at(now + interrupt, Event::Interrupt { thread: other, from: thread });
        }
        self.keep_waiting(thread, now);
    }

    /// Makes the running thread wait for missing answers, from `now` on.
    pub(super) fn keep_waiting(&mut self, thread: u32, now: u64) {
        self.start_waiting(thread, CyclePhase::Answers, None);
        if !self.scheduler().waits_for_answers(thread) {
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
        match self.scheduler().interrupt(thread, from) {
            Interrupted::Answers => self.answer(from),
            Interrupted::AnswersLater => {}
            Interrupted::Wakes => self.wake_to_answer(thread),
        }
    }

    /// Wakes a parked thread, unless it is already waking up.
    fn wake_to_answer(&mut self, thread: u32) {
        let now = self.now();
        if !self.parked.remove_thread(thread) {
            return;
        }
        self.wake_sleeper(thread, now);
    }

    /// Answers all threads that wait for this one. Called when this thread runs again, or will
    /// never run again.
    pub(super) fn answer_all(&mut self, thread: u32) {
        for from in self.scheduler().answer_all(thread) {
            self.answer(from);
        }
    }

    /// Gives `thread` one more answer. The thread continues if that was the last missing answer and
    /// the thread has a CPU.
    fn answer(&mut self, thread: u32) {
        let now = self.now();
        let all = self.scheduler().take_answer(thread);
        let entry = &mut self.threads[thread as usize];
        if all && matches!(entry.pending(), Some(Op::WaitForOthers)) {
            entry.pending = false;
            entry.generation += 1;
            self.at(now, Event::Resume { thread, value: 0 });
        }
    }
}
