//! Locks that are wrong on purpose: negative controls.
//!
//! Each control makes one mistake that the correct locks do not make. A harness that claims to find
//! a kind of fault must find that fault in the matching control. Scripts can name the controls, so
//! anyone can run the command `lockyard measure` on them.
//!
//! | control | what is wrong | harness that must notice |
//! | --- | --- | --- |
//! | [`DoesNotExclude`] | two threads can hold it | every harness |
//! | [`LosesWakeUps`] | a waiter may wait for ever | every harness that watches for progress |
//! | [`TouchesAfterRelease`] | it reads its word after its release | a model that frees the word |
//! | [`WakesNobody`] | a waiter waits for ever | these harnesses too, at the first contention |
//! | [`TicketAsQueued`] | it uses a ticket word as a queued one | harnesses that watch progress |
//! | [`ReadersBesideWriter`] | readers do not look for a writer | harnesses that watch readers |
//! | [`Unfair`] | it has a favourite | a measurement of fairness |

#![no_std]

use lockyard::lane::{FourBytes, Lane};
use lockyard::lock::{Algorithm, LaneLock, Queued, TestAndSet, Ticket};
use lockyard::platform::{Budget, Host, HostWithSlots, Int, Ordering, Word};
use lockyard::rwlock::ReadWrite;
use lockyard::{Held, RawSpinLock};

/// Pauses briefly, so that other threads can interfere. Does nothing in a model.
fn linger<H: Host>() {
    for _ in 0..20 {
        H::relax();
    }
}

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

/// A lock that does not exclude. It checks that the lock is free and then takes it, in two steps.
#[derive(Debug)]
pub struct DoesNotExclude;

impl Algorithm for DoesNotExclude {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: the lock breaks the contract on purpose. The programs that use it access the "protected"
// data only by atomic operations.
unsafe impl<H: Host> LaneLock<H> for DoesNotExclude {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        lane.wait_until::<H>(Ordering::Acquire, |bits| !Self::is_held(bits));
        linger::<H>();
        // The mistake: it ignores the result, which would show that another thread was faster.
        // Acquire: as above.
        lane.fetch_or(bits::<L>(HELD), Ordering::Acquire);
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        if Self::is_held(lane.load(Ordering::Relaxed)) {
            return None;
        }
        // The same mistake. Acquire: pairs with the release in `unlock`.
        lane.fetch_or(bits::<L>(HELD), Ordering::Acquire);
        Some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        clear(lane, HELD, Ordering::Release);
    }
}

/// A reader-writer lock whose writers exclude each other, and whose readers check nothing.
#[derive(Debug)]
pub struct ReadersBesideWriter<H: HostWithSlots>(RawSpinLock<TestAndSet, H>);

// SAFETY: the lock breaks the contract on purpose. Readers of the programs that use it only load
// the "protected" data.
unsafe impl<H: HostWithSlots> ReadWrite<H> for ReadersBesideWriter<H> {
    type Entry = ();

    fn free() -> Self {
        ReadersBesideWriter(RawSpinLock::new())
    }
    // The mistake: it enters at once.
    fn lock_shared(&self) {}
    unsafe fn unlock_shared(&self, (): ()) {}
    fn lock_exclusive(&self) {
        // The token of this lock holds nothing.
        let _ = self.0.acquire();
    }
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller took the lock by `lock_exclusive`, and gives it back once.
        unsafe { self.0.release(Held::from_token(())) };
    }
    fn is_inside(&self) -> bool {
        self.0.is_held()
    }
}

/// A lock that loses wake-ups. A waiter finds the lock held, announces that it waits, and then
/// waits to be kicked. If the holder releases between the check and the announcement, it kicks
/// no thread.
#[derive(Debug)]
pub struct LosesWakeUps;

impl Algorithm for LosesWakeUps {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it excludes like a test-and-set lock. The mistake is that waiters may wait for ever.
unsafe impl<H: Host> LaneLock<H> for LosesWakeUps {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            linger::<H>();
            // The mistake: it does not check again that the lock is still held.
            lane.fetch_or(bits::<L>(WAITING), Ordering::Relaxed);
            lane.wait_until::<H>(Ordering::Relaxed, |bits| bits.to_u64() & KICK != 0);
            clear(lane, KICK, Ordering::Relaxed);
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        if clear(lane, HELD, Ordering::Release) & WAITING != 0 {
            clear(lane, WAITING, Ordering::Relaxed);
            lane.fetch_or(bits::<L>(KICK), Ordering::Relaxed);
        }
    }
}

/// A lock that touches its word after its release.
#[derive(Debug)]
pub struct TouchesAfterRelease;

impl Algorithm for TouchesAfterRelease {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it excludes like a test-and-set lock. The mistake is the late access, which is harmless
// while the memory exists.
unsafe impl<H: Host> LaneLock<H> for TouchesAfterRelease {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        lane.store_lowest_byte(HELD as u8, 0, Ordering::Release);
        // The mistake: the next holder may have freed the lock.
        lane.load(Ordering::Relaxed);
    }
}

/// Number of polls for which a thread backs off if it is not the favourite of an [`Unfair`] lock.
const STANDING_BACK: u32 = 20_000;

/// A lock that excludes, but is unfair. The first thread that takes it becomes its favourite for
/// good. All others back off before each try, so the unfairness does not depend on the scheduler.
///
/// ```text
///   upper half: the favourite's slot + 1, or 0        bit 0: held
/// ```
#[derive(Debug)]
pub struct Unfair;

