//! Stages on which scenarios are performed.

use super::random;
use lockyard::platform::{Activity, HostWithSlots, during};
use std::time::Duration;

/// A back-end, as seen by a scenario. It provides the host where the primitives run, and functions
/// that only the runner of a scenario can provide.
pub trait Stage: 'static {
    /// The host where the primitives run.
    type Host: HostWithSlots;

    /// `true` if [foreign locks](crate::Foreign) can run on this stage. They need threads of the
    /// operating system.
    const FOREIGN_LOCKS: bool = false;

    /// `true` if tasks can [wait for others](Self::wait_for_others) on this stage.
    const OTHERS: bool = false;

    /// `true` if the host's clock begins with the run, so that [requests](Self::request_begins) can
    /// come from outside.
    const ARRIVALS: bool = false;

    /// `true` if the lab counts the tasks inside each reader-writer lock, so that it finds every
    /// writer that is not alone. On a real host the counts would be shared memory that costs time.
    const SEES_INSIDE: bool = false;

    /// `true` if tables free their memory when a run's objects are dropped. A back-end that frees
    /// all memory of a run together sets this to `false`.
    const GIVES_BACK: bool = true;

    /// Number of turns of all loops in one operation after which a loop counts as endless. The
    /// default is no limit, for stages that run under a watchdog.
    const MOST_TURNS: u64 = u64::MAX;

    /// Interrupts all other tasks in the running task's guest, and waits until every one has
    /// answered.
    fn wait_for_others() {
        unreachable!("a variant that waits for others is not laid out on a stage without");
    }

    /// Reports that the running task waits for a request from outside, which has not come yet.
    #[inline(always)]
    fn request_awaited() {}

    /// Reports that the running task begins a request that came this long ago.
    #[inline(always)]
    fn request_begins(_waited: Duration) {}

    /// Returns a random number for the running task, from 0 to `n - 1`; `n` is not 0.
    fn random_below(n: u64) -> u64 {
        random::below(n)
    }

    /// Performs `nanoseconds` of local work, which touches no shared line.
    fn work(nanoseconds: f64);

    /// Performs local work. The host may account for it under `activity`. `ahead`: the work needs
    /// no memory, so a simulated core may do it before earlier locked operations are complete. A
    /// real host's processor decides this itself.
    #[inline(always)]
    fn work_in(activity: Activity, _ahead: bool, nanoseconds: f64) {
        during::<Self::Host, _>(activity, || Self::work(nanoseconds));
    }

    /// Returns `true` if the run is over. Tasks call this between operations.
    fn stopping() -> bool;

    /// Reports that the running task has finished one operation.
    fn operation_done();

    /// Reports that the running task is about to take a lock, or to take or drop a reference.
    #[inline(always)]
    fn wait_begins() {}

    /// Reports that the running task has the lock, or has taken or dropped the reference.
    #[inline(always)]
    fn wait_ends() {}

    /// Reports that the running task begins to wait for the lock of an object. Objects are numbered
    /// in the order of [`Prepared::places`](crate::Prepared::places).
    #[inline(always)]
    fn lock_wait_begins(_object: usize) {}

    /// Reports that the running task has taken the lock of an object. Objects are numbered in the
    /// order of [`Prepared::places`](crate::Prepared::places).
    #[inline(always)]
    fn hold_begins(_object: usize) {}

    /// The same as [`hold_begins`](Self::hold_begins), for a lock that the task has taken as a
    /// reader.
    #[inline(always)]
    fn shared_hold_begins(object: usize) {
        Self::hold_begins(object);
    }

    /// Reports that the running task is about to release the lock that it took last.
    #[inline(always)]
    fn hold_ends() {}

    /// Reports that the running task has released the lock of an object.
    #[inline(always)]
    fn release_ends(_object: usize) {}
}
