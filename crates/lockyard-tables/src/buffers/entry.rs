//! One buffer: its place in the index, its key, its references, and a part that only holders of
//! references may use.
//!
//! ```text
//!        links | key | references | recency, state, cached, value   while there are references
//!                                 | what reclamation needs          once the last one was dropped
//! ```
//!
//! The first part stays readable while a look-up without a lock may be at the buffer. The second
//! part, the tail, belongs exclusively to the owner of the last reference. That thread drops the
//! value immediately. The tail's memory then links the buffers that wait to be freed.
//!
//! The references are a lockref. The cache has one reference while the buffer is in the index, and
//! each handle has one. An unused buffer therefore has exactly one reference. Reclaim checks that
//! under the lockref's lock, and marks the buffer dead.
//!
//! The state:
//!
//! ```text
//!   0  --filled--> READY             WAITED is set by a thread that parks until then; the end of
//!   the filling wakes it
//!   0  --failed--> FAILED            the value was never made; the buffer is out of the index
//!                  READY | REFERENCED   a look-up has found it since reclaim last came by
//! ```

use crate::memory::{self, AllocationFailed};
use core::mem::{ManuallyDrop, MaybeUninit, offset_of};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::lockref::policy::Standard;
use lockyard::lockref::{Count, LockRef};
use lockyard::platform::{BudgetSpent, Cell, DataCell, Execution, Host, Ordering, U32, U64, Word};
use lockyard::reclaim::Header;

/// The value is present.
const READY: u32 = 1;
/// The value will never be present.
const FAILED: u32 = 2;
/// A thread is parked until `READY` or `FAILED` is set.
const WAITED: u32 = 4;
/// A look-up has found the buffer since the last reclaim pass.
const REFERENCED: u32 = 8;

/// Number of polls before a waiter parks while a buffer is being filled. Filling often means
/// reading from a device.
const POLLS: u32 = 128;

/// Two words at the start of a buffer, for the index. In a chain: the next node, and the place in
/// the chain's order. In a tree: the two subtrees.
#[repr(C)]
pub(super) struct Links<H: Host> {
    /// The next node, or the subtree of the smaller keys.
    pub(super) next: U64<H>,
    /// The place in the order, or the subtree of the greater keys.
    pub(super) order: U64<H>,
}

impl<H: Host> Links<H> {
    pub(super) fn new() -> Self {
        Links { next: Word::new(0), order: Word::new(0) }
    }
}

/// A buffer with key `Q` and value `T`.
#[repr(C)]
pub struct Entry<Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context> {
    pub(super) links: Links<H>,
    key: Cell<H, Q>,
    references: LockRef<K, Standard, H, C>,
    tail: Tail<T, H>,
}

#[repr(C)]
union Tail<T: Send, H: Host> {
    live: ManuallyDrop<Live<T, H>>,
    retired: ManuallyDrop<Header<H>>,
}

#[repr(C)]
struct Live<T: Send, H: Host> {
    recency: Recency<H>,
    state: U32<H>,
    /// 1 while the buffer is in the index. Written under the shard's lock.
    cached: U32<H>,
    value: Cell<H, MaybeUninit<T>>,
}

/// The neighbours in the shard's list, most recent first; 0 for none. Used under the shard's lock.
pub(super) struct Recency<H: Host> {
    pub(super) newer: U64<H>,
    pub(super) older: U64<H>,
}

impl<Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context> Entry<Q, T, K, H, C> {
    /// Allocates an unpublished buffer without a value. It has a reference for the cache and one
    /// for the caller.
    pub(super) fn allocate(key: Q) -> Result<NonNull<Self>, AllocationFailed> {
        memory::allocate::<Self, H>(None, || {
            let live = Live {
                recency: Recency { newer: Word::new(0), older: Word::new(0) },
                state: Word::new(0),
                cached: Word::new(0),
                value: DataCell::new(MaybeUninit::uninit()),
            };
            Entry {
                links: Links::new(),
                key: DataCell::new(key),
                references: LockRef::from_count(2),
                tail: Tail { live: ManuallyDrop::new(live) },
            }
        })
    }

