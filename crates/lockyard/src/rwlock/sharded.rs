//! The sharded reader-writer lock: a [reader-writer lock](super) that spreads its readers over
//! lines while they meet, and comes back when a writer comes.
//!
//! ```text
//!   inner      a reader-writer lock of 8 bytes
//!   table      the shards, if readers have ever met: counts of readers, each in its own line
//!   meetings   readers that have met since the last writer, and the highest slot among them
//!
//!            readers meet often                       (a reader opens the shards)
//!   together ---------------------> spread
//!            <---------------------                   (a writer closes them, and waits for each)
//!            a writer comes
//! ```
//!
//! - *Together*, the lock is its inner lock: readers and writers are counted in one word.
//! - *Spread*, a reader adds itself to the shard of its slot, and looks at nothing that others
//!   write. So reads by threads in different shards move no line.
//! - A writer takes the inner lock. If the lock is spread, it closes each shard and waits until
//!   that is empty. Then the lock is together again, and stays so until readers have met
//!   [`Spreading::READS_A_SHARD`] times for each shard without a writer between.
//!
//! So a write that ends a spread costs a few line transfers for each shard, and at least as many
//! reads have been counted before. Writes that follow each other cost what the inner lock's do.
//!
//! # Memory
//!
//! 24 bytes until readers meet (three words). Then a line of 64 bytes for each slot up to the
//! highest that has met others, rounded up to a power of two, and one more: at least 192 bytes, and
//! at most 16,448 with [`Usual`]'s 256 shards. Slots beyond share shards. A table that has become
//! too small is replaced, and is freed with the lock: together they have less than twice the size.
//! If the host has no memory, the lock stays together.
//!
//! # Why a reader is never beside a writer
//!
//! - A writer holds the inner lock, so there is no reader in that.
//! - Shards are opened by a reader in the inner lock, so no writer is inside. Readers that enter
//!   later acquire from it, and it has acquired from the writers before.
//! - A writer closes each shard by a read-modify-write. A reader that comes later finds it closed,
//!   and leaves. One that came before is in the count, and the writer waits.
//! - The table says that it is *dirty* from before its shards are opened until a writer has found
//!   all shards empty. A writer that gives up in between leaves it dirty, so the next one waits
//!   too. A dirty table is never replaced. So all older tables are closed for good.
//!
//! The last reader of a closed shard wakes the writer, whose name is in the shard's word, as
//! described for [the inner lock](super#why-no-wake-up-is-lost). It does not touch the lock after
//! its release.
//!
//! # Bounds
//!
//! - *A writer* waits as in the inner lock, and then for the readers in the shards, while new ones
//!   stay out. So readers do not starve it.
//! - *Readers* that find a shard closed wait in the inner lock, in their turn.
//! - A thread that reads must not read again, because a writer may have closed the lock between.
//! - A thread without a slot uses the inner lock only.
//! - A shard has at most 2^31 readers, and the inner lock 2^22; one more ends the program.
//!
//! # Sources
//!
//! - A lock for each reader, and a writer that takes all: W. Hsieh and W. Weihl, *Scalable
//!   Reader-Writer Locks for Parallel Systems*, IPPS 1992. The same with counters for each CPU: the
//!   big-reader locks of I. Molnar (2000). With counters for each node: I. Calciu et al.,
//!   *NUMA-Aware Reader-Writer Locks*, PPoPP 2013.
//! - Readers that use such counters only while no writer comes: percpu-rwsem, after its description
//!   in the kernel's documentation (M. Patocka, 2012).
//!
//! It has no table of readers that locks share, and no time for which readers stay together. This
//! code was written from the descriptions, not from an implementation.

use super::patience::Usual;
use super::raw::RawRwLock;
use super::shards::{Shard, Table};
use crate::invariance::Invariant;
use crate::lock::adaptive::Patience;
use crate::lock::queue::{self, Name};
use crate::lock::{Deadline, pv};
use crate::platform::{Host, HostWithSlots, Instant, Native, Ordering, Slot, U64, Word};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lock_api::GuardNoSend;

/// The policy of a [`RawShardedRwLock`], beside its inner lock's.
pub trait Spreading: Patience {
    /// Maximum number of shards, a power of two of at most 2^15.
    const MOST_SHARDS: u32 = 256;
    /// Number of readers that must have met for each shard, before readers spread over them.
    const READS_A_SHARD: u32 = 2;
}

impl Spreading for Usual {}

