//! Locks whose holder does not keep the value that it must give back, as in C.

use lockyard::lock::{
    Adaptive, LaneLock, PvQueued, PvTicket, Queued, TestAndSet, Ticket, Ticket8, TokenInLane, pv,
};
use lockyard::platform::{Native, NativeU64, Ordering, Word};
use lockyard::{LockRef, RawSpinLock};
use std::mem;
use std::thread;

const THREADS: u64 = 4;
/// Enough for tickets to wrap in 15 bits.
const ROUNDS: u64 = 10_000;

/// Counts under a lock, without read-modify-writes, in some threads.
fn count(enter: impl Fn() + Sync, leave: impl Fn() + Sync) {
    let sum = NativeU64::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    enter();
                    sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    leave();
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), THREADS * ROUNDS);
}

fn is_released_without_a_token<K: LaneLock<Native> + TokenInLane>() {
    let lock = RawSpinLock::<K>::new();
    count(
        // Dropping the result of `acquire` does not release the lock.
        || {
            let _ = lock.acquire();
        },
        // SAFETY: taken above, by this thread.
        || unsafe { lock.release(lock.held_by_caller()) },
    );
    assert!(!lock.is_held());
}

#[test]
fn locks_with_their_token_in_the_word_need_none() {
    is_released_without_a_token::<Adaptive>();
    is_released_without_a_token::<Queued>();
    is_released_without_a_token::<TestAndSet>();
    is_released_without_a_token::<Ticket>();
    is_released_without_a_token::<PvTicket>();
    is_released_without_a_token::<PvTicket<pv::Spins>>();
}

#[test]
fn a_token_can_be_kept_beside_the_lock() {
    let lock = RawSpinLock::<PvQueued>::new();
    let token = NativeU64::new(0);
    count(
        || {
            let mine = lock.acquire().into_token();
            token.store(u64::from(mine), Ordering::Relaxed);
        },
        || {
            let mine = token.load(Ordering::Relaxed) as u32;
            // SAFETY: the token belongs to the acquisition above, by this thread. It is read under
            // the lock.
            unsafe { lock.release(lockyard::Held::from_token(mine)) };
        },
    );
    assert!(!lock.is_held());
}

#[test]
fn a_lockref_is_unlocked_without_its_guard() {
    let lockref = LockRef::new(1);
    count(
        || mem::forget(lockref.lock()),
        // SAFETY: taken above, by this thread; that guard is forgotten.
        || drop(unsafe { lockref.guard_of_caller() }),
    );
    assert!(!lockref.is_locked());
}

#[test]
fn tokens_are_those_of_the_lane() {
    assert_eq!(Ticket::<lockyard::lock::PlainLoop>::token_of_holder(0x0008_0007_u32), 7);
    assert_eq!(Ticket8::token_of_holder(0x0807_u16), 7);
    // The lowest bit of a parking ticket lock is a flag.
    assert_eq!(<PvTicket>::token_of_holder(0x000a_0009_u32), 8);
}
