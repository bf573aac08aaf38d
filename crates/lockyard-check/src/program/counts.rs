//! Programs for a lockref: every operation against every other operation.

use super::parts::{MOST_THREADS, Outcome, Program, Protected, Seen, linger, read, write};
use crate::finding::{COUNT, FREED};
use lockyard::lock::LaneLock;
use lockyard::lockref::policy::{Policy, Standard};
use lockyard::lockref::{Count, LockRef, LockRefGuard};
use lockyard::platform::{Cell, DataCell, HostWithSlots};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering as Plain};

/// Operation of a thread on the lockref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountOp {
    /// Has a reference and takes another one.
    Get,
    /// Looks the object up: takes a reference, unless the count is zero.
    GetNotZero,
    /// Looks the object up: takes a reference, unless the object is dead.
    GetNotDead,
    /// Drops its reference, and learns how many remain.
    PutReturn,
    /// Drops its reference, unless it is the last one.
    PutNotZero,
    /// Drops its reference. The last reference is dropped under the lock, and the object is marked
    /// dead.
    PutOrLock,
    /// Takes the lock, changes the protected data, and adds a reference by setting the count.
    LockSet,
    /// Does what [`LockSet`](Self::LockSet) does, if the lock is free.
    TryLockSet,
    /// Takes the lock and marks the object dead.
    MarkDead,
}

impl CountOp {
    /// All operations.
    pub const ALL: [CountOp; 9] = [
        CountOp::Get,
        CountOp::GetNotZero,
        CountOp::GetNotDead,
        CountOp::PutReturn,
        CountOp::PutNotZero,
        CountOp::PutOrLock,
        CountOp::LockSet,
        CountOp::TryLockSet,
        CountOp::MarkDead,
    ];

    /// Returns true if a thread with this operation has a reference at the beginning.
    fn has_reference(self) -> bool {
        use CountOp::{Get, PutNotZero, PutOrLock, PutReturn};
        matches!(self, Get | PutReturn | PutNotZero | PutOrLock)
    }
}

/// Threads that use one lockref and the object that it counts. A passive owner holds `EXTRA`
/// further references. Without them the count can reach zero.
pub struct CountProgram<
    K: LaneLock<H>,
    H: HostWithSlots,
    const EXTRA: u32 = 0,
    P: Policy = Standard,
> {
    lockref: LockRef<K, P, H>,
    /// Data that the lock protects.
    protected: Protected<H>,
    /// The object that the references keep alive: 7 while there are any. If no thread has a
    /// reference at the beginning, the first [`CountOp::LockSet`] publishes the object.
    object: Cell<H, u64>,
    /// One note for each thread, written before the thread drops its reference.
    notes: [Cell<H, u64>; MOST_THREADS],
    ops: Vec<CountOp>,
    seen: Seen,
    /// True for each thread that has dropped its reference. It is outside the platform, so that it
    /// orders nothing.
    dropped: [AtomicBool; MOST_THREADS],
    /// Expected count, kept outside the platform.
    expected: AtomicI64,
    dead: AtomicBool,
    starts_empty: bool,
    /// True if a count that reached zero stays there. The thread that brought it to zero then owns
    /// the object.
    zero_is_final: bool,
    /// True if a reference implies that the object is published. (It does not if threads may take
    /// one from an empty lockref.)
    references_publish: bool,
}

const ALIVE: u64 = 7;

impl<K: LaneLock<H>, H: HostWithSlots, const EXTRA: u32, P: Policy> CountProgram<K, H, EXTRA, P> {
    fn gained(&self, references: i64) {
        self.expected.fetch_add(references, Plain::Relaxed);
    }

    /// Records that `thread` has dropped its reference.
    fn lost(&self, thread: usize) {
        self.gained(-1);
        self.dropped[thread].store(true, Plain::Relaxed);
    }

    /// Takes a reference by `get`. On success, for each reference dropped earlier, the thread must
    /// see the writes before the drop.
    fn look_up(&self, thread: usize, get: impl FnOnce() -> bool) -> bool {
        let dropped: Vec<bool> = self.dropped.iter().map(|d| d.load(Plain::Relaxed)).collect();
        let taken = get();
        self.seen.note(thread, i64::from(taken));
        if taken {
            self.gained(1);
            let notes = self.notes.iter().zip(dropped).filter(|(_, dropped)| *dropped);
            for (note, _) in notes {
                read(note);
            }
        }
        taken
    }

    fn note_count(&self, thread: usize, count: Count) {
        let number = match count {
            Count::Live(count) => i64::from(count),
            Count::Saturated => 101,
            Count::Dead => 102,
        };
        self.seen.note(thread, number);
    }

    /// Uses the object; the thread has a reference.
    fn use_object(&self, thread: usize) {
        let object = read(&self.object);
        assert!(object == ALIVE, "{FREED}thread {thread} reads {object} in the object");
    }

    /// Destroys the object, after reading the notes of all other threads. The calling thread knows
    /// that its reference was the last.
    fn destroy(&self) {
        // Ordered after all puts: the thread that dropped the last reference sees the writes before
        // the other drops.
        for note in &self.notes {
            read(note);
        }
        write(&self.object, 0);
    }

