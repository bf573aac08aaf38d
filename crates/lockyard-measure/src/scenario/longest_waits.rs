//! Longest wait in each of many short windows.
//!
//! During a long pass, the host sometimes takes the CPU from the lock holder, or from the next
//! thread in the queue. The longest wait of the pass is then the longest such absence. It measures
//! the host, and is about the same for all locks.
//!
//! Most windows of a few hundredths of a second contain no such event. Their longest wait shows how
//! the lock treats an unlucky thread. The result is the median over the windows, with its interval.

use super::probe::WaitTimes;
use super::rounds::{Task, cell};
use super::run::{self, Times};
use lockyard_support::jobs;
use std::time::Duration;

/// Length of a window, number of windows per task, and timeout for a stalled run.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Length of a window.
    pub length: Duration,
    /// Number of windows per task.
    pub count: usize,
    /// Abort a run where no thread finishes an operation for this long.
    pub stalled_after: Duration,
}

/// Returns the longest waits of each task in nanoseconds, one for each finished window. The tasks
/// take turns, which spreads a slow moment of the host over all of them. An interrupt ends the
/// measurement early.
///
/// # Errors
///
/// If a run stalls, or a lock fails to exclude.
pub fn longest(
    tasks: &[Task],
    windows: Windows,
    done: &mut dyn FnMut(),
) -> Result<Vec<Vec<f64>>, String> {
    let times = Times {
        warm_up: Duration::from_millis(1),
        window: windows.length,
        stalled_after: windows.stalled_after,
    };
    let mut longest: Vec<Vec<f64>> = vec![Vec::new(); tasks.len()];
    for _ in 0..windows.count {
        for (task, of_task) in tasks.iter().zip(&mut longest) {
            if jobs::interrupted() {
                return Ok(longest);
            }
            let found = match run::run(cell(task), times, WaitTimes) {
                Err(_) if jobs::interrupted() => return Ok(longest),
                run => run?.found,
            };
            let longest = found.iter().flatten().filter(|waits| !waits.is_empty()).map(|w| w.max());
            // An interrupt cuts a window short, so its longest wait is too small.
            let longest = longest.max().filter(|_| !jobs::interrupted());
            of_task.extend(longest.map(|longest| longest as f64));
            done();
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::{Cpus, Placement};
    use lockyard_scenarios::Script;

    fn task(variant: &str) -> Task {
        let script = Script::shipped("controls").unwrap();
        Task {
            variant: script.variant(variant).unwrap().clone(),
            threads: 2,
            local_work: 0.0,
            placement: Placement::of(script.order, &Cpus::allowed()),
        }
    }

    const BRIEF: Windows = Windows {
        length: Duration::from_millis(20),
        count: 3,
        stalled_after: Duration::from_secs(60),
    };

    #[test]
    fn each_window_has_a_longest_wait() {
        let mut done = 0;
        let longest = longest(&[task("ticket"), task("ticket")], BRIEF, &mut || done += 1).unwrap();
        assert_eq!((longest.len(), done), (2, 6));
        for of_task in longest {
            // On a busy host, a window may pass without any thread on a CPU.
            assert!((1..=3).contains(&of_task.len()), "{of_task:?}");
            assert!(of_task.iter().all(|&wait| wait > 0.0), "{of_task:?}");
        }
    }

    #[test]
    fn a_lock_that_does_not_exclude_is_an_error() {
        let windows = Windows { length: Duration::from_millis(200), count: 20, ..BRIEF };
        let why = longest(&[task("broken")], windows, &mut || {}).unwrap_err();
        assert!(why.contains("its lock did not exclude"), "{why}");
    }
}
