//! Retired objects: linked through a header of their own, stamped with an epoch, freed two epochs
//! later.
//!
//! Each slot has a list of the objects that it has retired: a stack in its record. Threads without
//! a record share one list. Anyone may push onto any list, even a signal handler. One thread at a
//! time, the *tender*, takes the whole stack, frees what is old enough, and pushes the rest again.
//! So no object is taken out from between others, and the stack has no ABA problem.

use super::domain::Domain;
use super::grace::GRACE;
use super::header::{Free, Header, Links};
use super::record::List;
use crate::context::Context;
use crate::platform::{Event, Execution, Host, HostWithSlots, Ordering, Region, Word, during};
use core::mem;
use core::ptr::NonNull;

/// Retirements of a slot after which it scans its list.
const BATCH: u64 = 64;
/// Polls of a thread that waits for a tender, before it parks.
const POLLS: u32 = 64;
/// Epochs without a scan after which any thread may tend a list.
const ABANDONED: u64 = 4;

impl<H: Host> List<H> {
    /// Pushes an object, and returns the number of objects that were ever pushed.
    ///
    /// # Safety
    ///
    /// Only the caller uses the object, which stays where it is until `free` is called.
    unsafe fn push(&self, object: NonNull<Header<H>>, stamp: u64, free: Option<Free<H>>) -> u64 {
        // Relaxed. Counted before it can be freed.
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
            // Release: pairs with the acquire of the tender's exchange.
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

    /// Waits until the list has no tender, parked if that is allowed. It may return early. It
    /// orders nothing.
    #[cold]
    fn wait_for_tender(&self) {
        let tender = &self.tender;
        // Relaxed, here and below: the caller looks again, with acquire.
        if H::wait_within(tender, Ordering::Relaxed, POLLS, |tender| tender == 0).is_ok() {
            return;
        }
        if H::execution() != Execution::Thread {
            return H::yield_now();
        }
        let seen = tender.load(Ordering::Relaxed);
        let waited = seen | Self::WAITED;
        // The last change of the word by a tender is an exchange, so this tender or a later one
        // finds the bit when it ends.
        if seen != 0
            && tender.compare_exchange(seen, waited, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            H::count(Event::Wait);
            during::<H, _>(Region::Idle, || H::park(tender, waited, None));
        }
    }

    /// Notes that a scan of the list begins.
    fn note_look(&self) {
        // Relaxed, both: an old count only causes one scan more than needed.
        self.looked.store(self.retired.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Frees everything, whatever its stamp, for a domain without users. After a panic the rest is
    /// in the list again.
    pub(super) fn free_all(&mut self) {
        let next = mem::replace(&mut self.head, Word::new(0)).get();
        let mut taken = Taken { list: self, next };
        while let Some((object, links)) = taken.pop() {
            taken.list.free_one(object, links);
        }
    }

    /// Frees an object that the caller, the tender, has taken.
    fn free_one(&self, object: NonNull<Header<H>>, links: Links<H>) {
        // Relaxed: tenders write it one after the other, and each acquires what the former one
        // released.
        let freed = self.freed.load(Ordering::Relaxed) + 1;
        // Release: pairs with the acquire in `barrier`, so that a thread that finds nothing pending
        // finds the tender that is about to free the object.
        self.freed.store(freed, Ordering::Release);
        if let Some(free) = links.free {
            // SAFETY: the thread that retired the object says that `free` frees it, once, when no
            // reader has it any more.
            unsafe { free(object) };
        }
    }
}

/// Objects that were taken from a list. If it is dropped with some left (a `free` has panicked),
/// they go back.
struct Taken<'l, H: Host> {
    list: &'l List<H>,
    next: u64,
}

impl<H: Host> Taken<'_, H> {
    fn pop(&mut self) -> Option<(NonNull<Header<H>>, Links<H>)> {
        let object = List::<H>::header(self.next)?;
        // SAFETY: it was retired, so it is still there. It was taken, so nobody else uses its
        // header.
        let links = unsafe { object.as_ref().read() };
        self.next = links.next;
        Some((object, links))
    }
}

impl<H: Host> Drop for Taken<'_, H> {
    fn drop(&mut self) {
        while let Some((object, links)) = self.pop() {
            // SAFETY: it was taken, and has not been freed.
            unsafe { self.list.push_counted(object, links) };
        }
    }
}

