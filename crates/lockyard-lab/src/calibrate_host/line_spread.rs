//! Difference between the paths of lines: the machine's `jitter`, the longest extra
//! time of a message, drawn uniformly.
//!
//! A line has its home somewhere on the ring or the mesh, near some cores and far from others. A
//! machine file has no positions of cores, so `jitter` stands for these distances. It decides
//! whether a core can always finish a short section under a lock while it owns the line, or only
//! sometimes. That makes the difference between a lock without waiters and a lock with a queue: a
//! factor of three and more.
//!
//! Each round of a measured hand-over uses other lines. So `jitter` is set to twice the standard
//! deviation of a hand-over from one round to the next. A latency matrix has no rounds, but its
//! pairs share one line, which is near some pairs. There the deviation is taken from pair to pair.
//! This is a rule and not a derivation. Its factor was kept because it suits the one host of 16
//! cores that was measured (`docs/evidence/training.md`).

use super::draft::{Draft, Origin};
use super::{LineDistance, Measurements, Pair};
use lockyard_results::statistics::{Unsteady, median, quantile, unsteady};

/// `jitter`, in standard deviations of a hand-over.
const FACTOR: f64 = 2.0;

/// Maximum of `jitter`, as a share of a hand-over. A hand-over cannot be shorter than the mean time
/// of its messages.
const MOST: f64 = 0.25;

/// Minimum number of rounds of a pair, and of pairs of a matrix.
const LEAST_ROUNDS: usize = 20;

/// Distance between the quartiles of a normal distribution, in standard deviations. The quartiles
/// leave out rounds that something else disturbed.
const QUARTILES: f64 = 1.349;

/// Sets `jitter` from the hand-overs within a complex. If too few rounds were measured, or a
/// hand-over has more than one value, the family's number stays, and a note says so. The number
/// also stays if a matrix has few pairs, or if its pairs differ by less than the number says.
///
/// # Errors
///
/// If the draft is not a valid machine.
pub(super) fn jitter(
    draft: &mut Draft,
    measurements: &Measurements,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let distance = LineDistance::Complex;
    let Some(hand_over) = measurements.pair(Pair::HandOver, distance) else { return Ok(()) };
    let pairs = measurements.pairs_at(Pair::HandOver, distance);
    let machine = draft.machine()?;
    let number = |name: &str| machine.number(name);
    let (Some(ghz), Some(of_family)) = (number("clock.ghz"), number("cycles.jitter")) else {
        return Ok(());
    };
    let is_matrix = pairs.iter().all(|pair| pair.series.is_empty());
    let (deviation, how, least) = if is_matrix {
        let values: Vec<f64> = pairs.iter().map(|pair| pair.figure.value).collect();
        // The order of pairs is not chronological, so check only for modes, not for a drift.
        if matches!(unsteady(&values), Some(Unsteady::Modes { .. })) {
            notes.push(
                "`jitter`, how lines differ, is the family's: pairs within a complex have two \
                 values, so they are less alike than cores of a complex"
                    .to_owned(),
            );
            return Ok(());
        }
        let Some(deviation) = deviation_of_pairs(&values) else { return Ok(()) };
        (deviation, "from one pair to another", of_family)
    } else if let Some(deviation) =
        median_deviation(pairs.iter().map(|pair| pair.series.as_slice()))
    {
        (deviation, "from one round to the next", 0.0)
    } else {
        notes.push(format!(
            "`jitter`, how lines differ, is the family's: most hand-overs have more than one \
             value, or fewer than {LEAST_ROUNDS} rounds (more --seconds give more)"
        ));
        return Ok(());
    };
    let (wanted, most) = (FACTOR * deviation, MOST * hand_over.value);
    let cycles = (wanted.min(most) * ghz).round();
    if cycles < least {
        return Ok(());
    }
    if wanted > most {
        notes.push(format!(
            "hand-overs differ by {deviation:.1} ns {how}, so `jitter` is the most that is \
             allowed, a quarter of a hand-over"
        ));
    }
    let source = format!(
        "twice the standard deviation of a hand-over {how}, {deviation:.2} ns ({}{} pairs); {}",
        if is_matrix { "" } else { "median of " },
        pairs.len(),
        measurements.origin()
    );
    let assumed = "the factor of two, which suits the one host of 16 cores that was measured";
    draft.set("cycles", "jitter", cycles, Origin::Both(source, assumed.to_owned()));
    Ok(())
}

