//! Locks from outside the library, in place of a script's lock. The interpreter makes, uses, drops
//! and observes them like the library's locks.

use lockyard::Native;
use lockyard_scenarios::{Foreign, ForeignLock, ObjectKind, Prepared, Script, Stage, Variant};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

struct Threads;

impl Stage for Threads {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;

    fn work(_: f64) {}
    fn stopping() -> bool {
        false
    }
    fn operation_done() {}
}

/// A stage that cannot run foreign locks.
struct Elsewhere;

impl Stage for Elsewhere {
    type Host = Native;

    fn work(_: f64) {}
    fn stopping() -> bool {
        false
    }
    fn operation_done() {}
}

static MADE_AT: AtomicUsize = AtomicUsize::new(0);
static DROPPED_AT: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static NO_MEMORY: AtomicBool = AtomicBool::new(false);

/// Lets one test run at a time, because the tests share the counters.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The standard library's mutex. It records where it was made and dropped.
struct Watched(Mutex<()>);

impl Drop for Watched {
    fn drop(&mut self) {
        DROPPED_AT.store(&raw const *self as usize, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

struct Row;

// SAFETY: `make` returns its argument, initialised. The mutex provides mutual exclusion.
unsafe impl Foreign for Row {
    type Lock = Watched;
    fn make(place: &mut MaybeUninit<Watched>) -> Option<&mut Watched> {
        if NO_MEMORY.load(Ordering::Relaxed) {
            return None;
        }
        MADE_AT.store(place.as_ptr() as usize, Ordering::Relaxed);
        Some(place.write(Watched(Mutex::new(()))))
    }
    fn locked(lock: &Watched, body: &mut dyn FnMut()) {
        let _guard = lock.0.lock().unwrap();
        body();
    }
    fn is_held(lock: &Watched) -> bool {
        lock.0.try_lock().is_err()
    }
}

const LOCK: ForeignLock = ForeignLock::of::<Row>("watched");

fn counter() -> Variant {
    let script = Script::shipped("spin-loop/same-node/embedded").expect("it is shipped");
    script.variants[0].with_foreign_lock("watched", "a mutex", LOCK).expect("it has a lock")
}

#[test]
fn a_foreign_lock_stands_where_the_script_has_a_lock_and_protects_its_data() {
    let _one = one_at_a_time();
    let variant = counter();
    assert_eq!(variant.name, "watched");
    assert_eq!(variant.foreign_locks().collect::<Vec<_>>(), ["watched"]);
    assert!(!variant.is_fifo(), "its order is not known");
    let prepared = Prepared::<Threads>::new(&variant, 128, None, 0.0).expect("there is memory");
    assert_eq!(prepared.lines(), 1, "the lock and its data share a line");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| prepared.run_operations(5_000));
        }
    });
    assert_eq!(prepared.verify(20_000), Ok(()));
    assert!(prepared.verify(20_001).is_err(), "an update is missing");
}

#[test]
fn it_is_dropped_once_and_where_it_was_made() {
    let _one = one_at_a_time();
    let before = DROPPED.load(Ordering::Relaxed);
    drop(Prepared::<Threads>::new(&counter(), 128, None, 0.0).expect("there is memory"));
    assert_eq!(DROPPED.load(Ordering::Relaxed), before + 1);
    assert_eq!(DROPPED_AT.load(Ordering::Relaxed), MADE_AT.load(Ordering::Relaxed));
}

#[test]
fn without_what_it_needs_nothing_is_prepared_and_nothing_dropped() {
    let _one = one_at_a_time();
    let before = DROPPED.load(Ordering::Relaxed);
    NO_MEMORY.store(true, Ordering::Relaxed);
    let prepared = Prepared::<Threads>::new(&counter(), 128, None, 0.0);
    NO_MEMORY.store(false, Ordering::Relaxed);
    assert!(prepared.is_none());
    assert_eq!(DROPPED.load(Ordering::Relaxed), before);
}

#[test]
#[should_panic(expected = "`watched` cannot run on this stage")]
fn a_stage_that_does_not_say_so_does_not_run_it() {
    let _ = Prepared::<Elsewhere>::new(&counter(), 128, None, 0.0);
}

#[test]
fn a_lockref_and_a_page_have_no_place_for_one() {
    for name in ["fstat2", "page-ref"] {
        let script = Script::shipped(name).expect("it is shipped");
        assert_eq!(script.variants[0].with_foreign_lock("watched", "a mutex", LOCK), None);
    }
    let kind = ObjectKind::Foreign { lock: LOCK };
    assert!(format!("{kind:?}").contains("watched"));
}

#[test]
fn the_script_s_own_variants_say_whether_they_serve_in_order() {
    let script = Script::shipped("spin-loop/same-node/embedded").expect("it is shipped");
    for variant in &script.variants {
        assert_eq!(variant.is_fifo(), variant.name != "test-and-set", "{}", variant.name);
    }
}
