//! The hot paths, each as a function of its own, to look at what they compile to.
//! `tests/hot_paths.rs` compiles this file and compares with `listings/`.
//!
//! The functions named `bare_*` are what one would write without the platform, over `core`'s atomics:
//! they must compile to the same instructions.

#![allow(missing_docs)]

use lockyard::{Held, LockRef, RawTestAndSetLock, RawTicketLock, TicketLock};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[unsafe(no_mangle)]
pub fn ticket_lock(lock: &RawTicketLock) -> Held<u16, ()> {
    lock.acquire()
}

/// # Safety
///
/// `held` is from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn ticket_unlock(lock: &RawTicketLock, held: Held<u16, ()>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn ticket_try_lock(lock: &RawTicketLock) -> Option<Held<u16, ()>> {
    lock.try_acquire()
}

#[unsafe(no_mangle)]
pub fn ticket_guard(lock: &TicketLock<u64>) {
    *lock.lock() += 1;
}

#[unsafe(no_mangle)]
pub fn test_and_set_lock(lock: &RawTestAndSetLock) -> Held<(), ()> {
    lock.acquire()
}

/// # Safety
///
/// `held` is from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn test_and_set_unlock(lock: &RawTestAndSetLock, held: Held<(), ()>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn lockref_get(lockref: &LockRef) {
    lockref.get()
}

#[unsafe(no_mangle)]
pub fn lockref_get_not_dead(lockref: &LockRef) -> bool {
    lockref.get_not_dead()
}

#[unsafe(no_mangle)]
pub fn lockref_put_return(lockref: &LockRef) -> Option<u32> {
    lockref.put_return()
}

#[unsafe(no_mangle)]
pub fn lockref_put_not_zero(lockref: &LockRef) -> bool {
    lockref.put_not_zero()
}

#[cold]
#[inline(never)]
fn bare_wait(lock: &AtomicU32, before: u32) {
    while lock.load(Ordering::Acquire) as u16 != (before >> 16) as u16 {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
pub fn bare_ticket_lock(lock: &AtomicU32) -> u16 {
    let before = lock.fetch_add(1 << 16, Ordering::Acquire);
    let ticket = (before >> 16) as u16;
    if ticket != before as u16 {
        bare_wait(lock, before);
    }
    ticket
}

#[cold]
#[inline(never)]
fn bare_get_slowly(lockref: &AtomicU64) {
    black_box(lockref);
}

#[unsafe(no_mangle)]
pub fn bare_lockref_get(lockref: &AtomicU64) {
    let mut seen = lockref.load(Ordering::Relaxed);
    let mut failures = 0;
    loop {
        let (owner, next) = ((seen >> 32) as u16, (seen >> 48) as u16);
        if next != owner {
            break;
        }
        let count = seen as u32;
        let new = if count >= 1 << 30 {
            std::hint::cold_path();
            if count == 1 << 30 { 3 << 29 } else { count }
        } else {
            count + 1
        };
        if new == count {
            return;
        }
        let wanted = (seen & !u64::from(u32::MAX)) | u64::from(new);
        match lockref.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(actual) => seen = actual,
        }
        failures += 1;
        if failures == 100 {
            break;
        }
    }
    bare_get_slowly(lockref);
}

fn main() {
    let lock = RawTicketLock::new();
    let held = ticket_lock(black_box(&lock));
    assert!(ticket_try_lock(&lock).is_none());
    // SAFETY: taken above.
    unsafe { ticket_unlock(&lock, held) };
    let counter = TicketLock::<u64>::new(0);
    ticket_guard(black_box(&counter));
    let lock = RawTestAndSetLock::new();
    let held = test_and_set_lock(black_box(&lock));
    // SAFETY: taken above.
    unsafe { test_and_set_unlock(&lock, held) };
    let lockref: LockRef = LockRef::new(1);
    lockref_get(black_box(&lockref));
    assert!(lockref_get_not_dead(&lockref) && lockref_put_not_zero(&lockref));
    assert_eq!(lockref_put_return(&lockref), Some(1));
    let bare = AtomicU32::new(0);
    assert_eq!(bare_ticket_lock(black_box(&bare)), 0);
    let bare = AtomicU64::new(0);
    bare_lockref_get(black_box(&bare));
    println!("{lock:?} {lockref:?} {counter:?} {bare:?}");
}