    /// Frees the memory of a buffer that was never published and has no value.
    ///
    /// # Safety
    ///
    /// The buffer must come from [`allocate`](Self::allocate), and only the caller may have its
    /// address.
    pub(super) unsafe fn give_back(entry: NonNull<Self>) {
        // SAFETY: the tail is live, and belongs to the caller.
        unsafe { ManuallyDrop::drop(&mut (*entry.as_ptr()).tail.live) };
        // SAFETY: the entry belongs to the caller; the contents of the tail are no longer used.
        unsafe { memory::free::<Self, H>(entry) };
    }

    #[inline(always)]
    pub(super) fn key(&self) -> &Q {
        // SAFETY: the key is not written after the entry is published, and dropped only when the
        // entry is freed.
        self.key.with(|key| unsafe { &*key })
    }

    /// Takes a reference, unless the buffer is about to be freed. Acquire.
    #[inline(always)]
    pub(super) fn get(&self) -> bool {
        self.references.get_not_dead()
    }

    /// Takes another reference; the caller already has one.
    #[inline(always)]
    pub(super) fn get_another(&self) {
        self.references.get();
    }

    /// Drops a reference; returns true if it was the last. In that case no thread can take a new
    /// reference, and the caller has exclusive access to the tail.
    #[inline(always)]
    pub(super) fn put(&self) -> bool {
        match self.references.put_or_lock() {
            None => false,
            Some(mut last) => {
                last.mark_dead();
                true
            }
        }
    }

    /// Takes the only reference, which must be the cache's. Returns true if there was no other
    /// reference. The guarantees of [`put`](Self::put) then apply.
    pub(super) fn take_if_unused(&self) -> bool {
        if self.references.count() != Count::Live(1) {
            return false;
        }
        let mut guard = self.references.lock();
        let unused = guard.count() == Count::Live(1);
        if unused {
            guard.mark_dead();
        }
        unused
    }

    /// Number of references, including the cache's. A snapshot.
    pub(super) fn count(&self) -> Count {
        self.references.count()
    }

    /// # Safety
    ///
    /// The caller must have a reference, or must hold the shard's lock while the cache has one.
    #[inline(always)]
    unsafe fn live(&self) -> &Live<T, H> {
        // SAFETY: while there is a reference the tail is live.
        unsafe { &self.tail.live }
    }

    /// # Safety
    ///
    /// The caller must hold the shard's lock, and the buffer must be in the shard's list or about
    /// to be.
    #[inline(always)]
    pub(super) unsafe fn recency(&self) -> &Recency<H> {
        // SAFETY: the cache has a reference to every buffer in the list.
        unsafe { &self.live().recency }
    }

    /// Returns true if the buffer is in the index.
    ///
    /// # Safety
    ///
    /// The same as for [`live`](Self::live).
    pub(super) unsafe fn is_cached(&self) -> bool {
        // Relaxed: exact under the shard's lock, a snapshot elsewhere.
        // SAFETY: the caller's promise.
        unsafe { self.live() }.cached.load(Ordering::Relaxed) != 0
    }

    /// Records whether the buffer is in the index.
    ///
    /// # Safety
    ///
    /// The same as for [`live`](Self::live), and the caller must hold the shard's lock.
    pub(super) unsafe fn set_cached(&self, cached: bool) {
        // SAFETY: the caller's promise.
        unsafe { self.live() }.cached.store(u32::from(cached), Ordering::Relaxed);
    }

    /// Clears the mark that a look-up has found the buffer; returns true if it was set.
    ///
    /// # Safety
    ///
    /// The same as for [`live`](Self::live).
    pub(super) unsafe fn take_referenced(&self) -> bool {
        // SAFETY: the caller's promise.
        let state = &unsafe { self.live() }.state;
        // Relaxed, both: a hint.
        let referenced = state.load(Ordering::Relaxed) & REFERENCED != 0;
        if referenced {
            state.fetch_and(!REFERENCED, Ordering::Relaxed);
        }
        referenced
    }

