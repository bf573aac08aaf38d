//! The hot paths, each as a separate function, so that their instructions can be seen.
//! `tests/hot_paths.rs` compiles this file and compares the result with `listings/`.
//!
//! The functions named `bare_*` do the same without the platform, with `core`'s atomics. They must
//! compile to the same instructions.

#![allow(missing_docs)]

use lockyard::kind::{Choice, Kind, StaticChoice};
use lockyard::lock::pv::Spins;
use lockyard::lock::{CmpxchgGrab, PvQueued, PvTicket, Queued, Ticket};
use lockyard::on::{self, RawTicketLock8};
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, PageRef, Xadd};
use lockyard::platform::Portable;
use lockyard::platform::{Host, Native, NativeAtomics, NativeU32, Slot};
use lockyard::{
    Held, LockRef, LockRefGuard, QSpinLock, RawChosenLock, RawPvQSpinLock, RawPvTicketLock,
    RawQSpinLock, RawSpinLock, RawTestAndSetLock, RawTicketLock, TicketLock,
};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The calls whose cost `lockyard lock-call-path` measures. The lab includes the same file.
#[path = "common/ways.rs"]
pub mod ways;

/// This machine, for at most 255 of its threads, as the ticket lock of 2 bytes requires.
pub struct Few;

// SAFETY: slots (below `SLOTS`), nodes and memory come from `Native`. One thread contends.
unsafe impl Host for Few {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = 255;

