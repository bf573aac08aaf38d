//! Locks that are taken in contradicting orders: a deadlock that has not happened yet.
//!
//! An arrow leads from a lock that a thread held to a lock that it waited for. Locks on a cycle of
//! arrows may wait for each other. Acquisitions that do not wait make no arrow.

use lockyard_records::Pair;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of cycles that are found.
const MOST: usize = 32;

/// Locks of a cycle: each was taken while the previous one was held, and the first one while the
/// last was held.
pub type Circle = Vec<Pair>;

/// Returns the pairs of all threads, each pair of locks once, the most frequent first.
pub fn joined(pairs: &[Pair]) -> Vec<Pair> {
    let mut joined: BTreeMap<(u64, u64), Pair> = BTreeMap::new();
    for pair in pairs {
        let here = joined.entry((pair.outer, pair.inner)).or_insert(Pair {
            waiting: 0,
            tried: 0,
            ..*pair
        });
        here.waiting += pair.waiting;
        here.tried += pair.tried;
    }
    let mut joined: Vec<Pair> = joined.into_values().collect();
    joined.sort_by_key(|pair| std::cmp::Reverse(pair.waiting + pair.tried));
    joined
}

/// Returns cycles: for each arrow on a cycle, a shortest cycle; each set of locks only once.
pub fn circles(joined: &[Pair]) -> Vec<Circle> {
    let mut arrows: BTreeMap<u64, Vec<&Pair>> = BTreeMap::new();
    for pair in joined.iter().filter(|pair| pair.waiting > 0) {
        arrows.entry(pair.outer).or_default().push(pair);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for pair in joined.iter().filter(|pair| pair.waiting > 0) {
        let Some(back) = way(&arrows, pair.inner, pair.outer) else { continue };
        let circle: Circle = std::iter::once(*pair).chain(back).collect();
        let locks: BTreeSet<u64> = circle.iter().map(|pair| pair.outer).collect();
        if seen.insert(locks) {
            found.push(circle);
        }
        if found.len() == MOST {
            break;
        }
    }
    found.sort_by_key(Vec::len);
    found
}

/// Returns a shortest path along arrows.
fn way(arrows: &BTreeMap<u64, Vec<&Pair>>, from: u64, to: u64) -> Option<Vec<Pair>> {
    let mut came: BTreeMap<u64, Pair> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(at) = next.pop_front() {
        if at == to {
            let mut way = Vec::new();
            let mut here = to;
            while here != from {
                let pair = came[&here];
                way.push(pair);
                here = pair.outer;
            }
            way.reverse();
            return Some(way);
        }
        for pair in arrows.get(&at).into_iter().flatten() {
            if pair.inner != from && !came.contains_key(&pair.inner) {
                came.insert(pair.inner, **pair);
                next.push_back(pair.inner);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(outer: u64, inner: u64, tried: bool) -> Pair {
        let (waiting, tried) = (u64::from(!tried), u64::from(tried));
        Pair { outer, inner, waiting, tried, ..Pair::default() }
    }

    #[test]
    fn contradicting_orders_are_circles() {
        let pairs = joined(&[pair(1, 2, false), pair(2, 1, false), pair(1, 2, false)]);
        assert_eq!((pairs.len(), pairs[0].waiting), (2, 2));
        let circles = super::circles(&pairs);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].iter().map(|pair| pair.outer).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_longer_circle_is_found_and_a_way_is_none() {
        let way = [pair(1, 2, false), pair(2, 3, false), pair(1, 3, false)];
        assert!(circles(&joined(&way)).is_empty());
        let circle = [&way[..2], &[pair(3, 1, false)]].concat();
        let found = circles(&joined(&circle));
        assert_eq!((found.len(), found[0].len()), (1, 3));
    }

    #[test]
    fn a_call_that_does_not_wait_is_no_part_of_a_circle() {
        assert!(circles(&joined(&[pair(1, 2, false), pair(2, 1, true)])).is_empty());
    }
}
