//! One connection in a chain: its link, its key, its reference count, and a part that only holders
//! of references may use.
//!
//! ```text
//!        link | key | references | deadline, value         while there are references
//!                                | what reclamation needs  once the last one was dropped
//! ```
//!
//! The second part, the tail, belongs exclusively to the owner of the last reference. That thread
//! drops the value immediately. The tail's memory then links the entries that wait to be freed. The
//! first part stays readable while a look-up without a lock may be at the entry. Such a look-up
//! follows the link, compares the key, and learns from the count that the connection can no longer
//! be used.
//!
//! The deadline also records if a connection is in the table. The holder of the bucket's lock that
//! removes the connection sets the deadline to [`REMOVED`], once. A renewal changes the deadline by
//! compare-exchange. If the renewal is first, the sweep sees the new deadline. If the removal is
//! first, the renewal reports it.

use super::key::StoredKey;
use crate::memory;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr::NonNull;
use lockyard::page_ref::{Cmpxchg, PageRef};
use lockyard::platform::{Cell, DataCell, Host, Ordering, U64, Word};

/// The deadline of a connection that never expires.
pub const NEVER: u64 = u64::MAX - 1;
/// The deadline of a connection that was removed from the table.
const REMOVED: u64 = u64::MAX;

/// A connection with value `T`. `D` is the data that reclamation keeps in a retired entry.
#[repr(C)]
pub(super) struct Entry<T: Send, H: Host, D> {
    /// The next entry of the chain. Written under the bucket's lock.
    pub(super) next: U64<H>,
    key: Cell<H, StoredKey>,
    /// Reference count: one for the table, one for each handle.
    pub(super) references: PageRef<Cmpxchg, H>,
    tail: Tail<T, H, D>,
}

#[repr(C)]
union Tail<T: Send, H: Host, D> {
    live: ManuallyDrop<Live<T, H>>,
    retired: ManuallyDrop<D>,
}

struct Live<T: Send, H: Host> {
    deadline: U64<H>,
    value: Cell<H, T>,
}

impl<T: Send, H: Host, D> Entry<T, H, D> {
    /// Allocates an entry that is not yet published, with a reference for the table and one for the
    /// caller. Returns the value if there is no memory.
    pub(super) fn allocate(key: StoredKey, value: T, deadline: u64) -> Result<NonNull<Self>, T> {
        let mut value = Some(value);
        // SAFETY: `fill` writes an entry, because `value` is there.
        let memory = unsafe {
            memory::allocate_with::<Self, H>(None, |memory| {
                if let Some(value) = value.take() {
                    let live = Live {
                        deadline: Word::new(deadline.min(NEVER)),
                        value: DataCell::new(value),
                    };
                    memory.write(Entry {
                        next: Word::new(0),
                        key: DataCell::new(key),
                        references: PageRef::from_references(2),
                        tail: Tail { live: ManuallyDrop::new(live) },
                    });
                }
            })
        };
        match (memory, value) {
            (Ok(entry), _) => Ok(entry),
            (Err(_), Some(value)) => Err(value),
            (Err(_), None) => unreachable!("the value is taken when there is memory"),
        }
    }

    /// Takes the value out of an entry that was never published, and frees the entry's memory.
    ///
    /// # Safety
    ///
    /// The entry came from [`allocate`](Self::allocate), and only the caller has its address.
    pub(super) unsafe fn take_back(entry: NonNull<Self>) -> T {
        // SAFETY: only the caller has the entry, and its tail is live; the value taken out is not
        // used there again.
        let live = ManuallyDrop::into_inner(unsafe {
            core::ptr::read(&raw const (*entry.as_ptr()).tail.live)
        });
        // SAFETY: the tail is a union: freeing the entry does not drop what was taken out.
        unsafe { memory::free::<Self, H>(entry) };
        live.value.into_inner()
    }

    #[inline(always)]
    pub(super) fn key(&self) -> StoredKey {
        // SAFETY: the key is not written after the entry is published.
        self.key.with(|key| unsafe { *key })
    }

    /// # Safety
    ///
    /// The caller has a reference. Or the caller holds the bucket's lock, and the table has one.
    #[inline(always)]
    unsafe fn live(&self) -> &Live<T, H> {
        // SAFETY: while there is a reference the tail is live.
        unsafe { &self.tail.live }
    }

