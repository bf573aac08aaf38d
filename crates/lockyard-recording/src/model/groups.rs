//! Groups of locks. A call site that takes many locks in turn, as of a table of locks, has a group:
//! the replay draws one of them each time. And orders of nested groups: a circle could stop the
//! replay, because it draws each lock apart, so the rarest nesting of a circle is replayed as work.

use super::chain::ClassModel;
use super::visits::{Operation, Run, Segment, Visit};
use crate::recording::{About, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Number of locks of a call site from which they are a group.
const MANY: usize = 4;

/// Maximum number of locks of a group. Rarer ones count for the rarest of these.
const MOST: usize = 256;

/// Locks of which one is taken at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Name for readers.
    pub name: String,
    /// Kind of the locks.
    pub kind: Kind,
    /// Locks, as places in the recording's list, with their numbers of acquisitions; the most
    /// frequent first.
    pub locks: Vec<(u32, u64)>,
    /// Call site that takes them most often, as a place in the recording's list.
    pub site: Option<u32>,
    /// Share of acquisitions that are shared with others: reads of a reader-writer lock.
    pub shared: f64,
    /// Data that comes with the lock to an exclusive section.
    pub exclusive: Moved,
    /// Data that another thread wrote, and that comes to a shared section.
    pub reads: Moved,
    /// Calls with exclusive access, and with shared access.
    pub calls: [Calls; 2],
}

/// Calls of locks with one kind of access. Times are means of an acquisition, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Recorded time from the release before to the acquisition, beyond the fastest of these times.
    pub slower: f64,
    /// Part of that which the replay does not have: there it is the time of the calls themselves.
    pub taken_off: f64,
}

/// Share of times that count as the fastest.
const FASTEST: f64 = 0.05;

/// Returns the time below which the fastest of these are, and their mean.
pub(crate) fn fastest_and_mean(times: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let fastest = times.get((times.len() as f64 * FASTEST) as usize);
    (fastest.copied().unwrap_or_default(), mean)
}

/// Data that comes with a lock from another thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Additional time of a hold to which it comes, in nanoseconds. `None` if there are too few
    /// such holds, or too few others.
    pub data: Option<f64>,
    /// Share of holds to which it comes, of those of which that is known.
    pub share: f64,
}

impl Group {
    /// Returns the data that comes to its sections of a kind.
    pub fn moved(&self, shared: bool) -> Moved {
        if shared { self.reads } else { self.exclusive }
    }
}

/// Groups the locks of all runs. Afterwards the runs' operations name groups.
pub(super) fn of(about: &About, runs: &[Run]) -> Vec<Group> {
    let mut sites: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    let mut of_sites: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for operation in runs.iter().flat_map(|run| &run.visits).flat_map(|visit| &visit.operations) {
        if let Operation::Enter { lock, site, shared } = *operation {
            sites.entry(site).or_default().insert(lock);
            counts.entry(lock).or_default()[usize::from(shared)] += 1;
            *of_sites.entry((lock, site)).or_default() += 1;
        }
    }
    // Whatever a file says of it, a lock that is shared is a reader-writer lock.
    let kind = |lock: u32| match counts.get(&lock) {
        Some([_, shared]) if *shared > 0 => Kind::RwLock,
        _ => about.locks[lock as usize].kind,
    };
    let mut parents: BTreeMap<u32, u32> = counts.keys().map(|lock| (*lock, *lock)).collect();
    for locks in sites.values().filter(|locks| locks.len() >= MANY) {
        let first = locks.iter().next().map_or(0, |lock| root(&parents, *lock));
        for lock in locks {
            let lock = root(&parents, *lock);
            // Locks of different kinds are never one group.
            if kind(lock) == kind(first) {
                parents.insert(lock, first);
            }
        }
    }
    let mut groups: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    for (lock, [exclusive, shared]) in &counts {
        groups.entry(root(&parents, *lock)).or_default().push((*lock, exclusive + shared));
    }
    let group = |mut locks: Vec<(u32, u64)>| {
        locks.sort_by_key(|(lock, count)| (std::cmp::Reverse(*count), *lock));
        let first = locks.first().map_or(0, |first| first.0);
        let of_first = &about.locks[first as usize];
        let site = busiest_site(&of_sites, &locks);
        let place = site.and_then(|site| about.sites.get(site as usize)).map(|site| place(site));
        let name = match (locks.len(), place) {
            (1, _) => of_first.name.clone(),
            (many, Some(place)) => format!("{many} locks at {place}{}", hot(&locks)),
            (many, None) => format!("{} and {} more", of_first.name, many - 1),
        };
        let of = |mode: usize| locks.iter().map(|(lock, _)| counts[lock][mode]).sum::<u64>() as f64;
        let shared = of(1) / (of(0) + of(1)).max(1.0);
        let (exclusive, reads) = (Moved::default(), Moved::default());
        let calls = [Calls::default(); 2];
        Group { name, kind: kind(first), locks, site, shared, exclusive, reads, calls }
    };
    let mut groups: Vec<Group> = groups.into_values().map(group).collect();
    let count = |group: &Group| group.locks.iter().map(|(_, count)| count).sum::<u64>();
    groups.sort_by_key(|group| std::cmp::Reverse(count(group)));
    groups
}

