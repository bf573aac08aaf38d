//! Reclamation: threads read objects that another thread may remove at any moment, and removed
//! objects are freed.
//!
//! There are 64 pointers, each in its own line, to objects of 64 bytes. Each object is counted when
//! it is created and when it is freed, so all rows count waiting objects in the same way. A reader
//! detects an object that is freed too early.

use super::subject::{Subject, SubjectRole, SubjectRow, rows};
use super::tally::{Tally, Tracked, enlist};
use super::work::{Done, Load, Worker, draws};
use crossbeam_epoch as epoch;
use lockyard::platform::{NativeU64, Word};
use lockyard::reclaim::Owned;
use lockyard::{Domain, DomainGuard};
use seize::Guard as _;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Number of reachable objects.
const POINTERS: usize = 64;

#[repr(align(128))]
struct Line<P>(P);

/// Returns the lines of a subject.
fn lines<P>(of: impl Fn(u64) -> P) -> Vec<Line<P>> {
    (0..POINTERS as u64).map(|n| Line(of(n))).collect()
}

/// A way to free objects that readers may still have.
pub trait Reclaim: Send + Sync + Sized + 'static {
    /// Makes pointers to new objects. Each object gets the number of its pointer.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory.
    fn new(objects: &dyn Fn(u64) -> Object) -> Result<Self, String>;

    /// Reads and changes as the session asks, until the run is stopped.
    fn session(&self, session: Session) -> Done;
}

/// A reachable object.
#[derive(Debug)]
pub struct Object(Tracked);

/// Work of a thread.
pub struct Session<'s> {
    worker: &'s Worker<'s>,
    tally: &'static Tally,
}

impl Session<'_> {
    /// Reads with `read` and replaces objects with `change`, until the run is stopped. Both get the
    /// state that the thread keeps between operations.
    #[inline(always)]
    fn run<S>(
        self,
        mut kept: S,
        mut read: impl FnMut(&mut S, usize) -> u64,
        mut change: impl FnMut(&mut S, usize, Object),
    ) -> Done {
        enlist(self.worker.thread);
        let draws = draws(self.worker, POINTERS, |n| (n, n as u64));
        self.worker.run(
            &draws,
            &mut kept,
            |kept, &n| Some(read(kept, n)),
            |kept, &n| change(kept, n, Object(Tracked::new(n as u64, self.tally))),
        )
    }
}