    /// # Safety
    ///
    /// The caller has a reference to the entry while the returned value is used.
    #[inline(always)]
    pub(super) unsafe fn value(&self) -> &T {
        // SAFETY: the caller's promise. The value is only written again after the last reference is
        // gone.
        unsafe { &*self.live().value.with(|value| value) }
    }

    /// Returns the deadline; `None` if the connection was removed from the table.
    ///
    /// # Safety
    ///
    /// The caller has a reference. Or the caller holds the bucket's lock, and the table has one.
    #[inline(always)]
    pub(super) unsafe fn deadline(&self) -> Option<u64> {
        // Relaxed, here and below: only this word matters, and no other read depends on it. SAFETY:
        // the caller's promise.
        let deadline = unsafe { self.live() }.deadline.load(Ordering::Relaxed);
        (deadline != REMOVED).then_some(deadline)
    }

    /// Moves the deadline to `until`, if that is later; returns true if the connection is in the
    /// table.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    #[inline]
    pub(super) unsafe fn renew(&self, until: u64) -> bool {
        let until = until.min(NEVER);
        // SAFETY: the caller's promise.
        let word = &unsafe { self.live() }.deadline;
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            if seen == REMOVED {
                return false;
            }
            if seen >= until {
                return true;
            }
            match word.compare_exchange_weak(seen, until, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(actual) => seen = actual,
            }
        }
    }

    /// Marks the connection as removed if its deadline is at most `by`; returns true if it did.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the entry's bucket, and removes the entry if this returns true.
    pub(super) unsafe fn remove_if_due(&self, by: u64) -> bool {
        // SAFETY: the table has a reference to each entry in a chain, and the lock keeps the entry
        // there.
        let word = &unsafe { self.live() }.deadline;
        let mut seen = word.load(Ordering::Relaxed);
        // A failure means that the connection was renewed meanwhile.
        while seen <= by {
            match word.compare_exchange_weak(seen, REMOVED, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(actual) => seen = actual,
            }
        }
        false
    }

    /// Destroys an entry whose last reference is gone. Drops its value and passes its memory to
    /// `retire`, even if the value's destructor unwinds.
    ///
    /// # Safety
    ///
    /// Nobody has a reference or can get one. `retire` arranges one call of [`free`](Self::free)
    /// with its argument, when no look-up can be at the entry any more.
    pub(super) unsafe fn destroy(
        entry: NonNull<Self>,
        deferred: D,
        retire: impl FnOnce(NonNull<D>),
    ) {
        struct Retire<T: Send, H: Host, D, F: FnOnce(NonNull<D>)>(
            NonNull<Entry<T, H, D>>,
            Option<(D, F)>,
        );
        impl<T: Send, H: Host, D, F: FnOnce(NonNull<D>)> Drop for Retire<T, H, D, F> {
            fn drop(&mut self) {
                if let Some((deferred, retire)) = self.1.take() {
                    let offset = offset_of!(Entry<T, H, D>, tail);
                    // SAFETY: the tail is in the entry, and every part of the union begins where
                    // the union begins. The live part was dropped: nobody uses it.
                    let tail = unsafe { self.0.cast::<u8>().add(offset).cast::<D>() };
                    // SAFETY: as above; the tail is at least as large as its retired part.
                    unsafe { tail.write(deferred) };
                    retire(tail);
                }
            }
        }
        let retire = Retire(entry, Some((deferred, retire)));
        // SAFETY: nobody else has a reference, so the caller owns the tail; look-ups do not read
        // it. Look-ups still share the entry: only the tail is borrowed exclusively.
        let live = unsafe { &mut (*entry.as_ptr()).tail.live };
        // Tells a back-end that checks accesses: from here on the value is written.
        live.value.with_mut(|_| ());
        // SAFETY: dropped once, here; the tail then holds the retired part.
        unsafe { ManuallyDrop::drop(live) };
        drop(retire);
    }

    /// Frees a retired entry.
    ///
    /// # Safety
    ///
    /// `deferred` was passed on by [`destroy`](Self::destroy), and no look-up can be at the entry
    /// any more.
    pub(super) unsafe fn free(deferred: NonNull<D>) {
        // SAFETY: `destroy` derived the pointer from the entry's pointer, so it points into the
        // same memory.
        let entry = unsafe {
            deferred.cast::<u8>().sub(offset_of!(Entry<T, H, D>, tail)).cast::<Entry<T, H, D>>()
        };
        // SAFETY: the caller's promise; the former contents of the tail are no longer used.
        unsafe { memory::free::<Self, H>(entry) };
    }
}
