//! The mutex of three states: free, held, and held while others may sleep. Most mutexes in today's
//! programs work like this, so it is here for comparison and for predictions.
//!
//! | word | meaning | lock | unlock |
//! | --- | --- | --- | --- |
//! | 0 | free | compare-exchange to 1 | |
//! | 1 | held | exchange for 2, then sleep while it is 2 | exchange for 0 |
//! | 2 | held, others may sleep | the same | exchange for 0, then wake one sleeper |
//!
//! A sleeper waits on the lock's word itself. Newcomers may pass a sleeper any number of times: no
//! wait is bounded.
//!
//! The two mutexes named here differ only in [`Spins::POLLS`]:
//!
//! A thread that sees the mark of a sleeper sleeps without an exchange of its own, both at once and
//! after its polls. A thread polls before its first exchange, and again after each wake-up.
//!
//! | name | polls | as |
//! | --- | --- | --- |
//! | [`StdLike`] | 100 | `std::sync::Mutex` of Rust on Linux, by its documentation |
//! | [`PthreadLike`] | 0 | a plain `pthread_mutex_t` of Linux |
//!
//! Source: U. Drepper, *Futexes Are Tricky*, 2011, the second mutex. This code was written from the
//! paper, not from an implementation.

use super::algorithm::{Algorithm, LaneLock};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane};
use crate::platform::{Event, Host, Int, Ordering, Region, U32, during};
use core::any::TypeId;
use core::fmt::Debug;

/// The spin of a [`ThreeStates`] mutex before it sleeps.
pub trait Spins: Debug + 'static {
    /// Number of polls while the lock is held and no thread sleeps, before each sleep.
    const POLLS: u32;
}

/// Spins as `std::sync::Mutex` does on Linux.
#[derive(Debug)]
pub struct StdLike;
impl Spins for StdLike {
    const POLLS: u32 = 100;
}

/// Does not spin, like a `pthread_mutex_t` with default attributes.
#[derive(Debug)]
pub struct PthreadLike;
impl Spins for PthreadLike {
    const POLLS: u32 = 0;
}

/// The mutex of three states. See the [module documentation](self).
///
/// Uncontended: a compare-exchange and an exchange. In a word of 32 bits its waiters sleep. In a
/// part of a larger word (a lockref) they yield, because no host can wait there.
#[derive(Debug)]
pub struct ThreeStates<S: Spins = StdLike>(Invariant<S>);

const FREE: u64 = 0;
const HELD: u64 = 1;
const WITH_SLEEPERS: u64 = 2;

fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

/// Returns the lane's word if a thread of `H` can sleep on it.
fn word_to_sleep_on<H: Host, L: Lane>(lane: &L) -> Option<&U32<H>> {
    let is_whole = L::SHIFT == 0 && TypeId::of::<L::Word>() == TypeId::of::<U32<H>>();
    // SAFETY: the two types are the same, so this is a cast of a reference to its own type.
    is_whole.then(|| unsafe { &*core::ptr::from_ref(lane.word()).cast::<U32<H>>() })
}

impl<S: Spins> Algorithm for ThreeStates<S> {
    type Token = ();
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() != FREE
    }
}

// SAFETY: exclusion: a thread is inside if its operation changed the lane from 0, and only the
// thread inside changes the lane back to 0. Ordering: as the comments at the operations say. All
// changes are read-modify-writes of the lane.
unsafe impl<S: Spins, H: Host> LaneLock<H> for ThreeStates<S> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`.
        if let Err(seen) =
            lane.compare_exchange(bits::<L>(FREE), bits::<L>(HELD), Ordering::Acquire)
        {
            wait::<S, H, L>(lane, seen.to_u64());
        }
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: as in `lock`.
        lane.compare_exchange(bits::<L>(FREE), bits::<L>(HELD), Ordering::Acquire).ok().map(drop)
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, _token: ()) {
        let sleeps_on = word_to_sleep_on::<H, L>(&lane).map(core::ptr::from_ref);
        // Release: pairs with the acquire of the next holder.
        if u64::from(lane.swap_lowest_byte(FREE as u8, Ordering::Release)) == WITH_SLEEPERS
            && let Some(word) = sleeps_on
        {
            H::count(Event::Kick);
            H::unpark(word, 1);
        }
    }
}

#[cold]
#[inline(never)]
fn wait<S: Spins, H: Host, L: Lane>(lane: L, mut seen: u64) {
    H::count(Event::Slowpath);
    if S::POLLS > 0 {
        seen = spin::<S, H, L>(&lane);
    }
    // Acquire: pairs with the release in `unlock`.
    if seen == FREE
        && lane.compare_exchange(bits::<L>(FREE), bits::<L>(HELD), Ordering::Acquire).is_ok()
    {
        return;
    }
    loop {
        // Acquire: as above. A thread that has slept does not know whether others still sleep, so
        // it takes the lock with the mark.
        if seen != WITH_SLEEPERS
            && u64::from(lane.swap_lowest_byte(WITH_SLEEPERS as u8, Ordering::Acquire)) == FREE
        {
            return;
        }
        match word_to_sleep_on::<H, L>(&lane) {
            Some(word) => {
                H::count(Event::Wait);
                during::<H, _>(Region::Idle, || H::park(word, WITH_SLEEPERS as u32, None));
            }
            None => {
                // Relaxed: a hint.
                lane.wait_yielding::<H>(Ordering::Relaxed, |bits| bits == FREE);
            }
        }
        seen = if S::POLLS > 0 { spin::<S, H, L>(&lane) } else { HELD };
    }
}

/// Polls while the lock is held and no thread sleeps. Returns the state that it saw last.
#[inline(always)]
fn spin<S: Spins, H: Host, L: Lane>(lane: &L) -> u64 {
    // Relaxed: a hint.
    match lane.wait_within::<H>(Ordering::Relaxed, S::POLLS, |bits| bits != HELD) {
        Some(seen) => seen.to_u64(),
        None => HELD,
    }
}
