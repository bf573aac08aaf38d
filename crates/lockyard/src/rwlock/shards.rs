//! The shards of a [sharded reader-writer lock](super::sharded): counts of readers, each in a line
//! of its own, in tables that the host allocates.
//!
//! ```text
//!    63 62              32 31          16 15       1 0
//!   +--+------------------+--------------+----------+-+
//!   |F | readers          | name         |          |C|    a shard, in 64 bytes
//!   +--+------------------+--------------+----------+-+
//!
//!   C      closed: readers must not enter here, but leave
//!   name   the writer that closed it, which may sleep until the readers have left
//!   F      full: 2^31 readers
//! ```
//!
//! Only the thread that is the writer, or keeps writers out, changes the lower half. All changes
//! are read-modify-writes.
//!
//! A table has a power of two of shards, and one line more: the address of the smaller table that
//! it has replaced. Tables are freed with the lock, because a reader may still look at an old one,
//! whose shards stay closed.

use crate::lock::Deadline;
use crate::lock::queue::Name;
use crate::memory;
use crate::platform::{
    BudgetSpent, Event, Host, HostWithSlots, Ordering, RELAXED_ACQUIRE_LATE, RELEASE_ACQUIRE_LATE,
    Region, Slot, U64, Word, acquire_late, during,
};
use core::alloc::Layout;
use core::ptr::{NonNull, with_exposed_provenance};

/// The shard is closed.
const CLOSED: u64 = 1;
/// Position of the closing writer's name.
const NAME: u32 = 16;
/// One reader.
const READER: u64 = 1 << 32;
/// Set if there are 2^31 readers. No more may enter.
const FULL: u64 = 1 << 63;

/// A waiter's node: a writer sleeps until the readers of a shard have left. (Other locks use other
/// values in that word, and may change only theirs.)
const DRAINING: u32 = 48;
/// A waiter's node: the last reader of a shard has called.
const CALLED: u32 = 49;

/// Number of polls of a shard before the writer sleeps.
const POLLS: u32 = 128;

/// Returns true if no reader is inside.
fn is_empty(bits: u64) -> bool {
    bits < READER
}

/// A count of readers.
#[repr(C, align(64))]
pub(super) struct Shard<H: Host> {
    word: U64<H>,
}

impl<H: HostWithSlots> Shard<H> {
    /// Enters as a reader, unless the shard is closed.
    #[inline(always)]
    #[track_caller]
    pub(super) fn enter(&self) -> bool {
        // Acquire: pairs with the release of the thread that has opened the shard.
        let before = self.word.fetch_add(READER, Ordering::Acquire);
        before & (CLOSED | FULL) == 0 || self.refuse(before)
    }

    /// Takes back the count of a reader that may not enter.
    #[cold]
    fn refuse(&self, before: u64) -> bool {
        if before & FULL != 0 {
            H::fatal("sharded reader-writer lock: a shard has 2^31 readers");
        }
        // It was not inside, so it releases nothing. Acquire, as in `leave`.
        self.leave_by(RELAXED_ACQUIRE_LATE);
        false
    }

    /// Leaves as a reader. The lock's memory is not touched after that.
    #[inline(always)]
    #[track_caller]
    pub(super) fn leave(&self) {
        // Release: pairs with the acquire of the next writer.
        self.leave_by(RELEASE_ACQUIRE_LATE);
    }

    /// Takes one reader from the count. The last one of a closed shard calls the writer.
    #[inline(always)]
    #[track_caller]
    fn leave_by(&self, order: Ordering) {
        // For the last reader of a closed shard it is an acquire too, which pairs with the release
        // of a writer that went to sleep.
        let before = self.word.fetch_sub(READER, order);
        if before & CLOSED != 0 && is_empty(before - READER) {
            acquire_late::<H::Atomics>();
            Self::call(before);
        }
    }

