//! Retired objects: linked through their headers, stamped with an epoch, and freed two epochs
//! later.
//!
//! Each slot has a list of the objects that it has retired: a stack in its record. Threads without
//! a record share one list. Any thread, even a signal handler, may push onto any list. One thread
//! at a time, the *collector*, takes the whole stack, frees the objects that are old enough, and
//! pushes the rest again. So no object is removed from the middle of the stack, and the stack has
//! no ABA problem.

use super::domain::Domain;
use super::grace::GRACE;
use super::header::{Free, Header, Links};
use super::record::List;
use crate::context::Context;
use crate::platform::{Event, Execution, Host, HostWithSlots, Ordering, Region, Word, during};
use core::mem;
use core::ptr::NonNull;

/// Number of retirements of a slot after which it scans its list.
const BATCH: u64 = 64;
/// Number of polls of a thread that waits for a collector, before it parks.
const POLLS: u32 = 64;
/// Number of epochs without a scan after which any thread may collect a list.
const ABANDONED: u64 = 4;

impl<H: Host> List<H> {
    /// Pushes an object, and returns the number of objects that were ever pushed.
    ///
    /// # Safety
    ///
    /// Only the caller may use the object, and the object must not move until `free` is called.
    unsafe fn push(&self, object: NonNull<Header<H>>, stamp: u64, free: Option<Free<H>>) -> u64 {
        // Relaxed. The object is counted before it can be freed.
        let retired = self.retired.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: the caller's promise.
        unsafe { self.push_counted(object, Links { next: 0, stamp, free }) };
        retired
    }

    /// # Safety
    ///
    /// The same as for [`push`](Self::push).
    unsafe fn push_counted(&self, object: NonNull<Header<H>>, links: Links<H>) {
        let address = object.as_ptr().expose_provenance() as u64;
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the object is not published before the exchange succeeds.
            unsafe { object.as_ref().write(Links { next: head, ..links }) };
            // Release: pairs with the acquire of the collector's exchange.
            match self.head.compare_exchange_weak(
                head,
                address,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }

    /// Waits until the list has no collector. Parks if that is allowed. May return early. It orders
    /// nothing.
    #[cold]
    fn wait_for_tender(&self) {
        let collector = &self.collector;
        // Relaxed, here and below: the caller reads again, with acquire.
        if H::wait_within(collector, Ordering::Relaxed, POLLS, |collector| collector == 0).is_ok() {
            return;
        }
        if H::execution() != Execution::Thread {
            return H::yield_now();
        }
        let seen = collector.load(Ordering::Relaxed);
        let waited = seen | Self::WAITED;
        // The collector ends with an exchange of the word, so this collector or a later one finds
        // the bit at that point.
        if seen != 0
            && collector
                .compare_exchange(seen, waited, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            H::count(Event::Wait);
            during::<H, _>(Region::Idle, || H::park(collector, waited, None));
        }
    }

    /// Records that a scan of the list starts.
    fn note_look(&self) {
        // Relaxed, both: an old count only causes one superfluous scan.
        self.looked.store(self.retired.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Frees all objects, with any stamp, for a domain without users. After a panic, the remaining
    /// objects are in the list again.
    pub(super) fn free_all(&mut self) {
        let next = mem::replace(&mut self.head, Word::new(0)).get();
        let mut taken = Taken { list: self, next };
        while let Some((object, links)) = taken.pop() {
            taken.list.free_one(object, links);
        }
    }

    /// Frees an object that the caller, the collector, has taken.
    fn free_one(&self, object: NonNull<Header<H>>, links: Links<H>) {
        // Relaxed: collectors write the count one after the other, and each collector acquires the
        // release of the former one.
        let freed = self.freed.load(Ordering::Relaxed) + 1;
        // Release: pairs with the acquire in `barrier`. So a thread that finds nothing pending also
        // sees the collector that is about to free the object.
        self.freed.store(freed, Ordering::Release);
        if let Some(free) = links.free {
            // SAFETY: the thread that retired the object promised that `free` frees it, once, when
            // no reader has it any more.
            unsafe { free(object) };
        }
    }
}

/// Objects that were taken from a list. If this value is dropped with objects left (because a
/// `free` panicked), these objects go back to the list.
struct Taken<'l, H: Host> {
    list: &'l List<H>,
    next: u64,
}

impl<H: Host> Taken<'_, H> {
    fn pop(&mut self) -> Option<(NonNull<Header<H>>, Links<H>)> {
        let object = List::<H>::header(self.next)?;
        // SAFETY: the object was retired and not freed, so it still exists. It was taken, so no
        // other thread uses its header.
        let links = unsafe { object.as_ref().read() };
        self.next = links.next;
        Some((object, links))
    }
}

impl<H: Host> Drop for Taken<'_, H> {
    fn drop(&mut self) {
        while let Some((object, links)) = self.pop() {
            // SAFETY: the object was taken, and has not been freed.
            unsafe { self.list.push_counted(object, links) };
        }
    }
}

