//! The mutex: cheap when free, a short spin when contended, sleep when that does not help, and a
//! hand-over to a thread that has waited too long.
//!
//! ```text
//!    31                16 15     12 11 10  9  8 7      1 0
//!   +--------------------+---------+--+--+--+--+--------+-+
//!   | newest sleeper     | spinners| L| D| A| Q|        |H|      free  <=>  H is 0
//!   +--------------------+---------+--+--+--+--+--------+-+
//!
//!   H   held                     lock: exchange of the byte; unlock: a store of the byte
//!   Q   someone sleeps           set by joining the queue
//!   A   a sleeper is awake       set by the wake-up, cleared by the woken thread
//!   D   the oldest demands       the next release hands the lock to the oldest sleeper
//!   L   the queue lock           for removing a sleeper; joining does not need it
//! ```
//!
//! The second byte tells a release what it must do. It is read as a byte, because a load of more
//! would wait for the store of the first byte (see [`Part::load_part`](crate::platform::Part)).
//!
//! | second byte | release |
//! | --- | --- |
//! | D | hands over: H stays set, and the oldest sleeper finds in its node that it has the lock |
//! | Q, without A and spinners | frees the lock and wakes the oldest sleeper |
//! | anything else | frees the lock: somebody who is awake will take it |
//!
//! # Waiting
//!
//! 1. A thread that finds the lock held registers as a spinner, if fewer than
//!    [`Patience::SPINNERS`] threads spin. It polls [`Patience::POLLS`] times, with growing gaps,
//!    so that the line stays with the threads that use it. While other threads sleep, it polls only
//!    a third of that number.
//! 2. Then it joins the queue and sleeps.
//! 3. It is woken when the lock is free and no other thread is awake to take the lock. It competes
//!    with newcomers as a spinner does. If it loses, it returns to the front of the queue. When it
//!    is woken again, it polls only once, because it may keep the holder from the CPU.
//! 4. A sleeper demands the lock, by setting D, when it knows that it is the oldest, and has waited
//!    for longer than [`Patience::NAP`]. It checks this after a nap, and after a wake-up in vain.
//!    After the demand it waits a moment for the hand-over, and then sleeps.
//!
//! A demand is served by the next release that sees it and finds the queue lock free. A release
//! that read the word before the demand, or that finds the queue lock taken, still lets another
//! thread pass. The thread with the queue lock may then turn the demand into a wake-up, and the
//! woken thread competes again.
//!
//! # How a thread sleeps
//!
//! A *nap* ends after a time, and the sleeper then looks at the lock. Any other sleep ends when
//! another thread *calls* the sleeper, which takes it out of the queue, or *nudges* it, which does
//! not.
//!
//! | sleeper | sleeps |
//! | --- | --- |
//! | any, when it has joined | one nap of [`Patience::NAP`] |
//! | the newest | naps |
//! | one that knows that it is the oldest | naps |
//! | any other | until it is called or nudged |
//!
//! Each nap makes the sleeper's total time in naps 16 times as long as before the nap, and lasts
//! [`Patience::LONGEST_NAP`] at most. So waiters cost nothing: whatever their number, after their
//! first nap at most two waiters for each lock still nap, and rarely.
//!
//! - A sleeper whose nap has ended nudges the oldest sleeper, unless the oldest naps. A nudged
//!   sleeper is the oldest or the newest, so it naps from then on, at first for [`Patience::NAP`].
//! - A release that serves a demand nudges the next oldest sleeper. So while newcomers keep the
//!   lock busy, there is about one hand-over in each [`Patience::NAP`]. A sleeper with *n* others
//!   before it waits for about *n* + 1 hand-overs.
//! - A called thread that has waited for 50 times [`Patience::NAP`], and takes the lock while
//!   others spin, nudges the next oldest sleeper.
//! - The newest sleeper nudges the next older sleeper when it leaves after a timeout.
//!
//! # Why no wake-up is lost for long
//!
//! With [`Patience::PLAIN_RELEASE`] a release loads the second byte, and then stores the first.
//! Between the load and the store, or while the store is still in the core's store buffer, another
//! thread may find the lock held and join the queue. Or it may give up as a spinner, or as the
//! thread that is awake. The release does not see this change, and wakes no thread. The next holder
//! sees it, but if no thread comes, there is no next holder.
//!
//! Then some sleeper is in a nap that began *after* that moment:
//!
//! - A newcomer or a spinner that joins naps, until another thread joins behind it. That thread
//!   naps in its place, and its nap began later.
//! - A called thread that returns to the queue is the oldest sleeper, and naps. Until it leaves the
//!   queue again, no other thread is called. Another release called it, so the first release has
//!   ended.
//! - An oldest sleeper that gives up nudges the next oldest, however that one sleeps.
//! - A called thread that gives up nudges the oldest sleeper, however that one sleeps.
//! - A newest sleeper that gives up nudges the next older sleeper, however that one sleeps.
//!
//! When that nap ends and the lock is free, the sleeper does what the release should have done. A
//! nap lasts 15 times as long as the sleeper has napped before it. So a missed wake-up delays the
//! queue by at most 15 times the time between the two halves of the release, or by a first nap.
//! These are two adjacent instructions: only a holder that is preempted between them makes that
//! time long.
//!
//! Without `PLAIN_RELEASE` a release is one compare-exchange of the whole word, and misses nothing.
//! The models of this lock have both forms. In the model with the compare-exchange, no thread naps.
//!
//! A release that finds the queue lock taken only frees the lock. The thread with the queue lock
//! looks at the lock when it gives the queue lock back, and wakes the oldest sleeper if necessary.
//! So a release waits for no thread. (A fair release does wait, for the queue lock.)
//!
//! # What is not bounded
//!
//! - The time until a sleeper finds that it has become the oldest, because the sleeper before it
//!   was called and took the lock while others barge. It is nudged when a newcomer's first nap
//!   ends, or a nap of the newest sleeper. If no newcomer sleeps, that may take 15 times as long as
//!   the newest sleeper has waited, and [`Patience::LONGEST_NAP`] at most.
//! - The time for which the thread with the queue lock is preempted. Releases leave the wake-up to
//!   it. Fair releases, timed waits that end, and woken threads that lose wait for it.
//! - The time for which a holder, or a woken thread, is preempted. While the woken thread or a
//!   spinner is preempted, no other sleeper is woken in its place. Newcomers may take the lock
//!   meanwhile.
//! - A fair release in interruption code: it waits for the queue lock, which the interrupted thread
//!   may hold. So interruption code must not release fairly.
//! - The wait of a thread without a slot or in an interruption: it yields, and all other threads
//!   may pass it. See [`HostWithSlots`].
//! - On a host without a clock, the naps count as the time waited.
//!
//! # Sources
//!
//! - A lock word that distinguishes threads that are awake from threads that sleep, and at most one
//!   wake-up in flight: the runtime of Go (D. Vyukov), described in its `sync.Mutex`.
//! - Barging with an occasional hand-over: F. Pizlo, *Locking in WebKit*, 2016.
//! - A hand-over that a waiter demands: the kernel's mutex, in its documentation
//!   (*Generic Mutex Subsystem*).
//! - Spinning for about as long as a sleep takes: A. Karlin et al., *Empirical Studies of
//!   Competitive Spinning*, SOSP 1991.
//!
//! This code was written from the descriptions, not from an implementation.

