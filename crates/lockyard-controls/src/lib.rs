//! Locks that are wrong on purpose: negative controls.
//!
//! Each is wrong in one step that the correct locks take care of. A harness that claims to find a
//! kind of fault must find it in the control of that kind. Scripts can name them, so that anyone
//! can try the command `lockyard measure` on them.
//!
//! | control | what is wrong | who must notice |
//! | --- | --- | --- |
//! | [`DoesNotExclude`] | two threads can hold it | every harness |
//! | [`LosesWakeUps`] | a waiter may wait for ever | every harness that watches for progress |
//! | [`TouchesAfterRelease`] | it reads its word after its release | a model that frees the word |
//! | [`WakesNobody`] | a waiter waits for ever | the same, at the first contention |
//! | [`TicketAsQueued`] | it uses a ticket word as a queued one | harnesses that watch progress |
//! | [`Unfair`] | it has a favourite | a measurement of fairness |

#![no_std]

use lockyard::lane::{FourBytes, Lane};
use lockyard::lock::{Algorithm, LaneLock, Queued, Ticket};
use lockyard::platform::{Budget, Host, HostWithSlots, Int, Ordering, Word};

/// Some pauses, so that others come meanwhile. In a model they are nothing.
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

/// A lock that does not exclude: it looks whether the lock is free and then takes it, in two steps.
#[derive(Debug)]
pub struct DoesNotExclude;

impl Algorithm for DoesNotExclude {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it does not keep the contract, on purpose. The programs that use it access what it
// "protects" by atomic operations only.
unsafe impl<H: Host> LaneLock<H> for DoesNotExclude {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        lane.wait_until::<H>(Ordering::Acquire, |bits| !Self::is_held(bits));
        linger::<H>();
        // The mistake: the result says whether somebody else was faster, and is not looked at.
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

/// A lock that loses wake-ups: a waiter finds the lock held, then announces that it waits, and then
/// waits to be kicked; a holder that releases between the first and the second kicks nobody.
#[derive(Debug)]
pub struct LosesWakeUps;

impl Algorithm for LosesWakeUps {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: exclusion is that of a test-and-set lock; that waiters may wait for ever is the mistake.
unsafe impl<H: Host> LaneLock<H> for LosesWakeUps {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            linger::<H>();
            // The mistake: whether the lock is still held is not looked at again.
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

/// A lock that touches its word after it has released it.
#[derive(Debug)]
pub struct TouchesAfterRelease;

impl Algorithm for TouchesAfterRelease {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: exclusion is that of a test-and-set lock; the late access is the mistake, and harmless
// where the memory is still there.
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
        // The mistake: whoever has the lock now may have freed it.
        lane.load(Ordering::Relaxed);
    }
}

/// What an acquisition costs a thread that is not the favourite of an [`Unfair`] lock, in polls.
const STANDING_BACK: u32 = 20_000;

/// A lock that excludes, and is unfair. The first thread that takes it is its favourite for good,
/// and all others back off before each try, so that the unfairness does not depend on the
/// scheduler.
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

// SAFETY: exclusion is that of a test-and-set lock; that others stand back is the mistake.
unsafe impl<H: Host> LaneLock<H> for Unfair {
    unsafe fn lock<L: Lane>(lane: L) {
        let half = <L::Bits as Int>::Half::BITS;
        let me = H::slot().map_or(0, |slot| u64::from(slot.0) + 1);
        let seen = lane.load(Ordering::Relaxed).to_u64();
        if seen >> half == 0 {
            // Whether it succeeds does not matter: then somebody else is the favourite.
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

/// A lock that wakes no thread, so that a waiter waits for ever. ([`LosesWakeUps`] does
/// so only by chance.)
#[derive(Debug)]
pub struct WakesNobody;

impl Algorithm for WakesNobody {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: exclusion is that of a test-and-set lock; that waiters wait for ever is the mistake.
unsafe impl<H: Host> LaneLock<H> for WakesNobody {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire)) {
            // The mistake: nobody ever sets it.
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

/// After this many uses as a ticket lock the word is taken for a queued lock's. Then its tail names
/// a node that exists and that nobody waits on. After fewer it names nobody.
const TICKETS: u64 = 4;

/// A lock that changes its kind. Its word is a ticket lock's for the first few uses, and then, when
/// free, is taken for a queued lock's. Each of the two is right by itself. But the ticket lock's
/// free state, `next == owner`, is a holder and a waiter to the queued lock, and the next thread
/// that wants the lock waits for ever.
#[derive(Debug)]
pub struct TicketAsQueued;

/// What the holder of a [`TicketAsQueued`] gives back.
#[derive(Clone, Copy, Debug)]
pub enum TicketOrQueued {
    /// A ticket.
    Ticket(<Ticket as Algorithm>::Token),
    /// Nothing.
    Queued,
}

fn halves<B: Int>(bits: B) -> (u64, u64) {
    let half = <B::Half as Int>::BITS;
    (bits.to_u64() >> half, bits.to_u64() & ((1 << half) - 1))
}

impl TicketAsQueued {
    /// Waits until the word is free as a ticket lock's, and takes the ticket that is next, as
    /// [`Ticket`] does; `None` if the word was used often enough.
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

// SAFETY: nobody is let in by a word that is free to neither kind; that all wait for ever is the
// mistake. The word's change of kind breaks what `Queued::lock` asks for, on purpose: the tail
// names node 0 of slot 0, which every host has and which nobody takes out of the queue.
unsafe impl<H: HostWithSlots> LaneLock<H> for TicketAsQueued {
    unsafe fn lock<L: Lane>(lane: L) -> TicketOrQueued {
        match Self::ticket::<H, L>(lane) {
            Some(ticket) => TicketOrQueued::Ticket(ticket),
            None => {
                // The mistake: the word is another kind's. SAFETY: see above.
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
        // SAFETY: the word is still a ticket lock's; if it is not when it is taken, it is not free
        // as one.
        unsafe { <Ticket as LaneLock<H>>::try_lock(lane) }.map(TicketOrQueued::Ticket)
    }

    unsafe fn unlock<L: Lane>(lane: L, token: TicketOrQueued) {
        match token {
            // SAFETY: the caller's promise, of the kind that the word had.
            TicketOrQueued::Ticket(token) => unsafe {
                <Ticket as LaneLock<H>>::unlock(lane, token)
            },
            // SAFETY: the same.
            TicketOrQueued::Queued => unsafe { <Queued as LaneLock<H>>::unlock(lane, ()) },
        }
    }
}
