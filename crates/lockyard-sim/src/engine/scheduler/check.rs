//! Invariants of every CPU and thread.

use super::{Scheduler, Whereabouts};

impl Scheduler {
    /// Checks every CPU and thread. `works`: whether a thread does local work.
    pub(crate) fn check(&self, works: impl Fn(u32) -> bool) {
        let mut places = vec![0u32; self.tasks.len()];
        for (number, cpu) in self.cpus.iter().enumerate() {
            debug_assert!(cpu.running.is_none() || cpu.coming.is_none(), "one thread has a CPU");
            let waits = !cpu.queue.is_empty();
            let leaves = cpu.coming.is_some() || cpu.armed || cpu.leave;
            debug_assert!(
                !waits || leaves,
                "CPU {number} has forgotten a thread that waits for it"
            );
            let mut see = |thread: u32, whereabouts: Whereabouts| {
                let task = &self.tasks[thread as usize];
                places[thread as usize] += 1;
                debug_assert_eq!(task.whereabouts, whereabouts, "thread {thread}");
                debug_assert_eq!(task.cpu as usize, number, "thread {thread} is of another CPU");
            };
            cpu.queue.iter().for_each(|&t| see(t, Whereabouts::Queued));
            cpu.running.into_iter().for_each(|t| see(t, Whereabouts::Running));
            cpu.coming.into_iter().for_each(|t| see(t, Whereabouts::Coming));
        }
        for (thread, (task, places)) in self.tasks.iter().zip(places).enumerate() {
            use Whereabouts::{Blocked, Gone, New};
            let nowhere = matches!(task.whereabouts, New | Blocked | Gone);
            debug_assert_eq!(places, u32::from(!nowhere), "thread {thread} is in one place");
            debug_assert!(
                !works(thread as u32) || task.whereabouts == Whereabouts::Running,
                "it works off its CPU"
            );
        }
    }
}
