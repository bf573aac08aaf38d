//! Pairs of variants that a table is about: whether the change from one to the other is predicted.
//!
//! Where two variants differ by less than a prediction errs, errors of figures say nothing about which is faster, and a winner
//! of so little is no winner (see [`crate::rows::summarise`]). But an error that both figures have is not in their ratio: so the
//! predicted change (`second / first - 1`) is compared with the published one, in its direction and in its size. Which pairs
//! a table is about stands in its scripts (`[[pairs]]`).

use crate::rows::Row;

/// A predicted change is near the published one if they are at most so far apart.
pub const NEAR: f64 = 0.02;

/// Two variants of an experiment that are to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The experiment.
    pub experiment: String,
    /// The variant from which the change is counted.
    pub first: String,
    /// The variant to which.
    pub second: String,
}

/// How one model did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Pairs whose change has the published direction.
    pub right: usize,
    /// Pairs whose change is [`NEAR`] the published one.
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

/// What the pairs of some rows come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// How many there are: both figures are published, at least one of them is predicted.
    pub total: usize,
    /// How we did.
    pub model: Score,
    /// How the trivial model did.
    pub trivial: Score,
}

/// Sums up the pairs that `wanted` names among `rows`; `None` if there is none.
pub fn score(rows: &[&Row], wanted: &[Wanted]) -> Option<Pairs> {
    let mut pairs = Pairs::default();
    for first in rows {
        for second in rows {
            let is_wanted = |w: &Wanted| {
                (&w.experiment, &w.first, &w.second)
                    == (&first.experiment, &first.variant, &second.variant)
            };
            if !wanted.iter().any(is_wanted)
                || first.experiment != second.experiment
                || first.machine != second.machine
                || first.threads != second.threads
                || first.metric != second.metric
                || (first.error().is_none() && second.error().is_none())
            {
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
    use crate::rows::Status;
    use crate::rows::tests::row;

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
}
