//! Pages and pictures of made-up results: their structure, their numbers, their charts.

mod charts;
mod numbers;
mod sample;
mod structure;
mod tags;
