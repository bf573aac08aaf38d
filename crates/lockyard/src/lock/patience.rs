//! The policy of the [mutex](super::adaptive): how long its waiters spin, and when they demand the
//! lock.

use core::fmt::Debug;
use core::time::Duration;

/// Policy of the waiters of [`Adaptive`](super::Adaptive): spinning, naps, demands.
pub trait Patience: Debug + 'static {
    /// Maximum number of threads that spin; 1 to 15. All others sleep.
    const SPINNERS: u32 = 1;
    /// Number of polls of a spinner, or of a woken thread, before it sleeps; at least 1. While
    /// others sleep, a spinner polls a third of that number. A thread that was woken in vain polls
    /// once.
    const POLLS: u32 = 24;
    /// Number of pauses ([`Host::relax`](crate::platform::Host::relax)) between the first two
    /// polls. The gap doubles with each poll.
    const FIRST_GAP: u32 = 4;
    /// Maximum number of pauses between two polls.
    const LONGEST_GAP: u32 = 32;
    /// The first nap of a sleeper, and the time after which it demands the lock. `None`: sleepers
    /// do not nap, and one demands the lock as soon as it has been woken in vain.
    const NAP: Option<Duration> = Some(Duration::from_millis(1));
    /// The longest nap. Naps grow with the time that the sleeper has waited: see the
    /// [mutex](super::adaptive).
    const LONGEST_NAP: Duration = Duration::from_secs(60);
    /// True if a release that has no thread to wake is a plain store. A plain store saves a locked
    /// operation, and may miss a thread that is just joining the queue: see the
    /// [mutex](super::adaptive). The default is true where a store of a byte is cheaper than a
    /// read-modify-write: on x86-64.
    const PLAIN_RELEASE: bool = cfg!(all(
        target_arch = "x86_64",
        target_pointer_width = "64",
        not(any(miri, lockyard_portable))
    ));
}

/// The patience of [`Mutex`](crate::Mutex).
#[derive(Debug)]
pub struct Usual;
impl Patience for Usual {}
