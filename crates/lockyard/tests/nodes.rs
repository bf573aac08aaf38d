//! The queue nodes of a thread: who may use them when, and what becomes of them when it ends.

#![cfg(all(unix, feature = "std"))]

use lockyard::RawSpinLock;
use lockyard::lock::{Clh, Mcs};
use lockyard::platform::{Host, NEST_LEVELS, Native};
use std::array;
use std::sync::Barrier;
use std::thread;

type RawClh = RawSpinLock<Clh>;
type RawMcs = RawSpinLock<Mcs>;
const LEVELS: usize = NEST_LEVELS as usize;

fn nodes_in_use() -> u32 {
    let slot = Native::slot().expect("slots are left");
    Native::queue_node(slot, 0).nodes_in_use()
}

/// Takes and releases all locks such that each node of the running thread is left to a successor, who has done with it.
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
            // The other has joined behind this thread's node.
            while state(lock) == alone {
                thread::yield_now();
            }
            // SAFETY: taken above.
            unsafe { lock.release(held) };
        }
        others.wait();
    });
    assert_eq!(nodes_in_use(), NEST_LEVELS, "nobody has taken them back yet");
}

#[test]
fn nodes_that_successors_have_done_with_serve_other_locks() {
    leave_all_nodes_behind();
    let locks: [RawMcs; LEVELS] = array::from_fn(|_| RawMcs::new());
    let held = locks.each_ref().map(RawMcs::acquire);
    for (lock, held) in locks.iter().zip(held) {
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
    let clh = RawClh::new();
    let held = clh.acquire();
    assert_eq!(nodes_in_use(), 1, "the others are found to be done with");
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
