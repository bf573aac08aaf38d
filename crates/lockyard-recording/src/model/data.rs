//! Cost of the data that a lock protects: how much longer a hold is after the lock came from
//! another thread than after the same thread had it before.
//!
//! Of a reader-writer lock, data comes to a reader if another thread wrote since the reader had the
//! lock, however many have read meanwhile. It comes to a writer as to the owner of a mutex.

use super::groups::{Group, Moved};
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
    shared: bool,
    /// Time until the next operation.
    hold: f64,
}

/// Threads that have had a lock since a known write.
#[derive(Default)]
struct Known {
    last: Option<(u64, u32)>,
    /// The writer, and those that have read since. Empty if no write is known.
    have: Vec<u32>,
}

impl Known {
    /// Returns whether data comes to an acquisition from another thread, if that is known.
    fn next(&mut self, acquired: &Acquired) -> Option<bool> {
        let Acquired { time, thread, shared, .. } = *acquired;
        let before = self.last.replace((time, thread));
        let before = before.filter(|(before, _)| time - before <= KNOWN);
        if before.is_none() {
            self.have.clear();
        }
        if !shared {
            self.have = vec![thread];
            return before.map(|(_, before)| before != thread);
        }
        let is_written = !self.have.is_empty();
        let comes = !self.have.contains(&thread);
        if is_written && comes {
            self.have.push(thread);
        }
        is_written.then_some(comes)
    }
}

/// A group, and true for its shared sections.
type Sections = (u32, bool);

/// Adds the cost of its data to each group, and the share of holds to which that comes.
pub(super) fn add_costs(groups: &mut [Group], runs: &[Run]) {
    let mut of_locks: BTreeMap<u32, Vec<Acquired>> = BTreeMap::new();
    for run in runs {
        for visit in &run.visits {
            let mut acquired = visit.acquired.iter();
            for (place, operation) in visit.operations.iter().enumerate() {
                let Operation::Enter { lock: group, site, shared } = *operation else { continue };
                let Some(&(time, lock)) = acquired.next() else { continue };
                let hold = visit.segments.get(place + 1).map_or(0.0, |segment| segment.busy);
                let thread = run.thread;
                let one = Acquired { time, thread, group, site, shared, hold };
                of_locks.entry(lock).or_default().push(one);
            }
        }
    }
    let mut holds: BTreeMap<(Sections, u32), [Vec<f64>; 2]> = BTreeMap::new();
    let mut counts: BTreeMap<Sections, [f64; 2]> = BTreeMap::new();
    for list in of_locks.values_mut() {
        list.sort_by_key(|acquired| acquired.time);
        let mut known = Known::default();
        for one in list {
            let Some(comes) = known.next(one).map(usize::from) else { continue };
            let key = (one.group, one.shared);
            counts.entry(key).or_default()[comes] += 1.0;
            holds.entry((key, one.site)).or_default()[comes].push(one.hold);
        }
    }
    let mut sums: BTreeMap<Sections, (f64, f64)> = BTreeMap::new();
    for ((key, _), [own, others]) in &mut holds {
        if own.len() < ENOUGH || others.len() < ENOUGH {
            continue;
        }
        let weight = others.len() as f64;
        let difference = median(others) - median(own);
        let sum = sums.entry(*key).or_default();
        *sum = (sum.0 + difference * weight, sum.1 + weight);
    }
    for (key, (sum, weight)) in sums {
        moved(groups, key).data = Some((sum / weight).max(0.0));
    }
    for (key, [own, others]) in counts {
        moved(groups, key).share = others / (own + others).max(1.0);
    }
}

fn moved(groups: &mut [Group], (index, shared): Sections) -> &mut Moved {
    let group = &mut groups[index as usize];
    if shared { &mut group.reads } else { &mut group.exclusive }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
