//! The tests of the queued lock with the feature `events`, which no other crate of the workspace
//! turns on: in a binary of their own, because all tests together take minutes to compile again.

#[path = "it/queued_native.rs"]
mod queued_native;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "it/support/mod.rs"]
mod support;
