//! Where the time of the recorded threads goes: outside of locks, asleep, under each lock, in
//! waits for each lock. The cost of events is taken off.
//!
//! Time in which another thread had the CPU is never a lock's, although the lock may be held then:
//! it says how busy the host was, and nothing about the program. Sleep under a lock is the lock's.

use crate::recording::{Costs, CpuTime};
use std::collections::{BTreeMap, HashMap};

/// Least mean number of wanted CPUs from which a program says how busy its host was.
const LEAST_WANTED: f64 = 0.01;

/// Largest share of the time on a CPU that is taken off as the cost of events. That is an estimate:
/// where locks are nearly all that a program does, it may be more than the time that there was.
const MOST_COST: f64 = 0.9;

/// Shares of the threads' time. Together they are 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Today {
    /// Time on a CPU, outside of locks.
    pub outside: f64,
    /// Sleep outside of locks: in waits for conditions, in I/O.
    pub slept: f64,
    /// Sleep under locks, a part of the groups' time.
    pub slept_held: f64,
    /// Time in which a thread could run, and another one had the CPU.
    pub preempted: f64,
    /// Time of each group of locks, in the order of the model's groups.
    pub groups: Vec<GroupTime>,
}

/// Time of a group of locks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupTime {
    /// Share of the threads' time under these locks. Under several locks, time counts for the one
    /// that was taken last.
    pub held: f64,
    /// Share of the threads' time in waits for these locks.
    pub waited: f64,
    /// Share of the acquisitions.
    pub acquired: f64,
    /// The part of each that is shared with others: reads of a reader-writer lock.
    pub shared: SharedTime,
}

/// Time of reads of a group of locks, as shares of what [`GroupTime`] has shares of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedTime {
    /// Share of the threads' time under these locks.
    pub held: f64,
    /// Share of the threads' time in waits for these locks.
    pub waited: f64,
    /// Share of the acquisitions.
    pub acquired: f64,
}

impl GroupTime {
    /// Returns all times and counts, to be changed.
    fn each(&mut self) -> [&mut f64; 6] {
        let GroupTime { held, waited, acquired, shared } = self;
        [held, waited, acquired, &mut shared.held, &mut shared.waited, &mut shared.acquired]
    }
}

impl Today {
    /// Returns the time in waits for locks.
    pub fn waited(&self) -> f64 {
        self.groups.iter().map(|group| group.waited).sum()
    }

    /// Returns the time on a CPU, with sleep under locks.
    fn on_cpu(&self) -> f64 {
        self.outside + self.groups.iter().map(|group| group.held).sum::<f64>()
    }

    /// Returns the share of the CPU time that `threads` threads could have used on `cpus` CPUs and
    /// had. More threads than CPUs cannot use more than these. `cpu_time` is that of the whole run,
    /// which took `seconds`.
    pub(super) fn cpu_share(
        &self,
        threads: f64,
        cpus: usize,
        cpu_time: Option<CpuTime>,
        seconds: f64,
    ) -> f64 {
        let (had, wanted) = match cpu_time {
            Some(CpuTime { ran, waited }) => (ran / seconds, (ran + waited) / seconds),
            None => (self.on_cpu() * threads, (self.on_cpu() + self.preempted) * threads),
        };
        let could = wanted.min(cpus.max(1) as f64);
        // A program that hardly wants a CPU says nothing about its host.
        if could.is_finite() && could > LEAST_WANTED { (had / could).min(1.0) } else { 1.0 }
    }
}

/// Times of a run, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    /// With the cost of events, as the other times on a CPU.
    outside: f64,
    outside_cost: f64,
    slept: f64,
    /// Sleep under locks, which counts for these.
    slept_under_locks: f64,
    preempted: f64,
    /// By lock; true for the times of reads.
    locks: BTreeMap<(u32, bool), OfLock>,
    /// True if the event before was an acquisition.
    is_after_acquisition: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfLock {
    held: f64,
    cost: f64,
    waited: f64,
    acquired: u64,
}

/// Time between two events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// Time on a CPU.
    pub(super) busy: f64,
    /// Time asleep.
    pub(super) slept: f64,
    /// Time without a CPU, which another thread had.
    pub(super) preempted: f64,
    /// Wait for a lock.
    pub(super) waited: f64,
    /// Lock that the thread holds, the latest one; true if it is shared.
    pub(super) holds: Option<(u32, bool)>,
    /// Lock that the second event acquires; true if it is shared.
    pub(super) enters: Option<(u32, bool)>,
    /// True if the second event is of no lock. Its cost is recorded.
    pub(super) of_no_lock: bool,
}

