//! CPU time of the program that runs, as the system counts it: what its threads had, and for how
//! long they could run and had no CPU (`/proc/PID/task/TID/schedstat`).
//!
//! A thread looks at all processes below this one while the program runs. What a thread of the
//! program did after the last look is not known, and left out on both sides.

use lockyard_recording::recording::CpuTime;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Shortest time between two looks. A look at many threads makes it longer: looks take one part in
/// [`SHARE`] of the time.
const BETWEEN: Duration = Duration::from_millis(20);
const SHARE: u32 = 100;

/// Maximum depth of the processes below the program.
const DEEPEST: usize = 16;

/// Times of each thread in nanoseconds, by process and thread.
type Times = BTreeMap<(u32, u32), (u64, u64)>;

/// Looks at the CPU time of the program.
#[derive(Debug)]
pub(super) struct Watch {
    is_over: Arc<AtomicBool>,
    looks: Option<JoinHandle<Times>>,
}

impl Watch {
    /// Begins to look at the processes that this one starts from now on.
    pub(super) fn begin() -> Watch {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let looks = Builder::new().spawn(move || {
            let mut times = Times::new();
            // Relaxed: nothing but the flag is passed on.
            while !until.load(Ordering::Relaxed) {
                let begin = Instant::now();
                for child in children(std::process::id()) {
                    look(child, DEEPEST, &mut times);
                }
                std::thread::park_timeout((begin.elapsed() * SHARE).max(BETWEEN));
            }
            times
        });
        Watch { is_over, looks: looks.ok() }
    }

    /// Ends the looks. Returns the CPU time of a process, or `None` if the system does not say it.
    pub(super) fn end(self, process: u32) -> Option<CpuTime> {
        self.is_over.store(true, Ordering::Relaxed);
        let looks = self.looks?;
        looks.thread().unpark();
        let times = looks.join().ok()?;
        let of = times.iter().filter(|((pid, _), _)| *pid == process).map(|(_, time)| time);
        let (ran, waited) = of.fold((0, 0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        (ran > 0).then(|| CpuTime { ran: seconds(ran), waited: seconds(waited) })
    }
}

/// Adds the times of a process and of those below it.
fn look(process: u32, deepest: usize, times: &mut Times) {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in threads.flatten() {
        let Ok(number) = thread.file_name().to_string_lossy().parse() else { continue };
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        if let Some(time) = parse(&text) {
            times.insert((process, number), time);
        }
    }
    if deepest > 0 {
        children(process).into_iter().for_each(|child| look(child, deepest - 1, times));
    }
}

/// Returns the processes that the threads of a process have started.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let mut found = Vec::new();
    for list in lists.flatten() {
        found.extend(list.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    found
}

/// Returns the times on a CPU, and of waits for one, in nanoseconds.
fn parse(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_system_s_line_is_read() {
        assert_eq!(parse("107720 1975534 2\n"), Some((107_720, 1_975_534)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("1 x 2"), None);
    }

    #[test]
    fn a_child_and_its_child_are_seen() {
        let mut times = Times::new();
        look(std::process::id(), 0, &mut times);
        if times.is_empty() {
            lockyard_testing::skip!("the system does not count the waits for a CPU");
            return;
        }
        let watch = Watch::begin();
        let script = "echo $$; while [ $SECONDS -lt 1 ]; do :; done";
        let busy = Command::new("bash").args(["-c", script]).output().expect("it runs");
        let process = String::from_utf8_lossy(&busy.stdout).trim().parse().expect("a number");
        let found = watch.end(process).expect("it ran");
        assert!(found.ran > 0.02 && found.ran < 2.0, "{found:?}");
        assert!(found.is_valid(), "{found:?}");
    }
}
