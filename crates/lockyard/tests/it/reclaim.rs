//! Reclamation on real threads: no object is freed while a reader has it, and no object is lost.
//! Some tests inject failures: no memory, no slot, a reader that never leaves, a panic in the
//! middle, a signal. The tests are bounded by operations, not time.

#![cfg(feature = "std")]

use lockyard::platform::{Host, Native, NativeU64, Ordering, Slot, Word};
use lockyard::reclaim::{Domain, Header, Owned, StillRead};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use crate::support::failing::Failing;

/// A value that counts its live instances, and checks its identity when it is read.
struct Counted {
    value: u64,
    check: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(value: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted { value, check: !value, alive: Arc::clone(alive) }
    }

    fn look(&self) {
        assert_eq!(self.check, !self.value, "it was freed");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.check = 0;
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A shared pointer to a [`Counted`], replaced and read.
struct Place {
    domain: lockyard::Domain,
    bits: NativeU64,
    alive: Arc<AtomicUsize>,
}

impl Place {
    fn new() -> Self {
        let alive = Arc::default();
        let first = Owned::new(Counted::new(0, &alive)).ok().unwrap();
        Place { domain: Domain::new(), bits: NativeU64::new(first.into_bits()), alive }
    }

    fn replace(&self, value: u64) {
        let new = Owned::new(Counted::new(value, &self.alive)).ok().unwrap().into_bits();
        let old = self.bits.swap(new, Ordering::AcqRel);
        // SAFETY: the exchange took the object out of reach, and only this thread has it.
        unsafe { self.domain.retire_owned(Owned::<Counted>::from_bits(old)) };
    }

    fn read(&self) -> u64 {
        let guard = self.domain.enter();
        // SAFETY: only `replace` and `drop` free the object of `bits`.
        let seen = unsafe { guard.deref_bits::<Counted>(self.bits.load(Ordering::Acquire)) };
        let seen = seen.unwrap();
        seen.look();
        thread::yield_now();
        seen.look();
        seen.value
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: no thread reads it any more.
        drop(unsafe { Owned::<Counted>::from_bits(self.bits.get()) });
    }
}

#[test]
fn readers_find_living_objects_and_nothing_is_lost() {
    const ROUNDS: u64 = 3_000;
    let place = Place::new();
    let alive = Arc::clone(&place.alive);
    thread::scope(|scope| {
        for writer in 0..2 {
            let place = &place;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    place.replace(round * 2 + writer);
                    if round % 500 == 0 {
                        place.domain.barrier();
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    place.read();
                }
            });
        }
    });
    place.domain.barrier();
    assert_eq!(place.domain.pending(), 0);
    assert_eq!(place.alive(), 1, "only the last one remains");
    drop(place);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn waiting_objects_are_bounded_while_readers_leave() {
    let place = Place::new();
    for value in 0..100_000 {
        place.replace(value);
        place.read();
        assert!(place.domain.pending() <= 192, "{} wait", place.domain.pending());
    }
}

#[test]
fn objects_that_a_thread_leaves_behind_are_freed_by_others() {
    let place = Place::new();
    // The threads run at the same time, so they have different slots.
    let together = Barrier::new(8);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (place, together) = (&place, &together);
            scope.spawn(move || {
                together.wait();
                drop(place.domain.enter());
                for value in 0..10 {
                    place.replace(thread * 10 + value);
                }
                together.wait();
            });
        }
    });
    assert_eq!(place.alive(), 81);
    drop(place.domain.enter());
    for value in 0..1_000 {
        place.replace(value);
    }
    assert!(place.alive() <= 193, "{} are alive", place.alive());
    while place.domain.pending() > 0 {
        place.domain.collect();
    }
    assert_eq!(place.alive(), 1);
}

#[test]
fn under_a_reader_that_never_leaves_memory_grows_and_nothing_is_freed() {
    const RETIRED: usize = 10_000;
    let place = Place::new();
    let (ready, is_ready) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let place = &place;
        scope.spawn(move || {
            let guard = place.domain.enter();
            // SAFETY: as in `read`.
            let seen = unsafe { guard.deref_bits::<Counted>(place.bits.load(Ordering::Acquire)) };
            ready.send(Native::slot()).unwrap();
            may_leave.recv().unwrap();
            seen.unwrap().look();
        });
        let slot: Option<Slot> = is_ready.recv().unwrap();
        for value in 0..RETIRED {
            place.replace(value as u64);
        }
        assert_eq!(place.domain.pending(), RETIRED as u64);
        assert_eq!(place.alive(), RETIRED + 1);
        assert_eq!(place.domain.try_synchronize(100), Err(StillRead { slot }));
        leave.send(()).unwrap();
    });
    assert_eq!(place.domain.try_synchronize(1), Ok(()));
    place.domain.barrier();
    assert_eq!(place.alive(), 1, "everything is freed after it has left");
}

