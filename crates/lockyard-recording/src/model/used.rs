//! The replayed threads' own CPU time and switches in the whole run.
//!
//! Those of the whole program are also of threads that take no locks: one that sleeps beside the
//! replayed threads would make these sleep, and one that waits for a CPU would make their host
//! busy.

use crate::recording::{About, CpuTime, Switches, ThreadUse};

/// Share of the replayed threads' acquisitions that must be of threads whose use is known.
const LEAST_KNOWN: f64 = 0.9;

/// CPU time and switches of threads, each for the time in which it took locks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Number of acquisitions.
    pub acquired: u64,
    /// Time of all these threads together.
    pub seconds: f64,
    /// CPU time that they had and waited for; `None` if nothing tells how long they waited for it.
    pub cpu_time: Option<CpuTime>,
    /// Number of times that they left their CPUs.
    pub switches: Switches,
}

/// Returns the use of these threads, which took locks `acquired` times in their windows and between
/// them. Returns `None` if that of most is not known.
pub(super) fn of(about: &About, threads: &[u32], acquired: u64) -> Option<Used> {
    let of_threads = about.threads.iter().filter(|thread| threads.contains(&thread.number));
    let each: Vec<ThreadUse> = of_threads.filter_map(|thread| thread.used).collect();
    // A file of somebody else's may have any numbers.
    let sum = |of: fn(&ThreadUse) -> u64| each.iter().map(of).fold(0, u64::saturating_add);
    let known = sum(|thread| thread.acquired);
    if known == 0 || (known as f64) < LEAST_KNOWN * acquired as f64 {
        return None;
    }
    let seconds = |of: fn(&ThreadUse) -> u64| sum(of) as f64 / 1e9;
    let ran = seconds(|thread| thread.cpu_ns);
    let waited = if each.iter().all(|thread| thread.waited_ns.is_some()) {
        Some(seconds(|thread| thread.waited_ns.unwrap_or(0)))
    } else {
        // As long as the program's threads for the same CPU time.
        let program = about.cpu_time.filter(|program| program.ran > 0.0);
        program.map(|program| ran * program.waited / program.ran)
    };
    Some(Used {
        acquired: known,
        seconds: seconds(|thread| thread.lived_ns),
        cpu_time: waited.map(|waited| CpuTime { ran, waited }).filter(|_| ran > 0.0),
        switches: Switches {
            voluntary: sum(|thread| thread.switches.voluntary),
            involuntary: sum(|thread| thread.switches.involuntary),
        },
    })
}
