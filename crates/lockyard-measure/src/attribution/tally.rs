//! Samples taken by the sampler, and their uncertainty.

use lockyard_results::details::{CpuTimeDetail, PhaseShare};
use lockyard_results::listing::Listing;
use lockyard_results::statistics;
use lockyard_scenarios::{Activity, RegionPart};
use std::time::Duration;

/// CPU time by phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// CPU time of each phase, in nanoseconds.
    nanoseconds: Vec<f64>,
    /// Number of looks with non-zero weight.
    samples: u64,
    /// Sum of the squares of their weights.
    squares: f64,
    /// CPU time used by the sampler itself.
    pub(super) sampler: Duration,
}

/// One look at a thread.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Phase at the last look.
    pub before: u32,
    /// Phase now.
    pub now: u32,
    /// CPU time between the last look and the one before it.
    pub earlier: Duration,
    /// CPU time since the last look.
    pub cpu: Duration,
}

impl Tally {
    /// Creates an empty tally of `phases` phases.
    pub fn new(phases: usize) -> Tally {
        Tally { nanoseconds: vec![0.0; phases], ..Tally::default() }
    }

    /// Adds a look at a thread. Half of the CPU time since the last look goes to the phase then,
    /// the other half to the phase now. A phase number beyond the last phase counts as the last
    /// phase.
    ///
    /// If the thread has not run since the last look, the caller must skip this look, because it
    /// would count as new information.
    pub fn add(&mut self, Look { before, now, earlier, cpu }: Look) {
        let Some(last) = self.nanoseconds.len().checked_sub(1) else { return };
        let weight = cpu.as_nanos() as f64;
        for phase in [before, now] {
            self.nanoseconds[(phase as usize).min(last)] += weight / 2.0;
        }
        // Now the weight of the last look is known: half of the CPU time before it and after it.
        let of_last = (earlier.as_nanos() as f64 + weight) / 2.0;
        self.squares += of_last * of_last;
        self.samples += u64::from(of_last > 0.0);
    }

    /// Adds samples of the same phases from another period.
    pub fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in self.nanoseconds.iter_mut().zip(&other.nanoseconds) {
            *mine += theirs;
        }
        self.samples += other.samples;
        self.squares += other.squares;
        self.sampler += other.sampler;
    }

    /// Returns the samples, with the phases combined into `groups` groups.
    pub fn grouped(&self, groups: usize, group: impl Fn(usize) -> usize) -> Tally {
        let mut nanoseconds = vec![0.0; groups];
        for (phase, time) in self.nanoseconds.iter().enumerate() {
            nanoseconds[group(phase).min(groups - 1)] += time;
        }
        Tally { nanoseconds, ..self.clone() }
    }

    /// Total CPU time of all phases.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.iter().sum::<f64>() as u64)
    }

    /// CPU time used by the sampler itself.
    pub fn sampler(&self) -> Duration {
        self.sampler
    }

    /// Share of each phase; `None` without any CPU time.
    pub fn shares(&self) -> Option<Vec<f64>> {
        let all: f64 = self.nanoseconds.iter().sum();
        (all > 0.0).then(|| self.nanoseconds.iter().map(|phase| phase / all).collect())
    }

    /// Number of samples with non-zero weight.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Effective number of samples: the number of equally weighted samples with the same precision.
    /// It is the squared sum of the weights divided by the sum of their squares (L. Kish, *Survey
    /// Sampling*, 1965, section 11.7).
    pub fn effective_samples(&self) -> f64 {
        let all: f64 = self.nanoseconds.iter().sum();
        if self.squares > 0.0 { all * all / self.squares } else { 0.0 }
    }

    /// Half the width of the 95 % interval of a phase's share. It is 1.96 standard deviations of a
    /// binomial share, and at least the deviation of a share of one sample. It assumes that phases
    /// are much shorter than the time between samples. The shares of longer phases are more precise
    /// than it says.
    pub fn half_width(&self, share: f64) -> f64 {
        statistics::half_width(self.effective_samples(), share)
    }
}

/// Returns the samples by [activity](Activity::index), as a listing of a variant whose steps name
/// `parts`.
pub fn listing(tally: &Tally, parts: &[RegionPart]) -> Listing {
    let shares = tally.shares().unwrap_or_default().into_iter().enumerate();
    // The listing adds each part to its region.
    let times = shares.map(|(index, share)| (Activity::from_index(index), share));
    Listing { samples: Some(tally.effective_samples()), ..Listing::new(times, parts) }
}

