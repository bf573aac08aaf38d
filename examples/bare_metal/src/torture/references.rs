//! A lockref that all processors share: references without the lock, and its lock around plain
//! data. Handlers use it too.

use super::locks::Pair;
use super::{Part, check};
use crate::cpu::Cpu;
use crate::host::{InterruptsOff, Kernel};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard::lockref::Count;
use lockyard::on;

const NAME: &str = "lockref";

struct Shared {
    /// One reference stays, so no other is ever the last.
    life: on::LockRef<Kernel, InterruptsOff>,
    /// Only the holder of the lock accesses it.
    pair: UnsafeCell<Pair>,
    added: AtomicU64,
}
// SAFETY: `pair` is accessed under the lock of `life`.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    life: on::LockRef::new(1),
    pair: UnsafeCell::new(Pair::ZERO),
    added: AtomicU64::new(0),
};

/// Takes a reference and drops it, by one of the ways.
pub(super) fn use_one(cpu: &Cpu) {
    check!(SHARED.life.get_not_dead(), "{NAME}: an object that lives is dead");
    let is_put = match cpu.random() & 1 {
        0 => SHARED.life.put_not_zero(),
        _ => SHARED.life.put_return().is_some_and(|left| {
            check!(left > 0, "{NAME}: the reference that stays is gone");
            true
        }),
    };
    if !is_put {
        let last = SHARED.life.put_or_lock();
        check!(last.is_none(), "{NAME}: the reference that stays is gone");
    }
}

/// Adds to the data under the lock, during which the count cannot change.
fn lock_it(cpu: &Cpu) {
    let guard = SHARED.life.lock();
    let before = guard.count();
    // SAFETY: the lock is held.
    unsafe { &mut *SHARED.pair.get() }.add(NAME, cpu.random() & 15);
    let after = guard.count();
    check!(before == after, "{NAME}: {before:?} became {after:?} under the lock");
    drop(guard);
    SHARED.added.fetch_add(1, Ordering::Relaxed);
}

pub(super) const PART: Part = Part {
    name: NAME,
    begin: || {},
    round: |cpu| {
        (0..4).for_each(|_| use_one(cpu));
        lock_it(cpu);
    },
    end: || {
        let added = SHARED.added.load(Ordering::Relaxed);
        let guard = SHARED.life.lock();
        // SAFETY: the lock is held.
        let there = unsafe { &*SHARED.pair.get() }.read(NAME);
        drop(guard);
        check!(there == added, "{NAME}: {there} of {added} additions are there");
    },
};

/// Checks the count, when no handler runs any more.
pub(super) fn check_at_rest() {
    let count = SHARED.life.count();
    check!(count == Count::Live(1), "{NAME}: {count:?} at the end, and not 1");
}
