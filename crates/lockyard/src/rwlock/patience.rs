//! The policy of [`RwLock`](crate::RwLock).

use crate::lock::adaptive::Patience;
use core::time::Duration;

/// The patience of [`RwLock`](crate::RwLock). The head of the queue closes the lock once it has
/// waited for half a millisecond.
#[derive(Debug)]
pub struct Usual;

impl Patience for Usual {
    const NAP: Option<Duration> = Some(Duration::from_micros(500));
    const PLAIN_RELEASE: bool = false;
}