/// The right to collect a list.
struct Tending<'l, H: Host>(&'l List<H>);

impl<H: Host> Drop for Tending<'_, H> {
    fn drop(&mut self) {
        let collector = &self.0.collector;
        // Release: pairs with the acquire of the next collector, and of `barrier`.
        if collector.swap(0, Ordering::Release) & List::<H>::WAITED != 0 {
            H::count(Event::Kick);
            H::unpark(collector, u32::MAX);
        }
    }
}

fn own_tender<H: Host>() -> u32 {
    H::slot().map_or(List::<H>::NO_SLOT, |slot| slot.0 + 1)
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Retires an object. `free` is called with its header once every guard that existed before
    /// this call is gone. It may run in any thread that retires to the domain, collects, or drops
    /// the domain. `retire` needs no memory and cannot fail.
    ///
    /// Cost: one fence and two read-modify-writes of the slot's line. The call also counts the
    /// slot's retirements since the last scan of its list (by this function and by
    /// [`retire_later`](Self::retire_later) together). If there are 64 or more, it scans all
    /// records, and frees the objects that are old enough. It never scans in an interruption.
    ///
    /// # Safety
    ///
    /// - `object` must be the header of an object that lives until `free` is called with that
    ///   header, and that any thread may free.
    /// - It must be impossible for a reader to find the object from now on. Either this thread took
    ///   the object out of reach before the call, or another thread did so, and that happened
    ///   before the call.
    /// - The object must be retired once, and every reader that may have found it must have a guard
    ///   of *this* domain.
    /// - It must be sound to call `free` with the header at any later time, even when the domain is
    ///   dropped.
    #[inline]
    pub unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>) {
        // SAFETY: the caller's promise.
        let (list, retired) = unsafe { self.push(object, free) };
        // Relaxed: an old count only causes one superfluous scan.
        let looked = list.looked.load(Ordering::Relaxed);
        // The difference may be negative: another thread may have scanned after more retirements
        // than those up to this object.
        if retired.saturating_sub(looked) >= BATCH && H::execution() == Execution::Thread {
            self.look_after(list);
        }
    }

    /// The same as [`retire`](Self::retire), but frees nothing. For signal handlers, interrupts,
    /// and other contexts that must not run a [`Free`] function. Any number of objects may wait
    /// until one of these events:
    ///
    /// - the next [`retire`](Self::retire) in the same slot, if 64 or more were retired since the
    ///   last scan of its list;
    /// - in other slots, enough [`retire`](Self::retire) calls to end four epochs: the list then
    ///   counts as abandoned;
    /// - [`collect`](Self::collect), [`barrier`](Self::barrier), or the end of the domain.
    ///
    /// A program that retires only by this function must use one of the last three.
    ///
    /// # Safety
    ///
    /// The same as for [`retire`](Self::retire).
    pub unsafe fn retire_later(&self, object: NonNull<Header<H>>, free: Free<H>) {
        // SAFETY: the caller's promise.
        unsafe { self.push(object, free) };
    }

    /// # Safety
    ///
    /// The same as for [`retire`](Self::retire).
    unsafe fn push(&self, object: NonNull<Header<H>>, free: Free<H>) -> (&List<H>, u64) {
        let record = H::slot().and_then(|slot| self.records.get(slot));
        let list = record.map_or(&self.unrecorded.retired, |record| &record.retired);
        let stamp = self.stamp();
        // SAFETY: the caller's promise.
        (list, unsafe { list.push(object, stamp, Some(free)) })
    }

    #[cold]
    fn look_after(&self, list: &List<H>) {
        list.note_look();
        let advanced = self.try_advance().is_ok();
        self.tend(list, false);
        if advanced {
            let epoch = self.current();
            let abandoned = |list: &List<H>| {
                list.pending() > 0 && list.tended.load(Ordering::Relaxed) + ABANDONED <= epoch
            };
            for list in self.lists().filter(|&list| abandoned(list)) {
                self.tend(list, false);
            }
        }
    }

    fn lists(&self) -> impl Iterator<Item = &List<H>> {
        let recorded = self.records.iter().map(|(_, record)| &record.retired);
        recorded.chain(core::iter::once(&self.unrecorded.retired))
    }

    /// Frees the objects in `list` that are old enough, and returns their number. Returns `None` if
    /// the list has a collector (perhaps this thread, in an outer call). Unless `again`, it does
    /// nothing if the list was collected in this epoch.
    fn tend(&self, list: &List<H>, again: bool) -> Option<usize> {
        let me = own_tender::<H>();
        // Acquire: pairs with the release of the former collector. So `barrier` knows that the
        // objects that the former collector took are freed, and sees the count of freed objects.
        if list.collector.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        let _tending = Tending(list);
        let epoch = self.current();
        if list.tended.load(Ordering::Relaxed) == epoch && !again {
            return Some(0);
        }
        list.tended.store(epoch, Ordering::Relaxed);
        list.note_look();
        // Acquire: pairs with the release of a push.
        let mut taken = Taken { list, next: list.head.swap(0, Ordering::Acquire) };
        let mut young = Taken { list, next: 0 };
        let mut freed = 0;
        while let Some((object, links)) = taken.pop() {
            // An addition, not a subtraction: a stamp may be newer than the epoch that was loaded
            // above.
            if links.stamp + GRACE <= epoch {
                list.free_one(object, links);
                freed += 1;
            } else {
                let address = object.as_ptr().expose_provenance() as u64;
                let next = mem::replace(&mut young.next, address);
                // SAFETY: the object was taken, so no other thread uses its header.
                unsafe { object.as_ref().write(Links { next, ..links }) };
            }
        }
        Some(freed)
    }

    /// Frees every object that can be freed now, whichever thread retired it. Returns the number of
    /// objects. Never waits.
    ///
    /// Cost: scans all records twice.
    pub fn collect(&self) -> usize {
        let _ = self.try_advance();
        let waiting = self.lists().filter(|list| list.pending() > 0);
        waiting.filter_map(|list| self.tend(list, true)).sum()
    }

    /// Waits until all objects that were retired before the call are freed: waits for a grace
    /// period, and then does a [`collect`](Self::collect).
    ///
    /// A [`Free`] function must not call it, because it would wait for itself.
    ///
    /// # Panics
    ///
    /// The same as [`synchronize`](Self::synchronize).
    #[track_caller]
    pub fn barrier(&self) {
        self.synchronize();
        self.free_until_nothing_old_waits();
    }

    /// Returns when all objects that are old enough have been freed, by this thread or by others.
    fn free_until_nothing_old_waits(&self) {
        for list in self.lists() {
            loop {
                // Acquire: pairs with the release in `free_one`. So a thread that finds nothing
                // pending also sees the collector that is about to free the object.
                let freed = list.freed.load(Ordering::Acquire);
                // Relaxed: this load counts all retirements before the call. Because of the load
                // above, it also counts the retirements of all freed objects.
                let nothing_left = list.retired.load(Ordering::Relaxed) == freed;
                // Acquire: pairs with the release of the collector, so that the collector has freed
                // its objects.
                if nothing_left && list.collector.load(Ordering::Acquire) == 0 {
                    break;
                }
                if self.tend(list, true).is_some() {
                    break;
                }
                // Another thread is collecting the list, perhaps with an epoch from before the
                // grace period, so the next round tries again.
                list.wait_for_tender();
            }
        }
    }
}