/// Share of a group's acquisitions from which one of its locks is hot, and as many times the mean.
const HOT_SHARE: f64 = 0.25;
const HOT_TIMES: f64 = 3.0;

/// Returns the end of the name of a group one of whose locks has a large part of the acquisitions:
/// what is said of the group is then said of that lock. The largest comes first.
fn hot(locks: &[(u32, u64)]) -> String {
    let all: u64 = locks.iter().map(|(_, count)| count).sum();
    let share = locks.first().map_or(0.0, |first| first.1 as f64 / all.max(1) as f64);
    match share >= HOT_SHARE && share * locks.len() as f64 >= HOT_TIMES {
        true => format!(", {:.0} % on one", share * 100.0),
        false => String::new(),
    }
}

/// Returns the call site with the most acquisitions of some locks.
fn busiest_site(of_sites: &BTreeMap<(u32, u32), u64>, locks: &[(u32, u64)]) -> Option<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (lock, _) in locks {
        for ((_, site), count) in of_sites.range((*lock, 0)..=(*lock, u32::MAX)) {
            *counts.entry(*site).or_default() += count;
        }
    }
    counts.into_iter().max_by_key(|(site, count)| (*count, std::cmp::Reverse(*site))).map(|of| of.0)
}

/// Returns the place of a call site: file and line, without the function's name.
pub fn place(site: &str) -> &str {
    let inner = site.strip_suffix(')').and_then(|site| site.rsplit_once(" (")).map(|both| both.1);
    inner.unwrap_or(site)
}

fn root(parents: &BTreeMap<u32, u32>, mut lock: u32) -> u32 {
    while let Some(&parent) = parents.get(&lock).filter(|parent| **parent != lock) {
        lock = parent;
    }
    lock
}

impl Group {
    /// Returns the locks that the replay has, with their shares.
    pub fn replayed(&self) -> Vec<(u32, u64)> {
        let mut locks: Vec<(u32, u64)> = self.locks.iter().take(MOST).copied().collect();
        let rest: u64 = self.locks.iter().skip(MOST).map(|(_, count)| count).sum();
        if let Some((_, count)) = locks.last_mut() {
            *count += rest;
        }
        locks
    }
}

/// Adds the recorded times of the calls of reader-writer locks.
pub(super) fn add_calls(groups: &mut [Group], classes: &[ClassModel]) {
    let mut sums: BTreeMap<(u32, bool), (f64, f64)> = BTreeMap::new();
    for visit in classes.iter().flat_map(|class| &class.visits) {
        for (index, operation) in visit.shape.iter().enumerate() {
            let Operation::Enter { lock, shared, .. } = *operation else { continue };
            if groups[lock as usize].kind != Kind::RwLock {
                continue;
            }
            let times = visit.segments.iter().map(|times| times[index].busy);
            let (fastest, mean) = fastest_and_mean(times);
            let (count, sum) = (visit.count() as f64, sums.entry((lock, shared)).or_default());
            *sum = (sum.0 + (mean - fastest) * count, sum.1 + count);
        }
    }
    for ((group, shared), (sum, count)) in sums {
        groups[group as usize].calls[usize::from(shared)].slower = sum / count.max(1.0);
    }
}

/// Returns the group of each lock.
pub(super) fn of_locks(groups: &[Group]) -> HashMap<u32, u32> {
    let each = groups.iter().zip(0u32..);
    each.flat_map(|(group, index)| group.locks.iter().map(move |(lock, _)| (*lock, index)))
        .collect()
}

