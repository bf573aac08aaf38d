//! One connection in a chain: its link, its key, its reference count, and a part that belongs to
//! the holders of references.
//!
//! ```text
//!        link | key | references | deadline, value         while there are references
//!                                | what reclamation needs  once the last one was dropped
//! ```
//!
//! The owner of the last reference is alone with the second part. It drops the value at once, and
//! the room then serves the list of entries that wait to be freed. The first part stays readable as
//! long as a look-up without a lock may stand on the entry. Such a look-up goes on along the link,
//! compares the key, and learns from the count that nobody can get the connection any more.
//!
//! The deadline also decides whether a connection is in the table. The holder of the bucket's lock
//! that takes it out sets the deadline to [`REMOVED`], once. A renewal changes it by
//! compare-exchange. So either the renewal is first, and the sweep sees the new deadline; or the
//! removal is first, and the renewal reports it.

use super::key::StoredKey;
use crate::memory;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr::NonNull;
use lockyard::page_ref::{Cmpxchg, PageRef};
use lockyard::platform::{Cell, DataCell, Host, Ordering, U64, Word};

/// The deadline of a connection that never expires.
pub const NEVER: u64 = u64::MAX - 1;
/// The deadline of a connection that was taken out of the table.
const REMOVED: u64 = u64::MAX;

/// A connection with value `T`. `D` is what reclamation needs of a retired one.
#[repr(C)]
pub(super) struct Entry<T: Send, H: Host, D> {
    /// The next entry of the chain. Written under the bucket's lock.
    pub(super) next: U64<H>,
    key: Cell<H, StoredKey>,
    /// One for the table, one for each handle.
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
    /// Makes an entry that nobody knows yet, with a reference for the table and one for the caller.
    /// Returns the value if there is no memory.
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

    /// Takes the value out of an entry that was never published, and gives its memory back.
    ///
    /// # Safety
    ///
    /// It came from [`allocate`](Self::allocate), and nobody else knows it.
    pub(super) unsafe fn take_back(entry: NonNull<Self>) -> T {
        // SAFETY: the entry is the caller's alone, and its tail is live; what is taken out is not
        // used again.
        let live = ManuallyDrop::into_inner(unsafe {
            core::ptr::read(&raw const (*entry.as_ptr()).tail.live)
        });
        // SAFETY: the tail is a union: freeing the entry does not drop what was taken out.
        unsafe { memory::free::<Self, H>(entry) };
        live.value.into_inner()
    }

    #[inline(always)]
    pub(super) fn key(&self) -> StoredKey {
        // SAFETY: the key is not written after the entry was published.
        self.key.with(|key| unsafe { *key })
    }

    /// # Safety
    ///
    /// The caller, or the table under the bucket's lock that the caller holds, has a reference.
    #[inline(always)]
    unsafe fn live(&self) -> &Live<T, H> {
        // SAFETY: while there is a reference the tail is live.
        unsafe { &self.tail.live }
    }

    /// # Safety
    ///
    /// As long as the reference that is returned is used the caller has a reference to the entry.
    #[inline(always)]
    pub(super) unsafe fn value(&self) -> &T {
        // SAFETY: the caller's promise. The value is written when the last reference is gone, and
        // not before.
        unsafe { &*self.live().value.with(|value| value) }
    }

    /// Returns the deadline; `None` if the connection was taken out of the table.
    ///
    /// # Safety
    ///
    /// The caller, or the table under the bucket's lock that the caller holds, has a reference.
    #[inline(always)]
    pub(super) unsafe fn deadline(&self) -> Option<u64> {
        // Relaxed, here and below: the word decides by itself, and nothing is read on the strength
        // of it. SAFETY: the caller's promise.
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

    /// Notes that the connection leaves the table, if its deadline is at most `by`; returns true if
    /// it does.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the bucket in which the entry is, and takes it out if this
    /// returns true.
    pub(super) unsafe fn remove_if_due(&self, by: u64) -> bool {
        // SAFETY: the table has a reference to what is in a chain, and the lock keeps it there.
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

    /// Drops the value of an entry whose last reference is gone, and hands its memory to `retire`,
    /// even if the value's destructor unwinds.
    ///
    /// # Safety
    ///
    /// Nobody has a reference, nor can get one. `retire` lets [`free`](Self::free) be called with
    /// its argument, once, when no look-up stands on the entry any more.
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
                    // SAFETY: the tail is in the entry, and every part of the union begins where it
                    // does. Its live part was dropped: nobody uses it.
                    let tail = unsafe { self.0.cast::<u8>().add(offset).cast::<D>() };
                    // SAFETY: as above; the room of the tail is at least that of its retired part.
                    unsafe { tail.write(deferred) };
                    retire(tail);
                }
            }
        }
        let retire = Retire(entry, Some((deferred, retire)));
        // SAFETY: nobody else has a reference, so the tail is the caller's alone; look-ups do not
        // read it. The entry itself is shared with them: only the tail is borrowed exclusively.
        let live = unsafe { &mut (*entry.as_ptr()).tail.live };
        // For a back-end that looks: from here on the value is written.
        live.value.with_mut(|_| ());
        // SAFETY: dropped once, here; the tail becomes the retired one.
        unsafe { ManuallyDrop::drop(live) };
        drop(retire);
    }

    /// Frees a retired entry.
    ///
    /// # Safety
    ///
    /// `deferred` is what [`destroy`](Self::destroy) handed over, and no look-up stands on the
    /// entry any more.
    pub(super) unsafe fn free(deferred: NonNull<D>) {
        // SAFETY: `destroy` made the pointer from the entry's, so it is one into the same memory.
        let entry = unsafe {
            deferred.cast::<u8>().sub(offset_of!(Entry<T, H, D>, tail)).cast::<Entry<T, H, D>>()
        };
        // SAFETY: the caller's promise; what was in the tail is not used any more.
        unsafe { memory::free::<Self, H>(entry) };
    }
}