/// CPU time of a run by phase, and the cost of measuring that.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// Names of the phases.
    pub phases: &'static [&'static str],
    /// Samples by phase.
    pub tally: Tally,
    /// Samples by region, as a listing.
    pub listing: Listing,
    /// CPU time per operation in this run, divided by the median of the runs without attribution.
    pub cost_ratio: Option<f64>,
}

impl Attribution {
    /// Returns the details of a row; `None` without any sample.
    pub fn detail(&self) -> Option<CpuTimeDetail> {
        let shares = self.tally.shares()?;
        let phase = |(&phase, share): (&&'static str, f64)| PhaseShare {
            phase,
            share,
            half_width: self.tally.half_width(share),
        };
        let seconds = self.tally.cpu().as_secs_f64();
        Some(CpuTimeDetail {
            phases: self.phases.iter().zip(shares).map(phase).collect(),
            seconds,
            samples: self.tally.samples,
            samples_effective: self.tally.effective_samples(),
            sampler_share: self.tally.sampler.as_secs_f64() / seconds,
            cost_ratio: self.cost_ratio,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Region;

    const MS: Duration = Duration::from_millis(1);

    /// Adds a thread's CPU time: `used` lies between consecutive looks, which found the thread in
    /// `phases`.
    fn add(tally: &mut Tally, phases: &[u32], used: &[Duration]) {
        let mut earlier = Duration::ZERO;
        for (pair, &cpu) in phases.windows(2).zip(used) {
            tally.add(Look { before: pair[0], now: pair[1], earlier, cpu });
            earlier = cpu;
        }
    }

    #[test]
    fn time_is_given_half_to_each_of_the_phases_between_which_it_passed() {
        let mut tally = Tally::new(3);
        add(&mut tally, &[0, 0, 2], &[6 * MS, 2 * MS]);
        add(&mut tally, &[1, 1], &[2 * MS]);
        assert_eq!(tally.shares(), Some(vec![0.7, 0.2, 0.1]));
        assert_eq!((tally.cpu(), tally.samples()), (10 * MS, 3));
    }

    #[test]
    fn one_heavy_sample_says_no_more_than_two() {
        let mut alike = Tally::new(2);
        add(&mut alike, &[0; 101], &[MS; 100]);
        // The first look has only half the weight of the others.
        assert!((alike.effective_samples() - 100.0).abs() < 1.0);
        let mut heavy = alike.clone();
        heavy.merge(&alike);
        assert!((heavy.effective_samples() - 200.0).abs() < 2.0);
        // Two looks share the weight of the long time.
        add(&mut heavy, &[1, 1, 1], &[1000 * 1000 * MS, MS]);
        assert!(heavy.effective_samples() < 2.01);
        assert!((alike.half_width(0.5) - 0.098).abs() < 0.001);
        assert!(alike.half_width(0.0) > 0.0, "nothing seen is not nothing there");
    }

    #[test]
    fn nothing_seen_has_no_shares() {
        assert_eq!(Tally::new(3).shares(), None);
        let mut none = Tally::new(0);
        none.add(Look { before: 0, now: 0, earlier: MS, cpu: MS });
        assert_eq!(none.shares(), None);
    }

    #[test]
    fn a_sampled_listing_has_intervals_and_the_names_of_parts() {
        let part = |name: &str, region| RegionPart { name: name.to_owned(), region };
        let parts = [part("__memcpy", Region::Copy), part("halt", Region::Idle)];
        let mut tally = Tally::new(Region::COUNT + 2);
        let ms = Duration::from_millis(1);
        let memcpy = Region::COUNT as u32;
        for (activity, times) in [(0, 3), (memcpy, 5), (Region::Idle as u32, 8), (memcpy + 1, 4)] {
            for _ in 0..times {
                tally.add(Look { before: activity, now: activity, earlier: ms, cpu: ms });
            }
        }
        let listing = super::listing(&tally, &parts);
        let names: Vec<&str> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["__memcpy", "system"]);
        assert_eq!(listing.entries[0].share, 0.625);
        assert!(listing.measured(0.5).is_some_and(|m| m.ci_low < 50.0 && m.ci_high > 50.0));
        assert!(super::listing(&Tally::new(3), &[]).entries.is_empty());
    }
}