    fn slot() -> Option<Slot> {
        Native::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    lockyard::forward_to_host!(Native: memory, activity, rest);
}

#[unsafe(no_mangle)]
pub fn ticket_lock(lock: &RawTicketLock) -> Held<RawTicketLock> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn ticket_unlock(lock: &RawTicketLock, held: Held<RawTicketLock>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn ticket_try_lock(lock: &RawTicketLock) -> Option<Held<RawTicketLock>> {
    lock.try_acquire()
}

#[unsafe(no_mangle)]
pub fn ticket_guard(lock: &TicketLock<u64>) {
    *lock.lock() += 1;
}

#[unsafe(no_mangle)]
pub fn ticket8_lock(lock: &RawTicketLock8<Few>) -> Held<RawTicketLock8<Few>> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn ticket8_unlock(lock: &RawTicketLock8<Few>, held: Held<RawTicketLock8<Few>>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn queued_lock(lock: &RawQSpinLock) -> Held<RawQSpinLock> {
    lock.acquire()
}

#[unsafe(no_mangle)]
pub fn queued_try_lock(lock: &RawQSpinLock) -> Option<Held<RawQSpinLock>> {
    lock.try_acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn queued_unlock(lock: &RawQSpinLock, held: Held<RawQSpinLock>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn queued_portable_unlock(
    lock: &on::RawQSpinLock<Portable<Native>>,
    held: Held<on::RawQSpinLock<Portable<Native>>>,
) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn queued_guard(lock: &QSpinLock<u64>) {
    *lock.lock() += 1;
}

#[unsafe(no_mangle)]
pub fn queued_cmpxchg_grab_lock(
    lock: &RawSpinLock<Queued<CmpxchgGrab>>,
) -> Held<RawSpinLock<Queued<CmpxchgGrab>>> {
    lock.acquire()
}

#[unsafe(no_mangle)]
pub fn pv_ticket_lock(lock: &RawPvTicketLock) -> Held<RawPvTicketLock> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn pv_ticket_unlock(lock: &RawPvTicketLock, held: Held<RawPvTicketLock>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn pv_queued_lock(lock: &RawPvQSpinLock) -> Held<RawPvQSpinLock> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn pv_queued_unlock(lock: &RawPvQSpinLock, held: Held<RawPvQSpinLock>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn pv_ticket_spins_unlock(
    lock: &RawSpinLock<PvTicket<Spins>>,
    held: Held<RawSpinLock<PvTicket<Spins>>>,
) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn pv_queued_spins_unlock(
    lock: &RawSpinLock<PvQueued<Spins>>,
    held: Held<RawSpinLock<PvQueued<Spins>>>,
) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

#[unsafe(no_mangle)]
pub fn test_and_set_lock(lock: &RawTestAndSetLock) -> Held<RawTestAndSetLock> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn test_and_set_unlock(lock: &RawTestAndSetLock, held: Held<RawTestAndSetLock>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

/// Locks whose kind is chosen at run time.
pub struct Chosen;
static CHOSEN: Choice = Choice::new(Kind::Ticket);
impl StaticChoice for Chosen {
    const CHOICE: &'static Choice = &CHOSEN;
}

#[unsafe(no_mangle)]
pub fn chosen_lock(lock: &RawChosenLock<Chosen>) -> Held<RawChosenLock<Chosen>> {
    lock.acquire()
}

/// # Safety
///
/// `held` must come from `lock`.
#[unsafe(no_mangle)]
pub unsafe fn chosen_unlock(lock: &RawChosenLock<Chosen>, held: Held<RawChosenLock<Chosen>>) {
    // SAFETY: the caller's promise.
    unsafe { lock.release(held) }
}

/// # Safety
///
/// The same as for `ways::Loop`.
#[unsafe(no_mangle)]
pub unsafe fn call_inlined(section: &mut ways::Section, times: u64) {
    // SAFETY: the caller's promise.
    unsafe { ways::inlined::<Ticket>(section, times) }
}

/// # Safety
///
/// The same as for `ways::Loop`.
#[unsafe(no_mangle)]
pub unsafe fn call_direct(section: &mut ways::Section, times: u64) {
    // SAFETY: the caller's promise.
    unsafe { ways::direct::<Ticket>(section, times) }
}

/// # Safety
///
/// The same as for `ways::indirect`.
#[unsafe(no_mangle)]
pub unsafe fn call_indirect(table: &ways::Table, section: &mut ways::Section, times: u64) {
    // SAFETY: the caller's promise.
    unsafe { ways::indirect(table, section, times) }
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

#[unsafe(no_mangle)]
pub fn lockref_put_or_lock(lockref: &LockRef) -> Option<LockRefGuard<'_>> {
    lockref.put_or_lock()
}

#[unsafe(no_mangle)]
pub fn page_get(page: &PageRef<Xadd>) {
    page.get();
}

#[unsafe(no_mangle)]
pub fn page_get_not_zero_cmpxchg(page: &PageRef<Cmpxchg>) -> bool {
    page.get_not_zero()
}

#[unsafe(no_mangle)]
pub fn page_get_not_zero_optimistic(page: &PageRef<OptimisticCmpxchg>) -> bool {
    page.get_not_zero()
}

#[unsafe(no_mangle)]
pub fn page_get_not_zero_locked_bit(page: &PageRef<LockedBit>) -> bool {
    page.get_not_zero()
}

#[unsafe(no_mangle)]
pub fn page_put(page: &PageRef<Xadd>) -> bool {
    page.put()
}

#[unsafe(no_mangle)]
pub fn page_put_locked_bit(page: &PageRef<LockedBit>) -> bool {
    page.put()
}

#[cold]
#[inline(never)]
fn bare_wait(lock: &AtomicU32, before: u32) -> u16 {
    let ticket = (before >> 16) as u16;
    while lock.load(Ordering::Acquire) as u16 != ticket {
        std::hint::spin_loop();
    }
    ticket
}

#[unsafe(no_mangle)]
pub fn bare_ticket_lock(lock: &AtomicU32) -> u16 {
    let before = lock.fetch_add(1 << 16, Ordering::Acquire);
    let ticket = (before >> 16) as u16;
    if ticket != before as u16 {
        return bare_wait(lock, before);
    }
    ticket
}

#[cold]
#[inline(never)]
fn bare_lock_slowly(lock: &AtomicU32, seen: u32) {
    black_box((lock, seen));
}

#[unsafe(no_mangle)]
pub fn bare_queued_lock(lock: &AtomicU32) {
    if let Err(seen) = lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
        bare_lock_slowly(lock, seen);
    }
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
        if seen >> 32 != 0 {
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
    let small = RawTicketLock8::<Few>::new();
    let held = ticket8_lock(black_box(&small));
    assert!(small.is_held());
    // SAFETY: taken above.
    unsafe { ticket8_unlock(&small, held) };
    let lock = RawQSpinLock::new();
    let held = queued_lock(black_box(&lock));
    assert!(queued_try_lock(&lock).is_none());
    // SAFETY: taken above.
    unsafe { queued_unlock(&lock, held) };
    let portable = on::RawQSpinLock::<Portable<Native>>::new();
    let held = portable.acquire();
    // SAFETY: taken above.
    unsafe { queued_portable_unlock(black_box(&portable), held) };
    let other = RawSpinLock::<Queued<CmpxchgGrab>>::new();
    let held = queued_cmpxchg_grab_lock(black_box(&other));
    // SAFETY: taken above.
    unsafe { other.release(held) };
    queued_guard(black_box(&QSpinLock::new(0)));
    let bare = AtomicU32::new(0);
    bare_queued_lock(black_box(&bare));
    let lock = RawTestAndSetLock::new();
    let held = test_and_set_lock(black_box(&lock));
    // SAFETY: taken above.
    unsafe { test_and_set_unlock(&lock, held) };
    let chosen = RawChosenLock::new();
    let held = chosen_lock(black_box(&chosen));
    // SAFETY: taken above.
    unsafe { chosen_unlock(&chosen, held) };
    let mut section = ways::Section { word: NativeU32::new(0), count: 0 };
    let compiled = black_box(ways::Compiled::of(Kind::Ticket));
    // SAFETY: the section is new, and all calls use one kind.
    unsafe {
        call_inlined(&mut section, 2);
        call_direct(&mut section, 2);
        call_indirect(&compiled.table, &mut section, 2);
    }
    assert_eq!(section.count, 6);
    let lockref: LockRef = LockRef::new(1);
    lockref_get(black_box(&lockref));
    assert!(lockref_get_not_dead(&lockref) && lockref_put_not_zero(&lockref));
    assert_eq!(lockref_put_return(&lockref), Some(1));
    assert!(lockref_put_or_lock(&lockref).is_some());
    let page = PageRef::<Xadd>::new(1);
    page_get(black_box(&page));
    assert!(!page_put(&page));
    let page = PageRef::<Cmpxchg>::new(1);
    assert!(page_get_not_zero_cmpxchg(black_box(&page)));
    let page = PageRef::<OptimisticCmpxchg>::new(1);
    assert!(page_get_not_zero_optimistic(black_box(&page)));
    let page = PageRef::<LockedBit>::new(1);
    assert!(page_get_not_zero_locked_bit(black_box(&page)) && !page_put_locked_bit(&page));
    let bare = AtomicU32::new(0);
    assert_eq!(bare_ticket_lock(black_box(&bare)), 0);
    let bare = AtomicU64::new(0);
    bare_lockref_get(black_box(&bare));
    println!("{lock:?} {small:?} {lockref:?} {counter:?} {bare:?}");
}