/// A reader-writer lock in 24 bytes, whose readers spread over lines while they meet: policy `P` on
/// host `H`. See the [module](self).
///
/// Usually written as [`ShardedRwLock`](crate::ShardedRwLock). The type is invariant in `H` and
/// `P`.
#[repr(C)]
pub struct RawShardedRwLock<H: Host = Native, P: Spreading = Usual> {
    pub(super) inner: RawRwLock<H, P>,
    /// A [`Table`].
    pub(super) table: U64<H>,
    /// A [`Meetings`]. A hint: updates may be lost.
    pub(super) meetings: U64<H>,
    pub(super) _policy: Invariant<P>,
}

/// The state of a reader that is inside: its shard, or none if it is in the inner lock. It stays on
/// its thread.
#[must_use = "the reader stays inside until this is given back"]
pub struct Entry<H: Host> {
    shard: Option<NonNull<Shard<H>>>,
    _on_this_thread: GuardNoSend,
}

// SAFETY: a shared reference to it does nothing.
unsafe impl<H: Host> Sync for Entry<H> {}

impl<H: Host> fmt::Debug for Entry<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("spread", &self.shard.is_some()).finish_non_exhaustive()
    }
}

impl<H: Host> Entry<H> {
    #[inline(always)]
    fn of(shard: Option<NonNull<Shard<H>>>) -> Self {
        Entry { shard, _on_this_thread: GuardNoSend::new() }
    }

    /// The state of a reader in the inner lock.
    #[inline(always)]
    pub(super) fn together() -> Self {
        Self::of(None)
    }
}

/// The readers that have met since the last writer, and the highest slot among all that ever met.
#[derive(Clone, Copy)]
struct Meetings(u64);

impl Meetings {
    const SLOT: u32 = 32;

    fn number(self) -> u32 {
        self.0 as u32
    }

    fn highest(self) -> u32 {
        (self.0 >> Self::SLOT) as u32
    }

    /// Returns the same with one more, of the thread in `slot`.
    fn plus(self, slot: Slot) -> Self {
        let highest = self.highest().max(slot.0);
        Meetings(u64::from(highest) << Self::SLOT | u64::from(self.number().saturating_add(1)))
    }

    /// Returns the same without meetings.
    fn none(self) -> Self {
        Meetings(u64::from(self.highest()) << Self::SLOT)
    }

    /// Returns the number of shards that these readers need.
    fn shards(self, most: u32) -> u32 {
        self.highest().saturating_add(1).clamp(2, most).next_power_of_two()
    }
}

impl<H: HostWithSlots, P: Spreading> RawShardedRwLock<H, P> {
    /// Makes a free lock without shards. Statics use `lock_api`'s `INIT`.
    #[inline]
    pub fn new() -> Self {
        RawShardedRwLock {
            inner: RawRwLock::new(),
            table: Word::new(0),
            meetings: Word::new(0),
            _policy: PhantomData,
        }
    }

    /// Returns the table. A reader may use its shards.
    #[inline(always)]
    fn current(&self) -> Table {
        // Acquire: pairs with the release of the thread that has published the table.
        Table(self.table.load(Ordering::Acquire))
    }

    /// Enters by the shard of this thread, if readers are spread.
    #[inline(always)]
    fn enter_shard(&self) -> Option<Entry<H>> {
        let table = self.current();
        if !table.is_open() {
            return None;
        }
        let slot = H::slot()?;
        // SAFETY: loaded with acquire, from this lock. It is open, so it exists.
        let shard = unsafe { table.shard_of::<H>(slot) };
        shard.enter().then(|| Entry::of(Some(NonNull::from(shard))))
    }

    /// Enters as a reader, waiting until no writer is inside or has closed the lock. Acquire.
    #[inline(always)]
    pub fn acquire_shared(&self) -> Entry<H> {
        match self.enter_shard() {
            Some(entry) => entry,
            None => self.enter_together(),
        }
    }

    #[inline]
    fn enter_together(&self) -> Entry<H> {
        if self.inner.acquire_shared_beside() {
            self.note_meeting();
        }
        Entry::together()
    }

    /// Counts a reader that has met others in the inner lock, where it is. Spreads the readers if
    /// it is time.
    #[cold]
    fn note_meeting(&self) {
        let Some(slot) = H::slot() else { return };
        // Relaxed, all: a hint.
        let mut meetings = Meetings(self.meetings.load(Ordering::Relaxed)).plus(slot);
        if meetings.number() > P::READS_A_SHARD.saturating_mul(meetings.shards(P::MOST_SHARDS)) {
            self.open(meetings.shards(P::MOST_SHARDS));
            meetings = meetings.none();
        }
        self.meetings.store(meetings.0, Ordering::Relaxed);
    }

