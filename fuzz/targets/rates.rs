#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lockyard_fuzz::run("rates", input));
