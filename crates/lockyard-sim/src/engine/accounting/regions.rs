//! Cycles of threads by the region of their code
//! ([`Host::begin_activity`](lockyard::platform::Host::begin_activity)), and by phase.
//!
//! The region changes while a thread's code runs, which takes no simulated time. So all cycles from
//! one operation to the next are charged to one region: the last that the code entered. Every cycle
//! of every thread is in one region and in one phase.

use super::phase::PHASES;
use lockyard::platform::{Activity, Region};

/// Cycles of the regions, then those of their parts, each at its [index](Activity::index).
#[derive(Debug)]
pub(crate) struct Regions(Vec<(Activity, [u64; PHASES])>);

/// Cycles of a thread since it entered its region, by phase.
pub(crate) type Spent = [u64; PHASES];

impl Regions {
    pub(crate) fn new() -> Self {
        Regions(Region::ALL.map(|region| (region.into(), [0; PHASES])).to_vec())
    }

    /// Adds the cycles that a thread has spent on `activity`, and resets them to 0.
    pub(crate) fn add(&mut self, activity: Activity, spent: &mut Spent) {
        let index = activity.index();
        if index >= self.0.len() {
            self.grow(index);
        }
        let (of, sum) = &mut self.0[index];
        // A part's region is known only once a thread is in that part.
        *of = activity;
        for (sum, spent) in sum.iter_mut().zip(spent) {
            *sum += std::mem::take(spent);
        }
    }

    /// Resets all cycles to 0. The parts stay known.
    pub(crate) fn clear(&mut self) {
        for (_, cycles) in &mut self.0 {
            *cycles = [0; PHASES];
        }
    }

    /// Adds empty entries up to this index.
    #[cold]
    fn grow(&mut self, index: usize) {
        let unknown = |n: usize| (Activity::part_of(Region::System, n as u16), [0; PHASES]);
        let next = self.0.len() - Region::COUNT + 1;
        self.0.extend((next..).take(index + 1 - self.0.len()).map(unknown));
    }

    pub(crate) fn all(&self) -> &[(Activity, [u64; PHASES])] {
        &self.0
    }

    /// Sums the cycles by phase.
    pub(crate) fn phases(&self) -> [u64; PHASES] {
        let mut sum = [0; PHASES];
        for (_, cycles) in &self.0 {
            sum.iter_mut().zip(cycles).for_each(|(sum, cycles)| *sum += cycles);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_begin_out_of_order_keep_their_numbers() {
        let mut regions = Regions::new();
        let second = Activity::part_of(Region::Copy, 2);
        regions.add(second, &mut [5, 0, 0, 0, 0, 0]);
        let mut spent = [0, 0, 0, 7, 0, 0];
        regions.add(Activity::part_of(Region::LockWait, 1), &mut spent);
        assert_eq!(spent, [0; PHASES]);
        regions.add(Region::Copy.into(), &mut [1, 0, 0, 0, 0, 0]);
        let found: Vec<(Activity, u64)> =
            regions.all().iter().map(|(of, cycles)| (*of, cycles.iter().sum())).collect();
        assert_eq!(found.len(), Region::COUNT + 2);
        assert_eq!(found[Region::COUNT], (Activity::part_of(Region::LockWait, 1), 7));
        assert_eq!(found[Region::COUNT + 1], (second, 5));
        assert_eq!(regions.phases(), [6, 0, 0, 7, 0, 0]);
    }
}
