//! Groups of locks of one kind. If a call site takes many locks in turn, as for a table of locks,
//! these locks form one group, as in a recording. A finding about one lock then holds for all, and
//! a list of thousands would hide the locks that matter. Locks with their own names stay separate,
//! because a library's wrapper of the lock function may be the call site of all locks.

use crate::process::{Lock, Process, SiteCounts};
use crate::profile::{HeldShare, Profile};
use std::collections::{BTreeMap, HashMap};

/// Minimum number of locks of a call site that form a group.
const MANY: usize = 4;

/// Locks of one kind, or a lock that is alone.
#[derive(Clone, Debug)]
pub struct Group {
    /// Indices of the locks in the process's list; the lock for which threads waited longest comes
    /// first.
    pub members: Vec<usize>,
    /// All members together: sums of counts and times, and the longest run of any member. Name and
    /// address come from the first member; `same_line` has the neighbours outside the group.
    pub all: Lock,
    /// Number of members that share a cache line with another member.
    pub side_by_side: usize,
}

/// Groups of a process's locks, by lock and in order.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The groups; the group for which threads waited longest comes first.
    pub list: Vec<Group>,
    /// Index of each lock's group, and of the lock in the process's list, by address.
    places: HashMap<u64, (usize, usize)>,
}

impl Groups {
    /// Returns the groups of a process's locks.
    pub fn of(process: &Process) -> Groups {
        let list = Group::of(&process.locks);
        let of_group = |(number, group): (usize, &Group)| {
            let place = move |index: &usize| (process.locks[*index].address, (number, *index));
            group.members.iter().map(place).collect::<Vec<_>>()
        };
        let places = list.iter().enumerate().flat_map(of_group).collect();
        Groups { list, places }
    }

    /// Returns the index of a lock's group, and of the lock in the process's list.
    pub fn place(&self, address: u64) -> Option<(usize, usize)> {
        self.places.get(&address).copied()
    }
}

impl Group {
    /// Returns the groups of a process's locks. Locks and groups come in the order of the waits.
    fn of(locks: &[Lock]) -> Vec<Group> {
        let mut sites: BTreeMap<(u64, &str, &str), Vec<usize>> = BTreeMap::new();
        for (index, lock) in locks.iter().enumerate() {
            for of in lock.sites.iter().filter(|of| of.counts.acquisitions > 0) {
                let key = (of.site.address, lock.kind, object(lock));
                sites.entry(key).or_default().push(index);
            }
        }
        let mut parents: Vec<usize> = (0..locks.len()).collect();
        for found in sites.values().filter(|found| found.len() >= MANY) {
            for index in found {
                let (one, other) = (root(&mut parents, found[0]), root(&mut parents, *index));
                // The first lock of a group is the lock with the longest waits.
                parents[one.max(other)] = one.min(other);
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in 0..locks.len() {
            members.entry(root(&mut parents, index)).or_default().push(index);
        }
        let mut groups: Vec<Group> =
            members.into_values().map(|members| joined(locks, members)).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.all.counts.hotness()));
        groups
    }

    /// Returns the sum of the members' shares of held time.
    pub fn held(&self, profile: &Profile, process: &Process) -> Option<HeldShare> {
        let each = self.members.iter().map(|index| &process.locks[*index]);
        let mut sum = HeldShare { share: 0.0, error: Some(0.0) };
        for lock in each {
            let held = profile.held_share(process, lock)?;
            sum.share += held.share;
            // The samples are independent of each other.
            sum.error = sum.error.zip(held.error).map(|(sum, error)| sum.hypot(error));
        }
        Some(sum)
    }

    /// Returns the largest share of held time of a member.
    pub fn held_most(&self, profile: &Profile, process: &Process) -> Option<HeldShare> {
        let each = self.members.iter().map(|index| &process.locks[*index]);
        let shares = each.map(|lock| profile.held_share(process, lock));
        let shares: Option<Vec<HeldShare>> = shares.collect();
        shares?.into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Returns the group's share of all the time that threads waited for locks.
    pub fn share_of_waiting(&self, process: &Process) -> f64 {
        let all: u64 = process.locks.iter().map(|lock| lock.counts.waits.ticks).sum();
        self.all.counts.waits.ticks as f64 / all.max(1) as f64
    }

    /// Returns the name of the group: the name of its hottest lock, and the number of other locks.
    pub fn name(&self) -> Option<String> {
        let name = self.all.variable.name.as_ref()?;
        Some(match self.members.len() {
            1 => name.clone(),
            many => format!("{name} and {} more", many - 1),
        })
    }
}

/// Returns the name of the variable that contains the lock, without the lock's offset. Without a
/// variable, returns only whether the lock is on a stack.
fn object(lock: &Lock) -> &str {
    // A large object is in a separate mapping, a small object of the same kind on the heap.
    let unnamed = if lock.variable.place == "stack" { "stack" } else { "" };
    let Some(name) = &lock.variable.name else { return unnamed };
    let is_place = |text: &str| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit())
    };
    name.rsplit_once('+').filter(|(_, place)| is_place(place)).map_or(name, |(name, _)| name)
}

/// Returns the first lock of a lock's group.
fn root(parents: &mut [usize], mut lock: usize) -> usize {
    while parents[lock] != lock {
        parents[lock] = parents[parents[lock]];
        lock = parents[lock];
    }
    lock
}

