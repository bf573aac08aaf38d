//! Answers that threads owe each other.

use super::{Scheduler, Whereabouts};

/// Action of a thread when an interrupt arrives.
pub(crate) enum Interrupted {
    Answers,
    AnswersLater,
    /// The thread is parked, and is woken to answer.
    Wakes,
}

impl Scheduler {
    /// Makes a thread wait for the answers of all other threads of its group. Returns those
    /// threads, and the time that an interrupt takes.
    pub(crate) fn ask_others(&mut self, thread: u32) -> (Vec<u32>, u64) {
        let group = self.task(thread).group;
        let is_asked = |&other: &u32| {
            let task = &self.tasks[other as usize];
            let is_there = !matches!(task.whereabouts, Whereabouts::New | Whereabouts::Gone);
            other != thread && task.group == group && is_there
        };
        let asked: Vec<u32> = (0..self.tasks.len() as u32).filter(is_asked).collect();
        self.task(thread).missing = asked.len() as u32;
        (asked, self.interrupt)
    }

    /// Returns `true` if the thread waits for an answer.
    pub(crate) fn waits_for_answers(&self, thread: u32) -> bool {
        self.tasks[thread as usize].missing > 0
    }

    /// Delivers an interrupt to a thread: `from` waits for its answer.
    pub(crate) fn interrupt(&mut self, thread: u32, from: u32) -> Interrupted {
        let work = self.interrupt_work;
        let task = self.task(thread);
        match task.whereabouts {
            Whereabouts::Running => {
                task.debt += work;
                Interrupted::Answers
            }
            Whereabouts::Queued | Whereabouts::Coming => {
                task.owed.push(from);
                Interrupted::AnswersLater
            }
            Whereabouts::Blocked => {
                task.owed.push(from);
                Interrupted::Wakes
            }
            Whereabouts::New | Whereabouts::Gone => Interrupted::Answers,
        }
    }

    /// Makes a thread answer all threads that wait for it. Returns those threads.
    pub(crate) fn answer_all(&mut self, thread: u32) -> Vec<u32> {
        let work = self.interrupt_work;
        let task = self.task(thread);
        let owed = std::mem::take(&mut task.owed);
        task.debt += work * owed.len() as u64;
        owed
    }

    /// Gives a thread one more answer. Returns `true` if that was the last missing answer.
    pub(crate) fn take_answer(&mut self, thread: u32) -> bool {
        let task = self.task(thread);
        debug_assert!(task.missing > 0, "an answer that no thread waits for");
        task.missing -= 1;
        task.missing == 0
    }
}
