//! Hosts with test hooks, and code that tests of threads and processes share.

#[cfg(feature = "hooks")]
pub(crate) mod between;
pub(crate) mod counting;
pub(crate) mod failing;
#[cfg(unix)]
pub(crate) mod forked;
#[cfg(all(unix, feature = "std"))]
pub(crate) mod sleepy;
pub(crate) mod watchdog;
