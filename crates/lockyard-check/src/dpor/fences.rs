//! The order of sequentially consistent fences.
//!
//! An execution is consistent only if its fences with `SeqCst` can be put into one order that
//! agrees with what their threads saw. A fence is before another fence if it happens before that
//! fence. It is also before another fence if an access after the first fence is ordered before an
//! access of the same location ahead of the second. (This is `psc_F` of Lahav, Vafeiadis, Kang, Hur
//! and Dreyer, *Repairing sequential consistency in C/C++11*, PLDI 2017.)

use super::graph::{Clock, Id, Location};

/// An access of a location, at a place in the location's order: a write is before the reads from
/// that write, and these reads are before the next write.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) location: Location,
    pub(super) place: u32,
    pub(super) id: Id,
    /// Events that happen before the access, and the access.
    pub(super) clock: Clock,
}

/// Returns true if the fences have an order. `fences` are their names, each with its clock. The
/// accesses of a location follow one another.
pub(super) fn have_an_order(fences: &[(Id, Clock)], accesses: &[Access]) -> bool {
    let all = fences.len();
    let mut before = vec![vec![false; all]; all];
    for (i, (fence, _)) in fences.iter().enumerate() {
        for (j, (_, clock)) in fences.iter().enumerate() {
            before[i][j] = i != j && clock.has(*fence);
        }
    }
    for of_location in accesses.chunk_by(|a, b| a.location == b.location) {
        // The least place after each fence, and the greatest place ahead of each fence.
        let after =
            |fence: &Id| of_location.iter().filter(|a| a.clock.has(*fence)).map(|a| a.place).min();
        let ahead =
            |clock: &Clock| of_location.iter().filter(|a| clock.has(a.id)).map(|a| a.place).max();
        let places: Vec<_> =
            fences.iter().map(|(fence, clock)| (after(fence), ahead(clock))).collect();
        for (i, (after, _)) in places.iter().enumerate() {
            for (j, (_, ahead)) in places.iter().enumerate() {
                let is_less = |after: &u32| ahead.is_some_and(|ahead| *after < ahead);
                before[i][j] |= i != j && after.as_ref().is_some_and(is_less);
            }
        }
    }
    for k in 0..all {
        for i in 0..all {
            for j in 0..all {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    (0..all).all(|i| !before[i][i])
}
