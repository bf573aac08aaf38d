//! Tests that read, reject and perform scripts, in one binary.

mod bad_scripts;
mod buffers;
mod foreign;
mod guests;
mod lock_free;
mod metric_rules;
mod own_lock;
mod parts;
mod performed;
mod profile;
mod readers;
mod samples;
mod scripts;
mod starts;
mod support;
mod tables;
mod word_steps;
