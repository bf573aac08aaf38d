//! One entry of a chain: its link, its key, its reference count, and a part that only holders of
//! references may use.
//!
//! ```text
//!        link | key | references | deadline, value         while there are references
//!                                | what reclamation needs  once the last one was dropped
//! ```
//!
//! The second part, the tail, belongs exclusively to the owner of the last reference. That thread
//! drops the value immediately ([`AtOnce`]). The tail's memory then links the entries that wait to
//! be freed. The first part stays readable while a look-up without a lock may be at the entry. Such
//! a look-up follows the link, compares the key, and learns from the count that the entry can no
//! longer be used.
//!
//! Look-ups that read a value without a reference need the value until they are over
//! ([`AfterLookUps`]). Then the value stays until the entry is freed, and the data for reclamation
//! has separate memory behind the value.
//!
//! The deadline also records whether an entry is in the table. The holder of the bucket's lock that
//! removes the entry sets the deadline to [`REMOVED`], once. A renewal changes the deadline by
//! compare-exchange. If the renewal is first, the sweep sees the new deadline. If the removal is
//! first, the renewal reports it.

use crate::memory::{self, Invariant};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit, offset_of};
use core::ptr::NonNull;
use lockyard::page_ref::{Cmpxchg, PageRef};
use lockyard::platform::{Cell, DataCell, Host, Ordering, U64, Word};

/// The deadline of an entry that never expires.
pub const NEVER: u64 = u64::MAX - 1;
/// The deadline of an entry that was removed from the table.
const REMOVED: u64 = u64::MAX;

/// The moment when the value of a removed entry is dropped.
#[doc(hidden)]
pub trait Moment: 'static {
    const AT_ONCE: bool;
    /// Type that shares the memory of the value. `D` is the data for reclamation.
    type Over<D>;
    /// Type that has separate memory.
    type Apart<D>: Default;
}

/// The value is dropped with the last reference. Look-ups read no value without a reference.
#[doc(hidden)]
#[derive(Debug)]
pub struct AtOnce;

impl Moment for AtOnce {
    const AT_ONCE: bool = true;
    type Over<D> = D;
    type Apart<D> = ();
}

/// The value is dropped after the last look-up that may read the entry without a reference.
#[doc(hidden)]
#[derive(Debug)]
pub struct AfterLookUps;

impl Moment for AfterLookUps {
    const AT_ONCE: bool = false;
    type Over<D> = ();
    type Apart<D> = Room<D>;
}

/// Memory for a `D`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Room<D>(MaybeUninit<D>);

impl<D> Default for Room<D> {
    fn default() -> Self {
        Room(MaybeUninit::uninit())
    }
}

/// An entry with key `K` and value `T`. `D` is the data that reclamation keeps in a retired entry.
#[repr(C)]
pub(super) struct Entry<K: Send, T: Send, H: Host, D, M: Moment> {
    /// The next entry of the chain. Written under the bucket's lock.
    pub(super) next: U64<H>,
    key: Cell<H, K>,
    /// Reference count: one for the table, one for each handle.
    pub(super) references: PageRef<Cmpxchg, H>,
    tail: Tail<T, H, M::Over<D>>,
    apart: M::Apart<D>,
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

/// Memory of an entry, which is freed when this is dropped. The entry in it is not dropped.
struct Memory<E, H: Host>(NonNull<E>, Invariant<H>);

impl<E, H: Host> Drop for Memory<E, H> {
    fn drop(&mut self) {
        // SAFETY: the memory came from this host, with this layout, and is no longer used.
        unsafe { memory::free::<MaybeUninit<E>, H>(self.0.cast()) };
    }
}

impl<K: Send, T: Send, H: Host, D, M: Moment> Entry<K, T, H, D, M> {
    /// Allocates an entry that is not yet published, with a reference for the table and one for the
    /// caller. Returns key and value if there is no memory.
    pub(super) fn allocate(key: K, value: T, deadline: u64) -> Result<NonNull<Self>, (K, T)> {
        let mut contents = Some((key, value));
        // SAFETY: `fill` writes an entry, because the contents are there.
        let memory = unsafe {
            memory::allocate_with::<Self, H>(None, |memory| {
                if let Some((key, value)) = contents.take() {
                    let live = Live {
                        deadline: Word::new(deadline.min(NEVER)),
                        value: DataCell::new(value),
                    };
                    memory.write(Entry {
                        next: Word::new(0),
                        key: DataCell::new(key),
                        references: PageRef::from_references(2),
                        tail: Tail { live: ManuallyDrop::new(live) },
                        apart: Default::default(),
                    });
                }
            })
        };
        match (memory, contents) {
            (Ok(entry), _) => Ok(entry),
            (Err(_), Some(contents)) => Err(contents),
            (Err(_), None) => unreachable!("the contents are taken when there is memory"),
        }
    }