    /// Writes the value into a buffer that is not yet published.
    ///
    /// # Safety
    ///
    /// The buffer must come from [`allocate`](Self::allocate), must not be published, and must have
    /// no value.
    pub(super) unsafe fn set_value(&self, value: T) {
        // SAFETY: the caller's promise.
        let live = unsafe { self.live() };
        // SAFETY: only the caller has the buffer's address.
        live.value.with_mut(|place| unsafe { (*place).write(value) });
        // Relaxed: the release comes when the buffer is published.
        live.state.store(READY, Ordering::Relaxed);
    }

    /// Writes the value into a published buffer, and ends the wait of others for it.
    ///
    /// # Safety
    ///
    /// The caller must have a reference, must have inserted the buffer, and must have neither
    /// filled nor [failed](Self::fail) it.
    pub(super) unsafe fn fill(&self, value: T) {
        // SAFETY: the caller's promise.
        let live = unsafe { self.live() };
        // SAFETY: no thread reads the value before the state is `READY`.
        live.value.with_mut(|place| unsafe { (*place).write(value) });
        Self::end_filling(live, READY);
    }

    /// Records that a published buffer will have no value, and ends the wait of others for it.
    ///
    /// # Safety
    ///
    /// The same as for [`fill`](Self::fill).
    pub(super) unsafe fn fail(&self) {
        // SAFETY: the caller's promise.
        Self::end_filling(unsafe { self.live() }, FAILED);
    }

    fn end_filling(live: &Live<T, H>, end: u32) {
        // Release: pairs with the acquire in `ready`.
        let before = live.state.fetch_or(end, Ordering::Release);
        if before & WAITED != 0 {
            H::unpark(&live.state, u32::MAX);
        }
    }

    /// Returns true if the buffer has its value. Does not wait. Acquire.
    ///
    /// # Safety
    ///
    /// The same as for [`live`](Self::live).
    #[inline(always)]
    pub(super) unsafe fn is_filled(&self) -> bool {
        // Acquire: pairs with the release in `end_filling`.
        // SAFETY: the caller's promise.
        unsafe { self.live() }.state.load(Ordering::Acquire) & READY != 0
    }

    /// Waits while the buffer is being filled; returns true if it has its value.
    ///
    /// # Safety
    ///
    /// The caller must have a reference.
    #[inline(always)]
    pub(super) unsafe fn ready(&self) -> bool {
        // SAFETY: the caller's promise, for both.
        unsafe { self.is_filled() || Self::wait(self.live()) }
    }

    #[cold]
    fn wait(live: &Live<T, H>) -> bool {
        let ended = |state: u32| state & (READY | FAILED) != 0;
        loop {
            // Acquire: pairs with the release in `end_filling`.
            match H::wait_within(&live.state, Ordering::Acquire, POLLS, ended) {
                Ok(state) => return state & READY != 0,
                Err(BudgetSpent(_)) if H::execution() == Execution::Thread => {
                    // Relaxed: the next round reads the state again. The filling ends by a
                    // read-modify-write of the same word. Either that operation sees this bit, or
                    // this operation sees that the filling has ended.
                    let before = live.state.fetch_or(WAITED, Ordering::Relaxed);
                    if !ended(before) {
                        H::park(&live.state, before | WAITED, None);
                    }
                }
                Err(BudgetSpent(_)) => H::yield_now(),
            }
        }
    }