/// Replaces locks by their groups, and nested acquisitions that close a circle by work. Returns the
/// share of acquisitions that are replaced.
pub(super) fn without_circles(of_lock: &HashMap<u32, u32>, runs: &mut [Run]) -> f64 {
    let visits = || runs.iter().flat_map(|run| &run.visits);
    let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for visit in visits() {
        let mut held = Vec::new();
        for operation in &visit.operations {
            match operation {
                Operation::Enter { lock, .. } => {
                    let inner = of_lock[lock];
                    held.iter().for_each(|outer| *pairs.entry((*outer, inner)).or_default() += 1);
                    held.push(inner);
                }
                Operation::Leave => drop(held.pop()),
                Operation::Meet { .. } => {}
            }
        }
    }
    let mut pairs: Vec<((u32, u32), u64)> = pairs.into_iter().collect();
    pairs.sort_by_key(|(pair, count)| (std::cmp::Reverse(*count), *pair));
    let mut allowed: BTreeSet<(u32, u32)> = BTreeSet::new();
    for ((outer, inner), _) in pairs {
        if outer != inner && !reaches(&allowed, inner, outer) {
            allowed.insert((outer, inner));
        }
    }
    let (mut all, mut replaced) = (0u64, 0u64);
    for visit in runs.iter_mut().flat_map(|run| &mut run.visits) {
        let before = entered(visit);
        replace(visit, of_lock, &allowed);
        all += before;
        replaced += before - entered(visit);
    }
    replaced as f64 / all.max(1) as f64
}

fn entered(visit: &Visit) -> u64 {
    let enters = visit.operations.iter();
    enters.filter(|operation| matches!(operation, Operation::Enter { .. })).count() as u64
}

/// Returns true if a way leads from one group to another.
fn reaches(pairs: &BTreeSet<(u32, u32)>, from: u32, to: u32) -> bool {
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = next.pop() {
        if at == to {
            return true;
        }
        let inner = pairs.range((at, 0)..=(at, u32::MAX)).map(|(_, inner)| *inner);
        next.extend(inner.filter(|inner| seen.insert(*inner)));
    }
    false
}

/// Replaces the locks of a visit by groups, and forbidden acquisitions by their time.
fn replace(visit: &mut Visit, of_lock: &HashMap<u32, u32>, allowed: &BTreeSet<(u32, u32)>) {
    let (mut operations, mut segments) = (Vec::new(), Vec::new());
    // Groups that are held; `None` for an acquisition that is replaced.
    let mut held: Vec<Option<u32>> = Vec::new();
    let mut time = Segment::default();
    // One for each lock that is entered.
    let mut acquired = std::mem::take(&mut visit.acquired).into_iter();
    for (operation, segment) in visit.operations.iter().zip(&visit.segments) {
        time.busy += segment.busy;
        time.slept += segment.slept;
        let kept = match *operation {
            Operation::Enter { lock, site, shared } => {
                let lock = of_lock[&lock];
                let may = held.iter().flatten().all(|outer| allowed.contains(&(*outer, lock)));
                held.push(may.then_some(lock));
                visit.acquired.extend(acquired.next().filter(|_| may));
                may.then_some(Operation::Enter { lock, site, shared })
            }
            Operation::Leave => held.pop().flatten().map(|_| Operation::Leave),
            Operation::Meet { .. } => Some(*operation),
        };
        if let Some(operation) = kept {
            operations.push(operation);
            segments.push(std::mem::take(&mut time));
        }
    }
    (visit.operations, visit.segments) = (operations, segments);
}

#[cfg(test)]
mod tests {
    use super::hot;

    #[test]
    fn a_group_says_if_one_of_its_locks_is_hot() {
        let group = |first: u64, others: usize| {
            let others = (1..=others as u32).map(|lock| (lock, 10));
            std::iter::once((0, first)).chain(others).collect::<Vec<_>>()
        };
        assert_eq!(hot(&group(630, 63)), ", 50 % on one");
        assert_eq!(hot(&group(10, 63)), "");
        // A quarter is the usual share of one of four, and little is no hot lock of many.
        assert_eq!(hot(&group(10, 3)), "");
        assert_eq!(hot(&group(100, 63)), "");
    }
}