impl Algorithm for Unfair {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it excludes like a test-and-set lock. The mistake is that threads other than the
// favourite back off.
unsafe impl<H: Host> LaneLock<H> for Unfair {
    unsafe fn lock<L: Lane>(lane: L) {
        let half = <L::Bits as Int>::Half::BITS;
        let me = H::slot().map_or(0, |slot| u64::from(slot.0) + 1);
        let seen = lane.load(Ordering::Relaxed).to_u64();
        if seen >> half == 0 {
            // A failure does not matter: another thread is then the favourite.
            let _ = lane.compare_exchange(
                bits::<L>(seen),
                bits::<L>(seen | me << half),
                Ordering::Relaxed,
            );
        } else if seen >> half != me {
            let budget = Budget::Polls(STANDING_BACK);
            let _ = lane.word().wait_until(Ordering::Relaxed, budget, H::relax, |_| false);
        }
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        clear(lane, HELD, Ordering::Release);
    }
}

/// A lock that wakes no thread, so a waiter waits for ever. ([`LosesWakeUps`] does so only by
/// chance.)
#[derive(Debug)]
pub struct WakesNobody;

impl Algorithm for WakesNobody {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it excludes like a test-and-set lock. The mistake is that waiters wait for ever.
unsafe impl<H: Host> LaneLock<H> for WakesNobody {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            // The mistake: no thread ever sets this bit.
            lane.wait_until::<H>(Ordering::Relaxed, |bits| bits.to_u64() & KICK != 0);
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        clear(lane, HELD, Ordering::Release);
    }
}

/// Number of uses as a ticket lock, after which the word is used as a queued lock's word. With this
/// number its tail then names a node that exists and has no waiter. With a smaller number the tail
/// would name no node.
const TICKETS: u64 = 4;

/// A lock that changes its kind. Its word is a ticket lock's word for the first few uses. After
/// that a free word is treated as a queued lock's word. Each of the two kinds is correct by itself.
/// But the ticket lock's free state, `next == owner`, looks to the queued lock like a holder and a
/// waiter. The next thread that wants the lock waits for ever.
#[derive(Debug)]
pub struct TicketAsQueued;

/// Token of the holder of a [`TicketAsQueued`].
#[derive(Clone, Copy, Debug)]
pub enum TicketOrQueued {
    /// The token of a ticket lock.
    Ticket(<Ticket as Algorithm>::Token),
    /// A queued lock has no token.
    Queued,
}

fn halves<B: Int>(bits: B) -> (u64, u64) {
    let half = <B::Half as Int>::BITS;
    (bits.to_u64() >> half, bits.to_u64() & ((1 << half) - 1))
}

impl TicketAsQueued {
    /// Waits until the word is a free ticket lock's, and takes the next ticket, as [`Ticket`] does.
    /// Returns `None` if the word has been used [`TICKETS`] times.
    fn ticket<H: Host, L: Lane>(lane: L) -> Option<<Ticket as Algorithm>::Token> {
        loop {
            let seen = lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
            let (next, owner) = halves(seen);
            if next >= TICKETS {
                return None;
            }
            let taken = bits::<L>((next + 1) << <L::Bits as Int>::Half::BITS | owner);
            // Acquire: pairs with the release of the ticket lock's `unlock`.
            if lane.compare_exchange(seen, taken, Ordering::Acquire).is_ok() {
                return Some(next as u16);
            }
        }
    }
}

impl Algorithm for TicketAsQueued {
    type Token = TicketOrQueued;
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        let (next, owner) = halves(bits);
        next != owner
    }
}

// SAFETY: a word that is free to neither kind admits no thread. The mistake is that all wait for
// ever. The word's change of kind breaks the contract of `Queued::lock` on purpose. The tail names
// node 0 of slot 0, which every host has and which no thread removes from the queue.
unsafe impl<H: HostWithSlots> LaneLock<H> for TicketAsQueued {
    unsafe fn lock<L: Lane>(lane: L) -> TicketOrQueued {
        match Self::ticket::<H, L>(lane) {
            Some(ticket) => TicketOrQueued::Ticket(ticket),
            None => {
                // The mistake: the word belongs to another kind. SAFETY: see above.
                unsafe { <Queued as LaneLock<H>>::lock(lane) };
                TicketOrQueued::Queued
            }
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<TicketOrQueued> {
        let (next, owner) = halves(lane.load(Ordering::Relaxed));
        if next != owner {
            return None;
        }
        if next >= TICKETS {
            // SAFETY: see above.
            let taken = unsafe { <Queued as LaneLock<H>>::try_lock(lane) };
            return taken.map(|()| TicketOrQueued::Queued);
        }
        // SAFETY: the word is still a ticket lock's. If that changes before the lock is taken, the
        // word is no longer free as a ticket lock's.
        unsafe { <Ticket as LaneLock<H>>::try_lock(lane) }.map(TicketOrQueued::Ticket)
    }

    unsafe fn unlock<L: Lane>(lane: L, token: TicketOrQueued) {
        match token {
            // SAFETY: the caller's promise, for the kind that the word had at the acquisition.
            TicketOrQueued::Ticket(token) => unsafe {
                <Ticket as LaneLock<H>>::unlock(lane, token)
            },
            // SAFETY: as above.
            TicketOrQueued::Queued => unsafe { <Queued as LaneLock<H>>::unlock(lane, ()) },
        }
    }
}
