//! Rows: each holds one result.
//!
//! A row has the same key as the published tables, so the two can be joined. It has exactly one
//! status:
//!
//! - *calibration*: the cell set the local work, so its figure is not a prediction
//! - *predicted*
//! - *training*: the cell's table was used to fit the machine's protocol
//! - *measured*: there is a measured figure and no prediction
//! - *not modelled*, with a reason

use crate::cell_key::CellKey;
use crate::details::Details;
use crate::statistics;
use lockyard_scenarios::Metric;

/// Status of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The cell set the local work.
    Calibration,
    /// The cell is predicted.
    Predicted,
    /// The machine's protocol was fitted on this cell.
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

/// A figure measured on this host: the median of its samples, with an interval.
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
    /// Returns a figure from a single sample. The sample is also both ends of the interval.
    pub fn once(value: f64) -> Measured {
        Measured { value, ci_low: value, ci_high: value, samples: 1 }
    }

    /// Returns the median of samples with its interval; `None` if there are none.
    pub fn of_samples(samples: &[f64]) -> Option<Measured> {
        let (value, interval) =
            (statistics::median(samples)?, statistics::median_interval(samples)?);
        let (ci_low, ci_high) = (interval.low, interval.high);
        Some(Measured { value, ci_low, ci_high, samples: samples.len() })
    }

    /// Converts the figure of `threads` tasks from operations per second to the unit of a metric.
    pub fn in_metric(self, metric: Metric, threads: usize) -> Measured {
        let (ci_low, ci_high) = metric.range((self.ci_low, self.ci_high), threads);
        Measured { value: metric.figure(self.value, threads), ci_low, ci_high, ..self }
    }
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Table to which the row belongs; empty if there is none.
    pub table: String,
    /// Key of the cell.
    pub key: CellKey,
    /// Published figure.
    pub published: Option<f64>,
    /// Predicted figure.
    pub predicted: Option<f64>,
    /// Figure of the trivial model, which holds the cost of the calibration cell constant.
    pub trivial: Option<f64>,
    /// Figure measured on this host.
    pub measured: Option<Measured>,
    /// Status of the row.
    pub status: Status,
    /// Reason why the cell is not modelled, or a note that its figure is an input.
    pub reason: Option<String>,
    /// Further details of the row.
    pub details: Details,
}

impl Row {
    /// Returns a row with a key and a status, but without figures. It belongs to no table.
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

    /// Returns `predicted / published - 1` for predictions and training cells; `None` if either
    /// figure is unknown.
    pub fn error(&self) -> Option<f64> {
        match (self.status, self.predicted, self.published) {
            // A published 0 only states a direction, so there is no relative error.
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

    /// Returns a row of a fixed table, experiment and machine.
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