/// Returns the standard deviation of the hand-overs of a matrix within its complexes. `None` if
/// there are few.
fn deviation_of_pairs(values: &[f64]) -> Option<f64> {
    if values.len() < LEAST_ROUNDS {
        return None;
    }
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / QUARTILES)
}

/// Returns the median of the standard deviations of the series from one round to the next, which
/// slow changes of the host do not enlarge. `None` if half of the series or more are too short, or
/// have more than one value.
fn median_deviation<'a>(all: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let (mut deviations, mut count) = (Vec::new(), 0);
    for series in all {
        count += 1;
        let sound = series.iter().all(|figure| figure.is_finite() && *figure > 0.0);
        if series.len() < LEAST_ROUNDS || !sound || unsteady(series).is_some() {
            continue;
        }
        let steps: Vec<f64> = series.windows(2).map(|two| two[1] - two[0]).collect();
        let quartiles = quantile(&steps, 0.75)? - quantile(&steps, 0.25)?;
        // The deviation of the difference of two independent values is larger by the square root of
        // two.
        deviations.push(quartiles / QUARTILES / std::f64::consts::SQRT_2);
    }
    if 2 * deviations.len() <= count { None } else { median(&deviations) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::uniform_rounds;
    use super::*;

    /// Rounds around 80 ns, whose middle moves by `drift` in all.
    fn rounds(spread: f64, drift: f64, count: usize) -> Vec<f64> {
        let moved = |(k, round): (usize, f64)| round + drift * k as f64 / count as f64;
        uniform_rounds(80.0, spread, count).into_iter().enumerate().map(moved).collect()
    }

    fn found(pairs: &[Vec<f64>]) -> Option<f64> {
        median_deviation(pairs.iter().map(Vec::as_slice))
    }

    #[test]
    fn the_deviation_is_that_of_most_pairs_without_drift_and_disturbed_rounds() {
        // The difference of two uniform values has its quartiles at 0.586 of the spread.
        let expected = 10.0 * 2.0 * 0.586 / QUARTILES / std::f64::consts::SQRT_2;
        let near = |found: f64| (found / expected - 1.0).abs() < 0.1;
        assert!(near(found(&[rounds(10.0, 0.0, 2000)]).unwrap()));
        assert!(near(found(&[rounds(10.0, 15.0, 2000)]).unwrap()));
        let mut disturbed = rounds(10.0, 0.0, 2000);
        disturbed[100] = 1000.0;
        assert!(near(found(&[disturbed, rounds(10.0, 0.0, 2000), rounds(1.0, 0.0, 19)]).unwrap()));
    }

    #[test]
    fn the_deviation_from_pair_to_pair_is_that_of_enough_pairs() {
        // A uniform value has its quartiles at half of the spread.
        let values = rounds(10.0, 0.0, 2000);
        let found = deviation_of_pairs(&values).unwrap();
        assert!((found / (10.0 / QUARTILES) - 1.0).abs() < 0.05, "{found}");
        assert_eq!(deviation_of_pairs(&values[..LEAST_ROUNDS - 1]), None);
        assert_eq!(deviation_of_pairs(&[80.0; LEAST_ROUNDS]), Some(0.0));
    }

    #[test]
    fn few_rounds_two_values_and_what_is_no_time_are_no_spread() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[rounds(10.0, 0.0, LEAST_ROUNDS - 1)]), None);
        let mut two = vec![25.0; 60];
        two.extend(vec![114.0; 60]);
        assert!(unsteady(&two).is_some());
        assert_eq!(found(&[two.clone()]), None);
        assert_eq!(found(&[two, rounds(10.0, 0.0, 60)]), None, "half of them");
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let mut series = rounds(10.0, 0.0, 60);
            series[7] = wrong;
            assert_eq!(found(&[series]), None, "{wrong}");
        }
        assert_eq!(found(&[vec![80.0; 60]]), Some(0.0));
    }
}