use super::adaptive_word::{
    HELD, QUEUED, as_bits, hand_over, is_free, is_simple, lock_queue, newest, release, unlock_queue,
};
use super::algorithm::{Algorithm, FairLock, LaneLock, TimedLock};
use super::deadline::Deadline;
use super::{adaptive_wait, queue};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane};
use crate::platform::{Host, HostWithSlots, Instant, Int, Ordering};

pub use super::patience::{Patience, Usual};

/// The mutex. See the [module documentation](self).
///
/// Uncontended: one exchange, then one load and one plain store (x86-64), or one compare-exchange
/// (elsewhere). It needs a lane of 32 bits.
#[derive(Debug)]
pub struct Adaptive<P: Patience = Usual>(Invariant<P>);

/// Fails to compile if the policy makes no sense.
pub(crate) const fn assert_policy<P: Patience>() {
    assert!(P::SPINNERS >= 1 && P::SPINNERS <= 15, "a lock has 1 to 15 spinners");
    assert!(P::POLLS >= 1 && P::FIRST_GAP >= 1, "a spinner polls and pauses at least once");
    assert!(
        P::FIRST_GAP <= P::LONGEST_GAP && P::LONGEST_GAP <= 1 << 16 && P::POLLS <= 1 << 16,
        "the gaps of a spinner grow from the first to the longest, and it pauses and polls at most \
         2^16 times"
    );
    assert!(
        !P::PLAIN_RELEASE || P::NAP.is_some(),
        "a plain release may miss a sleeper, so the sleeper's naps must end"
    );
}