    /// Marks the buffer as found by a look-up.
    ///
    /// # Safety
    ///
    /// The caller must have a reference, and the buffer must be [ready](Self::ready).
    #[inline(always)]
    pub(super) unsafe fn set_referenced(&self) {
        // SAFETY: the caller's promise.
        let state = &unsafe { self.live() }.state;
        // Both relaxed: a hint. The load comes first, so the line stays shared among threads that
        // find the buffer.
        if state.load(Ordering::Relaxed) & REFERENCED == 0 {
            state.fetch_or(REFERENCED, Ordering::Relaxed);
        }
    }

    /// # Safety
    ///
    /// The caller must have a reference while the returned value is used, and the buffer must be
    /// [ready](Self::ready).
    #[inline(always)]
    pub(super) unsafe fn value(&self) -> &T {
        // SAFETY: the caller's promise. The value is written before the buffer is ready, and
        // dropped only after the last reference is gone.
        unsafe { &*self.live().value.with(|value| value.cast::<T>()) }
    }

    /// Destroys a buffer whose last reference is gone. Drops its value, if it has one, and passes
    /// its memory to `retire`, even if the value's destructor unwinds.
    ///
    /// # Safety
    ///
    /// No thread may have a reference or be able to get one. `retire` must arrange one call of
    /// [`free`](Self::free) with its argument, when no look-up can be at the buffer any more.
    pub(super) unsafe fn destroy(entry: NonNull<Self>, retire: impl FnOnce(NonNull<Header<H>>)) {
        struct Retire<Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context, F>(
            NonNull<Entry<Q, T, K, H, C>>,
            Option<F>,
        )
        where
            F: FnOnce(NonNull<Header<H>>);
        impl<Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context, F> Drop for Retire<Q, T, K, H, C, F>
        where
            F: FnOnce(NonNull<Header<H>>),
        {
            fn drop(&mut self) {
                // SAFETY: no other thread has a reference, so this thread owns the tail. The tail
                // is live, and its value is gone.
                unsafe { ManuallyDrop::drop(&mut (*self.0.as_ptr()).tail.live) };
                let Some(retire) = self.1.take() else { return };
                let offset = offset_of!(Entry<Q, T, K, H, C>, tail);
                // SAFETY: the tail is in the entry, and every part of the union begins where the
                // union begins.
                let tail = unsafe { self.0.cast::<u8>().add(offset).cast::<Header<H>>() };
                // SAFETY: as above. The live part was dropped; the union has room for the other
                // part.
                unsafe { tail.write(Header::new()) };
                retire(tail);
            }
        }
        let retire = Retire(entry, Some(retire));
        // SAFETY: no other thread has a reference, so the caller owns the tail; look-ups do not
        // read it. Look-ups still share the entry: only the tail is borrowed exclusively.
        let live = unsafe { &mut (*entry.as_ptr()).tail.live };
        // Relaxed: dropping the last reference acquired the releases of all other drops.
        if live.state.load(Ordering::Relaxed) & READY != 0 {
            // SAFETY: the buffer is ready, so it has a value, which is dropped once, here.
            live.value.with_mut(|value| unsafe { (*value).assume_init_drop() });
        }
        drop(retire);
    }

    /// Frees a retired buffer.
    ///
    /// # Safety
    ///
    /// `tail` must have been passed on by [`destroy`](Self::destroy), and it must be impossible for
    /// a look-up to be at the buffer any more.
    pub(super) unsafe fn free(tail: NonNull<Header<H>>) {
        // SAFETY: `destroy` derived the pointer from the entry's pointer, so it points into the
        // same memory.
        let entry =
            unsafe { tail.cast::<u8>().sub(offset_of!(Entry<Q, T, K, H, C>, tail)).cast::<Self>() };
        // SAFETY: the caller's promise; the former contents of the tail are no longer used.
        unsafe { memory::free::<Self, H>(entry) };
    }
}

const _: () = {
    use super::key::Key;
    use lockyard::{Native, NoContext, lock::Ticket};
    assert!(size_of::<Entry<Key, (), Ticket, Native, NoContext>>() == 64);
    assert!(size_of::<Entry<Key, [u64; 3], Ticket, Native, NoContext>>() == 88);
};
