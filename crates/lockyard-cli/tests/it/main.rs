//! The command, in one test binary: right and wrong input, output, faults, signals.

mod ab;
mod bad_input;
mod baselines;
mod broken_results;
mod broken_tables;
mod calibrate;
mod call_path;
mod compare;
mod degradation;
mod detect;
mod faults;
mod formats;
mod interrupted;
mod looked;
mod measure;
mod measure_tables;
mod peers;
mod predictions;
mod report;
mod results;
mod screens;
mod support;
mod syscalls;
mod syscalls_faults;
mod trace;
mod unwritable;