/// Fails to compile if the mutex does not fit the host or the lane.
const fn assert_fits<P: Patience, H: Host, L: Lane>() {
    assert_policy::<P>();
    queue::assert_names_fit::<H, L>();
}

impl<P: Patience> Algorithm for Adaptive<P> {
    type Token = ();
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        !is_free(bits.to_u64())
    }
}

// SAFETY: exclusion: a thread is inside if its exchange or compare-exchange changed `HELD` from 0
// to 1, or if the former thread inside left `HELD` set and stored `GRANTED` in the new thread's
// node, once. Only the thread inside clears `HELD`. Ordering: those operations and the load of
// `GRANTED` are acquires; the operations that clear `HELD`, and the store of `GRANTED`, are
// releases. Every change of the word is a read-modify-write, or stands for one, and stays in the
// lane.
unsafe impl<P: Patience, H: HostWithSlots> LaneLock<H> for Adaptive<P> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) {
        // SAFETY: the caller's promise.
        if unsafe { <Self as LaneLock<H>>::try_lock_first(lane) }.is_none() {
            adaptive_wait::wait::<P, H, L>(lane);
        }
    }

    #[inline(always)]
    unsafe fn try_lock_first<L: Lane>(lane: L) -> Option<()> {
        const { assert_fits::<P, H, L>() }
        // Acquire: pairs with the release in `unlock`, or in `release`.
        (lane.swap_lowest_byte(1, Ordering::Acquire) == 0).then_some(())
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        const { assert_fits::<P, H, L>() }
        if lane.load_byte(0, Ordering::Relaxed) != 0 {
            return None;
        }
        // Acquire: as in `lock`.
        (lane.swap_lowest_byte(1, Ordering::Acquire) == 0).then_some(())
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, _token: ()) {
        if P::PLAIN_RELEASE {
            // Relaxed: the links are read under the queue lock.
            let second = u64::from(lane.load_byte(1, Ordering::Relaxed)) << u8::BITS;
            if is_simple(second) {
                // Release: pairs with the acquire of the next holder. Only the holder changes the
                // byte: others write the 1 that is there.
                return lane.store_lowest_byte(1, 0, Ordering::Release);
            }
        } else {
            let (held, free) = (as_bits::<L>(HELD), as_bits::<L>(0));
            // Release: as above.
            if lane.compare_exchange(held, free, Ordering::Release).is_ok() {
                return;
            }
        }
        release::<P, H, L>(lane);
    }
}

// SAFETY: as for `LaneLock`.
unsafe impl<P: Patience, H: HostWithSlots> FairLock<H> for Adaptive<P> {
    /// Hands the lock to the oldest sleeper, if there is one. A thread that was woken and still
    /// competes is not in the queue, so the hand-over may pass it.
    #[inline]
    unsafe fn unlock_fair<L: Lane>(lane: L, token: ()) {
        let second = u64::from(lane.load_byte(1, Ordering::Relaxed)) << u8::BITS;
        if second & QUEUED == 0 {
            // SAFETY: the caller's promise.
            return unsafe { <Self as LaneLock<H>>::unlock(lane, token) };
        }
        let seen = lock_queue::<H, L>(lane);
        if newest(seen).is_some() {
            hand_over::<H, L>(lane);
        } else {
            unlock_queue::<H, L>(lane, seen, HELD, 0);
        }
    }
}

// SAFETY: as for `LaneLock`. A wait that gives up removes its node from the queue, and its marks
// from the word.
unsafe impl<P: Patience, H: HostWithSlots> TimedLock<H> for Adaptive<P> {
    #[cold]
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<()> {
        const { assert_fits::<P, H, L>() }
        // SAFETY: the caller's promise.
        if let Some(token) = unsafe { <Self as LaneLock<H>>::try_lock(lane) } {
            return Some(token);
        }
        adaptive_wait::wait_until::<P, H, L>(lane, Deadline::new(until)).then_some(())
    }
}
