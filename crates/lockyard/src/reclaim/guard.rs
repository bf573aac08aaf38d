//! Guards: while a thread has a guard, it is inside a domain.
//!
//! A guard of a thread with a record is counted in the record's [state](super::record::State). The
//! outermost guard also stores there the epoch in which it entered. An interruption between any two
//! of these steps is harmless:
//!
//! - *Load the state; store it with one more guard.* The state is changed by a load and a store,
//!   not atomically. An interruption in between enters and leaves, and so restores the state.
//! - *Fence.* The thread's later reads come only after other threads can see the store. Every guard
//!   has its own fence, because a guard that an interruption makes before the fence could not rely
//!   on that fence.

use super::domain::Domain;
use super::owned::Owned;
use super::record::{Record, State};
use crate::context::{Context, NoContext};
use crate::platform::{Atomics, Event, Host, HostWithSlots, Ordering, Slot, Word, count_guards};
use core::fmt;
use core::mem::ManuallyDrop;
use lock_api::GuardNoSend;

/// Membership in a [`Domain`]. During its life, no object is freed that was within reach after the
/// guard was made.
///
/// It stays on its thread.
///
/// ```compile_fail,E0277
/// static DOMAIN: lockyard::Domain = lockyard::Domain::new();
/// let guard = DOMAIN.enter();
/// std::thread::spawn(move || drop(guard)); // `*mut ()` cannot be sent between threads safely
/// ```
#[must_use = "if unused the domain is left at once"]
pub struct Guard<'d, H: HostWithSlots, C: Context = NoContext> {
    domain: &'d Domain<H, C>,
    counted: Counted<'d, H>,
    context: ManuallyDrop<C::State>,
    _on_this_thread: GuardNoSend,
}

/// The place where a guard is counted.
enum Place<'d, H: Host> {
    /// The record of the slot.
    Record(Slot, &'d Record<H>),
    /// The counter that threads without a record share, for the epoch's parity.
    Unrecorded(usize),
    /// The guard is not counted: the caller has promised that no object is freed.
    Assumed,
}

/// A [`Place`] in two words. Functions return them in registers, so a guard that is only used in
/// one function is never in memory. (The fence of entering waits until earlier stores are done.)
struct Counted<'d, H: Host> {
    record: Option<&'d Record<H>>,
    /// The record's slot. Without a record: the parity, or [`Self::NOWHERE`].
    number: u32,
}

impl<'d, H: Host> Counted<'d, H> {
    const NOWHERE: u32 = u32::MAX;

    #[inline(always)]
    fn at(place: Place<'d, H>) -> Self {
        match place {
            Place::Record(slot, record) => Counted { record: Some(record), number: slot.0 },
            Place::Unrecorded(parity) => Counted { record: None, number: parity as u32 },
            Place::Assumed => Counted { record: None, number: Self::NOWHERE },
        }
    }

