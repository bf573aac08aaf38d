//! The queue nodes of a thread: their users, and their state when the thread ends.

#![cfg(all(unix, feature = "std"))]

use lockyard::comparators::{ClhLock, McsLock};
use lockyard::lock::{Clh, Mcs};
use lockyard::platform::{Host, NEST_LEVELS, Native, Slot, slot_is_idle};
use lockyard::reclaim::StillRead;
use lockyard::{Domain, RawSpinLock};
use std::array;
use std::cell::RefCell;
use std::mem;
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

type RawClh = RawSpinLock<Clh>;
type RawMcs = RawSpinLock<Mcs>;
const LEVELS: usize = NEST_LEVELS as usize;

fn nodes_in_use() -> u32 {
    let slot = Native::slot().expect("slots are left");
    Native::queue_node(slot, 0).nodes_in_use()
}

/// Takes and releases locks until the running thread has left each of its nodes to a successor, and
/// all successors have finished.
fn leave_all_nodes_behind() {
    let locks: [RawClh; LEVELS] = array::from_fn(|_| RawClh::new());
    let (before, others) = (Barrier::new(2), Barrier::new(2));
    let state = |lock: &RawClh| format!("{lock:?}");
    thread::scope(|scope| {
        let held = locks.each_ref().map(RawClh::acquire);
        let alone = locks.each_ref().map(state);
        scope.spawn(|| {
            before.wait();
            for lock in &locks {
                let held = lock.acquire();
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            }
            others.wait();
        });
        before.wait();
        for ((lock, held), alone) in locks.iter().zip(held).zip(alone) {
            // The other thread has joined behind this thread's node.
            while state(lock) == alone {
                thread::yield_now();
            }
            // SAFETY: taken above.
            unsafe { lock.release(held) };
        }
        others.wait();
    });
    assert_eq!(nodes_in_use(), NEST_LEVELS, "no lock has taken them back yet");
}

#[test]
fn nodes_that_successors_have_finished_with_serve_other_locks() {
    leave_all_nodes_behind();
    let locks: [RawMcs; LEVELS] = array::from_fn(|_| RawMcs::new());
    let held = locks.each_ref().map(RawMcs::acquire);
    for (lock, held) in locks.iter().zip(held) {
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
    let clh = RawClh::new();
    let held = clh.acquire();
    assert_eq!(nodes_in_use(), 1, "the others are found to be free");
    // SAFETY: taken above.
    unsafe { clh.release(held) };
    assert_eq!(nodes_in_use(), 0);
}

#[test]
fn a_node_that_serves_another_lock_is_not_taken_back_twice() {
    leave_all_nodes_behind();
    let other = RawMcs::new();
    let held_by_other = other.acquire();
    let locks: [RawClh; LEVELS - 1] = array::from_fn(|_| RawClh::new());
    let held = locks.each_ref().map(RawClh::acquire);
    assert_eq!(nodes_in_use(), NEST_LEVELS);
    // SAFETY: taken above.
    unsafe { other.release(held_by_other) };
    assert_eq!(nodes_in_use(), NEST_LEVELS - 1);
    for (lock, held) in locks.iter().zip(held) {
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
    assert_eq!(nodes_in_use(), 0);
}

#[test]
fn a_try_without_a_node_fails_and_does_not_wait() {
    let locks: [RawMcs; LEVELS] = array::from_fn(|_| RawMcs::new());
    let held = locks.each_ref().map(RawMcs::acquire);
    let (mcs, clh) = (RawMcs::new(), RawClh::new());
    assert!(mcs.try_acquire().is_none() && clh.try_acquire().is_none());
    assert!(!mcs.is_held() && !clh.is_held(), "they are unchanged");
    for (lock, held) in locks.iter().zip(held) {
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
    assert!(mcs.try_acquire().is_some() && clh.try_acquire().is_some());
}

#[test]
fn the_slot_of_a_thread_that_forgets_a_guard_is_given_to_no_other() {
    static DOMAIN: Domain = Domain::new();
    let forgetful = thread::spawn(|| {
        mem::forget(DOMAIN.enter());
        Native::slot().expect("slots are left")
    });
    let slot = forgetful.join().unwrap();
    assert!(!slot_is_idle::<Native>(slot));
    let next = thread::spawn(move || {
        let own = Native::slot().expect("slots are left");
        // The new thread has not inherited the guard, so nothing here waits for itself.
        drop(DOMAIN.enter());
        assert_eq!(DOMAIN.try_synchronize(3), Err(StillRead { slot: Some(slot) }));
        own
    });
    assert_ne!(next.join().unwrap(), slot);

    // A thread that drops all its guards, in any order, gives its slot back.
    let orderly = thread::spawn(|| {
        let (mut one, two, three) = (DOMAIN.enter(), DOMAIN.enter(), DOMAIN.enter());
        drop(two);
        one.pass_quiescent_state();
        drop(one);
        let slot = Native::slot().expect("slots are left");
        assert!(!slot_is_idle::<Native>(slot));
        drop(three);
        slot_is_idle::<Native>(slot)
    });
    assert!(orderly.join().unwrap());
}

/// Runs an action in its destructor.
struct Late(Option<Box<dyn FnOnce()>>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

/// Keeps a guard until a thread's last destructor runs. Returns the slot of that thread, and the
/// slot of a new thread that starts after the other destructors.
fn slots_around_the_end_of_a_thread<G: 'static>(lock: fn() -> G) -> (Slot, Slot) {
    thread_local!(static LATE: RefCell<Late> = const { RefCell::new(Late(None)) });
    let (begin, begun) = channel();
    let (go_on, gone_on) = channel::<()>();
    let late = thread::spawn(move || {
        // Initialised before the lock, because destructors run in reverse order.
        LATE.with_borrow(|_| ());
        let guard = lock();
        let slot = Native::slot().expect("slots are left");
        LATE.with_borrow_mut(|late| {
            late.0 = Some(Box::new(move || {
                begin.send(slot).unwrap();
                gone_on.recv().unwrap();
                drop(guard);
            }));
        });
    });
    let slot = begun.recv().unwrap();
    let next = thread::spawn(|| Native::slot().expect("slots are left")).join().unwrap();
    go_on.send(()).unwrap();
    late.join().unwrap();
    (slot, next)
}

#[test]
fn a_slot_that_a_guard_still_uses_is_not_given_to_another_thread() {
    static FIRST: McsLock<()> = McsLock::new(());
    static SECOND: ClhLock<()> = ClhLock::new(());
    let (slot, next) = slots_around_the_end_of_a_thread(|| FIRST.lock());
    assert_ne!(slot, next);
    let (slot, next) = slots_around_the_end_of_a_thread(|| SECOND.lock());
    assert_ne!(slot, next);
    static DOMAIN: Domain = Domain::new();
    let (slot, next) = slots_around_the_end_of_a_thread(|| DOMAIN.enter());
    assert_ne!(slot, next);
    assert_eq!(DOMAIN.try_synchronize(1), Ok(()), "that guard was dropped too");
    assert!(FIRST.try_lock().is_some() && SECOND.try_lock().is_some(), "the guards were dropped");
}
