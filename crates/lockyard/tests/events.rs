//! The tests of the queued lock with the feature `events`, which no other crate of the workspace
//! enables. They are in a separate binary, because compiling all tests again takes minutes.

#[path = "it/queued_native.rs"]
mod queued_native;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "it/support/mod.rs"]
mod support;
