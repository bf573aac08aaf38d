//! Predictions and measurements, joined with each other and compared with published figures.
//!
//! | module | content |
//! | --- | --- |
//! | [`reproduce`] | every published figure with its prediction and its measurement |
//! | [`predict`], [`measure`] | the cells of a scenario, as rows |
//! | [`training`] | the tables on which the simulated machine was fitted |
//! | [`calibrate_host`] | a machine file of this host, and its accuracy |
//! | [`fit`] | other people's measurements beside predictions |
//! | [`from_pingpong`] | a machine file from latencies between cores |
//! | [`standard`] | a standard measurement of a host, as one file |

pub mod calibrate_host;
pub mod fit;
pub mod from_pingpong;
pub mod measure;
pub mod predict;
pub mod reproduce;
pub mod standard;
pub mod training;
