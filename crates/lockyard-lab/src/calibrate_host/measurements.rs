//! Measurements as data. The file and the predictions are derived only from them.

use super::{Alone, CalibratedProcessor, Layout, LineDistance, Pair, layout};
use lockyard_measure::kernel;
use lockyard_results::row::Measured;
use lockyard_results::statistics;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Minimum number of samples for a figure.
const LEAST_SAMPLES: usize = 3;

/// A measured cost between two CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigure {
    /// Operation that the pair performs.
    pub what: Pair,
    /// Tasks: indices into the CPUs of the layout.
    pub tasks: (usize, usize),
    /// Nanoseconds.
    pub figure: Measured,
    /// Figure of each round, in chronological order.
    pub series: Vec<f64>,
}

/// Measured rate of several CPUs on a shared object.
#[derive(Clone, Debug, PartialEq)]
pub struct Contended {
    /// Variant of the script.
    pub variant: String,
    /// Tasks that took part.
    pub tasks: Vec<usize>,
    /// Operations per second, all tasks together.
    pub figure: Measured,
}

/// Properties of a host that are given rather than measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Origin of the latencies, if `machines calibrate` did not measure them.
    pub origin: Option<String>,
    /// Name of the shipped machine that provides the numbers that were not measured.
    pub relative: Option<String>,
    /// Clock in GHz.
    pub ghz: Option<f64>,
}

/// All measurements of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Things that are given.
    pub given: Given,
    /// Processor of the host.
    pub processor: CalibratedProcessor,
    /// Layout of the processor's CPUs.
    pub layout: Layout,
    /// Date, such as 2026-01-31.
    pub date: String,
    /// Duration of the measurements in seconds.
    pub seconds: f64,
    /// Number of rounds.
    pub rounds: usize,
    /// Single-CPU figures.
    pub alone: Vec<(Alone, Measured)>,
    /// Figures of pairs.
    pub pairs: Vec<PairFigure>,
    /// Figures of the contended scenarios.
    pub contended: Vec<Contended>,
    /// Slowdown of the lab's local work by a busy sibling, as a factor. Set if the host has
    /// siblings.
    pub beside_sibling: Option<Measured>,
    /// Experiment on resources shared by siblings, if it is possible.
    pub siblings: Vec<Contended>,
    /// Costs of system calls that sleep and wake.
    pub kernel: kernel::Costs,
    /// Share of the pairs' tries that were discarded because a thread lost its CPU.
    pub lost: f64,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Measurements {
    /// Returns the origin of the measurements, for the sources of a file.
    pub(super) fn origin(&self) -> String {
        match &self.given.origin {
            Some(origin) => origin.clone(),
            None => format!("measured by `machines calibrate`, {}", self.date),
        }
    }

    /// Returns a single-CPU figure.
    pub fn alone(&self, what: Alone) -> Option<Measured> {
        self.alone.iter().find(|(found, _)| *found == what).map(|(_, figure)| *figure)
    }

    /// Returns the pairs measured at a distance.
    pub fn pairs_at(&self, what: Pair, distance: LineDistance) -> Vec<&PairFigure> {
        let at = |pair: &&PairFigure| {
            let (a, b) = pair.tasks;
            pair.what == what && self.layout.distance(a, b) == distance
        };
        self.pairs.iter().filter(at).collect()
    }

    /// Returns the figure for a distance: the median over its pairs.
    pub fn pair(&self, what: Pair, distance: LineDistance) -> Option<Measured> {
        match self.pairs_at(what, distance).as_slice() {
            [] => None,
            [one] => Some(one.figure),
            more => of_samples(&more.iter().map(|pair| pair.figure.value).collect::<Vec<_>>(), 1),
        }
    }

    /// Returns the 10th and the 90th percentile over the pairs, if there are at least ten.
    pub fn spread(&self, what: Pair, distance: LineDistance) -> Option<(f64, f64)> {
        let pairs: Vec<f64> =
            self.pairs_at(what, distance).iter().map(|pair| pair.figure.value).collect();
        if pairs.len() < 10 {
            return None;
        }
        Some((statistics::quantile(&pairs, 0.1)?, statistics::quantile(&pairs, 0.9)?))
    }

    /// Returns the contended figure of a variant on this many CPUs.
    pub fn contended(&self, variant: &str, tasks: usize) -> Option<Measured> {
        let found = self.contended.iter().find(|c| c.variant == variant && c.tasks.len() == tasks);
        found.map(|found| found.figure)
    }
}

/// Returns the median of samples with its interval; `None` if there are too few.
pub(super) fn figure(samples: &[f64]) -> Option<Measured> {
    of_samples(samples, LEAST_SAMPLES)
}

fn of_samples(samples: &[f64], least: usize) -> Option<Measured> {
    if samples.len() < least { None } else { Measured::of_samples(samples) }
}

/// Describes how many of the pairs were measured, if time did not allow all.
pub(super) fn sampled(
    pairs: &BTreeMap<LineDistance, Vec<(usize, usize)>>,
    chosen: &BTreeMap<LineDistance, Vec<(usize, usize)>>,
) -> Option<String> {
    let some: Vec<String> = pairs
        .iter()
        .filter_map(|(distance, all)| {
            let taken = chosen.get(distance).map_or(0, Vec::len);
            let what = layout::describe(*distance);
            (taken < all.len()).then(|| format!("{taken} of {} pairs of {what}", all.len()))
        })
        .collect();
    if some.is_empty() {
        return None;
    }
    Some(format!(
        "there are too many pairs of CPUs for the time; hand-overs were measured on a sample: {}. \
         Give more --seconds to measure all",
        some.join(", ")
    ))
}

/// Returns today's date.
pub fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    date(now / 86_400)
}

/// Returns the Gregorian date this many days after 1 January 1970. (Fliegel and van Flandern,
/// Communications of the ACM 11(10), 1968, with years that start in March.)
fn date(days: u64) -> String {
    // Days since 1 March of the year 0; 400 years have 146,097.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(59), "1970-03-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_454), "2026-01-01");
        assert_eq!(date(20_778), "2026-11-21");
    }

    #[test]
    fn too_few_samples_are_no_figure() {
        assert_eq!(figure(&[]), None);
        assert_eq!(figure(&[1.0, 2.0]), None);
        let three = figure(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((three.value, three.ci_low, three.ci_high, three.samples), (2.0, 1.0, 3.0, 3));
    }

    #[test]
    fn a_sample_of_the_pairs_is_said_to_be_one() {
        let all = BTreeMap::from([(LineDistance::Complex, vec![(0, 1), (0, 2), (1, 2)])]);
        assert_eq!(sampled(&all, &all), None);
        let some = BTreeMap::from([(LineDistance::Complex, vec![(0, 1)])]);
        assert!(sampled(&all, &some).unwrap().contains("1 of 3 pairs of cores of a complex"));
    }
}
