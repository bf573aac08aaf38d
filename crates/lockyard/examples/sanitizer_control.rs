//! Programs that are wrong on purpose, each in one way that a sanitizer must report. Without them,
//! a clean run of `examples/sanitized.rs` would show nothing.
//!
//! ```text
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly run -Zbuild-std --target x86_64-unknown-linux-gnu \
//!     -p lockyard --example sanitizer_control -- race
//! ```
//!
//! The faults are `race` (thread sanitizer), `early-free` and `leak` (address sanitizer).

use lockyard::{LockRef, QSpinLock};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Barrier;

struct Plain(UnsafeCell<u64>);

// SAFETY: none. Two threads change the data at the same time, which is the fault.
unsafe impl Sync for Plain {}

impl Plain {
    /// Adds one without any protection.
    fn add(&self) {
        // SAFETY: none, see above. An aligned word is not torn on the processors that have a thread
        // sanitizer.
        unsafe { *self.0.get() += 1 };
    }
}

struct Object {
    count: LockRef,
    data: u64,
}

/// Changes data after the lock that protects it is released.
fn race() {
    let (lock, data) = (QSpinLock::new(()), Plain(UnsafeCell::new(0)));
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                both.wait();
                for _ in 0..1_000 {
                    drop(lock.lock());
                    data.add();
                    // The other thread runs before the next round.
                    std::thread::yield_now();
                }
            });
        }
    });
    black_box(data.0.into_inner());
}

/// Drops one reference too many, and reads the object that the last put has freed.
fn early_free() {
    let object = Box::into_raw(Box::new(Object { count: LockRef::from_count(1), data: 7 }));
    // SAFETY: the object lives.
    let left = unsafe { (*object).count.put_return() };
    if left == Some(0) {
        // SAFETY: the only reference was dropped.
        drop(unsafe { Box::from_raw(object) });
    }
    // SAFETY: none: the object is freed, which is the fault.
    println!("{}", black_box(unsafe { (*object).data }));
}

/// Loses an object whose reference no thread drops.
#[inline(never)]
fn leak() {
    for _ in 0..100 {
        let object = Box::new(Object { count: LockRef::from_count(1), data: 7 });
        object.count.get();
        black_box(Box::into_raw(object));
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("race") => race(),
        Some("early-free") => early_free(),
        Some("leak") => leak(),
        _ => {
            eprintln!("usage: sanitizer_control race|early-free|leak");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