    #[inline(always)]
    fn place(&self) -> Place<'d, H> {
        match self.record {
            Some(record) => Place::Record(Slot(self.number), record),
            None if self.number == Self::NOWHERE => Place::Assumed,
            None => Place::Unrecorded(self.number as usize),
        }
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Enters. Until the guard is dropped, no object that can be reached from now on is freed.
    /// Never waits.
    ///
    /// Cost: one store to a line that only this slot writes, and a sequentially consistent fence.
    /// The first call in a slot may allocate. If that allocation fails, and in a thread without a
    /// slot, a guard costs two read-modify-writes of a shared line.
    ///
    /// Any number of guards may nest. The record of a slot counts 4,095 guards of one domain.
    /// Further guards are counted like those of threads without a record.
    #[inline]
    pub fn enter(&self) -> Guard<'_, H, C> {
        let context = C::enter();
        let counted = match H::slot() {
            Some(slot) => match self.records.get(slot) {
                Some(record) => self.enter_record(slot, record),
                None => self.enter_first(slot),
            },
            None => self.enter_without_slot(),
        };
        self.guard(counted, context)
    }

    /// Makes a guard that is not counted, and costs nothing.
    ///
    /// # Safety
    ///
    /// During the life of the guard, one of these conditions must keep every object that the guard
    /// may reach from being freed:
    ///
    /// - The thread has an outer guard of the domain, and does not make the outer guard
    ///   [quiescent](Guard::pass_quiescent_state) meanwhile.
    /// - No thread frees objects, because no other thread has the domain.
    /// - The host has its own quiescent states, and ends no epoch before all slots have passed one.
    #[inline(always)]
    pub unsafe fn assume_entered(&self) -> Guard<'_, H, C> {
        self.guard(Counted::at(Place::Assumed), C::enter())
    }

    #[inline(always)]
    fn guard<'d>(&'d self, counted: Counted<'d, H>, context: C::State) -> Guard<'d, H, C> {
        let context = ManuallyDrop::new(context);
        Guard { domain: self, counted, context, _on_this_thread: GuardNoSend::new() }
    }

    #[inline(always)]
    fn enter_record<'d>(&'d self, slot: Slot, record: &'d Record<H>) -> Counted<'d, H> {
        // Relaxed: only this slot writes it.
        let before = State(record.state.load(Ordering::Relaxed));
        let after = if before.guards() == 0 {
            // Relaxed: storing an old epoch may delay freeing, and never allows freeing too early.
            State::entered(self.epoch.load(Ordering::Relaxed))
        } else {
            match before.nested() {
                Some(after) => after,
                // This guard protects the objects that it finds, without relying on the outer
                // guards.
                None => return self.enter_unrecorded(),
            }
        };
        // Release: pairs with the acquire of the read in `end_epoch`. That read may see this store
        // instead of the earlier store by which this slot left. All reads from before that store
        // must then be over.
        record.state.store(after.0, Ordering::Release);
        // Sequentially consistent: pairs with the fences in `end_epoch` and `stamp`. Either those
        // functions see the store above, or the later reads of this thread do not find the objects
        // that were already taken out of reach.
        H::Atomics::fence(Ordering::SeqCst);
        // From here on the slot belongs to the thread until the guard is dropped.
        count_guards::<H>(slot, 1);
        Counted::at(Place::Record(slot, record))
    }

    #[cold]
    #[inline(never)]
    fn enter_first(&self, slot: Slot) -> Counted<'_, H> {
        match self.records.get_or_allocate(slot) {
            Some(record) => self.enter_record(slot, record),
            None => self.enter_unrecorded(),
        }
    }

    /// Counts a reader without a slot, and also counts the event.
    #[cold]
    #[inline(never)]
    fn enter_without_slot(&self) -> Counted<'_, H> {
        H::count(Event::NoSlot);
        self.enter_unrecorded()
    }

    /// Counts a reader without a record, under the epoch that is current *after* it has been
    /// counted. If the epoch ended before the counting, the count would be taken for a reader of a
    /// later epoch with the same parity.
    #[cold]
    #[inline(never)]
    fn enter_unrecorded(&self) -> Counted<'_, H> {
        let mut epoch = self.epoch.load(Ordering::Relaxed);
        loop {
            let parity = epoch as usize % 2;
            let inside = &self.unrecorded.inside[parity];
            // Relaxed: a read-modify-write continues the release sequence of readers that left
            // before.
            inside.fetch_add(1, Ordering::Relaxed);
            // Sequentially consistent: as in `enter_record`.
            H::Atomics::fence(Ordering::SeqCst);
            let now = self.epoch.load(Ordering::Relaxed);
            if now == epoch {
                return Counted::at(Place::Unrecorded(parity));
            }
            // Relaxed: nothing was read under this count.
            inside.fetch_sub(1, Ordering::Relaxed);
            epoch = now;
        }
    }
}

