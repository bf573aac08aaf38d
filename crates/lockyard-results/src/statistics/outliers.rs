//! Rounds that are far from the others.
//!
//! The measure is the modified z-score of B. Iglewicz and D. Hoaglin (*How to Detect and Handle
//! Outliers*, ASQC Basic References in Quality Control 16, 1993). It is the distance from the
//! median in median absolute deviations, which a few outliers barely change.
//!
//! The limit is ten standard deviations of a normal distribution, as in hyperfine (`benchmark/`,
//! `outlier_detection`). Iglewicz and Hoaglin use 3.5. But measured rounds are not normally
//! distributed, and users ignore a warning that always appears.

use super::median;

/// Minimum modified z-score of an outlier, in median absolute deviations. For a normal
/// distribution, 1.4826 of these make one standard deviation.
const LIMIT: f64 = 1.4826 * 10.0;

/// Minimum number of values for outlier detection. Among three values, two are always close to each
/// other.
const FEWEST: usize = 5;

/// Minimum distance of an outlier from the median, as a share of the median. It matters if the
/// other values are nearly equal.
const ALIKE: f64 = 0.01;

/// Unusual rounds of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Oddity {
    /// The first round is far below the median. The value is the round's share of the median.
    SlowFirst(f64),
    /// Other rounds are far from the median.
    Outliers {
        /// Indices of the rounds, from 0.
        rounds: Vec<usize>,
        /// Most distant figure divided by the median.
        farthest: f64,
    },
}

/// Returns the signed distance of each value from the median, in median absolute deviations.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    // If more than half of the values are equal, the median absolute deviation is 0.
    let deviation = median(&distances)?.max(ALIKE / LIMIT * middle.abs());
    if deviation <= 0.0 {
        return None;
    }
    Some(values.iter().map(|v| (v - middle) / deviation).collect())
}

/// Returns the oddities of a cell. `throughputs` has one figure per round, in order.
pub fn oddities(throughputs: &[f64]) -> Vec<Oddity> {
    let mut found = Vec::new();
    if throughputs.len() < FEWEST {
        return found;
    }
    let (Some(scores), Some(middle)) = (scores(throughputs), median(throughputs)) else {
        return found;
    };
    let slow_first = scores[0] <= -LIMIT;
    if slow_first {
        found.push(Oddity::SlowFirst(throughputs[0] / middle));
    }
    let far = |index: &usize| scores[*index].abs() >= LIMIT;
    let rounds: Vec<usize> = (usize::from(slow_first)..scores.len()).filter(far).collect();
    let farthest = rounds.iter().max_by(|&&a, &&b| scores[a].abs().total_cmp(&scores[b].abs()));
    if let Some(&farthest) = farthest {
        let farthest = throughputs[farthest] / middle;
        found.push(Oddity::Outliers { rounds, farthest });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CALM: [f64; 9] = [99.0, 101.0, 100.0, 102.0, 98.0, 100.5, 99.5, 101.5, 98.5];

    #[test]
    fn rounds_that_vary_as_usual_are_not_odd() {
        assert_eq!(oddities(&CALM), []);
        assert_eq!(oddities(&[1.0, 100.0, 100.0]), [], "three say nothing");
        assert_eq!(oddities(&[0.0; 9]), []);
        // All values are equal except one, which hardly differs.
        assert_eq!(oddities(&[100.0, 100.0, 100.0, 100.0, 100.5]), []);
    }

    #[test]
    fn a_slow_first_round_is_told_from_others() {
        let mut rounds = CALM;
        rounds[0] = 60.0;
        assert_eq!(oddities(&rounds), [Oddity::SlowFirst(0.6)]);
        rounds[0] = 100.0;
        rounds[4] = 50.0;
        assert_eq!(oddities(&rounds), [Oddity::Outliers { rounds: vec![4], farthest: 0.5 }]);
        rounds[0] = 60.0;
        assert_eq!(oddities(&rounds).len(), 2);
        // A fast first round counts as an outlier, not as a slow first round. The median is then
        // 100.5.
        let mut rounds = CALM;
        rounds[0] = 200.0;
        assert_eq!(
            oddities(&rounds),
            [Oddity::Outliers { rounds: vec![0], farthest: 200.0 / 100.5 }]
        );
    }

    proptest! {
        #[test]
        fn what_is_odd_does_not_depend_on_the_unit(
            values in prop::collection::vec(1.0f64..1e3, 5..30),
        ) {
            let scaled: Vec<f64> = values.iter().map(|v| v * 1024.0).collect();
            prop_assert_eq!(oddities(&values), oddities(&scaled));
        }

        #[test]
        fn never_half_of_the_rounds_are_odd(values in prop::collection::vec(0.0f64..1e6, 5..30)) {
            let odd: usize = oddities(&values)
                .iter()
                .map(|oddity| match oddity {
                    Oddity::SlowFirst(_) => 1,
                    Oddity::Outliers { rounds, .. } => rounds.len(),
                })
                .sum();
            prop_assert!(2 * odd <= values.len());
        }
    }
}