#[test]
fn guards_nest_and_the_outermost_counts() {
    let place = Place::new();
    let (one, two) = (place.domain.enter(), place.domain.enter());
    place.replace(1);
    drop(one);
    assert_eq!(place.domain.try_synchronize(10), Err(StillRead { slot: Native::slot() }));
    for _ in 0..10 {
        place.domain.collect();
    }
    assert_eq!(place.alive(), 2);
    drop(two);
    place.domain.barrier();
    assert_eq!(place.alive(), 1);
}

#[test]
fn a_thread_does_not_wait_for_itself() {
    let domain: lockyard::Domain = Domain::new();
    let guard = domain.enter();
    assert!(catch_unwind(AssertUnwindSafe(|| domain.synchronize())).is_err());
    drop(guard);
    domain.synchronize();
}

#[test]
fn a_quiescent_state_releases_earlier_reads() {
    let place = Place::new();
    let mut guard = place.domain.enter();
    for value in 0..10_000 {
        // SAFETY: as in `read`.
        let seen = unsafe { guard.deref_bits::<Counted>(place.bits.load(Ordering::Acquire)) };
        seen.unwrap().look();
        place.replace(value);
        guard.pass_quiescent_state();
        assert!(place.domain.pending() <= 192);
    }
    {
        // A quiescent state inside another guard has no effect.
        let outer = place.domain.enter();
        place.domain.collect();
        guard.pass_quiescent_state();
        drop(outer);
    }
    assert!(place.domain.pending() > 0);
    drop(guard);
    place.domain.barrier();
    assert_eq!(place.alive(), 1);
}

#[test]
fn waiting_objects_are_freed_with_their_domain() {
    let place = Place::new();
    let alive = Arc::clone(&place.alive);
    place.read();
    for value in 0..50 {
        place.replace(value);
    }
    assert_eq!(place.alive(), 51);
    drop(place);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// An object with a header in its middle, and an action to run when it is freed.
#[repr(C)]
struct Told {
    header: Header,
    freed: &'static AtomicU64,
    then: fn(),
}

unsafe fn free_told(header: NonNull<Header>) {
    // SAFETY: made by `told`.
    let told = unsafe { Box::from_raw(header.cast::<Told>().as_ptr()) };
    told.freed.fetch_add(1, Ordering::Relaxed);
    (told.then)();
}

fn told(freed: &'static AtomicU64, then: fn()) -> NonNull<Header> {
    NonNull::from(Box::leak(Box::new(Told { header: Header::new(), freed, then }))).cast()
}

#[test]
fn a_panic_while_freeing_loses_nothing() {
    static FREED: AtomicU64 = AtomicU64::new(0);
    let domain: lockyard::Domain = Domain::new();
    drop(domain.enter());
    for index in 0..10 {
        let then: fn() = if index == 5 { || panic!("on purpose") } else { || () };
        // SAFETY: no thread reads it.
        unsafe { domain.retire_later(told(&FREED, then), free_told) };
    }
    domain.synchronize();
    assert!(catch_unwind(AssertUnwindSafe(|| domain.collect())).is_err());
    let freed = FREED.load(Ordering::Relaxed);
    assert_eq!(domain.pending(), 10 - freed, "the other objects still wait");
    domain.barrier();
    assert_eq!((FREED.load(Ordering::Relaxed), domain.pending()), (10, 0));

    // The same checks when the domain is dropped.
    for index in 0..10 {
        let then: fn() = if index == 5 { || panic!("on purpose") } else { || () };
        // SAFETY: no thread reads it.
        unsafe { domain.retire_later(told(&FREED, then), free_told) };
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(domain))).is_err());
    assert_eq!(FREED.load(Ordering::Relaxed), 20);
}

static CHAIN: lockyard::Domain = Domain::new();
static CHAIN_FREED: AtomicU64 = AtomicU64::new(0);

#[test]
fn a_free_function_may_retire() {
    fn again() {
        if CHAIN_FREED.load(Ordering::Relaxed) < 1_000 {
            // SAFETY: no thread reads it.
            unsafe { CHAIN.retire(told(&CHAIN_FREED, again), free_told) };
        }
    }
    again();
    while CHAIN.pending() > 0 {
        CHAIN.collect();
    }
    assert_eq!(CHAIN_FREED.load(Ordering::Relaxed), 1_000);
}

#[test]
fn a_guard_that_outlives_its_threads_slot_leaves_when_dropped() {
    static DOMAIN: lockyard::Domain = Domain::new();
    thread_local! {
        static KEPT: std::cell::RefCell<Option<lockyard::DomainGuard<'static>>> =
            const { std::cell::RefCell::new(None) };
    }
    for first in [true, false] {
        thread::spawn(move || {
            if first {
                // The destructor of `KEPT` runs after the destructor of the slot.
                KEPT.with(|_| ());
            }
            let guard = DOMAIN.enter();
            KEPT.with(|kept| *kept.borrow_mut() = Some(guard));
        })
        .join()
        .unwrap();
    }
    DOMAIN.synchronize();
}