    /// Frees an entry that only the caller has, and returns its key and value.
    ///
    /// # Safety
    ///
    /// The entry must come from [`allocate`](Self::allocate). Only the caller may have its address,
    /// and its value must not have been dropped.
    pub(super) unsafe fn take_back(entry: NonNull<Self>) -> (K, T) {
        let _memory = Memory::<Self, H>(entry, PhantomData);
        // SAFETY: only the caller has the entry, and this memory is not used again.
        let Entry { key, tail, .. } = unsafe { entry.read() };
        // SAFETY: the value has not been dropped, so the tail is live.
        let live = ManuallyDrop::into_inner(unsafe { tail.live });
        (key.into_inner(), live.value.into_inner())
    }

    #[inline(always)]
    pub(super) fn key(&self) -> &K {
        // SAFETY: the key is not written after the entry is published, and dropped only when the
        // entry is freed.
        self.key.with(|key| unsafe { &*key })
    }

    /// # Safety
    ///
    /// The caller must have a reference, or must hold the bucket's lock while the table has one.
    /// With [`AfterLookUps`], it is enough that a look-up of the caller may be at the entry.
    #[inline(always)]
    unsafe fn live(&self) -> &Live<T, H> {
        // SAFETY: the tail is live while there is a reference, and with `AfterLookUps` until the
        // entry is freed.
        unsafe { &self.tail.live }
    }

    /// # Safety
    ///
    /// The caller must have a reference to the entry while the returned value is used. With
    /// [`AfterLookUps`], a look-up that may be at the entry is enough.
    #[inline(always)]
    pub(super) unsafe fn value(&self) -> &T {
        // SAFETY: the caller's promise. The value is only written again after the last reference is
        // gone, and with `AfterLookUps` when the entry is freed.
        unsafe { &*self.live().value.with(|value| value) }
    }

    /// Returns the deadline; `None` if the entry was removed from the table.
    ///
    /// # Safety
    ///
    /// The caller must have a reference, or must hold the bucket's lock while the table has one.
    #[inline(always)]
    pub(super) unsafe fn deadline(&self) -> Option<u64> {
        // Relaxed, here and below: no other read depends on this word. SAFETY: the caller's
        // promise.
        let deadline = unsafe { self.live() }.deadline.load(Ordering::Relaxed);
        (deadline != REMOVED).then_some(deadline)
    }

    /// Moves the deadline to `until`, if that is later; returns true if the entry is in the
    /// table.
    ///
    /// # Safety
    ///
    /// The caller must have a reference.
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

    /// Marks the entry as removed, and returns the deadline that it had; `None` if it was already
    /// removed from the table.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock of the entry's bucket, and must remove the entry unless this
    /// function returns `None`. The caller or the table must have a reference.
    pub(super) unsafe fn take_deadline(&self) -> Option<u64> {
        // SAFETY: the caller's promise.
        let deadline = unsafe { self.live() }.deadline.swap(REMOVED, Ordering::Relaxed);
        (deadline != REMOVED).then_some(deadline)
    }

