//! Tests of the studies. No test here asserts a speed.

mod measure_tables;
mod support;
mod tables;