    /// Wakes the writer that closed the shard, if it sleeps. If its node is in another use by now,
    /// that one's word does not say that it drains, or it looks for no reason.
    #[cold]
    fn call(bits: u64) {
        let Some(name) = Name::from_bits(bits >> NAME & 0xffff) else { return };
        let ready = &name.node::<H>().ready;
        // Relaxed, all: the writer reads the shard, and nothing else that this thread has written.
        let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
        if ready.load(Ordering::Relaxed) == DRAINING
            && ready.compare_exchange(DRAINING, CALLED, of, to).is_ok()
        {
            H::count(Event::Kick);
            H::unpark(ready, 1);
        }
    }

    /// Returns true if a reader is inside, or is about to find that it must leave.
    pub(super) fn is_held(&self) -> bool {
        !is_empty(self.word.load(Ordering::Relaxed))
    }

    /// Closes the shard for `me`. The caller is the writer.
    pub(super) fn close(&self, me: Option<Name>) {
        // Relaxed: no other thread changes the lower half.
        let seen = self.word.load(Ordering::Relaxed) & (READER - 1);
        let closed = CLOSED | me.map_or(0, Name::to_bits) << NAME;
        // Relaxed: `drain` acquires.
        self.word.fetch_add(closed.wrapping_sub(seen), Ordering::Relaxed);
    }

    /// Opens the shard. The caller keeps writers out.
    pub(super) fn open(&self) {
        // Release: pairs with the acquire of readers that enter here. So they see what earlier
        // writers have written: the caller has acquired from them.
        self.word.fetch_and(!(READER - 1), Ordering::Release);
    }

    /// Waits until the readers have left the closed shard. Returns false if the deadline has
    /// passed. `me` is the node that its word names.
    pub(super) fn drain(&self, me: Option<Name>, deadline: &mut Option<Deadline<H>>) -> bool {
        // Acquire: pairs with the releases of the readers.
        match H::wait_within(&self.word, Ordering::Acquire, POLLS, is_empty) {
            Ok(_) => true,
            Err(BudgetSpent(_)) => match me {
                Some(me) => self.sleep(me, deadline),
                None => self.drain_yielding(deadline),
            },
        }
    }

    fn sleep(&self, me: Name, deadline: &mut Option<Deadline<H>>) -> bool {
        let ready = &me.node::<H>().ready;
        loop {
            // An exchange, so that it comes after the call that it finds: a later reader sees that
            // the writer sleeps, and not that call. Relaxed: the change of the word orders it.
            ready.swap(DRAINING, Ordering::Relaxed);
            // Release: pairs with the acquire of the last reader, which then finds that this thread
            // sleeps. Acquire: pairs with the releases of the readers.
            if is_empty(self.word.fetch_or(0, Ordering::AcqRel)) {
                return true;
            }
            let left = match deadline {
                None => None,
                Some(deadline) => match deadline.left() {
                    None => return false,
                    left => left,
                },
            };
            H::count(Event::Wait);
            during::<H, _>(Region::Idle, || H::park(ready, DRAINING, left));
        }
    }

    #[cold]
    fn drain_yielding(&self, deadline: &mut Option<Deadline<H>>) -> bool {
        let Some(deadline) = deadline else {
            // Acquire: pairs with the releases of the readers.
            H::wait_yielding(&self.word, Ordering::Acquire, is_empty);
            return true;
        };
        while !deadline.end_slice() {
            let polls = Deadline::<H>::POLLS;
            // Acquire: as above.
            if H::wait_within(&self.word, Ordering::Acquire, polls, is_empty).is_ok() {
                return true;
            }
            H::yield_now();
        }
        false
    }
}

/// The word that names a table: its address, which is a multiple of 64, and what readers and
/// writers must know.
///
/// ```text
///    63           6 5       2 1 0
///   +--------------+---------+-+-+     0: there is no table
///   | address      | size    |D|O|     size: the number of shards is 2 to this power
///   +--------------+---------+-+-+     O: readers enter the shards; D: readers may be in them
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Table(pub(super) u64);

impl Table {
    /// Readers use the shards.
    pub(super) const OPEN: u64 = 1;
    /// Readers may be in the shards.
    pub(super) const DIRTY: u64 = 2;
    const SIZE: u32 = 2;
    const FLAGS: u64 = 63;