    /// Sets the deadline of an entry that is not yet published.
    ///
    /// # Safety
    ///
    /// Only the caller may have the entry.
    pub(super) unsafe fn set_deadline(&self, deadline: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.live() }.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Returns the next entry of the chain.
    pub(super) fn next_entry(&self) -> Option<NonNull<Self>> {
        // Acquire: pairs with the release in `Bucket::replace`.
        NonNull::new(memory::from_word(self.next.load(Ordering::Acquire)))
    }

    /// Marks the entry as removed if its deadline is at most `by`; returns true if it did.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock of the entry's bucket, and must remove the entry if this
    /// function returns true.
    pub(super) unsafe fn remove_if_due(&self, by: u64) -> bool {
        // SAFETY: the table has a reference to each entry in a chain, and the lock keeps the entry
        // there.
        let word = &unsafe { self.live() }.deadline;
        let mut seen = word.load(Ordering::Relaxed);
        // A failure means that the entry was renewed meanwhile.
        while seen <= by {
            match word.compare_exchange_weak(seen, REMOVED, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(actual) => seen = actual,
            }
        }
        false
    }

    /// Offset of the data for reclamation.
    const DEFERRED: usize = if M::AT_ONCE {
        offset_of!(Entry<K, T, H, D, M>, tail)
    } else {
        offset_of!(Entry<K, T, H, D, M>, apart)
    };

    /// Destroys an entry whose last reference is gone. Drops its value, if that is due at once, and
    /// passes its memory to `retire`, even if the value's destructor unwinds.
    ///
    /// # Safety
    ///
    /// No thread may have a reference or be able to get one. `retire` must arrange one call of
    /// [`free`](Self::free) with its argument, when no look-up can be at the entry any more.
    pub(super) unsafe fn destroy(
        entry: NonNull<Self>,
        deferred: D,
        retire: impl FnOnce(NonNull<D>),
    ) {
        struct Retire<D, F: FnOnce(NonNull<D>)>(NonNull<D>, Option<(D, F)>);
        impl<D, F: FnOnce(NonNull<D>)> Drop for Retire<D, F> {
            fn drop(&mut self) {
                if let Some((deferred, retire)) = self.1.take() {
                    // SAFETY: the place is for a `D`, and only this thread writes there. It is
                    // behind the tail, or the tail, whose live part was dropped.
                    unsafe { self.0.write(deferred) };
                    retire(self.0);
                }
            }
        }
        // SAFETY: the place is in the entry. It is behind the tail, or the tail, each part of which
        // begins where the tail begins.
        let place = unsafe { entry.cast::<u8>().add(Self::DEFERRED).cast::<D>() };
        let retire = Retire(place, Some((deferred, retire)));
        if M::AT_ONCE {
            // SAFETY: no other thread has a reference, so the caller owns the tail. Look-ups may
            // still be at the entry. They do not read the tail, and only the tail is borrowed.
            let live = unsafe { &mut (*entry.as_ptr()).tail.live };
            // Tells a platform that checks accesses that the value is written from here on.
            live.value.with_mut(|_| ());
            // SAFETY: dropped once, here; the tail then holds the retired part.
            unsafe { ManuallyDrop::drop(live) };
        }
        drop(retire);
    }

    /// Frees a retired entry, with the value if it is still there.
    ///
    /// # Safety
    ///
    /// `deferred` must have been passed on by [`destroy`](Self::destroy), and it must be impossible
    /// for a look-up to be at the entry any more.
    pub(super) unsafe fn free(deferred: NonNull<D>) {
        // SAFETY: `destroy` derived the pointer from the entry's pointer, so it points into the
        // same memory.
        let entry = unsafe { deferred.cast::<u8>().sub(Self::DEFERRED).cast::<Self>() };
        if M::AT_ONCE {
            // SAFETY: the caller's promise; the former contents of the tail are no longer used.
            unsafe { memory::free::<Self, H>(entry) };
        } else {
            // SAFETY: no thread has the entry, and its value was not dropped.
            drop(unsafe { Self::take_back(entry) });
        }
    }
}