    fn put_return(&self, thread: usize) {
        write(&self.notes[thread], 1);
        let left = self.lockref.put_return();
        self.seen.note(thread, left.map_or(100, i64::from));
        if let Some(left) = left {
            self.lost(thread);
            if left == 0 && self.zero_is_final {
                self.destroy();
            }
        }
    }

    fn put_or_lock(&self, thread: usize) {
        write(&self.notes[thread], 1);
        let Some(mut guard) = self.lockref.put_or_lock() else {
            self.seen.note(thread, 100);
            return self.lost(thread);
        };
        let found = guard.count();
        self.note_count(thread, found);
        // The reference was not dropped, because it is the last one or the object is dead.
        match found {
            Count::Live(left) => {
                assert!(left <= 1, "{COUNT}the lock was returned at {left} references");
                self.protected.section(thread);
                guard.mark_dead();
                self.dead.store(true, Plain::Relaxed);
                drop(guard);
                self.destroy();
            }
            Count::Dead => drop(guard),
            Count::Saturated => panic!("{COUNT}a small count is saturated"),
        }
    }

    fn set(&self, thread: usize, mut guard: LockRefGuard<'_, K, P, H>) {
        self.protected.section(thread);
        let found = guard.count();
        self.note_count(thread, found);
        let Count::Live(count) = found else { return };
        if self.starts_empty && count == 0 {
            write(&self.object, ALIVE);
        }
        guard.set_count(count + 1);
        linger::<H>();
        let now = guard.count();
        assert!(
            now == Count::Live(count + 1),
            "{COUNT}set to {} under the lock and found {now:?}",
            count + 1
        );
        self.gained(1);
    }

    fn mark_dead(&self, thread: usize) {
        let mut guard = self.lockref.lock();
        self.protected.section(thread);
        guard.mark_dead();
        self.dead.store(true, Plain::Relaxed);
        drop(guard);
        let found = self.lockref.count();
        assert!(found == Count::Dead, "{FREED}marked dead and found {found:?}");
        assert!(!self.lockref.get_not_dead(), "{FREED}a dead object was revived");
    }
}

impl<K: LaneLock<H>, H: HostWithSlots, const EXTRA: u32, P: Policy> Program
    for CountProgram<K, H, EXTRA, P>
{
    type Op = CountOp;

    fn new(ops: &[CountOp], rounds: u32) -> Self {
        let owners = ops.iter().filter(|op| op.has_reference()).count();
        let references = owners as u32 * rounds + EXTRA;
        CountProgram {
            lockref: LockRef::from_count(references),
            protected: Protected::new(),
            object: DataCell::new(if references == 0 { 0 } else { ALIVE }),
            notes: std::array::from_fn(|_| DataCell::new(0)),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            dropped: std::array::from_fn(|_| AtomicBool::new(false)),
            expected: AtomicI64::new(i64::from(references)),
            dead: AtomicBool::new(false),
            starts_empty: references == 0,
            zero_is_final: [CountOp::GetNotDead, CountOp::LockSet, CountOp::TryLockSet]
                .into_iter()
                .all(|reviver| !ops.contains(&reviver)),
            references_publish: references > 0 || !ops.contains(&CountOp::GetNotDead),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            CountOp::Get => {
                self.use_object(thread);
                self.lockref.get();
                self.gained(1);
            }
            CountOp::GetNotZero => {
                if self.look_up(thread, || self.lockref.get_not_zero()) && self.references_publish {
                    self.use_object(thread);
                }
            }
            CountOp::GetNotDead => {
                self.look_up(thread, || self.lockref.get_not_dead());
            }
            CountOp::PutReturn => self.put_return(thread),
            CountOp::PutNotZero => {
                write(&self.notes[thread], 1);
                let did = self.lockref.put_not_zero();
                self.seen.note(thread, i64::from(did));
                if did {
                    self.lost(thread);
                }
            }
            CountOp::PutOrLock => self.put_or_lock(thread),
            CountOp::LockSet => self.set(thread, self.lockref.lock()),
            CountOp::TryLockSet => match self.lockref.try_lock() {
                Some(guard) => self.set(thread, guard),
                None => self.seen.note(thread, 103),
            },
            CountOp::MarkDead => self.mark_dead(thread),
        }
    }

    fn finish(&self) {
        self.protected.finish();
        assert!(!self.lockref.is_locked(), "{COUNT}everyone has left and the lock is held");
        let found = self.lockref.count();
        if self.dead.load(Plain::Relaxed) {
            assert!(found == Count::Dead, "{FREED}marked dead and left as {found:?}");
        } else {
            let expected = self.expected.load(Plain::Relaxed);
            let right = matches!(found, Count::Live(n) if i64::from(n) == expected);
            assert!(right, "{COUNT}{expected} references are left and the count is {found:?}");
        }
    }
    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        outcome.push(match self.lockref.count() {
            Count::Live(count) => i64::from(count),
            Count::Saturated => -1,
            Count::Dead => -2,
        });
        outcome
    }
}