    pub(super) fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    pub(super) fn is_dirty(self) -> bool {
        self.0 & Self::DIRTY != 0
    }

    fn address(self) -> usize {
        (self.0 & !Self::FLAGS) as usize
    }

    /// Number of shards.
    pub(super) fn shards(self) -> u32 {
        if self.address() == 0 { 0 } else { 1 << (self.0 >> Self::SIZE & 15) }
    }

    fn layout<H: Host>(shards: u32) -> Layout {
        Layout::array::<Shard<H>>(shards as usize + 1).expect("a table is below 2^31 bytes")
    }

    /// Returns shard `index`.
    ///
    /// # Safety
    ///
    /// The word was loaded with acquire from a lock that still exists, or was made by
    /// [`allocate`](Self::allocate). `index` is at most the number of shards, which is at least 1.
    #[inline(always)]
    unsafe fn at<'a, H: Host>(self, index: u32) -> &'a Shard<H> {
        let first = with_exposed_provenance::<Shard<H>>(self.address());
        // SAFETY: the table has one line more than shards, all initialised, and is freed with the
        // lock.
        unsafe { &*first.add(index as usize) }
    }

    /// Returns the shard of `slot`.
    ///
    /// # Safety
    ///
    /// As for [`at`](Self::at).
    #[inline(always)]
    pub(super) unsafe fn shard_of<'a, H: Host>(self, slot: Slot) -> &'a Shard<H> {
        let mask = (1 << (self.0 >> Self::SIZE & 15)) - 1;
        // SAFETY: the caller's promise; the index is below the number of shards.
        unsafe { self.at(slot.0 & mask) }
    }

    /// Iterates over the shards.
    ///
    /// # Safety
    ///
    /// As for [`at`](Self::at), if there is a table.
    pub(super) unsafe fn iter<'a, H: Host>(self) -> impl Iterator<Item = &'a Shard<H>> {
        // SAFETY: the caller's promise.
        (0..self.shards()).map(move |index| unsafe { self.at(index) })
    }

    /// Allocates a table of open shards that replaces `former`. Returns `None` without memory.
    pub(super) fn allocate<H: Host>(shards: u32, former: Table) -> Option<Table> {
        debug_assert!(shards.is_power_of_two() && shards <= 1 << 15);
        let memory = memory::from_host::<H>(Self::layout::<H>(shards), None)?.cast::<Shard<H>>();
        for index in 0..=shards {
            let word = if index == shards { former.0 } else { 0 };
            // SAFETY: the memory has room, and no other thread uses it yet.
            unsafe { memory.add(index as usize).write(Shard { word: Word::new(word) }) };
        }
        let address = memory.as_ptr().expose_provenance() as u64;
        let size = u64::from(shards.trailing_zeros()) << Self::SIZE;
        Some(Table(address | size | Self::OPEN | Self::DIRTY))
    }

    /// Frees the table, and all that it has replaced.
    ///
    /// # Safety
    ///
    /// No other thread uses them.
    pub(super) unsafe fn free<H: Host>(self) {
        let mut table = self;
        while table.shards() > 0 {
            // SAFETY: the caller's promise.
            table = unsafe { table.free_one::<H>() };
        }
    }

    /// Frees the table. Returns the one that it has replaced.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free); there is a table.
    pub(super) unsafe fn free_one<H: Host>(self) -> Table {
        let first = with_exposed_provenance::<Shard<H>>(self.address()).cast_mut();
        let mut former = 0;
        for index in 0..=self.shards() as usize {
            // SAFETY: `allocate` has initialised each, and only this thread uses them.
            unsafe {
                former = (*first.add(index)).word.get();
                first.add(index).drop_in_place();
            }
        }
        if let Some(memory) = NonNull::new(first.cast()) {
            // SAFETY: allocated with this layout.
            unsafe { memory::to_host::<H>(memory, Self::layout::<H>(self.shards())) };
        }
        Table(former)
    }
}
