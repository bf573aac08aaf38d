//! Tests of the lab in one binary: scenarios against their tables, explanations, recorded hosts.

mod applications;
mod bottleneck;
mod buffers;
mod compared;
mod degradation;
mod detected;
mod explained;
mod overcommit;
mod sixteen_cores;
mod starts;
mod support;
mod tables;
mod training;
