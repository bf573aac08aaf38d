//! Totals of each thread of a recorded program, over the whole run: its acquisitions, CPU time and
//! switches.
//!
//! The thread itself read its CPU time and its switches (`lockyard-preload/src/reading.rs`). For
//! how long it waited for a CPU is seen from outside only, by looks at the whole thread
//! (`cpu_time`), so that time is taken in proportion to the CPU time.

use lockyard_profile::records::ThreadCounts;
use lockyard_recording::recording::{Switches, ThreadAbout, ThreadUse};
use lockyard_records::Used;
use std::collections::BTreeMap;

/// Returns the threads that took locks. `seen` has, by the system's id of a thread, the
/// nanoseconds on a CPU and of waits for one, up to the last look.
pub(super) fn of(
    found: &[ThreadCounts],
    seen: &BTreeMap<u32, (u64, u64)>,
    ticks_per_ns: f64,
) -> Vec<ThreadAbout> {
    let took_locks = found.iter().filter(|thread| thread.acquired > 0);
    let about = |thread: &ThreadCounts| {
        let ThreadCounts { number, tid, acquired, used } = *thread;
        let seen = seen.get(&tid).copied();
        ThreadAbout { number, acquired, used: in_ns(&used, seen, ticks_per_ns) }
    };
    let mut threads: Vec<ThreadAbout> = took_locks.map(about).collect();
    threads.sort_by_key(|thread| thread.number);
    threads
}

/// Returns a thread's use of CPUs; `None` if it was not read.
fn in_ns(used: &Used, seen: Option<(u64, u64)>, ticks_per_ns: f64) -> Option<ThreadUse> {
    let Used { ticks, cpu, switches: [voluntary, involuntary], acquired, threads } = *used;
    if acquired == 0 || ticks == 0 {
        return None;
    }
    // Records that several threads have had are of more than the last one of them.
    let seen = seen.filter(|(ran, _)| threads == 1 && *ran > 0);
    // Looks that saw little of the thread's time say nothing of the rest.
    let seen = seen.filter(|(ran, _)| ran.saturating_mul(2) >= cpu);
    let lived_ns = (ticks as f64 / ticks_per_ns).round() as u64;
    let waited = |(ran, waited): (u64, u64)| {
        let all = (waited as f64 * (cpu as f64 / ran as f64)) as u64;
        all.min(lived_ns.saturating_sub(cpu))
    };
    Some(ThreadUse {
        acquired,
        lived_ns,
        cpu_ns: cpu,
        waited_ns: seen.map(waited),
        switches: Switches { voluntary, involuntary },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_what_it_read_and_its_share_of_the_waits_that_were_seen() {
        let used =
            |threads| Used { ticks: 3_000, cpu: 800, switches: [7, 2], acquired: 90, threads };
        let thread = |number, tid, used| ThreadCounts { number, tid, acquired: 100, used };
        let found = [
            thread(2, 12, used(1)),
            thread(1, 11, used(2)),
            thread(3, 13, Used::default()),
            ThreadCounts { number: 4, tid: 14, ..ThreadCounts::default() },
        ];
        // The looks also saw the time before the first lock, and not the last part.
        let seen = BTreeMap::from([(11, (400, 50)), (12, (400, 50)), (99, (1, 1))]);
        let [first, second, third] = of(&found, &seen, 2.0)[..] else { panic!("three took locks") };
        assert_eq!((first.number, second.number, third.number), (1, 2, 3));
        let of_second = second.used.expect("it was read");
        assert_eq!((of_second.lived_ns, of_second.cpu_ns, of_second.acquired), (1_500, 800, 90));
        assert_eq!(of_second.waited_ns, Some(100));
        assert_eq!(of_second.switches, Switches { voluntary: 7, involuntary: 2 });
        assert_eq!(first.used.expect("it was read").waited_ns, None, "two threads had the records");
        assert_eq!(third.used, None);
    }
}