#[test]
fn records_are_one_line_for_each_slot() {
    let domain: lockyard::Domain = Domain::new();
    assert_eq!(domain.record_bytes(), 0, "until somebody enters");
    domain.reserve(8).unwrap();
    assert_eq!(domain.record_bytes(), 8 * 64);
    domain.reserve(9).unwrap();
    assert_eq!(domain.record_bytes(), 24 * 64);
    domain.reserve(u32::MAX).unwrap();
    assert_eq!(domain.record_bytes(), Native::SLOTS as usize * 64);
}

/// Checks that a reader counts in the two counters that threads without a record share.
fn is_entered_without_a_record(enter: impl FnOnce(&Domain<Failing>)) {
    let domain: Domain<Failing> = Domain::new();
    enter(&domain);
    assert_eq!(domain.record_bytes(), 0);
    assert_eq!(domain.try_synchronize(3), Ok(()));
}

#[test]
fn a_thread_without_a_record_can_enter() {
    fn reads(domain: &Domain<Failing>) {
        let mut guard = domain.enter();
        assert_eq!(domain.try_synchronize(3), Err(StillRead { slot: None }));
        guard.pass_quiescent_state();
        let nested = Failing::without_slot(|| domain.enter());
        drop(guard);
        assert_eq!(domain.try_synchronize(3), Err(StillRead { slot: None }));
        drop(nested);
    }
    is_entered_without_a_record(|domain| Failing::without_slot(|| reads(domain)));
    is_entered_without_a_record(|domain| {
        let (guard, failed) = Failing::after(0, || domain.enter());
        assert!(failed, "the record's allocation failed");
        assert_eq!(domain.try_synchronize(3), Err(StillRead { slot: None }));
        drop(guard);
    });
    let domain: Domain<Failing> = Domain::new();
    let (reserved, failed) = Failing::after(1, || domain.reserve(100));
    assert!(failed && reserved.is_err());
    assert_eq!(domain.record_bytes(), 8 * 64, "the allocated records are kept");
}

#[test]
fn retiring_needs_no_memory() {
    let domain: Domain<Failing> = Domain::new();
    let owned: Vec<_> = (0..1_000).map(|n| Owned::<u64, Failing>::allocate(n, None)).collect();
    let ((), failed) = Failing::after(0, || {
        for owned in owned {
            // SAFETY: no thread reads it.
            unsafe { domain.retire_owned(Some(owned.unwrap())) };
        }
        domain.barrier();
    });
    assert!(!failed, "nothing was allocated");
    assert_eq!(domain.pending(), 0);
    let (refused, _) = Failing::after(0, || Owned::<u64, Failing>::allocate(7, None).err());
    assert_eq!(refused, Some(7), "the value comes back");
}

#[cfg(unix)]
mod signals {
    use super::*;

    static DOMAIN: lockyard::Domain = Domain::new();
    static BITS: NativeU64 = NativeU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    static HANDLED: AtomicU64 = AtomicU64::new(0);

    extern "C" fn handler(_: libc::c_int) {
        let guard = DOMAIN.enter();
        // SAFETY: only the test frees the object of `BITS`, by retiring it.
        let seen = unsafe { guard.deref_bits::<u64>(BITS.load(Ordering::Acquire)) };
        if seen.is_some_and(|&value| value % 3 != 0) {
            std::process::abort();
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn a_signal_handler_may_read_wherever_it_interrupts() {
        // SAFETY: the handler only loads and stores, which is allowed in handlers.
        unsafe {
            let handler: extern "C" fn(libc::c_int) = handler;
            libc::signal(libc::SIGVTALRM, handler as *const () as libc::sighandler_t);
        }
        DOMAIN.reserve(Native::SLOTS).unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let reader = scope.spawn(move || {
                Native::slot();
                // SAFETY: the call returns this thread, which outlives the sender.
                sender.send(unsafe { libc::pthread_self() } as usize).unwrap();
                while !STOP.load(Ordering::Relaxed) {
                    let outer = DOMAIN.enter();
                    // SAFETY: as in the handler.
                    let seen = unsafe { outer.deref_bits::<u64>(BITS.load(Ordering::Acquire)) };
                    assert!(seen.is_none_or(|&value| value % 3 == 0));
                    drop(DOMAIN.enter());
                    assert!(seen.is_none_or(|&value| value % 3 == 0));
                }
            });
            let thread = receiver.recv().unwrap();
            for value in 0..3_000u64 {
                let new = Owned::new(value * 3).unwrap().into_bits();
                let old = BITS.swap(new, Ordering::AcqRel);
                // SAFETY: taken out of reach.
                unsafe { DOMAIN.retire_owned(Owned::<u64>::from_bits(old)) };
                if value % 4 == 0 {
                    // SAFETY: the thread lives until `STOP`.
                    unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGVTALRM) };
                }
                if value % 64 == 0 {
                    thread::yield_now();
                }
            }
            // At least one signal must arrive during the life of the thread.
            while HANDLED.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            STOP.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        DOMAIN.barrier();
        assert_eq!(DOMAIN.pending(), 0);
    }
}
