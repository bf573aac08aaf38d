//! Summary of the rows of a table: errors, and correctly predicted winners.

use crate::row::{Row, Status};
use crate::variant_ratios::Pairs;
use std::collections::BTreeMap;

/// Errors of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Median of the absolute errors; `None` without any cells.
    pub median_abs_error: Option<f64>,
    /// 90th percentile of the absolute errors.
    pub p90_abs_error: Option<f64>,
    /// Number of variant pairs for which the model predicts the right winner.
    pub winners_right: usize,
}

/// Summary of the rows of a table, or of all tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Name of the table, or `all`.
    pub table: String,
    /// Number of predicted cells.
    pub cells: usize,
    /// Number of variant pairs with a clear winner: their published figures differ by more than 5 %
    /// of the smaller one. At least one row of each pair is a prediction.
    pub winners_total: usize,
    /// Errors of our model.
    pub model: Errors,
    /// Errors of the trivial model.
    pub trivial: Errors,
    /// Number of rows that are not modelled.
    pub not_modelled: usize,
    /// Scores on the variant pairs that scripts name; `None` if they name none.
    pub pairs: Option<Pairs>,
}

/// A pair of variants has a winner if its published figures differ by more than this share of the
/// smaller one.
const WINNER_DIFFERENCE: f64 = 0.05;

/// Summarises `rows` under the name `table`, without the pairs that scripts name.
pub fn summarise(table: &str, rows: &[&Row]) -> Summary {
    let errors = |of: fn(&Row) -> Option<f64>| -> Vec<f64> {
        rows.iter().filter_map(|row| of(row)).map(f64::abs).collect()
    };
    let (model, trivial) = (errors(Row::error), errors(Row::trivial_error));
    let mut pairs: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let place = (&row.key.experiment, &row.key.machine, row.key.threads, &row.key.metric);
        pairs.entry(place).or_default().push(row);
    }
    let mut winners = [0; 3];
    for variants in pairs.values() {
        for (index, a) in variants.iter().enumerate() {
            for b in &variants[index + 1..] {
                if a.error().is_none() && b.error().is_none() {
                    continue;
                }
                let (Some(pa), Some(pb)) = (a.published, b.published) else { continue };
                // Relative to the smaller figure, so the order of the pair does not matter.
                if (pa - pb).abs() <= WINNER_DIFFERENCE * pa.min(pb) {
                    continue;
                }
                winners[0] += 1;
                let right = |a: Option<f64>, b: Option<f64>| match (a, b) {
                    (Some(a), Some(b)) => (a > b) == (pa > pb) && a != b,
                    _ => false,
                };
                winners[1] += usize::from(right(a.predicted, b.predicted));
                winners[2] += usize::from(right(a.trivial, b.trivial));
            }
        }
    }
    let errors = |errors: &[f64], winners_right| Errors {
        median_abs_error: crate::statistics::median(errors),
        p90_abs_error: crate::statistics::quantile(errors, 0.9),
        winners_right,
    };
    Summary {
        table: table.to_owned(),
        cells: model.len(),
        winners_total: winners[0],
        model: errors(&model, winners[1]),
        trivial: errors(&trivial, winners[2]),
        not_modelled: rows.iter().filter(|row| row.status == Status::NotModelled).count(),
        pairs: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Status;
    use crate::row::tests::row;

    #[test]
    fn calibration_cells_are_no_predictions() {
        let rows = [
            row("a", 1, 100.0, 100.0, Status::Calibration),
            row("a", 2, 100.0, 110.0, Status::Predicted),
            row("a", 4, 100.0, 70.0, Status::Predicted),
        ];
        let summary = summarise("t", &rows.iter().collect::<Vec<_>>());
        assert_eq!(summary.cells, 2);
        assert!((summary.model.median_abs_error.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(summary.trivial.median_abs_error, Some(0.0));
    }

    #[test]
    fn a_winner_counts_only_where_the_published_figures_differ() {
        let rows = [
            row("a", 2, 100.0, 120.0, Status::Predicted),
            row("b", 2, 104.0, 90.0, Status::Predicted), // 4 %: no pair
            row("a", 4, 100.0, 120.0, Status::Predicted),
            row("b", 4, 200.0, 130.0, Status::Predicted), // right
            row("a", 8, 100.0, 120.0, Status::Predicted),
            row("b", 8, 200.0, 90.0, Status::Predicted), // wrong
        ];
        let summary = summarise("t", &rows.iter().collect::<Vec<_>>());
        assert_eq!((summary.winners_total, summary.model.winners_right), (2, 1));
        assert_eq!(summary.trivial.winners_right, 0, "the trivial model sees no difference");
    }

    #[test]
    fn whether_a_pair_has_a_winner_does_not_depend_on_the_order_of_the_rows() {
        let more = row("a", 2, 105.2, 120.0, Status::Predicted);
        let less = row("b", 2, 100.0, 90.0, Status::Predicted);
        assert_eq!(summarise("t", &[&more, &less]).winners_total, 1);
        assert_eq!(summarise("t", &[&less, &more]).winners_total, 1);
    }
}
