//! Cost of the data that a lock protects: how much longer a hold is after the lock came from
//! another thread than after the same thread had it before.

use super::groups::Group;
use super::visits::{Operation, Run};
use std::collections::BTreeMap;

/// Minimum number of holds after a hand-over, and of others, of one call site.
const ENOUGH: usize = 20;

/// Time between two acquisitions of a lock beyond which it is not known who had it between them, in
/// nanoseconds.
const KNOWN: u64 = 1_000_000;

/// An acquisition of a lock.
struct Acquired {
    time: u64,
    thread: u32,
    group: u32,
    site: u32,
    /// Time until the next operation.
    hold: f64,
}

/// Adds its cost to each group, and the share of hand-overs among its acquisitions whose previous
/// owner is known.
pub(super) fn add_costs(groups: &mut [Group], runs: &[Run]) {
    let mut of_locks: BTreeMap<u32, Vec<Acquired>> = BTreeMap::new();
    for run in runs {
        for visit in &run.visits {
            let mut acquired = visit.acquired.iter();
            for (place, operation) in visit.operations.iter().enumerate() {
                let Operation::Enter { lock: group, site } = *operation else { continue };
                let Some(&(time, lock)) = acquired.next() else { continue };
                let hold = visit.segments.get(place + 1).map_or(0.0, |segment| segment.busy);
                let thread = run.thread;
                let one = Acquired { time, thread, group, site, hold };
                of_locks.entry(lock).or_default().push(one);
            }
        }
    }
    let mut holds: BTreeMap<(u32, u32), [Vec<f64>; 2]> = BTreeMap::new();
    let mut counts: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
    for list in of_locks.values_mut() {
        list.sort_by_key(|acquired| acquired.time);
        for pair in list.windows(2) {
            let [before, after] = pair else { continue };
            if after.time - before.time > KNOWN {
                continue;
            }
            let handed_over = usize::from(before.thread != after.thread);
            counts.entry(after.group).or_default()[handed_over] += 1.0;
            holds.entry((after.group, after.site)).or_default()[handed_over].push(after.hold);
        }
    }
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for ((group, _), [own, others]) in &mut holds {
        if own.len() < ENOUGH || others.len() < ENOUGH {
            continue;
        }
        let weight = others.len() as f64;
        let difference = median(others) - median(own);
        let sum = sums.entry(*group).or_default();
        *sum = (sum.0 + difference * weight, sum.1 + weight);
    }
    for (index, (sum, weight)) in sums {
        groups[index as usize].data = Some((sum / weight).max(0.0));
    }
    for (index, [own, others]) in counts {
        groups[index as usize].handed_over = others / (own + others).max(1.0);
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
