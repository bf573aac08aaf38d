#![no_main]

#[path = "tables/mod.rs"]
mod tables;

libfuzzer_sys::fuzz_target!(|input: &[u8]| tables::run("handle-table", input));
