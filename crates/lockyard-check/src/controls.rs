//! Negative controls: primitives that are wrong on purpose.
//!
//! Each is wrong in one step of which the right ones are careful, and runs in the same programs.

use crate::program::{PageCount, RefCount, linger};
use lockyard::lane::Lane;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Int, Ordering, U32, Word};

const HELD: u64 = 1;
const WAITING: u64 = 2;
const KICK: u64 = 4;

fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

fn clear<L: Lane>(lane: L, bits: u64, order: Ordering) -> u64 {
    let mask = <L::Word as Word>::Int::truncate(!(bits << L::SHIFT));
    L::bits(lane.word().fetch_and(mask, order)).to_u64()
}

/// A lock that does not exclude: it looks whether the lock is free and then takes it, in two steps.
#[derive(Debug)]
pub struct DoesNotExclude;

// SAFETY: it does not keep the contract, on purpose. The programs that use it access what it
// "protects" by atomic operations only.
unsafe impl LaneLock for DoesNotExclude {
    type Token = ();

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }

    fn lock<H: Host, L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        lane.wait_until::<H>(Ordering::Acquire, |bits| !Self::is_held(bits));
        linger::<H>();
        // The mistake: the result says whether somebody else was faster, and is not looked at.
        // Acquire: as above.
        lane.fetch_or(bits::<L>(HELD), Ordering::Acquire);
    }

    fn try_lock<H: Host, L: Lane>(lane: L) -> Option<()> {
        if Self::is_held(lane.load(Ordering::Relaxed)) {
            return None;
        }
        // The same mistake. Acquire: pairs with the release in `unlock`.
        lane.fetch_or(bits::<L>(HELD), Ordering::Acquire);
        Some(())
    }

    unsafe fn unlock<H: Host, L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        clear(lane, HELD, Ordering::Release);
    }
}

/// A lock that loses wake-ups: a waiter finds the lock held, then announces that it waits, and then
/// waits to be kicked; a holder that releases between the first and the second kicks nobody.
#[derive(Debug)]
pub struct LosesWakeUps;

// SAFETY: exclusion is that of a test-and-set lock; that waiters may wait for ever is the mistake.
unsafe impl LaneLock for LosesWakeUps {
    type Token = ();

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }

    fn lock<H: Host, L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            linger::<H>();
            // The mistake: whether the lock is still held is not looked at again.
            lane.fetch_or(bits::<L>(WAITING), Ordering::Relaxed);
            lane.wait_until::<H>(Ordering::Relaxed, |bits| bits.to_u64() & KICK != 0);
            clear(lane, KICK, Ordering::Relaxed);
        }
    }

    fn try_lock<H: Host, L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<H: Host, L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        if clear(lane, HELD, Ordering::Release) & WAITING != 0 {
            clear(lane, WAITING, Ordering::Relaxed);
            lane.fetch_or(bits::<L>(KICK), Ordering::Relaxed);
        }
    }
}

/// A lock that touches its word after it has released it.
#[derive(Debug)]
pub struct TouchesAfterRelease;

// SAFETY: exclusion is that of a test-and-set lock; the late access is the mistake, and harmless
// where the memory is still there.
unsafe impl LaneLock for TouchesAfterRelease {
    type Token = ();

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }

    fn lock<H: Host, L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
        }
    }

    fn try_lock<H: Host, L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<H: Host, L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        lane.store_lowest_byte(HELD as u8, 0, Ordering::Release);
        // The mistake: whoever has the lock now may have freed it.
        lane.load(Ordering::Relaxed);
    }
}

/// A test-and-set lock that takes the lock with an ordering that is stronger than it need be.
#[derive(Debug)]
pub struct TooStrong;

// SAFETY: exclusion is that of a test-and-set lock.
unsafe impl LaneLock for TooStrong {
    type Token = ();

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }

    fn lock<H: Host, L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`. The release pairs with nothing: that is the mistake.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::AcqRel)) {
            lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
        }
    }

    fn try_lock<H: Host, L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<H: Host, L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        lane.store_lowest_byte(HELD as u8, 0, Ordering::Release);
    }
}

/// A reference count that can revive a dead object: it looks whether there is a reference and then
/// adds one, in two steps.
pub struct Reviving<H: Host>(U32<H>);

impl<H: Host> RefCount<H> for Reviving<H> {
    fn new(count: u32) -> Self {
        Reviving(Word::new(count))
    }

    fn get_not_zero(&self) -> bool {
        if self.0.load(Ordering::Relaxed) == 0 {
            return false;
        }
        linger::<H>();
        // The mistake: the count may be zero by now. Acquire: pairs with the release of a put.
        self.0.fetch_add(1, Ordering::Acquire);
        true
    }

    fn put(&self) -> bool {
        // Release: pairs with the acquire of the last put, which is this one's own acquire.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// A page reference count with a bit, whose adder undoes its addition when it finds the bit: it adds, the owner unfreezes
/// to one reference, and the undoing leaves none, while the owner has one.
pub struct Undoing<H: Host>(U32<H>);

const FROZEN: u32 = 1 << 31;

impl<H: Host> PageCount<H> for Undoing<H> {
    fn new(references: u32) -> Self {
        Undoing(Word::new(references))
    }

    fn get(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get_not_zero(&self) -> bool {
        // Acquire: pairs with the release of an unfreeze.
        if self.0.fetch_add(1, Ordering::Acquire) & FROZEN == 0 {
            return true;
        }
        linger::<H>();
        // The mistake: the count may be unfrozen by now.
        self.0.fetch_sub(1, Ordering::Relaxed);
        false
    }

    fn put(&self) -> bool {
        // Release: pairs with the acquire of the last put.
        if self.0.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Acquire: pairs with the release of all other puts.
        self.0.compare_exchange(0, FROZEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn try_freeze(&self, expected: u32) -> bool {
        // Acquire: pairs with the release of all puts.
        self.0.compare_exchange(expected, FROZEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unfreeze(&self, references: u32) {
        // Release: pairs with the acquire of the gets that follow.
        self.0.swap(references, Ordering::Release);
    }

    fn references(&self) -> Option<u32> {
        let word = self.0.load(Ordering::Relaxed);
        (word & FROZEN == 0).then_some(word)
    }
}
