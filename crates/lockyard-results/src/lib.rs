//! Results and everything computed from them: statistics, comparisons, output.
//!
//! | module | content |
//! | --- | --- |
//! | [`row`], [`details`], [`summary`] | one result; errors and winners of many results |
//! | [`cell_key`] | keys of cells, which join figures |
//! | [`published`] | published tables |
//! | [`outcome`] | figures of a run, computed by rules |
//! | [`recorded`], [`what_if`] | answers on a recorded program |
//! | [`answer`] | the same in a few lines |
//! | [`open`] | an open load: requests from outside |
//! | [`growth`] | what grows with threads, from several recordings |
//! | [`variant_ratios`] | predicted and published change from one variant to another |
//! | [`fairness`] | fairness among threads, and their waits |
//! | [`histogram`] | waits as buckets and as a picture |
//! | [`listing`], [`phase`] | CPU time by region and by phase |
//! | [`statistics`] | medians and their intervals, the bootstrap, outliers, series with two modes |
//! | [`scaling`] | the Universal Scalability Law |
//! | [`compare`] | result files, read and compared |
//! | [`render`] | tables, JSON, CSV, Markdown |

pub mod answer;
pub mod cell_key;
pub mod compare;
pub mod details;
pub mod fairness;
pub mod growth;
pub mod histogram;
pub mod listing;
pub mod open;
pub mod outcome;
pub mod phase;
pub mod published;
pub mod recorded;
pub mod render;
pub mod row;
pub mod scaling;
pub mod statistics;
pub mod summary;
pub mod variant_ratios;
pub mod what_if;
