//! Functions for a simulated thread's code that the platform's traits do not have: work, time,
//! random numbers.

use super::perform::perform;
use crate::op::Op;
use crate::shared::{PerThread, Shared};
use std::rc::Rc;

fn me() -> Rc<PerThread> {
    Shared::with(Shared::me)
}

/// Does local work for a number of nanoseconds (rounded to cycles). The work touches no shared
/// line, and takes longer while another thread of the core is active. It is free in setup code.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn work(nanoseconds: f64) {
    let cycles = Shared::with(|s| s.machine().cycles(nanoseconds));
    if cycles > 0 {
        perform(Op::Work { cycles, in_order: false });
    }
}

/// Does local work like [`work`], but none before earlier operations are complete. This is for work
/// that loads from memory, because its loads wait until a locked operation is complete. It is also
/// for work behind a kernel entry or exit, because a processor first completes everything before
/// it.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn work_in_order(nanoseconds: f64) {
    let cycles = Shared::with(|s| s.machine().cycles(nanoseconds));
    if cycles > 0 {
        perform(Op::Work { cycles, in_order: true });
    }
}

/// Interrupts all other threads of the running thread's group, and waits until every one has
/// answered, as a TLB shootdown does. A preempted thread answers when it next runs. Does nothing in
/// setup code.
///
/// If the simulation's threads do not [share CPUs](crate::Simulation::share_cpus), the call ends
/// the run.
///
/// # Panics
///
/// Outside a simulation.
pub fn wait_for_others() {
    perform(Op::WaitForOthers);
}

/// Counts one finished operation of the running thread. Takes no simulated time if the operation
/// took some. Otherwise the count takes one cycle, so that a loop of such operations ends.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn operation_done() {
    let me = me();
    if me.last_operation.get() == now() {
        perform(Op::Work { cycles: 1, in_order: false });
    }
    me.last_operation.set(now());
    me.operations.set(me.operations.get() + 1);
}

/// Returns `true` once the run is over. Threads check this between operations, and then finish.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn stop_requested() -> bool {
    Shared::with(Shared::stop_requested)
}

/// Simulated time, in cycles, at which the running thread's last operation completed.
///
/// # Panics
///
/// Outside a simulation.
pub fn now() -> u64 {
    Shared::with(Shared::now)
}

/// A random number from 0 to `n - 1` (0 if `n` is 0), from the running thread's own stream.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn random_below(n: u64) -> u64 {
    me().random.borrow_mut().below(n)
}

/// Index of the running thread, in the order in which threads were spawned.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn thread_index() -> usize {
    Shared::with(Shared::thread_index)
}

/// Converts cycles of the running machine to nanoseconds.
///
/// # Panics
///
/// Outside a simulation.
pub fn nanoseconds(cycles: u64) -> f64 {
    Shared::with(|shared| shared.machine().nanoseconds(cycles))
}

/// Cycles so far in which the running thread could run but another thread had its CPU.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn off_cpu() -> u64 {
    Shared::with(Shared::off_cpu)
}

/// Cycles so far in which operations of the running thread have waited for lines or for the store
/// buffer. Polls of waiting loops are not counted.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn stalled() -> u64 {
    Shared::with(Shared::stalled)
}

/// Cycles of work that the running thread has done so far while it waited for locks. Its core
/// executes this work ahead, during the operation that takes a lock. If the lock is free at once,
/// the same work takes its full time.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn hidden() -> u64 {
    Shared::with(Shared::hidden)
}