    /// Opens the shards: at least `shards`, if there is memory for them. The caller
    /// is in the inner lock.
    #[cold]
    fn open(&self, shards: u32) {
        let mut table = self.current();
        if table.is_open() {
            return;
        }
        if !table.is_dirty() {
            let new =
                if shards > table.shards() { Table::allocate::<H>(shards, table) } else { None };
            if new.is_none() && table.shards() == 0 {
                return;
            }
            let next = new.unwrap_or(Table(table.0 | Table::DIRTY));
            // Release: pairs with the acquire of threads that use the table.
            let (of, to) = (Ordering::Release, Ordering::Relaxed);
            let was_changed = self.table.compare_exchange(table.0, next.0, of, to).is_err();
            match new {
                // SAFETY: no other thread has seen it.
                Some(new) if was_changed => _ = unsafe { new.free_one::<H>() },
                _ => {}
            }
            // Another reader has been faster, or the new table is open.
            if was_changed || next.is_open() {
                return;
            }
            table = next;
        }
        // SAFETY: loaded with acquire, from this lock.
        unsafe { table.iter::<H>() }.for_each(Shard::open);
        // Relaxed: as all changes of the word, it continues the release sequence of the thread that
        // published the table. The shards have been opened with release.
        self.table.fetch_or(Table::OPEN, Ordering::Relaxed);
    }

    /// Spreads the readers now over shards for the threads in slots 0 to `threads` - 1, until a
    /// writer comes. For programs that know that many threads are going to read. Waits until no
    /// thread is inside.
    pub fn spread(&self, threads: u32) {
        self.inner.acquire_exclusive();
        self.open(threads.clamp(2, P::MOST_SHARDS).next_power_of_two());
        // SAFETY: taken above.
        unsafe { self.inner.release_exclusive() };
    }

    /// Returns true if readers are spread. A snapshot.
    pub fn is_spread(&self) -> bool {
        Table(self.table.load(Ordering::Relaxed)).is_open()
    }

    /// Number of bytes that the lock has allocated for its present shards.
    pub fn shard_bytes(&self) -> usize {
        let shards = Table(self.table.load(Ordering::Relaxed)).shards() as usize;
        if shards == 0 { 0 } else { (shards + 1) * size_of::<Shard<H>>() }
    }

    /// Enters as a reader if no writer is inside or waits.
    #[inline]
    pub fn try_acquire_shared(&self) -> Option<Entry<H>> {
        self.enter_shard().or_else(|| self.inner.try_acquire_shared().then(Entry::together))
    }

    /// Enters as a reader, waiting until `until` at most. Returns `None` only after that time.
    pub fn acquire_shared_until(&self, until: Instant<H>) -> Option<Entry<H>> {
        self.enter_shard().or_else(|| self.inner.acquire_shared_until(until).then(Entry::together))
    }

    /// Leaves as a reader. Release.
    ///
    /// # Safety
    ///
    /// `entry` came from an acquisition of this lock.
    #[inline(always)]
    pub unsafe fn release_shared(&self, entry: Entry<H>) {
        match entry.shard {
            // SAFETY: the shard is of a table of this lock, which exists until the release.
            Some(shard) => unsafe { shard.as_ref() }.leave(),
            // SAFETY: the thread is a reader in the inner lock.
            None => unsafe { self.inner.release_shared() },
        }
    }

    /// Leaves as a reader. In the inner lock, the thread that has waited longest comes next. (If a
    /// writer waits for the shards, it comes next anyway.)
    ///
    /// # Safety
    ///
    /// As for [`release_shared`](Self::release_shared).
    #[inline]
    pub unsafe fn release_shared_fair(&self, entry: Entry<H>) {
        match entry.shard {
            // SAFETY: the caller's promise.
            Some(_) => unsafe { self.release_shared(entry) },
            // SAFETY: the thread is a reader in the inner lock.
            None => unsafe { self.inner.release_shared_fair() },
        }
    }

    /// Enters as the writer, waiting until no thread is inside. Acquire.
    #[inline]
    pub fn acquire_exclusive(&self) {
        self.inner.acquire_exclusive();
        let is_alone = self.gather(None);
        debug_assert!(is_alone, "without a deadline it waits for all readers");
    }

    /// Enters as the writer, waiting until `until` at most. Returns false only after that time.
    /// Readers are together then.
    pub fn acquire_exclusive_until(&self, until: Instant<H>) -> bool {
        self.inner.acquire_exclusive_until(until)
            && (self.gather(Some(Deadline::new(until))) || self.give_up())
    }

