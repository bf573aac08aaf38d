//! Predictions and measurements, joined with each other and compared with published figures.
//!
//! | module | content |
//! | --- | --- |
//! | [`reproduce`] | every published figure with its prediction and its measurement |
//! | [`predict`], [`measure`] | the cells of a scenario, as rows |
//! | [`training`] | the tables on which the simulated machine was fitted |
//! | [`calibrate_host`] | a machine file of this host, and its accuracy |

pub mod calibrate_host;
pub mod measure;
pub mod predict;
pub mod reproduce;
pub mod training;
