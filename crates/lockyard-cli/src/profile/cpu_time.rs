//! CPU time of the program that runs, as the system counts it: what its threads had, and for how
//! long they could run and had no CPU (`/proc/PID/task/TID/schedstat`); and how often they left
//! their CPUs (`status` beside it).
//!
//! A thread looks at all processes below this one while the program runs. What a thread of the
//! program did after the last look is not known, and left out on both sides.

use lockyard_recording::recording::{CpuTime, Switches};
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

/// Counts of a thread, up to a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Nanoseconds on a CPU, and of waits for one.
    times: (u64, u64),
    /// Sleeps, and times that another thread had the CPU; `None` if the system does not say it.
    switches: Option<(u64, u64)>,
}

/// Counts of each thread, by process and thread.
type Threads = BTreeMap<(u32, u32), Counts>;

/// CPU time of a process, as read so far. `None` stands for values that the system hides.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// CPU time of all threads.
    pub(super) cpu_time: Option<CpuTime>,
    /// Switches of all threads.
    pub(super) switches: Option<Switches>,
    /// By the system's id of a thread: nanoseconds on a CPU, and of waits for one.
    pub(super) threads: BTreeMap<u32, (u64, u64)>,
}

/// Looks at the CPU time of the program.
#[derive(Debug)]
pub(super) struct Watch {
    is_over: Arc<AtomicBool>,
    looks: Option<JoinHandle<Threads>>,
}

impl Watch {
    /// Begins to look at the processes that this one starts from now on.
    pub(super) fn begin() -> Watch {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let looks = Builder::new().spawn(move || {
            let mut threads = Threads::new();
            // Relaxed: nothing but the flag is passed on.
            while !until.load(Ordering::Relaxed) {
                let begin = Instant::now();
                for child in children(std::process::id()) {
                    look(child, DEEPEST, &mut threads);
                }
                std::thread::park_timeout((begin.elapsed() * SHARE).max(BETWEEN));
            }
            threads
        });
        Watch { is_over, looks: looks.ok() }
    }

    /// Ends the looks. Returns what they have seen of a process.
    pub(super) fn end(self, process: u32) -> Seen {
        self.is_over.store(true, Ordering::Relaxed);
        let looks = self.looks.and_then(|looks| {
            looks.thread().unpark();
            looks.join().ok()
        });
        let threads = looks.unwrap_or_default();
        let of = threads.iter().filter(|((pid, _), _)| *pid == process);
        let threads = of.clone().map(|((_, number), counts)| (*number, counts.times)).collect();
        let of: Vec<Counts> = of.map(|(_, counts)| *counts).collect();
        let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
        let (ran, waited) = of.iter().map(|counts| counts.times).fold((0, 0), sum);
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let cpu_time = (ran > 0).then(|| CpuTime { ran: seconds(ran), waited: seconds(waited) });
        let each: Option<Vec<(u64, u64)>> = of.iter().map(|counts| counts.switches).collect();
        let switches = each.filter(|each| !each.is_empty()).map(|each| {
            let (voluntary, involuntary) = each.into_iter().fold((0, 0), sum);
            Switches { voluntary, involuntary }
        });
        Seen { cpu_time, switches, threads }
    }
}

/// Adds the counts of a process and of those below it.
fn look(process: u32, deepest: usize, threads: &mut Threads) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in tasks.flatten() {
        let Ok(number) = thread.file_name().to_string_lossy().parse() else { continue };
        let text = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        if let Some(times) = parse(&text("schedstat")) {
            // The thread may have ended between the two files.
            let before = threads.get(&(process, number)).and_then(|counts| counts.switches);
            let switches = switches(&text("status")).or(before);
            threads.insert((process, number), Counts { times, switches });
        }
    }
    if deepest > 0 {
        children(process).into_iter().for_each(|child| look(child, deepest - 1, threads));
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

/// Returns the number of sleeps, and of the times that another thread had the CPU.
fn switches(status: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let lines = status.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(field, _)| *field == name).map(|(_, value)| value.trim());
        values.next()?.parse().ok()
    };
    Some((of("voluntary_ctxt_switches")?, of("nonvoluntary_ctxt_switches")?))
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
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(switches(status), Some((150, 545)));
        assert_eq!(switches("voluntary_ctxt_switches:\t150\n"), None);
    }

    #[test]
    fn a_child_and_its_child_are_seen() {
        let mut threads = Threads::new();
        look(std::process::id(), 0, &mut threads);
        if threads.is_empty() {
            lockyard_testing::skip!("the system does not count the waits for a CPU");
            return;
        }
        let watch = Watch::begin();
        // Each call of another program lets the shell sleep until its end.
        let script = "echo $$; for i in 1 2 3 4 5; do /bin/true; done; \
                      while [ $SECONDS -lt 1 ]; do :; done";
        let busy = Command::new("bash").args(["-c", script]).output().expect("it runs");
        let process = String::from_utf8_lossy(&busy.stdout).trim().parse().expect("a number");
        let seen = watch.end(process);
        let found = seen.cpu_time.expect("it ran");
        let ran: u64 = seen.threads.values().map(|(ran, _)| ran).sum();
        assert!((ran as f64 / 1e9 / found.ran - 1.0).abs() < 1e-6, "{seen:?}");
        assert!(found.ran > 0.02 && found.ran < 2.0, "{found:?}");
        assert!(found.is_valid(), "{found:?}");
        let slept = seen.switches.expect("the system counts both").voluntary;
        assert!((5..100).contains(&slept), "{slept}");
    }
}