struct Pointers<R>(R, &'static Tally);

fn table<R: Reclaim>(load: &Load) -> Result<Box<dyn Subject>, String> {
    let tally = Tally::leak(load.threads);
    let reclaim = R::new(&|n| Object(Tracked::new(n, tally)))?;
    Ok(Box::new(Pointers(reclaim, tally)))
}

impl<R: Reclaim> Subject for Pointers<R> {
    fn work(&self, worker: &Worker) -> Done {
        self.0.session(Session { worker, tally: self.1 })
    }

    fn verify(&self, done: &[Done]) -> Result<(), String> {
        let wrong = Done::sum(done).wrong;
        if wrong > 0 {
            return Err(format!("{wrong} reads found a freed object, or another pointer's object"));
        }
        if self.1.alive() < POINTERS as u64 {
            return Err("an object was freed that can still be reached".to_owned());
        }
        Ok(())
    }

    fn held_back(&self) -> Option<u64> {
        Some(self.1.alive().saturating_sub(POINTERS as u64))
    }
}

/// Ours. `KEPT`: one guard for the whole session, quiescent after each read.
struct Ours<const KEPT: bool> {
    domain: Domain,
    pointers: Vec<Line<NativeU64>>,
}

type OwnedObject = Owned<Object>;

impl<const KEPT: bool> Ours<KEPT> {
    #[inline(always)]
    fn read(&self, guard: &DomainGuard, n: usize) -> u64 {
        // Acquire: pairs with the release in `change`.
        let bits = self.pointers[n].0.load(Ordering::Acquire);
        // SAFETY: the pointers hold bits of such objects, loaded inside the guard; `change` retires
        // them to its domain.
        unsafe { guard.deref_bits::<Object>(bits) }.map_or(u64::MAX, |object| object.0.value)
    }

    #[inline(always)]
    fn change(&self, n: usize, object: Object) {
        let new = OwnedObject::new(object).expect("there is memory for one more");
        // Release: pairs with the acquire in `read`. Acquire: the object that is taken out is seen
        // initialised.
        let old = self.pointers[n].0.swap(new.into_bits(), Ordering::AcqRel);
        // SAFETY: `into_bits` made the bits. The exchange made the object unreachable, and only
        // this thread has it. All readers are inside guards of the domain.
        unsafe { self.domain.retire_owned(OwnedObject::from_bits(old)) };
    }
}

impl<const KEPT: bool> Reclaim for Ours<KEPT> {
    fn new(objects: &dyn Fn(u64) -> Object) -> Result<Self, String> {
        let object = |n| OwnedObject::new(objects(n)).expect("there is memory").into_bits();
        Ok(Ours { domain: Domain::new(), pointers: lines(|n| NativeU64::new(object(n))) })
    }

    fn session(&self, session: Session) -> Done {
        if KEPT {
            session.run(
                self.domain.enter(),
                |guard, n| {
                    let value = self.read(guard, n);
                    guard.pass_quiescent_state();
                    value
                },
                |guard, n, object| {
                    self.change(n, object);
                    guard.pass_quiescent_state();
                },
            )
        } else {
            session.run(
                (),
                |(), n| self.read(&self.domain.enter(), n),
                |(), n, object| self.change(n, object),
            )
        }
    }
}

impl<const KEPT: bool> Drop for Ours<KEPT> {
    fn drop(&mut self) {
        for line in &mut self.pointers {
            // SAFETY: made by `into_bits`. No other thread has the subject any more.
            drop(unsafe { OwnedObject::from_bits(line.0.get()) });
        }
    }
}

/// `crossbeam-epoch` with its own collector. `KEPT`: one guard for the whole session, pinned again
/// after each read.
struct Crossbeam<const KEPT: bool> {
    pointers: Vec<Line<epoch::Atomic<Object>>>,
    collector: epoch::Collector,
}

impl<const KEPT: bool> Crossbeam<KEPT> {
    #[inline(always)]
    fn read(&self, guard: &epoch::Guard, n: usize) -> u64 {
        let object = self.pointers[n].0.load(Ordering::Acquire, guard);
        // SAFETY: loaded inside the guard, and retired to the guard's collector; never null.
        unsafe { object.deref() }.0.value
    }

    #[inline(always)]
    fn change(&self, guard: &epoch::Guard, n: usize, object: Object) {
        let old = self.pointers[n].0.swap(epoch::Owned::new(object), Ordering::AcqRel, guard);
        // SAFETY: the exchange made the object unreachable, and only this thread has it. Readers
        // are inside guards of the collector.
        unsafe { guard.defer_destroy(old) };
    }
}

impl<const KEPT: bool> Reclaim for Crossbeam<KEPT> {
    fn new(objects: &dyn Fn(u64) -> Object) -> Result<Self, String> {
        let pointers = lines(|n| epoch::Atomic::new(objects(n)));
        Ok(Crossbeam { pointers, collector: epoch::Collector::new() })
    }

    fn session(&self, session: Session) -> Done {
        let handle = self.collector.register();
        if KEPT {
            session.run(
                (handle.pin(), 0u32),
                |(guard, _), n| {
                    let value = self.read(guard, n);
                    guard.repin();
                    value
                },
                |(guard, changes), n, object| {
                    self.change(guard, n, object);
                    guard.repin();
                    // Pinning sometimes collects. Repinning never does.
                    *changes += 1;
                    if changes.is_multiple_of(64) {
                        guard.flush();
                    }
                },
            )
        } else {
            session.run(
                (),
                |(), n| self.read(&handle.pin(), n),
                |(), n, object| self.change(&handle.pin(), n, object),
            )
        }
    }
}

impl<const KEPT: bool> Drop for Crossbeam<KEPT> {
    fn drop(&mut self) {
        for line in &mut self.pointers {
            // SAFETY: no other thread has the subject any more.
            drop(unsafe { std::mem::take(&mut line.0).try_into_owned() });
        }
    }
}

/// `seize`. `KEPT`: one guard for the whole session, refreshed after each read.
struct Seize<const KEPT: bool> {
    pointers: Vec<Line<AtomicPtr<Object>>>,
    collector: seize::Collector,
}

impl<const KEPT: bool> Seize<KEPT> {
    #[inline(always)]
    fn read(&self, guard: &seize::LocalGuard, n: usize) -> u64 {
        let object = guard.protect(&self.pointers[n].0, Ordering::Acquire);
        // SAFETY: loaded inside the guard, and retired to the guard's collector; never null.
        unsafe { &*object }.0.value
    }

    #[inline(always)]
    fn change(&self, guard: &seize::LocalGuard, n: usize, object: Object) {
        let new = Box::into_raw(Box::new(object));
        let old = guard.swap(&self.pointers[n].0, new, Ordering::AcqRel);
        // SAFETY: the pointer came from a box. The exchange made the object unreachable, and only
        // this thread has it. Readers are inside guards of the collector.
        unsafe { guard.defer_retire(old, seize::reclaim::boxed) };
    }
}

impl<const KEPT: bool> Reclaim for Seize<KEPT> {
    fn new(objects: &dyn Fn(u64) -> Object) -> Result<Self, String> {
        let pointers = lines(|n| AtomicPtr::new(Box::into_raw(Box::new(objects(n)))));
        Ok(Seize { pointers, collector: seize::Collector::new() })
    }

    fn session(&self, session: Session) -> Done {
        if KEPT {
            session.run(
                self.collector.enter(),
                |guard, n| {
                    let value = self.read(guard, n);
                    guard.refresh();
                    value
                },
                |guard, n, object| {
                    self.change(guard, n, object);
                    guard.refresh();
                },
            )
        } else {
            session.run(
                (),
                |(), n| self.read(&self.collector.enter(), n),
                |(), n, object| self.change(&self.collector.enter(), n, object),
            )
        }
    }
}

impl<const KEPT: bool> Drop for Seize<KEPT> {
    fn drop(&mut self) {
        for line in &mut self.pointers {
            // SAFETY: the pointer came from a box. No other thread has the subject any more.
            drop(unsafe { Box::from_raw(*line.0.get_mut()) });
        }
    }
}

/// The rows of `reclaim`.
pub(super) const ROWS: &[SubjectRow] = rows! {
    "domain", Ours, "lockyard", "MIT OR Apache-2.0", Ours<false>,
        "an epoch; guards nest in signal handlers too; retiring needs no memory: the object has a \
         header of 24 bytes";
    "domain-kept", Ours, "lockyard", "MIT OR Apache-2.0", Ours<true>,
        "the same inside one guard, quiescent after each operation";
    "crossbeam-epoch", Peer, "crossbeam-epoch 0.9.21", "MIT OR Apache-2.0", Crossbeam<false>,
        "an epoch; a collector of its own, and a handle that each thread keeps; retires closures, \
         in bags of 64";
    "crossbeam-epoch-kept", Peer, "crossbeam-epoch 0.9.21", "MIT OR Apache-2.0", Crossbeam<true>,
        "the same inside one guard, pinned again after each operation; \
         flushed at every 64th change, because otherwise nothing is freed";
    "seize", Peer, "seize 0.5.1", "MIT", Seize<false>,
        "batches with a count of the threads that were inside; if the system call membarrier is \
         available, entering is a plain store, and retiring makes that call";
    "seize-kept", Peer, "seize 0.5.1", "MIT", Seize<true>,
        "the same inside one guard, refreshed after each operation";
};
