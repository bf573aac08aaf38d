#![no_main]

#[path = "tables/mod.rs"]
mod tables;

// The models name this module of their tests.
mod replay {
    pub(crate) type Target = (&'static str, fn(&[u8]));
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| tables::run("connections", input));