impl<'d, H: HostWithSlots, C: Context> Guard<'d, H, C> {
    /// Returns the domain.
    pub fn domain(&self) -> &'d Domain<H, C> {
        self.domain
    }

    /// Passes a quiescent state: no reference from this guard is used any more (the compiler
    /// ensures that), and the guard continues as if it were made now.
    ///
    /// A thread may keep one guard for its whole life and call this function between two jobs. Its
    /// reads then cost nothing. The thread must drop the guard before it blocks. A thread that
    /// blocks with a guard, or does not make these calls, stops all freeing.
    ///
    /// Cost: one load, unless an epoch has ended since the last call; then also a store and a
    /// fence. It has no effect while the slot has other guards.
    #[inline]
    pub fn pass_quiescent_state(&mut self) {
        match self.counted.place() {
            Place::Record(_, record) => {
                // Relaxed: only this slot writes it.
                let before = State(record.state.load(Ordering::Relaxed));
                let epoch = self.domain.epoch.load(Ordering::Relaxed);
                if before.guards() != 1 || before.epoch() == epoch {
                    return;
                }
                // Release and sequentially consistent: as in `enter_record`.
                record.state.store(State::entered(epoch).0, Ordering::Release);
                H::Atomics::fence(Ordering::SeqCst);
            }
            Place::Unrecorded(parity) => {
                if self.domain.epoch.load(Ordering::Relaxed) as usize % 2 != parity {
                    self.leave();
                    self.counted = self.domain.enter_unrecorded();
                }
            }
            Place::Assumed => {}
        }
    }

    /// Returns the object with these [bits](Owned::into_bits), or `None` if they are 0.
    ///
    /// # Safety
    ///
    /// - The bits must come from an [`Owned`] of this type and host.
    /// - The bits must have been loaded, with acquire, inside this guard, from a place where the
    ///   object was within reach.
    /// - The object must be freed only by retiring it to this guard's domain, after it was taken
    ///   out of reach.
    #[inline(always)]
    pub unsafe fn deref_bits<T>(&self, bits: u64) -> Option<&T> {
        // SAFETY: the caller promises that the object lives as long as the guard.
        unsafe { Owned::<T, H>::deref_bits(bits) }
    }

    /// The same as the domain's [`retire_owned`](Domain::retire_owned), inside the guard.
    ///
    /// # Safety
    ///
    /// The same as for [`Domain::retire_owned`].
    pub unsafe fn retire_owned<T: Send>(&self, owned: Option<Owned<T, H>>) {
        // SAFETY: the caller's promise.
        unsafe { self.domain().retire_owned(owned) };
    }

    #[inline(always)]
    fn leave(&mut self) {
        match self.counted.place() {
            Place::Record(slot, record) => {
                // Relaxed: only this slot writes it. The slot belongs to the thread as long as the
                // guard lives.
                let before = State(record.state.load(Ordering::Relaxed));
                // Release: pairs with the acquire of the read in `end_epoch`, so that all reads of
                // this guard are over.
                record.state.store(before.left().0, Ordering::Release);
                count_guards::<H>(slot, u32::MAX);
            }
            Place::Unrecorded(parity) => {
                // Release: pairs with the acquire of the read in `end_epoch`.
                self.domain.unrecorded.inside[parity].fetch_sub(1, Ordering::Release);
            }
            Place::Assumed => {}
        }
    }
}

impl<H: HostWithSlots, C: Context> Drop for Guard<'_, H, C> {
    #[inline]
    fn drop(&mut self) {
        self.leave();
        // SAFETY: the value is taken only here, once.
        C::leave(unsafe { ManuallyDrop::take(&mut self.context) });
    }
}

impl<H: HostWithSlots, C: Context> fmt::Debug for Guard<'_, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = match self.counted.place() {
            Place::Record(slot, _) => Some(slot),
            _ => None,
        };
        f.debug_struct("Guard").field("slot", &slot).finish_non_exhaustive()
    }
}
