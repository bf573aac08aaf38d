//! A test program for sanitizers: it protects plain data with every primitive. The program is
//! correct, so the sanitizer must report nothing.
//!
//! Threads take turns writing ordinary variables that locks, reference counts and reclamation
//! protect. The thread sanitizer reports each pair of accesses that it does not see ordered. It
//! sees only the portable forms, so the program prints which forms it was compiled with. On stable
//! Rust the program shows that the portable forms work:
//!
//! ```text
//! RUSTFLAGS='--cfg lockyard_portable' cargo run -p lockyard --example sanitized
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly run -Zbuild-std --target x86_64-unknown-linux-gnu \
//!     -p lockyard --example sanitized
//! ```

use lockyard::lock::{LaneLock, Queued};
use lockyard::page_ref::{Cmpxchg, Conditional, OptimisticCmpxchg, PageRef};
use lockyard::platform::{Host, Native, NativeU64, Ordering, Portable, Word};
use lockyard::reclaim::{Header, Owned};
use lockyard::{LockRef, RawSpinLock, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

const THREADS: u64 = 3;
const ROUNDS: u64 = 2_000;
/// Number of rounds for locks. Most of these locks spin in order, which is slow with more threads
/// than CPUs.
const LOCK_ROUNDS: u64 = 200;

/// Plain data that threads share. Each use shows that no other thread uses it at the same time.
struct Plain(UnsafeCell<u64>);

// SAFETY: each use shows that it is exclusive.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Plain(UnsafeCell::new(0))
    }

    /// # Safety
    ///
    /// No other thread may use the data during the call.
    unsafe fn add(&self) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() += 1 };
    }
}

fn in_threads(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
}

fn lock<K: LaneLock<H>, H: Host>(name: &str) {
    let (lock, data) = (RawSpinLock::<K, H>::new(), Plain::new());
    in_threads(|_| {
        for round in 0..LOCK_ROUNDS {
            let held = if round % 8 == 0 { lock.try_acquire() } else { Some(lock.acquire()) };
            let Some(held) = held else { continue };
            // SAFETY: under the lock.
            unsafe { data.add() };
            // SAFETY: taken above.
            unsafe { lock.release(held) };
            thread::yield_now();
        }
    });
    // SAFETY: the threads have ended.
    let sum = unsafe { *data.0.get() };
    assert!(sum >= THREADS * LOCK_ROUNDS * 7 / 8 && !lock.is_held());
    println!("{name}: {sum} sections");
}

/// Makes timed waits, some of which end without the lock.
fn timed() {
    let lock = lockyard::PvQSpinLock::<u64>::new(0);
    in_threads(|thread| {
        for round in 0..300 {
            if thread % 2 == 0 {
                let mut guard = lock.lock();
                *guard += 1;
                if round % 100 == 0 {
                    thread::sleep(Duration::from_micros(500));
                }
            } else if let Some(mut guard) = lock.try_lock_for(Duration::from_micros(200)) {
                *guard += 1;
            }
        }
    });
    println!("timed waits: {} sections", lock.into_inner());
}

/// Reads, writes, upgrades and downgrades.
fn read_write() {
    let lock = RwLock::new(0_u64);
    let reads = lockyard::Mutex::new(0);
    in_threads(|thread| {
        let mut seen = 0;
        for round in 0..LOCK_ROUNDS {
            match (thread + round) % 4 {
                0 => *lock.write() += 1,
                1 => *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) += 1,
                2 => {
                    let mut guard = lock.write();
                    *guard += 1;
                    seen += *RwLockWriteGuard::downgrade(guard);
                }
                _ => seen += *lock.read(),
            }
            thread::yield_now();
        }
        *reads.lock() += seen;
    });
    println!("reader-writer lock: {} writes", lock.into_inner());
}

