//! A mutex like `parking_lot`'s. Newcomers may take it before waiters, waiters yield and then
//! sleep, and about every half millisecond a release hands it over. It is here for comparison and
//! for predictions.
//!
//! ```text
//!    31                16      15   12           8 7      1 0
//!   +--------------------+-----+------+-------+-+--------+-+
//!   | newest sleeper     |     | turn |       |Q|        |H|       free  <=>  H is 0
//!   +--------------------+-----+------+-------+-+--------+-+
//!
//!   H     held
//!   Q     someone sleeps
//!   turn  time of the last hand-over, in units of 2^19 ns (0.52 ms), modulo 16; 0 without Q
//! ```
//!
//! | step | what happens |
//! | --- | --- |
//! | lock | a compare-exchange of a free word |
//! | wait | while the lock is held and no thread sleeps: 2, 4 and 8 pauses, then 7 yields |
//! | sleep | joins the queue, sleeps until it is called, and begins again, behind the others |
//! | unlock | a compare-exchange, if no thread sleeps |
//! | unlock with sleepers | removes the oldest sleeper, frees the lock, and wakes that sleeper |
//! | the same, in a new turn | removes the oldest sleeper, and wakes it as the holder |
//!
//! Only the holder removes sleepers, and it does so before it frees the lock. So the lock itself is
//! the queue's lock. A thread joins only while the lock is held, and each release is a
//! compare-exchange of the whole word. So no release misses a sleeper.
//!
//! # Differences from the original
//!
//! - The original's queue is in a table that is shared by all locks, with a lock in each bucket, so
//!   that its mutex is 1 byte. Here the queue is in the lock itself, and joining the queue takes no
//!   lock.
//! - The original draws the time to the next hand-over at random, from 0 to 1 ms, for each bucket.
//!   Here a hand-over is due when the turn changes, and the first sleeper of an empty queue begins
//!   a turn.
//! - It has no timed waits and no fair releases.
//!
//! Sources: the documentation of `parking_lot` 0.13 (`Mutex`, section "Fairness"; `SpinWait` of
//! `parking_lot_core`); F. Pizlo, *Locking in WebKit*, 2016. The original's licence is MIT or
//! Apache 2.0.

use super::adaptive_wait::wait_yielding;
use super::adaptive_word::{
    ASLEEP, CALLED, GRANTED, HELD, QUEUED, WAITING, as_bits, call, is_free, newest, remove_oldest,
    with_newest,
};
use super::algorithm::{Algorithm, LaneLock};
use super::queue::{self, Name};
use super::{pv, sleepers};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane};
use crate::platform::{Event, Host, HostWithSlots, Int, Ordering, Region, Word, during};
use core::fmt::Debug;

/// The choice of a [`ParkingLike`] mutex between freeing the lock and handing it over.
pub trait HandOvers: Debug + 'static {
    /// True if each release hands over to a sleeper, if there is one.
    const ALWAYS: bool = false;
}

/// Hands over about every half millisecond; never on a host without a clock.
#[derive(Debug)]
pub struct InTurns;
impl HandOvers for InTurns {}

/// The mutex. See the [module documentation](self).
///
/// Uncontended: two compare-exchanges. It needs a lane of 32 bits.
#[derive(Debug)]
pub struct ParkingLike<P: HandOvers = InTurns>(Invariant<P>);

/// Position of the turn in the word.
const TURN: u32 = 12;
/// The turn.
const TURNS: u64 = 15 << TURN;
/// Duration of a turn: 2 to the power of this, in nanoseconds.
const DURATION: u32 = 19;
/// Rounds of pauses of a waiter. Each round has twice as many pauses as the one before.
const PAUSES: u32 = 3;
/// Total number of a waiter's rounds. It yields in the rounds after the pauses.
const ROUNDS: u32 = 10;

/// Returns the turn at this time, as it is in the word.
fn turn<H: Host>() -> u64 {
    (H::now().as_nanos() as u64 >> DURATION) << TURN & TURNS
}

/// Returns the word without its turn if no thread sleeps any more.
fn with_turn(bits: u64, turn: u64) -> u64 {
    bits & !TURNS | if bits & QUEUED != 0 { turn } else { 0 }
}

impl<P: HandOvers> Algorithm for ParkingLike<P> {
    type Token = ();
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        !is_free(bits.to_u64())
    }
}

