//! Turns that threads give away.

use super::{Scheduler, Whereabouts};

/// The thread to which a spinning thread yields.
pub(crate) enum YieldTo {
    /// A queued thread of its group.
    Thread(u32),
    /// The next thread of its CPU.
    Next,
    Nobody,
}

impl Scheduler {
    /// Time after which the host notices a spinning thread; `None`: never.
    pub(crate) fn pause_window(&self) -> Option<u64> {
        self.pause_window
    }

    /// Cycles that the host takes to notice a spinning thread and to let it go on.
    pub(crate) fn pause_exit(&self) -> u64 {
        self.pause_exit
    }

    /// The thread to which a running thread yields when it has spun for the whole window.
    pub(crate) fn yield_to(&mut self, thread: u32) -> YieldTo {
        debug_assert_eq!(self.task(thread).whereabouts, Whereabouts::Running);
        if self.directed {
            self.find_thread_to_yield_to(thread).map_or(YieldTo::Nobody, YieldTo::Thread)
        } else if self.is_alone(thread) {
            YieldTo::Nobody
        } else {
            YieldTo::Next
        }
    }

    /// Returns `true` if no thread waits for the thread's CPU.
    pub(crate) fn is_alone(&self, thread: u32) -> bool {
        self.cpus[self.tasks[thread as usize].cpu as usize].queue.is_empty()
    }

    /// Finds another runnable thread of the group. A thread that was spinning when it left its CPU
    /// is passed over once.
    fn find_thread_to_yield_to(&mut self, thread: u32) -> Option<u32> {
        let group = self.task(thread).group;
        let threads = self.tasks.len() as u32;
        for step in 1..=threads {
            let other = (self.search + step) % threads;
            let task = self.task(other);
            if task.group != group || task.whereabouts != Whereabouts::Queued {
                continue;
            }
            if task.spun && !task.passed_over {
                task.passed_over = true;
                continue;
            }
            task.passed_over = false;
            self.search = other;
            return Some(other);
        }
        None
    }

    /// Records that a thread leaves its CPU while it spins.
    pub(crate) fn note_spin(&mut self, thread: u32) {
        let task = self.task(thread);
        task.spun = true;
        task.passed_over = false;
    }

    /// Gives the next turn of its CPU to a queued thread, if its run time exceeds the least one by
    /// at most `lead`. Returns the CPU if its running thread has to leave first.
    pub(crate) fn favour(&mut self, thread: u32, now: u64) -> Option<u32> {
        let cpu = self.task(thread).cpu;
        let ran = |t: u32| self.tasks[t as usize].ran;
        let least = self.least(cpu, None).map(ran).into_iter();
        let least = least.chain(self.run_time(cpu, now)).min().unwrap_or(0);
        if ran(thread) > least + self.lead {
            return None;
        }
        self.cpu(cpu).favoured = Some(thread);
        self.cpu(cpu).running.is_some().then_some(cpu)
    }
}
