//! Medians, percentiles and their intervals, the bootstrap, series with two modes or a drift, and
//! outliers.

mod basics;
mod bootstrap;
mod modes;
mod outliers;

pub use basics::{
    Interval, coverage, half_width, mean, median, median_interval, poisson, quantile, student,
};
pub use bootstrap::{bootstrap_median, percentiles, resample};
pub use modes::{Mode, Unsteady, unsteady};
pub use outliers::{Oddity, oddities};