// SAFETY: exclusion: a thread is inside if its compare-exchange set `HELD`, or if the former thread
// inside left `HELD` set and stored `GRANTED` in the new thread's node, once. Only the thread
// inside clears `HELD`. Ordering: those compare-exchanges and the load of `GRANTED` are acquires;
// the compare-exchange that clears `HELD`, and the store of `GRANTED`, are releases. All changes
// are read-modify-writes of the lane.
unsafe impl<P: HandOvers, H: HostWithSlots> LaneLock<H> for ParkingLike<P> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) {
        const { queue::assert_names_fit::<H, L>() }
        // Acquire: pairs with the release in `unlock`, or in `release`.
        if lane.compare_exchange(as_bits::<L>(0), as_bits::<L>(HELD), Ordering::Acquire).is_err() {
            wait::<H, L>(lane);
        }
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        const { queue::assert_names_fit::<H, L>() }
        let mut seen = lane.load(Ordering::Relaxed);
        while is_free(seen.to_u64()) {
            let held = as_bits::<L>(seen.to_u64() | HELD);
            // Acquire: as in `lock`.
            match lane.compare_exchange(seen, held, Ordering::Acquire) {
                Ok(_) => return Some(()),
                Err(actual) => seen = actual,
            }
        }
        None
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, _token: ()) {
        // Release: pairs with the acquire of the next holder.
        if lane.compare_exchange(as_bits::<L>(HELD), as_bits::<L>(0), Ordering::Release).is_err() {
            release::<P, H, L>(lane);
        }
    }
}

/// Releases the lock when a thread sleeps.
#[cold]
#[inline(never)]
fn release<P: HandOvers, H: HostWithSlots, L: Lane>(lane: L) {
    let now = turn::<H>();
    let hands_over = P::ALWAYS || lane.load(Ordering::Relaxed).to_u64() & TURNS != now;
    let change = |bits| {
        if hands_over { with_turn(bits, now) } else { with_turn(bits, bits & TURNS) & !HELD }
    };
    let oldest = remove_oldest::<H, L>(lane, |_| {}, change);
    call::<H>(oldest, if hands_over { GRANTED } else { CALLED });
}

/// The result of an attempt to join the queue.
enum Joined {
    Took,
    Asleep,
}

#[cold]
#[inline(never)]
fn wait<H: HostWithSlots, L: Lane>(lane: L) {
    H::count(Event::Slowpath);
    if !pv::may_park::<H>() {
        wait_yielding::<H, L>(lane, None);
        return;
    }
    let Some(me) = queue::take::<H>() else {
        H::count(Event::NoNode);
        wait_yielding::<H, L>(lane, None);
        return;
    };
    let former_use = sleepers::former_use::<H>(me);
    while !spin::<H, L>(lane) {
        if let Joined::Took = join::<H, L>(lane, me) {
            break;
        }
        if sleep::<H>(me) == GRANTED {
            break;
        }
    }
    sleepers::restore::<H>(me, former_use);
    queue::give_back::<H>(me);
}

/// Waits awake while no thread sleeps, for a few rounds. Returns true if it took the lock.
fn spin<H: HostWithSlots, L: Lane>(lane: L) -> bool {
    let mut round = 0;
    loop {
        let seen = lane.load(Ordering::Relaxed);
        let bits = seen.to_u64();
        if is_free(bits) {
            // Acquire: pairs with the release of the last holder.
            if lane.compare_exchange(seen, as_bits::<L>(bits | HELD), Ordering::Acquire).is_ok() {
                return true;
            }
            continue;
        }
        round += 1;
        if bits & QUEUED != 0 || round > ROUNDS {
            return false;
        }
        if round <= PAUSES {
            (0..1 << round).for_each(|_| H::relax());
        } else {
            H::yield_now();
        }
    }
}

/// Joins the queue, or takes the lock if it is free.
fn join<H: HostWithSlots, L: Lane>(lane: L, me: Name) -> Joined {
    // Relaxed: the compare-exchange publishes the node.
    me.node::<H>().ready.store(WAITING, Ordering::Relaxed);
    let now = turn::<H>();
    let mut seen = lane.load(Ordering::Relaxed);
    loop {
        let bits = seen.to_u64();
        let free = is_free(bits);
        let new = if free {
            bits | HELD
        } else {
            let last = newest(bits);
            sleepers::prepare::<H>(me, last);
            let turn = if last.is_none() { now } else { bits & TURNS };
            with_turn(with_newest(bits, Some(me)), turn)
        };
        // Acquire: pairs with the release of the last holder. Release: publishes the node, to the
        // thread that removes it.
        match lane.compare_exchange(seen, as_bits::<L>(new), Ordering::AcqRel) {
            Ok(_) if free => return Joined::Took,
            Ok(_) => return Joined::Asleep,
            Err(actual) => seen = actual,
        }
    }
}

/// Sleeps until the thread is called. Returns the state of its node.
fn sleep<H: HostWithSlots>(me: Name) -> u32 {
    let ready = &me.node::<H>().ready;
    // Relaxed, both: they order nothing, and the load below acquires.
    if ready.compare_exchange(WAITING, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        H::count(Event::Wait);
        loop {
            during::<H, _>(Region::Idle, || H::park(ready, ASLEEP, None));
            if ready.load(Ordering::Relaxed) != ASLEEP {
                break;
            }
        }
    }
    // Acquire: pairs with the release of the thread that calls this one.
    ready.load(Ordering::Acquire)
}