fn joined(locks: &[Lock], members: Vec<usize>) -> Group {
    let mut all = locks[members[0]].clone();
    let mut sites: BTreeMap<u64, SiteCounts> = BTreeMap::new();
    let mut addresses: Vec<u64> = members.iter().map(|index| locks[*index].address).collect();
    addresses.sort_unstable();
    let is_ours = |address: &u64| addresses.binary_search(address).is_ok();
    let mut side_by_side = 0;
    let mut neighbours = Vec::new();
    for (number, lock) in members.iter().map(|index| &locks[*index]).enumerate() {
        for of in &lock.sites {
            match sites.get_mut(&of.site.address) {
                Some(known) => known.counts.add(&of.counts),
                None => drop(sites.insert(of.site.address, of.clone())),
            }
        }
        side_by_side += usize::from(lock.same_line.iter().any(is_ours));
        neighbours.extend(lock.same_line.iter().copied().filter(|address| !is_ours(address)));
        if number == 0 {
            continue;
        }
        all.counts.add(&lock.counts);
        all.longest_run = all.longest_run.max(lock.longest_run);
        all.followed += lock.followed;
        all.destroyed = all.destroyed.saturating_add(lock.destroyed);
        for (sum, more) in all.hand_overs.iter_mut().zip(lock.hand_overs) {
            *sum += more;
        }
    }
    neighbours.sort_unstable();
    neighbours.dedup();
    all.same_line = neighbours;
    all.sites = sites.into_values().collect();
    all.sites.sort_by_key(|of| std::cmp::Reverse(of.counts.acquisitions));
    Group { members, all, side_by_side }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Counts;
    use crate::symbols::{Site, Variable};
    use crate::waits::Waits;

    /// Returns a lock with these call sites, with a wait and ten acquisitions at each.
    fn lock(address: u64, sites: &[u64], wait: u64) -> Lock {
        let counts = Counts { acquisitions: 10, ..Counts::default() };
        let of = |address: &u64| SiteCounts {
            site: Site { address: *address, ..Site::default() },
            counts: counts.clone(),
        };
        let waits = Waits::timed(1, wait);
        let acquisitions = 10 * sites.len() as u64;
        Lock {
            address,
            kind: "mutex",
            variable: Variable { name: Some(format!("table+{address}")), ..Variable::default() },
            counts: Counts { acquisitions, contended: 1, waits, ..Counts::default() },
            longest_run: address as u32,
            followed: 2,
            hand_overs: [0, 1, 0, 0],
            destroyed: 0,
            sites: sites.iter().map(of).collect(),
            same_line: vec![address ^ 1],
        }
    }

    #[test]
    fn locks_of_one_call_site_are_a_group_with_sums() {
        // Four locks of one site, one of which also has another site; and one lock with two other
        // sites.
        let locks = [
            lock(9, &[3, 4], 900),
            lock(20, &[1], 500),
            lock(21, &[1, 2], 400),
            lock(22, &[1], 300),
        ];
        let more = [lock(23, &[1], 200), lock(30, &[2], 1)];
        let locks = [locks.as_slice(), &more].concat();
        let groups = Group::of(&locks);
        let found: Vec<(&[usize], u64, u64)> = groups
            .iter()
            .map(|of| {
                (of.members.as_slice(), of.all.counts.acquisitions, of.all.counts.waits.ticks)
            })
            .collect();
        // Three locks at a site are no group, and neither are the two locks at site 2.
        assert_eq!(found, [(&[1, 2, 3, 4][..], 50, 1400), (&[0][..], 20, 900), (&[5][..], 10, 1)]);
        let group = &groups[0];
        assert_eq!(group.name().as_deref(), Some("table+20 and 3 more"));
        assert_eq!((group.all.longest_run, group.all.followed), (23, 8));
        assert_eq!(group.all.hand_overs, [0, 4, 0, 0]);
        let sites: Vec<(u64, u64)> =
            group.all.sites.iter().map(|of| (of.site.address, of.counts.acquisitions)).collect();
        assert_eq!(sites, [(1, 40), (2, 10)]);
        // 20 and 21 share a line, 22 and 23 too.
        assert_eq!((group.side_by_side, group.all.same_line.len()), (4, 0));
        assert_eq!((groups[1].side_by_side, groups[1].all.same_line.as_slice()), (0, &[8][..]));
    }

    #[test]
    fn locks_of_different_kinds_or_names_are_never_one_group() {
        let mut locks: Vec<Lock> = (0..6).map(|number| lock(number * 64, &[1], 5)).collect();
        locks[0].kind = "spinlock";
        locks[1].kind = "spinlock";
        let sizes: Vec<usize> = Group::of(&locks).iter().map(|of| of.members.len()).collect();
        assert_eq!(sizes, [4, 1, 1]);
        locks[5].variable.name = Some("other".to_owned());
        assert_eq!(Group::of(&locks).len(), 6);
        // The names of a program without symbols, and locks without a name.
        for (number, lock) in locks.iter_mut().enumerate() {
            lock.variable.name = (number > 1).then(|| format!("app+0x{number:x}b8"));
        }
        let sizes: Vec<usize> = Group::of(&locks).iter().map(|of| of.members.len()).collect();
        assert_eq!(sizes, [4, 1, 1]);
    }
}
