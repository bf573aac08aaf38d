//! Traces, decoded by Perfetto's own definitions, and the JSON form byte for byte.

mod chrome;
mod perfetto;
mod sample;
