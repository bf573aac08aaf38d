//! Contexts: a guard switches something off while a lock is held.
//!
//! A kernel that takes a spinlock must often keep interrupts or preemption off until it releases
//! the lock. A [`Context`] is entered before the first attempt to take the lock and left after the
//! release. The guard keeps the context's state. User space needs no context: [`NoContext`], the
//! default, costs nothing.

/// Something that a guard switches off while a lock is held.
///
/// ```
/// use lockyard::{Context, Native, on};
/// use std::cell::Cell;
///
/// std::thread_local!(static PREEMPTION_OFF: Cell<u32> = const { Cell::new(0) });
///
/// struct NoPreemption;
/// impl Context for NoPreemption {
///     type State = ();
///     fn enter() { PREEMPTION_OFF.set(PREEMPTION_OFF.get() + 1) }
///     fn leave(_: ()) { PREEMPTION_OFF.set(PREEMPTION_OFF.get() - 1) }
/// }
///
/// type TicketLock<T> = on::TicketLock<T, Native, NoPreemption>;
/// static RUN_QUEUE: TicketLock<Vec<u32>> = TicketLock::new(Vec::new());
/// let mut queue = RUN_QUEUE.lock();
/// assert_eq!(PREEMPTION_OFF.get(), 1);
/// queue.push(7);
/// drop(queue);
/// assert_eq!(PREEMPTION_OFF.get(), 0);
/// ```
pub trait Context: 'static {
    /// The state that [`leave`](Self::leave) restores: saved interrupt flags, for example.
    type State;

    /// Switches it off. Called before the lock is taken. Calls nest.
    fn enter() -> Self::State;

    /// Restores the state before the matching [`enter`](Self::enter). Called after the lock is
    /// released, by the same thread. Guards that are dropped out of order leave out of order, and a
    /// forgotten guard never leaves.
    fn leave(state: Self::State);
}

/// Switches nothing off.
#[derive(Clone, Copy, Debug)]
pub struct NoContext;

impl Context for NoContext {
    type State = ();

    #[inline(always)]
    fn enter() {}
    #[inline(always)]
    fn leave((): ()) {}
}
