//! A policy with which each wake-up is needed: naps would hide a lost wake-up.

use lockyard::lock::adaptive::Patience;
use std::time::Duration;

/// Waiters sleep soon, and for ever if no release wakes them.
#[derive(Debug)]
pub(crate) struct Sleepy;
impl Patience for Sleepy {
    const POLLS: u32 = 1;
    const FIRST_GAP: u32 = 1;
    const LONGEST_GAP: u32 = 1;
    const NAP: Option<Duration> = None;
    const PLAIN_RELEASE: bool = false;
}