/// Each thread changes an object and drops its reference. The last one frees the object.
fn lockref() {
    struct Object {
        count: LockRef,
        data: [Plain; THREADS as usize],
    }
    for _ in 0..200 {
        let data = [const { Plain::new() }; THREADS as usize];
        let object = Box::new(Object { count: LockRef::from_count(THREADS as u32), data });
        let object = Box::into_raw(object) as usize;
        in_threads(|thread| {
            let pointer = object as *mut Object;
            // SAFETY: the object is not freed before all references are dropped, and this thread
            // still has one.
            let object = unsafe { &*pointer };
            object.count.get();
            // SAFETY: only this thread uses this element.
            unsafe { object.data[thread as usize].add() };
            assert!(object.count.put_not_zero(), "this thread has two");
            while object.count.is_locked() {
                thread::yield_now();
            }
            let left = loop {
                if let Some(left) = object.count.put_return() {
                    break left;
                }
            };
            if left == 0 {
                // SAFETY: all other threads have dropped their references, and do not access the
                // object after that.
                drop(unsafe { Box::from_raw(pointer) });
            }
        });
    }
    println!("lockref: 200 objects were freed");
}

fn page<V: Conditional>(name: &str) {
    struct Page<V: Conditional> {
        count: PageRef<V>,
        data: [Plain; THREADS as usize],
    }
    for _ in 0..200 {
        let data = [const { Plain::new() }; THREADS as usize];
        let page = Box::new(Page::<V> { count: PageRef::from_references(THREADS as u32), data });
        let page = Box::into_raw(page) as usize;
        in_threads(|thread| {
            let pointer = page as *mut Page<V>;
            // SAFETY: the page is not freed before all references are dropped, and this thread
            // still has one.
            let page = unsafe { &*pointer };
            assert!(page.count.get_not_zero(), "this thread has one");
            // SAFETY: only this thread uses this element.
            unsafe { page.data[thread as usize].add() };
            assert!(!page.count.put(), "this thread has two");
            if page.count.put() {
                // SAFETY: all other threads have dropped their references, and do not access the
                // page after that.
                drop(unsafe { Box::from_raw(pointer) });
            }
        });
    }
    println!("{name}: 200 pages were freed");
}

/// Replaces and frees an object while readers access it.
fn reclamation() {
    static DOMAIN: lockyard::Domain = lockyard::Domain::new();
    static NEWEST: NativeU64 = NativeU64::new(0);
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: `header` came from a box below, and no thread has it any more.
        drop(unsafe { Box::from_raw(header.as_ptr()) });
    }
    in_threads(|thread| {
        let mut sum = 0;
        for round in 0..ROUNDS {
            if thread % 2 == 0 {
                let new = Owned::new([round; 4]).expect("there is memory").into_bits();
                let old = NEWEST.swap(new, Ordering::AcqRel);
                // SAFETY: the exchange took the object out of reach, and only this thread has it.
                unsafe { DOMAIN.retire_owned(Owned::<[u64; 4]>::from_bits(old)) };
                let header = NonNull::from(Box::leak(Box::new(Header::new())));
                // SAFETY: no thread reads it.
                unsafe { DOMAIN.retire_later(header, free) };
            } else {
                let guard = DOMAIN.enter();
                let bits = NEWEST.load(Ordering::Acquire);
                // SAFETY: `NEWEST` names an object that is retired to the guard's domain.
                let seen = unsafe { guard.deref_bits::<[u64; 4]>(bits) };
                sum += seen.map_or(0, |numbers| numbers[3]);
            }
            if round % 500 == 0 {
                DOMAIN.barrier();
            }
        }
        std::hint::black_box(sum);
    });
    // SAFETY: the threads have ended.
    unsafe { DOMAIN.retire_owned(Owned::<[u64; 4]>::from_bits(NEWEST.load(Ordering::Acquire))) };
    DOMAIN.barrier();
    assert_eq!(DOMAIN.pending(), 0);
    println!("reclamation: everything is freed");
}

fn main() {
    println!("portable forms: {}", cfg!(lockyard_portable));
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, $($fact:tt)*
        })*) => {
            $(lock::<$lock, Native>($name);)*
        };
    }
    lockyard::for_each_lock!(each);
    lock::<Queued, Portable<Native>>("queued, portable host");
    timed();
    read_write();
    lockref();
    page::<Cmpxchg>("page-ref cmpxchg");
    page::<OptimisticCmpxchg>("page-ref optimistic-cmpxchg");
    reclamation();
}
