//! Two result files side by side: which figures they have in common, how far those differ, and
//! whether the rounds are evidence of it.
//!
//! A result file is what `measure`, `predict` and `reproduce` write with `--format json`;
//! docs/measure/results.md has the format, docs/measure/compare.md what is made of two.
//!
//! | module | what |
//! | --- | --- |
//! | [`read`] | a file, from outside: any bytes give a list of figures or one line of refusal |
//! | [`values`] | numbers and texts of bounded size, refused where they stand |
//! | [`join`] | which figures of two files belong together |
//! | [`comparable`] | whether two runs answer the same question |
//! | [`bootstrap`] | the interval of a difference of medians |
//! | [`rank_test`] | whether one run's rounds are above the other's |
//! | [`direction`] | whether more is faster |
//! | [`comparison`] | verdicts, and what they come to together |
//! | [`report`] | the comparison for people and for programs |

pub mod bootstrap;
pub mod comparable;
pub mod comparison;
pub mod direction;
pub mod join;
pub mod rank_test;
pub mod read;
pub mod report;
pub mod values;

pub use comparison::{Comparison, Options, compare};
pub use read::{ResultFile, load, parse};
