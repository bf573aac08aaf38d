//! Pairs of variants that a table compares, with the predicted and the published change.
//!
//! Two variants may differ by less than the error of a prediction. Then the errors of the two
//! figures do not show which variant is faster, and [`crate::summary::summarise`] counts no winner.
//! But an error that both figures share cancels in their ratio.
//!
//! So this module compares the predicted change, `second / first - 1`, with the published one. It
//! compares both direction and size. Scripts name the pairs in `[[pairs]]`.

use crate::details::PairRatio;
use crate::row::Row;

/// Maximum difference between a predicted and a published change that counts as near.
pub const NEAR: f64 = 0.02;

/// A pair of variants to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Experiment.
    pub experiment: String,
    /// Baseline variant.
    pub first: String,
    /// Variant whose change from the baseline is compared.
    pub second: String,
}

/// Score of one model on a set of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Number of pairs whose predicted change has the published direction.
    pub right: usize,
    /// Number of pairs whose predicted change is within [`NEAR`] of the published one.
    pub near: usize,
}

impl Score {
    fn add(&mut self, published: f64, predicted: (Option<f64>, Option<f64>)) {
        if let (Some(first), Some(second)) = predicted {
            let change = second / first - 1.0;
            self.right += usize::from(change * published > 0.0);
            self.near += usize::from((change - published).abs() <= NEAR);
        }
    }
}

/// Scores of both models on a set of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Number of pairs. Both figures of a pair are published, and at least one row is a prediction.
    pub total: usize,
    /// Score of our model.
    pub model: Score,
    /// Score of the trivial model.
    pub trivial: Score,
}

/// Adds two ratios to the second row of each pair in `wanted`. Both divide its figure by that of
/// the first row: one uses published figures, the other predicted ones.
pub fn add_ratios(rows: &mut [Row], wanted: &[Wanted]) {
    let found: Vec<(usize, usize)> = (0..rows.len())
        .flat_map(|first| (0..rows.len()).map(move |second| (first, second)))
        .filter(|&(first, second)| is_pair(&rows[first], &rows[second], wanted))
        .collect();
    for (first, second) in found {
        let first = &rows[first];
        let (to, published, predicted) =
            (first.key.variant.clone(), first.published, first.predicted);
        let second = &mut rows[second];
        let ratio = |of: Option<f64>, to: Option<f64>| Some(of? / to.filter(|to| *to > 0.0)?);
        let published = ratio(second.published, published);
        let predicted = ratio(second.predicted, predicted);
        if published.or(predicted).is_some() {
            second.details.pair_ratios.push(PairRatio { to, published, predicted });
        }
    }
}

/// Returns true if `wanted` names the two rows as a pair and at least one is a prediction.
fn is_pair(first: &Row, second: &Row, wanted: &[Wanted]) -> bool {
    let is_wanted = |w: &Wanted| {
        (&w.experiment, &w.first, &w.second)
            == (&first.key.experiment, &first.key.variant, &second.key.variant)
    };
    wanted.iter().any(is_wanted)
        && first.key.experiment == second.key.experiment
        && first.key.machine == second.key.machine
        && first.key.threads == second.key.threads
        && first.key.metric == second.key.metric
        && (first.error().is_some() || second.error().is_some())
}

/// Scores the pairs in `wanted` that occur among `rows`; `None` if none does.
pub fn score(rows: &[&Row], wanted: &[Wanted]) -> Option<Pairs> {
    let mut pairs = Pairs::default();
    for first in rows {
        for second in rows {
            if !is_pair(first, second, wanted) {
                continue;
            }
            let (Some(from), Some(to)) = (first.published, second.published) else { continue };
            let published = to / from - 1.0;
            pairs.total += 1;
            pairs.model.add(published, (first.predicted, second.predicted));
            pairs.trivial.add(published, (first.trivial, second.trivial));
        }
    }
    (pairs.total > 0).then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Status;
    use crate::row::tests::row;

    #[test]
    fn a_pair_is_right_by_its_direction_and_near_by_its_change() {
        let rows = [
            row("a", 1, 100.0, 200.0, Status::Calibration),
            row("b", 1, 98.5, 194.0, Status::Predicted), // -1.5 %, predicted -3 %: right and near
            row("a", 2, 100.0, 50.0, Status::Predicted),
            row("b", 2, 98.5, 45.0, Status::Predicted), // -1.5 %, predicted -10 %: right, not near
            row("b", 3, 101.0, 70.0, Status::Predicted),
            row("a", 3, 100.0, 70.0, Status::Predicted), // +1 %, predicted none: near, no direction
            row("a", 4, 100.0, 70.0, Status::Calibration),
            row("b", 4, 99.0, 70.0, Status::Calibration), // no prediction
            row("c", 2, 50.0, 50.0, Status::Predicted),   // not asked for
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let wanted = |first: &str, second: &str| Wanted {
            experiment: "e".into(),
            first: first.into(),
            second: second.into(),
        };
        let pairs = score(&rows, &[wanted("a", "b")]).expect("there are pairs");
        assert_eq!((pairs.total, pairs.model), (3, Score { right: 2, near: 2 }));
        assert_eq!(pairs.trivial, Score { right: 0, near: 3 }, "it predicts no change");
        assert_eq!(score(&rows, &[wanted("b", "a")]).map(|p| p.model.right), Some(2));
        assert_eq!(score(&rows, &[wanted("a", "x")]), None);
        assert_eq!(score(&rows, &[]), None);
    }

    #[test]
    fn the_second_row_of_a_pair_has_its_ratio_to_the_first() {
        let mut rows = [
            row("a", 1, 100.0, 110.0, Status::Calibration),
            row("b", 1, 150.0, 132.0, Status::Predicted),
            row("b", 2, 150.0, 132.0, Status::Predicted),
        ];
        let wanted = [Wanted { experiment: "e".into(), first: "a".into(), second: "b".into() }];
        add_ratios(&mut rows, &wanted);
        let [ratio] = rows[1].details.pair_ratios.as_slice() else { panic!("one ratio") };
        assert_eq!(ratio.to, "a");
        assert_eq!((ratio.published, ratio.predicted), (Some(1.5), Some(132.0 / 110.0)));
        let has_none = |row: &Row| row.details.pair_ratios.is_empty();
        assert!(has_none(&rows[0]) && has_none(&rows[2]), "no partner");
    }
}
