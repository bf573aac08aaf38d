//! Where a scenario is performed.

use lockyard::platform::{Activity, HostWithSlots, during};

/// A back-end, as a scenario sees it: the host on which the primitives run, and a few things that
/// only the one who runs the scenario knows.
pub trait Stage: 'static {
    /// The host on which the primitives run.
    type Host: HostWithSlots;

    /// Whether [foreign locks](crate::Foreign) run there: only where threads are the operating system's.
    const FOREIGN_LOCKS: bool = false;

    /// Whether tasks can [wait for others](Self::wait_for_others) there.
    const OTHERS: bool = false;

    /// Whether what tables allocated is given back when a run's objects are dropped. Not where all of a run's memory goes at once.
    const GIVES_BACK: bool = true;

    /// Interrupts all other tasks of the running one's guest, and waits until each has answered.
    fn wait_for_others() {
        unreachable!("a variant that waits for others is not laid out on a stage without");
    }

    /// A random number from 0 to `n - 1`, of the running task; `n` is not 0.
    fn random_below(n: u64) -> u64 {
        crate::random::below(n)
    }

    /// Spends `nanoseconds` of local work, which touches no shared line.
    fn work(nanoseconds: f64);

    /// The same, as what the work is: its host may keep account of that.
    #[inline(always)]
    fn work_in(activity: Activity, nanoseconds: f64) {
        during::<Self::Host, _>(activity, || Self::work(nanoseconds));
    }

    /// Whether the run is over. A task looks between two operations.
    fn stopping() -> bool;

    /// The running task has finished one operation.
    fn operation_done();

    /// The running task is about to take a lock, or to take or drop a reference.
    #[inline(always)]
    fn wait_begins() {}

    /// It has the lock, or has taken or dropped the reference.
    #[inline(always)]
    fn wait_ends() {}

    /// The running task waits from now on for the lock of the object with this number, in the order
    /// of [`Prepared::places`](crate::Prepared::places).
    #[inline(always)]
    fn lock_wait_begins(_object: usize) {}

    /// The running task has taken the lock of the object with this number, in the order of
    /// [`Prepared::places`](crate::Prepared::places).
    #[inline(always)]
    fn hold_begins(_object: usize) {}

    /// It is about to release the lock that it took last.
    #[inline(always)]
    fn hold_ends() {}
}
