//! The program over reclamation: readers of a shared pointer, and threads that replace what it names and have the old object freed.
//!
//! Freeing an object writes to it. In a model any reading that is not ordered before is a race; elsewhere a reader finds that the
//! object under its hands was freed. Objects come from a small pool and go back to it, so that many rounds need no memory.

use super::{MOST_THREADS, Outcome, Program, Seen, linger, read, write};
use crate::finding::{COUNT, FREED};
use lockyard::platform::{Cell, DataCell, Host, Ordering, U64, Word};
use lockyard::reclaim::{Domain, Free, Header};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Plain};

/// A way to reclaim.
pub trait Reclaims<H: Host>: Send + Sync + 'static {
    /// Without readers. Whatever threads need is allocated now.
    fn new() -> Self;
    /// Runs `body` inside.
    fn read<R>(&self, body: impl FnOnce() -> R) -> R;
    /// Frees the object when nobody is inside any more who was inside now.
    ///
    /// # Safety
    ///
    /// As [`Domain::retire`].
    unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>);
    /// Frees what can be freed.
    fn collect(&self);
    /// Waits until nobody is inside any more who was inside now.
    fn synchronize(&self);
    /// Frees everything.
    fn finish(&self);
}

impl<H: Host> Reclaims<H> for Domain<H> {
    fn new() -> Self {
        let domain = Domain::default();
        domain.reserve(MOST_THREADS as u32).expect("there is memory");
        domain
    }
    fn read<R>(&self, body: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        body()
    }
    unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>) {
        // SAFETY: the caller's promise.
        unsafe { Domain::retire(self, object, free) };
    }
    fn collect(&self) {
        Domain::collect(self);
    }
    fn synchronize(&self) {
        Domain::synchronize(self);
    }
    fn finish(&self) {
        self.barrier();
        assert!(self.pending() == 0, "{COUNT}{} objects wait after a barrier", self.pending());
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimOp {
    /// Enters, reads the object, and leaves.
    Read,
    /// The same, twice.
    ReadTwice,
    /// Enters twice, leaves once, and then reads.
    ReadNested,
    /// Replaces the object and retires the old one.
    Retire,
    /// Replaces and retires, and collects three times.
    RetireAndCollect,
    /// Collects.
    Collect,
    /// Replaces the object, waits for a grace period, and frees the old one itself.
    Synchronize,
}

const OBJECTS: usize = 6;
const ALIVE: u64 = 7;

#[repr(C)]
struct Object<H: Host> {
    header: Header<H>,
    /// [`ALIVE`] from publishing to freeing.
    value: Cell<H, u64>,
    index: usize,
    pool: Arc<Pool>,
}

/// Which objects can be used, outside the platform.
struct Pool {
    free: AtomicU64,
    /// Of a model not: what was freed stays so.
    reused: bool,
}

impl Pool {
    fn take(&self) -> Option<usize> {
        let mut free = self.free.load(Plain::Acquire);
        loop {
            if free == 0 {
                return None;
            }
            let rest = free & (free - 1);
            match self.free.compare_exchange(free, rest, Plain::AcqRel, Plain::Acquire) {
                Ok(_) => return Some(free.trailing_zeros() as usize),
                Err(now) => free = now,
            }
        }
    }
}

/// Frees an object: what was its value is gone.
///
/// # Safety
///
/// The header is an object's.
unsafe fn free<H: Host>(header: NonNull<Header<H>>) {
    // SAFETY: the header is the object's first field, and the object is there as long as its program.
    let object = unsafe { header.cast::<Object<H>>().as_ref() };
    assert!(read(&object.value) == ALIVE, "{FREED}an object is freed twice");
    write(&object.value, 0);
    if object.pool.reused {
        object.pool.free.fetch_or(1 << object.index, Plain::AcqRel);
    }
}

/// The program. `R` is the way to reclaim.
pub struct ReclaimProgram<R, H: Host> {
    scheme: R,
    /// 1 + the number of the object that is within reach.
    shared: U64<H>,
    objects: [Object<H>; OBJECTS],
    ops: Vec<ReclaimOp>,
    seen: Seen,
}

impl<R: Reclaims<H>, H: Host> ReclaimProgram<R, H> {
    fn look(&self, thread: usize) {
        // Acquire: pairs with the release of `replace`.
        let name = self.shared.load(Ordering::Acquire);
        let object = &self.objects[name as usize - 1];
        for _ in 0..2 {
            let value = read(&object.value);
            assert!(value == ALIVE, "{FREED}thread {thread} is inside and reads {value}");
            linger::<H>();
        }
        self.seen.note(thread, name as i64);
    }

    /// Puts a new object into the old one's place; returns the old one.
    fn replace(&self) -> Option<NonNull<Header<H>>> {
        let index = self.objects[0].pool.take()?;
        write(&self.objects[index].value, ALIVE);
        // Release: pairs with the acquire of `look`. Acquire: with another's release; the old object's value is seen when it
        // is freed.
        let old = self.shared.swap(index as u64 + 1, Ordering::AcqRel);
        // Of the whole object, not of the field: `free` goes back to it.
        Some(NonNull::from(&self.objects[old as usize - 1]).cast())
    }

    fn retire(&self) {
        if let Some(old) = self.replace() {
            // SAFETY: the exchange has taken it out of reach; readers are inside the same scheme.
            unsafe { self.scheme.retire(old, free::<H>) };
        }
    }
}

impl<R: Reclaims<H>, H: Host> Program for ReclaimProgram<R, H> {
    type Op = ReclaimOp;

    fn new(ops: &[ReclaimOp], rounds: u32) -> Self {
        let pool = Arc::new(Pool { free: AtomicU64::new((1 << OBJECTS) - 2), reused: rounds > 1 });
        let object = |index| Object {
            header: Header::new(),
            value: DataCell::new(if index == 0 { ALIVE } else { 0 }),
            index,
            pool: Arc::clone(&pool),
        };
        ReclaimProgram {
            scheme: R::new(),
            shared: Word::new(1),
            objects: std::array::from_fn(object),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            ReclaimOp::Read => self.scheme.read(|| self.look(thread)),
            ReclaimOp::ReadTwice => {
                self.scheme.read(|| self.look(thread));
                self.scheme.read(|| self.look(thread));
            }
            ReclaimOp::ReadNested => self.scheme.read(|| {
                self.scheme.read(|| ());
                self.look(thread);
            }),
            ReclaimOp::Retire => self.retire(),
            ReclaimOp::RetireAndCollect => {
                self.retire();
                for _ in 0..3 {
                    self.scheme.collect();
                }
            }
            ReclaimOp::Collect => self.scheme.collect(),
            ReclaimOp::Synchronize => {
                if let Some(old) = self.replace() {
                    self.scheme.synchronize();
                    // SAFETY: it was taken out of reach, and a grace period is over.
                    unsafe { free(old) };
                }
            }
        }
    }

    fn finish(&self) {
        self.scheme.finish();
        let alive = self.objects.iter().filter(|object| read(&object.value) == ALIVE).count();
        assert!(alive == 1, "{COUNT}everything was freed, and {alive} objects are alive");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
