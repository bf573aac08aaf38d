//! A lock of each kind that is first used in a thread-local's destructor, before and after the
//! thread's slot is given back.

#![cfg(all(unix, feature = "std"))]

use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Native};
use lockyard::{RawRwLock, RawSpinLock};
use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Runs an action in its destructor.
struct Late(Option<Box<dyn FnOnce()>>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

thread_local!(static LATE: RefCell<Late> = const { RefCell::new(Late(None)) });

/// Runs `last` in a destructor of a thread, before or after the thread's slot is given back.
fn in_a_destructor(after_the_slot: bool, last: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        // Destructors run in reverse order.
        if after_the_slot {
            LATE.with_borrow_mut(|late| late.0 = Some(Box::new(last)));
            assert!(Native::slot().is_some());
        } else {
            assert!(Native::slot().is_some());
            LATE.with_borrow_mut(|late| late.0 = Some(Box::new(last)));
        }
    })
    .join()
    .unwrap();
}

/// A small number, because locks that serve in order are slow on busy CPUs.
const ROUNDS: u32 = 10;

/// Takes the lock in destructors while other threads hold it, so that the destructors also wait.
fn serves<K: LaneLock<Native>>() {
    for after_the_slot in [false, true] {
        let lock: &'static RawSpinLock<K> = Box::leak(Box::new(RawSpinLock::new()));
        let sections: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let section = move || {
            for _ in 0..ROUNDS {
                let held = lock.acquire();
                let before = sections.load(Ordering::Relaxed);
                thread::yield_now();
                sections.store(before + 1, Ordering::Relaxed);
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            }
        };
        thread::scope(|scope| {
            scope.spawn(section);
            in_a_destructor(after_the_slot, section);
        });
        assert_eq!(sections.load(Ordering::Relaxed), 2 * ROUNDS);
        assert!(!lock.is_held());
    }
}

/// A reader-writer lock in a destructor waits for readers and writers of other threads.
#[test]
fn a_reader_writer_lock_serves_in_a_destructor() {
    for after_the_slot in [false, true] {
        let lock: &'static RawRwLock = Box::leak(Box::new(RawRwLock::new()));
        let sections: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let visit = move || {
            for _ in 0..ROUNDS {
                lock.acquire_exclusive();
                let before = sections.load(Ordering::Relaxed);
                thread::yield_now();
                sections.store(before + 1, Ordering::Relaxed);
                // SAFETY: taken above.
                unsafe { lock.release_exclusive() };
                lock.acquire_upgradable();
                thread::yield_now();
                // SAFETY: taken above.
                unsafe { lock.upgrade_to_exclusive() };
                sections.store(sections.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                // SAFETY: the writer reads, and then leaves.
                unsafe {
                    lock.downgrade_to_shared();
                    lock.release_shared();
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(visit);
            in_a_destructor(after_the_slot, visit);
        });
        assert_eq!(sections.load(Ordering::Relaxed), 4 * ROUNDS);
        assert!(!lock.is_held());
    }
}

/// Some locks need a node while they are held. Without a node, a try fails and a wait ends the
/// program with a message.
fn is_refused<K: LaneLock<Native>>(test: &str) {
    let lock: &'static RawSpinLock<K> = Box::leak(Box::new(RawSpinLock::new()));
    in_a_destructor(false, || {
        let held = lock.try_acquire().expect("the thread has its slot");
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    });
    in_a_destructor(true, || assert!(lock.try_acquire().is_none(), "the thread has no slot"));
    if std::env::var_os("LOCKYARD_DIES").is_some() {
        in_a_destructor(true, || drop(lock.acquire()));
        return;
    }
    let mut child = lockyard_testing::this_program();
    child.args(["--exact", test, "--nocapture"]).env("LOCKYARD_DIES", "1").stdout(Stdio::null());
    let output = child.output().expect("it starts");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{:?}", output.status);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the calling thread has no slot"), "{said}");
}

/// Returns this test's name within its module.
fn name_of<T>(_: T) -> String {
    let name = std::any::type_name::<T>();
    name.split_once("::").map_or(name, |(_, name)| name).to_owned()
}

macro_rules! each {
    ($($kind:ident {
        name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
        fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, $($fact:tt)*
    })*) => {$(
        #[test]
        #[allow(non_snake_case)]
        fn $kind() {
            if $keeps_a_node {
                is_refused::<$lock>(&name_of($kind));
            } else {
                serves::<$lock>();
            }
        }
    )*};
}
lockyard::for_each_lock!(each);
