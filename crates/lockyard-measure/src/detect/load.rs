//! Load of the host: how busy the process's CPUs are, and the share of their time that the
//! hypervisor stole.
//!
//! Load averages cover minutes and do not say which CPUs are busy. So the kernel's per-CPU counters
//! are read twice, a short interval apart, while this process sleeps. The difference is the work of
//! other processes.

use super::list::CpuList;
use super::tree::Tree;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Length of that interval. The counters have a resolution of a hundredth of a second.
const MOMENT: Duration = Duration::from_millis(250);

/// Load of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostLoad {
    /// Mean number of runnable tasks on the whole host over 1, 5 and 15 minutes, including this
    /// process.
    pub averages: Option<[f64; 3]>,
    /// Number of the process's CPUs that other processes kept busy during the interval.
    pub busy_cpus: Option<f64>,
    /// Share of the time of the process's CPUs, from 0 to 1, that the hypervisor stole during the
    /// interval.
    pub steal_now: Option<f64>,
    /// The same share since the host was started.
    pub steal_since_boot: Option<f64>,
}

/// Counters of a CPU in `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    steal: u64,
    all: u64,
}

/// Reads the load on `cpus`. The current load is included if the host is the running one.
pub(super) fn read(tree: &Tree, cpus: &CpuList, live: bool) -> HostLoad {
    let before = stat(tree);
    let now = live.then(|| {
        std::thread::sleep(MOMENT);
        between(&before, &stat(tree), cpus)
    });
    let now = now.flatten();
    let since_boot = between(&BTreeMap::new(), &before, cpus);
    HostLoad {
        averages: tree.parsed("proc/loadavg", averages),
        busy_cpus: now.map(|(busy, _)| busy),
        steal_now: now.map(|(_, steal)| steal),
        steal_since_boot: since_boot.map(|(_, steal)| steal),
    }
}

fn averages(text: &str) -> Option<[f64; 3]> {
    let mut fields = text.split_whitespace().map(|field| field.parse::<f64>().ok());
    let averages = [fields.next()??, fields.next()??, fields.next()??];
    averages.iter().all(|average| (0.0..1e9).contains(average)).then_some(averages)
}

fn stat(tree: &Tree) -> BTreeMap<usize, Ticks> {
    let text = tree.text("proc/stat").unwrap_or_default();
    text.lines().filter_map(ticks).collect()
}

/// Parses `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`. The time of
/// guests is included in user time.
fn ticks(line: &str) -> Option<(usize, Ticks)> {
    let mut fields = line.split_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let counts: Vec<u64> = fields.take(8).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = counts[..] else { return None };
    let sum = |counts: &[u64]| counts.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
    let busy = sum(&[user, nice, system, irq, softirq]);
    Some((cpu, Ticks { busy, steal, all: sum(&[busy, idle, iowait, steal]) }))
}

/// Returns how many of `cpus` were busy between two readings, and the share of their time that was
/// stolen. Returns `None` if no ticks were counted. A CPU without an earlier reading starts at 0.
fn between(
    before: &BTreeMap<usize, Ticks>,
    after: &BTreeMap<usize, Ticks>,
    cpus: &CpuList,
) -> Option<(f64, f64)> {
    let (mut busy, mut stolen, mut counted) = (0.0, 0.0, 0.0);
    for cpu in cpus.numbers() {
        let Some(after) = after.get(cpu) else { continue };
        let before = before.get(cpu).copied().unwrap_or_default();
        // Some of the kernel's counters may decrease slightly.
        let all = after.all.saturating_sub(before.all);
        if all == 0 {
            continue;
        }
        let share = |after: u64, before: u64| after.saturating_sub(before) as f64 / all as f64;
        busy += share(after.busy, before.busy).min(1.0);
        stolen += share(after.steal, before.steal).min(1.0);
        counted += 1.0;
    }
    (counted > 0.0).then(|| (busy, stolen / counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> BTreeMap<usize, Ticks> {
        text.lines().filter_map(ticks).collect()
    }

    #[test]
    fn the_load_is_that_of_the_cpus_of_the_process_between_two_readings() {
        let before = readings(
            "cpu 9 9 9 9 9 9 9 9\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 500 0 0 0 0\ncpu9 0 0 \
            0 0 0 0 0 0",
        );
        let after = readings(
            "cpu0 110 5 5 120 0 3 2 5 0 0\ncpu1 0 0 0 540 10 0 0 0\ncpu9 99 0 0 0 0 0 0 0",
        );
        // CPU 0: 25 of 50 ticks busy, 5 stolen. CPU 1: 0 of 50. CPU 9 does not belong to the
        // process.
        let (busy, stolen) = between(&before, &after, &CpuList::new(vec![0, 1])).unwrap();
        assert!((busy - 0.5).abs() < 1e-12 && (stolen - 0.05).abs() < 1e-12, "{busy} {stolen}");
        assert_eq!(between(&after, &after, &CpuList::new(vec![0, 1])), None, "nothing was counted");
        assert_eq!(between(&before, &after, &CpuList::new(vec![7])), None);
        let (busy, _) = between(&after, &before, &CpuList::new(vec![0, 1])).unwrap_or_default();
        assert_eq!(busy, 0.0, "counters that go back count nothing");
    }

    #[test]
    fn malformed_counters_are_not_counted() {
        for line in
            ["cpu0 1 2 3", "cpux 1 2 3 4 5 6 7 8", "cpu0 1 2 3 4 5 6 7 -8", "intr 1", "", "cpu"]
        {
            assert_eq!(ticks(line), None, "{line:?}");
        }
        let most = format!("cpu0{}", format!(" {}", u64::MAX).repeat(8));
        assert_eq!(ticks(&most).unwrap().1.all, u64::MAX);
    }

    #[test]
    fn averages_are_three_numbers() {
        assert_eq!(averages("0.50 0.22 0.83 4/108 15966\n"), Some([0.5, 0.22, 0.83]));
        for text in ["", "1 2", "a b c", "-1 0 0", "NaN 0 0", "inf 0 0"] {
            assert_eq!(averages(text), None, "{text:?}");
        }
    }
}
