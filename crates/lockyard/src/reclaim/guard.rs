//! Guards: a guard means that its thread is inside a domain.
//!
//! A guard of a thread with a record is counted in the record's [state](super::record::State). The
//! outermost guard also notes there the epoch in which it entered. An interruption between any two
//! of its steps does no harm:
//!
//! - *Load the state; store it with one more guard.* The state is changed by a load and a store,
//!   not atomically. An interruption in between enters and leaves, and so leaves the state as it
//!   was.
//! - *Fence.* All later reads of the thread come after the store can be seen. A guard in an
//!   interruption that came before the fence could not rely on it, so every guard has its own.

use super::domain::Domain;
use super::owned::Owned;
use super::record::{Record, State};
use crate::context::{Context, NoContext};
use crate::platform::{Atomics, Event, Host, HostWithSlots, Ordering, Slot, Word, count_guards};
use core::fmt;
use core::mem::ManuallyDrop;
use lock_api::GuardNoSend;

/// Membership in a [`Domain`]: nothing is freed that was within reach after the guard was made.
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
    place: Place<'d, H>,
    context: ManuallyDrop<C::State>,
    _on_this_thread: GuardNoSend,
}

/// The counter of a guard.
enum Place<'d, H: Host> {
    /// The record of the slot.
    Record(Slot, &'d Record<H>),
    /// The counter that threads without a record share, for the epoch's parity.
    Unrecorded(usize),
    /// None: the caller has promised that nothing is freed.
    Assumed,
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Enters. Until the guard is dropped, nothing is freed that can be reached from here on. Never
    /// waits.
    ///
    /// Cost: one store to a line that only this slot writes, and a sequentially consistent fence.
    /// The first call in a slot may allocate. If that fails, and in a thread without a slot, a
    /// guard costs two read-modify-writes of a shared line.
    ///
    /// Any number of guards may nest. The record of a slot counts 4,095 of one domain. Further ones
    /// are counted as those of threads without a record.
    #[inline]
    pub fn enter(&self) -> Guard<'_, H, C> {
        let context = C::enter();
        let place = match H::slot() {
            Some(slot) => match self.records.get(slot) {
                Some(record) => self.enter_record(slot, record),
                None => self.enter_first(slot),
            },
            None => self.enter_without_slot(),
        };
        self.guard(place, context)
    }

    /// Makes a guard that is counted nowhere and costs nothing.
    ///
    /// # Safety
    ///
    /// As long as the guard lives, one of these keeps everything that it may reach from being
    /// freed:
    ///
    /// - The thread has another guard of the domain outside this one, and does not make it
    ///   [quiescent](Guard::pass_quiescent_state) meanwhile.
    /// - No thread frees, because no other thread has the domain.
    /// - The host has quiescent states of its own, and ends no epoch before all slots have passed
    ///   one.
    #[inline(always)]
    pub unsafe fn assume_entered(&self) -> Guard<'_, H, C> {
        self.guard(Place::Assumed, C::enter())
    }

    #[inline(always)]
    fn guard<'d>(&'d self, place: Place<'d, H>, context: C::State) -> Guard<'d, H, C> {
        let context = ManuallyDrop::new(context);
        Guard { domain: self, place, context, _on_this_thread: GuardNoSend::new() }
    }

    #[inline(always)]
    fn enter_record<'d>(&'d self, slot: Slot, record: &'d Record<H>) -> Place<'d, H> {
        // Relaxed: only this slot writes it.
        let before = State(record.state.load(Ordering::Relaxed));
        let after = if before.guards() == 0 {
            // Relaxed: noting an old epoch prevents more freeing than necessary, never less.
            State::entered(self.epoch.load(Ordering::Relaxed))
        } else {
            match before.nested() {
                Some(after) => after,
                // It protects what it finds, without relying on the outer guards.
                None => return self.enter_unrecorded(),
            }
        };
        // Release: pairs with the acquire of the look in `end_epoch`. That may see this store
        // instead of the store by which this slot left before, and what was read then must be over.
        record.state.store(after.0, Ordering::Release);
        // Sequentially consistent: pairs with the fences in `end_epoch` and `stamp`. Either they
        // see the store above, or the later reads see memory as it was at their time, without the
        // objects that were taken out of reach.
        H::Atomics::fence(Ordering::SeqCst);
        // From here on the slot belongs to the thread until the guard is dropped.
        count_guards::<H>(slot, 1);
        Place::Record(slot, record)
    }

    #[cold]
    fn enter_first(&self, slot: Slot) -> Place<'_, H> {
        match self.records.get_or_allocate(slot) {
            Some(record) => self.enter_record(slot, record),
            None => self.enter_unrecorded(),
        }
    }

    /// Counts a reader without a slot, and the event.
    #[cold]
    fn enter_without_slot(&self) -> Place<'_, H> {
        H::count(Event::NoSlot);
        self.enter_unrecorded()
    }

    /// Counts a reader without a record, under the epoch that is current *after* it has been
    /// counted. If that epoch had ended before, the count would pass for one of the next epoch with
    /// the same parity.
    #[cold]
    fn enter_unrecorded(&self) -> Place<'_, H> {
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
                return Place::Unrecorded(parity);
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
    /// A thread may keep one guard for all its life and call this between two pieces of work. Its
    /// reads then cost nothing. It must drop the guard before it blocks. Otherwise, and without
    /// these calls, nothing is freed.
    ///
    /// Cost: one load, unless an epoch has ended since; then a store and a fence. It has no effect
    /// while the slot has other guards.
    #[inline]
    pub fn pass_quiescent_state(&mut self) {
        match self.place {
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
                    self.place = self.domain.enter_unrecorded();
                }
            }
            Place::Assumed => {}
        }
    }

    /// Returns the object with these [bits](Owned::into_bits), or `None` if they are 0.
    ///
    /// # Safety
    ///
    /// - The bits are those of an [`Owned`] of this type and host.
    /// - They were loaded, with acquire, inside this guard, from a place where the object was
    ///   within reach.
    /// - The object is freed only by being retired to this guard's domain after it was taken out of
    ///   reach.
    #[inline(always)]
    pub unsafe fn deref_bits<T>(&self, bits: u64) -> Option<&T> {
        // SAFETY: the caller says that the object lives as long as the guard.
        unsafe { Owned::<T, H>::deref_bits(bits) }
    }

    /// The same as the domain's [`retire_owned`](Domain::retire_owned), inside the guard.
    ///
    /// # Safety
    ///
    /// The same as for the domain's.
    pub unsafe fn retire_owned<T: Send>(&self, owned: Option<Owned<T, H>>) {
        // SAFETY: the caller's promise.
        unsafe { self.domain().retire_owned(owned) };
    }

    #[inline(always)]
    fn leave(&mut self) {
        match self.place {
            Place::Record(slot, record) => {
                // Relaxed: only this slot writes it. The slot belongs to the thread as long as the
                // guard lives.
                let before = State(record.state.load(Ordering::Relaxed));
                // Release: pairs with the acquire of the look in `end_epoch`, so that all reads are
                // over.
                record.state.store(before.left().0, Ordering::Release);
                count_guards::<H>(slot, u32::MAX);
            }
            Place::Unrecorded(parity) => {
                // Release: pairs with the acquire of the look in `end_epoch`.
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
        // SAFETY: taken once, here.
        C::leave(unsafe { ManuallyDrop::take(&mut self.context) });
    }
}

impl<H: HostWithSlots, C: Context> fmt::Debug for Guard<'_, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = match self.place {
            Place::Record(slot, _) => Some(slot),
            _ => None,
        };
        f.debug_struct("Guard").field("slot", &slot).finish_non_exhaustive()
    }
}