/// The right to tend a list.
struct Tending<'l, H: Host>(&'l List<H>);

impl<H: Host> Drop for Tending<'_, H> {
    fn drop(&mut self) {
        let tender = &self.0.tender;
        // Release: pairs with the acquire of the next tender, and of `barrier`.
        if tender.swap(0, Ordering::Release) & List::<H>::WAITED != 0 {
            H::count(Event::Kick);
            H::unpark(tender, u32::MAX);
        }
    }
}

fn own_tender<H: Host>() -> u32 {
    H::slot().map_or(List::<H>::NO_SLOT, |slot| slot.0 + 1)
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Retires an object. `free` is called with its header once every guard that existed before
    /// this call is gone, in any thread that retires to the domain, collects, or drops it. Needs no
    /// memory; cannot fail.
    ///
    /// Cost: one fence and two read-modify-writes of the slot's line. If it finds 64 or more
    /// retirements of the slot since the last scan of its list (by this function and by
    /// [`retire_later`](Self::retire_later) together), it scans all records, and frees what is old
    /// enough. In an interruption it never does.
    ///
    /// # Safety
    ///
    /// - `object` is the header of an object that lives until `free` is called with it, and that
    ///   any thread may free.
    /// - No reader finds it any more. This thread took it out of reach before the call, or another
    ///   thread did and that happened before.
    /// - It is retired once, and every reader that may have found it has a guard of *this* domain.
    /// - `free` may be called with it at any later time, even when the domain is dropped.
    #[inline]
    pub unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>) {
        // SAFETY: the caller's promise.
        let (list, retired) = unsafe { self.push(object, free) };
        // Relaxed: an old count only causes one scan more than needed.
        let looked = list.looked.load(Ordering::Relaxed);
        // It may be negative: another thread may have scanned more than was retired up to this
        // object.
        if retired.saturating_sub(looked) >= BATCH && H::execution() == Execution::Thread {
            self.look_after(list);
        }
    }

    /// The same as [`retire`](Self::retire), but frees nothing: for signal handlers, interrupts,
    /// and other contexts that must not run a [`Free`] function. Any number of objects may wait
    /// until one of these comes:
    ///
    /// - the next [`retire`](Self::retire) in the same slot, if 64 or more were retired since the
    ///   last scan of its list;
    /// - in other slots, some [`retire`](Self::retire)s that end four epochs: the list then counts
    ///   as left behind;
    /// - [`collect`](Self::collect), [`barrier`](Self::barrier), or the end of the domain.
    ///
    /// A program that retires only by this function must call one of the last three.
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

    /// Frees what is old enough in `list`, and returns the number of objects. `None` if the list
    /// has a tender (perhaps this thread, further up). Unless `again`, it does nothing if the list
    /// was tended in this epoch.
    fn tend(&self, list: &List<H>, again: bool) -> Option<usize> {
        let me = own_tender::<H>();
        // Acquire: pairs with the release of the former tender. So, for `barrier`, the objects that
        // it took are freed, and its count of freed objects is seen.
        if list.tender.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
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
            // An addition: a stamp may be newer than the epoch that was loaded above.
            if links.stamp + GRACE <= epoch {
                list.free_one(object, links);
                freed += 1;
            } else {
                let address = object.as_ptr().expose_provenance() as u64;
                let next = mem::replace(&mut young.next, address);
                // SAFETY: it was taken, so no other thread uses its header.
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

    /// Waits until everything that was retired before the call is freed: a grace period, and then a
    /// [`collect`](Self::collect).
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
                // Acquire: pairs with the release in `free_one`, so that a thread that finds
                // nothing pending finds the tender that is about to free the object.
                let freed = list.freed.load(Ordering::Acquire);
                // Relaxed: it counts everything that was retired before the call, and, because of
                // the load above, everything that was freed.
                let nothing_left = list.retired.load(Ordering::Relaxed) == freed;
                // Acquire: pairs with the release of the tender, so that it has freed its objects.
                if nothing_left && list.tender.load(Ordering::Acquire) == 0 {
                    break;
                }
                if self.tend(list, true).is_some() {
                    break;
                }
                // Another thread tends it, perhaps by an epoch from before the grace period, so the
                // next round looks again.
                list.wait_for_tender();
            }
        }
    }
}
