//! Waiting for the other processors of a group: a thread interrupts all others and goes on when each has answered, as a
//! flush of translations on other processors does.
//!
//! A running thread answers after the interrupt's way, and what it was doing takes so much longer. One that is off its CPU
//! answers when it runs next: that is what overcommitment makes expensive. A parked one is woken to answer, and then looks again.
//! The one that waits spins, and answers others meanwhile.

use super::accounting::Phase;
use super::event::Event;
use super::schedule::Whereabouts;
use super::{Engine, Fate, Op};

impl Engine {
    /// The thread interrupts all others of its group.
    pub(super) fn wait_for_others(&mut self, thread: u32) {
        let now = self.now();
        if self.schedule.is_none() {
            let message = "a thread waits for other processors, and the run has no scheduler";
            self.fails(Fate::Fatal { thread, message });
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
        self.goes_on_waiting(thread, now);
    }

    /// The running thread waits, from `now` on, for answers that are missing.
    pub(super) fn goes_on_waiting(&mut self, thread: u32, now: u64) {
        self.waits(thread, Phase::Answers, None);
        if self.scheduler().task(thread).missing == 0 {
            self.at(now, Event::Resume { thread, value: 0 });
            return;
        }
        let entry = &mut self.threads[thread as usize];
        entry.generation += 1;
        debug_assert!(matches!(entry.op.get(), Op::WaitForOthers));
        entry.pending = true;
        self.begins_to_spin(thread, now);
    }

    /// An interrupt reaches a thread: `from` waits for its answer.
    pub(super) fn interrupt(&mut self, thread: u32, from: u32) {
        self.statistics.interrupts += 1;
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

    /// A parked thread is woken, if it is not on its way already.
    fn wake_to_answer(&mut self, thread: u32) {
        let now = self.now();
        let Some(index) = self.parked.iter().position(|&(_, parked)| parked == thread) else {
            return;
        };
        self.parked.remove(index);
        let generation = self.threads[thread as usize].generation;
        let wakeup = self.machine.numbers().wakeup;
        self.at(now + wakeup, Event::Wake { thread, generation });
    }

    /// The thread runs again, or will never: it answers all who wait for it.
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

    /// `thread` has one more answer; it goes on if that was the last one and it runs.
    fn answer(&mut self, thread: u32) {
        let now = self.now();
        let task = self.scheduler().task(thread);
        debug_assert!(task.missing > 0, "an answer that nobody waits for");
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
