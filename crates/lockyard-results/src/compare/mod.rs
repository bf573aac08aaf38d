//! Comparison of two result files: common figures, their differences, and the evidence for them.
//!
//! A result file is the output of `measure`, `predict` or `reproduce` with `--format json`.
//! docs/measure/results.md describes the format, and docs/measure/compare.md the comparison.
//!
//! | module | content |
//! | --- | --- |
//! | [`read`] | reading of files: any bytes give either a list of figures or a one-line error |
//! | [`values`] | numbers and texts with size limits, checked during parsing |
//! | [`join`] | pairs of matching figures |
//! | [`comparable`] | check that two runs answer the same question |
//! | [`planned`] | the same check before one of them is run, as far as is known by then |
//! | [`bootstrap`] | interval of a difference of medians |
//! | [`rank_test`] | tests whether the rounds of one run are above those of another |
//! | [`sign_flip`] | test of rounds that ran in pairs, for all rows together |
//! | [`direction`] | direction in which a figure moves when a program becomes faster |
//! | [`comparison`] | verdicts on rows, and their totals |
//! | [`paired`] | verdicts on programs that ran in pairs |
//! | [`report`] | output for readers and for programs |

pub mod bootstrap;
pub mod comparable;
pub mod comparison;
pub mod direction;
pub mod join;
pub mod paired;
pub mod planned;
pub mod rank_test;
pub mod read;
pub mod report;
pub mod sign_flip;
pub mod values;

pub use comparison::{Comparison, Method, Options, compare};
pub use paired::{compare_pairs, join_rounds};
pub use planned::{Planned, check_planned};
pub use read::{ResultFile, load, parse};