impl Spent {
    /// Adds the time between two events.
    pub(super) fn add(&mut self, passed: Passed, costs: &Costs) {
        let Passed { busy, slept, preempted, waited, holds, enters, of_no_lock } = passed;
        let acquires = enters.is_some();
        let think = costs.think - costs.plain;
        let cost = match (self.is_after_acquisition, acquires) {
            _ if of_no_lock => 0.0,
            (true, false) => costs.hold,
            (false, true) => think,
            _ => (costs.hold + think) / 2.0,
        };
        if !of_no_lock {
            self.is_after_acquisition = acquires;
        }
        match holds {
            Some(lock) => {
                let of = self.locks.entry(lock).or_default();
                of.held += busy + slept;
                of.cost += cost;
                self.slept_under_locks += slept;
            }
            None => {
                self.outside += busy;
                self.outside_cost += cost;
                self.slept += slept;
            }
        }
        self.preempted += preempted;
        if let Some(lock) = enters {
            let of = self.locks.entry(lock).or_default();
            of.waited += waited;
            of.acquired += 1;
        }
    }
}

/// CPU time of the whole run, and the time of all replayed threads in it, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeRun {
    pub(super) cpu: CpuTime,
    pub(super) of_threads: f64,
}

/// Returns the shares of the time that runs spent. `of_lock` has the group of each lock.
///
/// The runs of events are a small part of the program's run, and are from busy times. With `whole`,
/// the time without a CPU is that of the whole run. What is left of the threads' time is off a CPU
/// by the threads' own will: see [`share_rest`].
pub(super) fn of<'a>(
    runs: impl Iterator<Item = &'a Spent>,
    of_lock: &HashMap<u32, u32>,
    groups: usize,
    whole: Option<WholeRun>,
) -> Today {
    let mut today = Today { groups: vec![GroupTime::default(); groups], ..Today::default() };
    // Of exclusive sections, and of shared ones.
    let mut costs = vec![[0.0; 2]; groups];
    let mut outside_cost = 0.0;
    for spent in runs {
        outside_cost += spent.outside_cost;
        today.slept_held += spent.slept_under_locks;
        today.outside += spent.outside;
        today.slept += spent.slept;
        today.preempted += spent.preempted;
        // A lock of no group was taken only where a run begins or ends.
        for ((lock, shared), of) in &spent.locks {
            let Some(index) = of_lock.get(lock) else { continue };
            let group = &mut today.groups[*index as usize];
            group.held += of.held;
            group.waited += of.waited;
            group.acquired += of.acquired as f64;
            costs[*index as usize][usize::from(*shared)] += of.cost;
            if *shared {
                group.shared.held += of.held;
                group.shared.waited += of.waited;
                group.shared.acquired += of.acquired as f64;
            }
        }
    }
    let cost = outside_cost + costs.iter().flatten().sum::<f64>();
    let most = (MOST_COST * (today.on_cpu() - today.slept_held)).max(0.0);
    let factor = if cost > most { most / cost } else { 1.0 };
    today.outside = (today.outside - outside_cost * factor).max(0.0);
    for (group, [exclusive, shared]) in today.groups.iter_mut().zip(costs) {
        let of_exclusive = (group.held - group.shared.held - exclusive * factor).max(0.0);
        group.shared.held = (group.shared.held - shared * factor).max(0.0);
        group.held = of_exclusive + group.shared.held;
    }
    if let Some(WholeRun { cpu, of_threads }) = whole.filter(|whole| whole.cpu.ran > 0.0) {
        let on_cpu = today.on_cpu() - today.slept_held;
        today.preempted = on_cpu * cpu.waited / cpu.ran;
        let known = on_cpu + today.slept_held + today.preempted;
        share_rest(&mut today, on_cpu * of_threads / cpu.ran - known);
    }
    let of_groups = |of: fn(&GroupTime) -> f64| today.groups.iter().map(of).sum::<f64>();
    let all = today.outside + today.slept + today.preempted;
    let all = (all + of_groups(|group| group.held + group.waited)).max(f64::MIN_POSITIVE);
    let acquired = of_groups(|group| group.acquired).max(1.0);
    let Today { outside, slept, slept_held, preempted, .. } = &mut today;
    for share in [outside, slept, slept_held, preempted] {
        *share /= all;
    }
    for group in &mut today.groups {
        let units = [all, all, acquired, all, all, acquired];
        group.each().into_iter().zip(units).for_each(|(part, unit)| *part /= unit);
    }
    today
}

/// Shares the time off a CPU by the threads' own will between waits for locks and sleep, if it is
/// more than the bursts saw.
///
/// A thread that is blocked when a burst begins or ends has no event, so bursts see too little of
/// waits and of sleep alike. The rest is shared as what they saw. But they are from busy times, so
/// it is no more than the waits again: the longest sleeps are between bursts.
fn share_rest(today: &mut Today, off: f64) {
    let waited = today.waited();
    let seen = waited + today.slept;
    let rest = (off - seen).max(0.0);
    let more = if waited > 0.0 { (rest * waited / seen).min(waited) } else { 0.0 };
    let factor = if waited > 0.0 { 1.0 + more / waited } else { 1.0 };
    for group in &mut today.groups {
        group.waited *= factor;
        group.shared.waited *= factor;
    }
    today.slept += rest - more;
}
