//! Rounds that are far from the others.
//!
//! The modified z-score of B. Iglewicz and D. Hoaglin (*How to Detect and Handle Outliers*, ASQC
//! Basic References in Quality Control 16, 1993): the distance from the median in median absolute
//! deviations, which a few outliers do not move. The limit is hyperfine's, ten standard deviations
//! of a normal distribution (hyperfine, `benchmark/`, `outlier_detection`; theirs is 3.5): measured
//! rounds are not normal, and a warning that comes every time is not read.

use super::median;

/// Modified z-scores, in median absolute deviations, from here on are outliers: 1.4826 of them are
/// a standard deviation of a normal distribution.
const LIMIT: f64 = 1.4826 * 10.0;

/// Of fewer values none is an outlier: two of three are always near each other.
const FEWEST: usize = 5;

/// Values nearer to the median than this share of it are not outliers, however alike the others
/// are.
const ALIKE: f64 = 0.01;

/// What is odd about the rounds of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Oddity {
    /// The first is far below the median: this share of it.
    SlowFirst(f64),
    /// These others are far from the median: their indices, and the share of the median of the
    /// farthest.
    Outliers {
        /// Indices of the rounds, from 0.
        rounds: Vec<usize>,
        /// The farthest over the median.
        farthest: f64,
    },
}

/// The distance of each value from the median, in median absolute deviations.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    // Where more than half of the values are alike the deviation is 0.
    let deviation = median(&distances)?.max(ALIKE / LIMIT * middle.abs());
    if deviation <= 0.0 {
        return None;
    }
    Some(values.iter().map(|v| (v - middle) / deviation).collect())
}

/// What is odd about `throughputs`, one for each round, in the order of the rounds.
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
        // All alike but one, which is hardly different.
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
        // A first round that is fast is an outlier, and not a slow first one (the median is then
        // 100.5).
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
