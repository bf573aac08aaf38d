//! Rows, and what they say together.
//!
//! A row has the published tables' names, so that it can be joined to them. Its status is exactly one
//! of: *calibration* (the cell gave the local work; its prediction is no prediction), *predicted*, *training* (the
//! machine's protocol was fitted on the cell's table), *measured* (there is a measured figure and no prediction), *not modelled* (with a reason).

use crate::histogram::Bucket;
use crate::measured::HERE;
use crate::pairs::Pairs;
use lockyard_scenarios::Metric;
use std::collections::BTreeMap;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The cell gave the local work.
    Calibration,
    /// The cell is predicted.
    Predicted,
    /// The cell is one of those on which the machine's protocol was fitted.
    Training,
    /// The row has a measured figure, and nothing is predicted.
    Measured,
    /// Nothing here can say anything about the cell.
    NotModelled,
}

impl Status {
    /// The status in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Calibration => "calibration",
            Status::Predicted => "predicted",
            Status::Training => "training",
            Status::Measured => "measured",
            Status::NotModelled => "not-modelled",
        }
    }
}

/// A figure measured on this host: the median of some samples, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The median.
    pub value: f64,
    /// The interval's lower end.
    pub ci_low: f64,
    /// The interval's upper end.
    pub ci_high: f64,
    /// How many samples.
    pub samples: usize,
}

impl Measured {
    /// Of one sample: its interval is the sample.
    pub(crate) fn once(value: f64) -> Measured {
        Measured { value, ci_low: value, ci_high: value, samples: 1 }
    }

    /// The figures of `threads` tasks that were measured as operations a second, in the terms of a metric.
    pub(crate) fn in_metric(self, metric: Metric, threads: usize) -> Measured {
        let (ci_low, ci_high) = metric.range((self.ci_low, self.ci_high), threads);
        Measured { value: metric.figure(self.value, threads), ci_low, ci_high, ..self }
    }
}

/// A value in a row's details.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// A number.
    Number(f64),
    /// A count.
    Count(u64),
    /// Counts, one for each thread.
    Counts(Vec<u64>),
    /// Numbers, one for each round.
    Numbers(Vec<f64>),
    /// A sentence.
    Text(String),
    /// Sentences.
    Texts(Vec<String>),
    /// A histogram.
    Buckets(Vec<Bucket>),
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The table that the row belongs to; empty if it is in none.
    pub table: String,
    /// Experiment.
    pub experiment: String,
    /// Machine.
    pub machine: String,
    /// Variant.
    pub variant: String,
    /// Number of threads; `None` if the published table does not say it.
    pub threads: Option<usize>,
    /// What is measured.
    pub metric: String,
    /// In which unit.
    pub unit: String,
    /// The published figure.
    pub published: Option<f64>,
    /// The predicted figure.
    pub predicted: Option<f64>,
    /// The figure of the trivial model: the cost of the calibration cell, held constant.
    pub trivial: Option<f64>,
    /// The figure measured on this host.
    pub measured: Option<Measured>,
    /// What the row is.
    pub status: Status,
    /// Why the cell is not modelled, or that it is an input.
    pub reason: Option<String>,
    /// More.
    pub detail: BTreeMap<String, Detail>,
}

impl Row {
    /// A row of this host that is in no published table; its figure, and everything else, is still missing. `metric` has the unit
    /// beside it.
    pub fn here(experiment: &str, variant: &str, threads: usize, metric: (&str, &str)) -> Row {
        Row {
            table: String::new(),
            experiment: experiment.to_owned(),
            machine: HERE.to_owned(),
            variant: variant.to_owned(),
            threads: Some(threads),
            metric: metric.0.to_owned(),
            unit: metric.1.to_owned(),
            published: None,
            predicted: None,
            trivial: None,
            measured: None,
            status: Status::Measured,
            reason: None,
            detail: BTreeMap::new(),
        }
    }

    /// `predicted / published - 1`, where both are there and the row is a prediction, or a training cell.
    pub fn error(&self) -> Option<f64> {
        match (self.status, self.predicted, self.published) {
            // Of nothing there is no share: a direction was published.
            (Status::Predicted | Status::Training, Some(predicted), Some(published))
                if published > 0.0 =>
            {
                Some(predicted / published - 1.0)
            }
            _ => None,
        }
    }

    /// The number of threads, for tables.
    pub fn threads_text(&self) -> String {
        self.threads.map(|threads| threads.to_string()).unwrap_or_default()
    }

    /// `2 threads`, for people.
    pub fn threads_in_words(&self) -> String {
        match self.threads {
            Some(1) => "1 thread".to_owned(),
            Some(threads) => format!("{threads} threads"),
            None => "threads not stated".to_owned(),
        }
    }

    fn trivial_error(&self) -> Option<f64> {
        match (self.status, self.trivial, self.published) {
            (Status::Predicted, Some(trivial), Some(published)) if published > 0.0 => {
                Some(trivial / published - 1.0)
            }
            _ => None,
        }
    }
}

/// The errors of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Median of the absolute errors; `None` without a cell.
    pub median_abs_error: Option<f64>,
    /// 90th percentile of the absolute errors.
    pub p90_abs_error: Option<f64>,
    /// Variant pairs whose winner the model names.
    pub winners_right: usize,
}

/// What the rows of a table, or of all, say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The table; `all` for all of them.
    pub table: String,
    /// How many cells are predictions.
    pub cells: usize,
    /// Variant pairs whose published figures differ by more than 5 % of the smaller one, at least one a prediction.
    pub winners_total: usize,
    /// Our errors.
    pub model: Errors,
    /// The errors of the trivial model.
    pub trivial: Errors,
    /// Rows that are not modelled.
    pub not_modelled: usize,
    /// The pairs of variants that the table is about; none if nothing names them.
    pub pairs: Option<Pairs>,
}

/// Published figures that differ by less are no pair with a winner.
const WINNER_DIFFERENCE: f64 = 0.05;

/// Sums up `rows` under the name `table`, without pairs that scripts ask for.
pub fn summarise(table: &str, rows: &[&Row]) -> Summary {
    let errors = |of: fn(&Row) -> Option<f64>| -> Vec<f64> {
        rows.iter().filter_map(|row| of(row)).map(f64::abs).collect()
    };
    let (model, trivial) = (errors(Row::error), errors(Row::trivial_error));
    let mut pairs: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let place = (&row.experiment, &row.machine, row.threads, &row.metric);
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
                // Of the smaller one, so that the order of the two does not matter.
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
pub(crate) mod tests {
    use super::*;

    /// A row of one table, experiment and machine.
    pub(crate) fn row(
        variant: &str,
        threads: usize,
        published: f64,
        predicted: f64,
        status: Status,
    ) -> Row {
        Row {
            table: "t".into(),
            experiment: "e".into(),
            machine: "m".into(),
            variant: variant.into(),
            threads: Some(threads),
            metric: "throughput".into(),
            unit: "op/s".into(),
            published: Some(published),
            predicted: Some(predicted),
            trivial: Some(100.0),
            measured: None,
            status,
            reason: None,
            detail: BTreeMap::new(),
        }
    }

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