    /// Enters as the writer if no thread is inside.
    pub fn try_acquire_exclusive(&self) -> bool {
        if !self.inner.try_acquire_exclusive() {
            return false;
        }
        let table = Table(self.table.load(Ordering::Relaxed));
        // SAFETY: the thread has acquired from all that have changed the table.
        let is_held = || unsafe { table.iter::<H>() }.any(Shard::is_held);
        if table.is_dirty() && (is_held() || !self.gather(Some(Deadline::new(Instant::now())))) {
            return self.give_up();
        }
        true
    }

    /// Leaves the inner lock as its writer. Returns false.
    fn give_up(&self) -> bool {
        // SAFETY: this thread is the writer of the inner lock.
        unsafe { self.inner.release_exclusive() };
        false
    }

    /// Ends the spread of readers, and waits until they have left their shards. Returns false if
    /// the deadline has passed. This thread is the writer of the inner lock.
    #[inline(always)]
    fn gather(&self, deadline: Option<Deadline<H>>) -> bool {
        // Relaxed, all: only threads in the inner lock change these words, and this one is alone.
        let meetings = Meetings(self.meetings.load(Ordering::Relaxed));
        if meetings.number() > 0 {
            self.meetings.store(meetings.none().0, Ordering::Relaxed);
        }
        let table = Table(self.table.load(Ordering::Relaxed));
        !table.is_dirty() || self.close(table, deadline)
    }

    #[cold]
    fn close(&self, table: Table, mut deadline: Option<Deadline<H>>) -> bool {
        // Relaxed: readers that still go to the shards find them closed.
        self.table.fetch_and(!Table::OPEN, Ordering::Relaxed);
        // Without a clock a timeout can only be counted in polls, and a sleeper does not poll.
        let may_end = deadline.as_ref().is_some_and(|deadline| !deadline.is_latest());
        let may_sleep = pv::may_park::<H>() && !(may_end && H::now().is_zero());
        let me: Option<Name> = if may_sleep { queue::take::<H>() } else { None };
        // SAFETY: the thread has acquired from all that have changed the table. This holds for all
        // three.
        unsafe { table.iter::<H>() }.for_each(|shard| shard.close(me));
        // SAFETY: as above.
        let mut shards = unsafe { table.iter::<H>() };
        let is_empty = shards.all(|shard| shard.drain(me, &mut deadline));
        if let Some(me) = me {
            // Relaxed: a reader that finds another value does nothing.
            me.node::<H>().ready.store(0, Ordering::Relaxed);
            queue::give_back::<H>(me);
        }
        if is_empty {
            // Relaxed: as in `gather`.
            self.table.fetch_and(!(Table::OPEN | Table::DIRTY), Ordering::Relaxed);
        }
        is_empty
    }

    /// Leaves as the writer. Release.
    ///
    /// # Safety
    ///
    /// The calling thread is inside as the writer.
    #[inline(always)]
    pub unsafe fn release_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.release_exclusive() };
    }

    /// Becomes a reader. No other writer is inside between.
    ///
    /// # Safety
    ///
    /// The calling thread is inside as the writer.
    #[inline]
    pub unsafe fn downgrade_to_shared(&self) -> Entry<H> {
        // SAFETY: the caller's promise.
        unsafe { self.inner.downgrade_to_shared() };
        Entry::together()
    }

    /// Returns true if a thread is inside. A snapshot (relaxed), which also counts readers that are
    /// about to find that they must wait.
    pub fn is_held(&self) -> bool {
        let table = self.current();
        // SAFETY: loaded with acquire, from this lock.
        self.inner.is_held() || table.is_dirty() && unsafe { table.iter::<H>() }.any(Shard::is_held)
    }

    /// Returns true if a writer is inside, or waits for readers to leave their shards. A snapshot.
    pub fn is_held_exclusive(&self) -> bool {
        self.inner.is_held_exclusive()
    }
}

impl<H: Host, P: Spreading> Drop for RawShardedRwLock<H, P> {
    fn drop(&mut self) {
        // SAFETY: the lock is borrowed exclusively, so no thread uses its tables.
        unsafe { Table(self.table.get()).free::<H>() };
    }
}

impl<H: HostWithSlots, P: Spreading> Default for RawShardedRwLock<H, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: HostWithSlots, P: Spreading> fmt::Debug for RawShardedRwLock<H, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawShardedRwLock")
            .field("inner", &self.inner)
            .field("spread", &self.is_spread())
            .field("held", &self.is_held())
            .finish()
    }
}
