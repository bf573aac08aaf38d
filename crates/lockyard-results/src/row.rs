//! Rows: one result each.
//!
//! A row has the names of the published tables, so that it can be joined to them. It has exactly
//! one status:
//!
//! - *calibration*: the cell gave the local work, so its figure is no prediction
//! - *predicted*
//! - *training*: the machine's protocol was fitted on the cell's table
//! - *measured*: there is a measured figure and no prediction
//! - *not modelled*, with a reason

use crate::cell_key::CellKey;
use crate::details::Details;
use lockyard_scenarios::Metric;

/// Status of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The cell gave the local work.
    Calibration,
    /// The cell is predicted.
    Predicted,
    /// The cell is one of those on which the machine's protocol was fitted.
    Training,
    /// The row has a measured figure and no prediction.
    Measured,
    /// The cell is not modelled.
    NotModelled,
}

impl Status {
    /// Returns the name of the status in tables and JSON.
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
    /// Median.
    pub value: f64,
    /// Lower end of the interval.
    pub ci_low: f64,
    /// Upper end of the interval.
    pub ci_high: f64,
    /// Number of samples.
    pub samples: usize,
}

impl Measured {
    /// Returns the figure of one sample. Its interval is the sample.
    pub fn once(value: f64) -> Measured {
        Measured { value, ci_low: value, ci_high: value, samples: 1 }
    }

    /// Converts figures of `threads` tasks from operations per second to the unit of a metric.
    pub fn in_metric(self, metric: Metric, threads: usize) -> Measured {
        let (ci_low, ci_high) = metric.range((self.ci_low, self.ci_high), threads);
        Measured { value: metric.figure(self.value, threads), ci_low, ci_high, ..self }
    }
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The table that the row belongs to; empty if it is in none.
    pub table: String,
    /// Names of the cell.
    pub key: CellKey,
    /// Published figure.
    pub published: Option<f64>,
    /// Predicted figure.
    pub predicted: Option<f64>,
    /// The figure of the trivial model: the cost of the calibration cell, held constant.
    pub trivial: Option<f64>,
    /// The figure measured on this host.
    pub measured: Option<Measured>,
    /// Status of the row.
    pub status: Status,
    /// Reason why the cell is not modelled, or a note that it is an input.
    pub reason: Option<String>,
    /// Everything else that is known of the row.
    pub details: Details,
}

impl Row {
    /// Returns a row with names and a status, and without any figure. It belongs to no table.
    pub fn new(key: CellKey, status: Status) -> Row {
        Row {
            table: String::new(),
            key,
            published: None,
            predicted: None,
            trivial: None,
            measured: None,
            status,
            reason: None,
            details: Details::default(),
        }
    }

    /// Returns a row that was measured on this host.
    pub fn measured(key: CellKey, measured: Measured, details: Details) -> Row {
        Row { measured: Some(measured), details, ..Row::new(key, Status::Measured) }
    }

    /// Returns `predicted / published - 1` if both are known, and the row is a prediction or a
    /// training cell.
    pub fn error(&self) -> Option<f64> {
        match (self.status, self.predicted, self.published) {
            // A published 0 states a direction, and has no relative error.
            (Status::Predicted | Status::Training, Some(predicted), Some(published))
                if published > 0.0 =>
            {
                Some(predicted / published - 1.0)
            }
            _ => None,
        }
    }

    pub(crate) fn trivial_error(&self) -> Option<f64> {
        match (self.status, self.trivial, self.published) {
            (Status::Predicted, Some(trivial), Some(published)) if published > 0.0 => {
                Some(trivial / published - 1.0)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a row. All rows have the same table, experiment and machine.
    pub(crate) fn row(
        variant: &str,
        threads: usize,
        published: f64,
        predicted: f64,
        status: Status,
    ) -> Row {
        let key = CellKey {
            experiment: "e".into(),
            machine: "m".into(),
            variant: variant.into(),
            threads: Some(threads),
            metric: "throughput".into(),
            unit: "op/s".into(),
        };
        Row {
            table: "t".into(),
            published: Some(published),
            predicted: Some(predicted),
            trivial: Some(100.0),
            ..Row::new(key, status)
        }
    }
}
