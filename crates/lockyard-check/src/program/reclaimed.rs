//! The program for reclamation. Readers read a shared pointer. Other threads replace the object to
//! which it points, and retire the old one.
//!
//! Freeing an object writes to it. In a model, a read that is not ordered before that write is a
//! race. On other back-ends a reader finds that its object was freed. Objects come from a small
//! pool and return to it, so many rounds need no more memory.

use super::parts::{MOST_THREADS, Outcome, Program, Seen, linger, read, write};
use crate::finding::{COUNT, FREED};
use crate::quarantine;
use lockyard::platform::{Cell, DataCell, HostWithSlots, Ordering, U64, Word};
use lockyard::reclaim::{Domain, Free, Header};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Plain};

/// A reclamation scheme.
pub trait Reclaims<H: HostWithSlots>: Send + Sync + 'static {
    /// Returns a scheme without readers.
    fn new() -> Self;
    /// Allocates memory that the threads need.
    fn begin(&self) {}
    /// Runs `body` inside the scheme, as a reader.
    fn read<R>(&self, body: impl FnOnce() -> R) -> R;
    /// Frees the object once every thread that is inside now has left.
    ///
    /// # Safety
    ///
    /// The same as for [`Domain::retire`].
    unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>);
    /// Frees the objects that can be freed.
    fn collect(&self);
    /// Ends an epoch if that is possible now, and frees nothing.
    fn advance(&self);
    /// Waits until every thread that is inside now has left.
    fn synchronize(&self);
    /// Waits until all objects that were retired before are freed.
    fn barrier(&self);
    /// Runs `body` twice inside, with a quiescent state in between. The second run must not use
    /// objects found by the first.
    fn read_quiescent(&self, body: impl Fn());
    /// Frees everything.
    fn finish(&self);
}

impl<H: HostWithSlots> Reclaims<H> for Domain<H> {
    fn new() -> Self {
        Domain::default()
    }
    fn begin(&self) {
        self.reserve(MOST_THREADS as u32).expect("there is memory");
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
    fn advance(&self) {
        let _ = self.try_advance();
    }
    fn synchronize(&self) {
        Domain::synchronize(self);
    }
    fn barrier(&self) {
        Domain::barrier(self);
    }
    fn read_quiescent(&self, body: impl Fn()) {
        let mut guard = self.enter();
        body();
        guard.pass_quiescent_state();
        body();
    }
    fn finish(&self) {
        Domain::barrier(self);
        assert!(self.pending() == 0, "{COUNT}{} objects wait after a barrier", self.pending());
    }
}

/// Forwards everything except `new`, `begin` and `read` to a domain. For an `impl Reclaims<H>` of a
/// tuple that contains a domain.
macro_rules! forward_reclamation {
    () => {
        unsafe fn retire(
            &self,
            object: std::ptr::NonNull<lockyard::reclaim::Header<H>>,
            free: lockyard::reclaim::Free<H>,
        ) {
            // SAFETY: the caller's promise.
            unsafe { self.0.retire(object, free) };
        }
        fn collect(&self) {
            Reclaims::collect(&self.0);
        }
        fn advance(&self) {
            self.0.advance();
        }
        fn synchronize(&self) {
            self.0.synchronize();
        }
        fn barrier(&self) {
            self.0.barrier();
        }
        fn read_quiescent(&self, body: impl Fn()) {
            self.0.read_quiescent(body);
        }
        fn finish(&self) {
            Reclaims::finish(&self.0);
        }
    };
}
pub(crate) use forward_reclamation;

/// A domain that allocates nothing until threads enter.
pub struct Unreserved<H: HostWithSlots>(Domain<H>);

impl<H: HostWithSlots> Reclaims<H> for Unreserved<H> {
    fn new() -> Self {
        Unreserved(Domain::default())
    }
    fn read<R>(&self, body: impl FnOnce() -> R) -> R {
        self.0.read(body)
    }
    forward_reclamation!();
}

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimOp {
    /// Enters, reads the object, and leaves.
    Read,
    /// Enters, reads the object, and leaves, twice.
    ReadTwice,
    /// Enters twice, leaves once, and then reads.
    ReadNested,
    /// Replaces the object and retires the old one.
    Retire,
    /// Replaces the object, retires the old one, and collects twice. Two collections suffice to
    /// free it if no thread is inside.
    RetireAndCollect,
    /// Frees the retired objects that can be freed.
    Collect,
    /// Ends two epochs, if that is possible, and then collects.
    AdvanceAndCollect,
    /// Keeps a guard: reads, announces a quiescent state, and reads again.
    ReadQuiescent,
    /// Replaces the object, retires the old one, and waits until all retired objects are freed.
    Barrier,
    /// Replaces the object, waits for a grace period, and frees the old one itself.
    Synchronize,
}

const OBJECTS: usize = 6;

#[repr(C)]
struct Object<H: HostWithSlots> {
    header: Header<H>,
    /// A unique number while the object is published and not yet freed; otherwise 0.
    value: Cell<H, u64>,
    index: usize,
    pool: Arc<Pool>,
}

/// Usable objects, kept outside the platform.
struct Pool {
    free: AtomicU64,
    /// Number of objects that were published.
    published: AtomicU64,
    /// False in a model, where a freed object stays freed.
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

/// Frees an object by clearing its value.
///
/// # Safety
///
/// The header must be the header of an [`Object`].
unsafe fn free<H: HostWithSlots>(header: NonNull<Header<H>>) {
    // SAFETY: the header is the object's first field, and the object lives until its program ends.
    let object = unsafe { header.cast::<Object<H>>().as_ref() };
    assert!(read(&object.value) != 0, "{FREED}an object is freed twice");
    write(&object.value, 0);
    if object.pool.reused {
        object.pool.free.fetch_or(1 << object.index, Plain::AcqRel);
    }
}

/// The program. `R` is the reclamation scheme.
pub struct ReclaimProgram<R, H: HostWithSlots> {
    scheme: R,
    /// Number of the reachable object, plus one.
    shared: U64<H>,
    objects: [Object<H>; OBJECTS],
    ops: Vec<ReclaimOp>,
    seen: Seen,
}

impl<R: Reclaims<H>, H: HostWithSlots> ReclaimProgram<R, H> {
    fn look(&self, thread: usize) {
        // Acquire: pairs with the release of `replace`.
        let name = self.shared.load(Ordering::Acquire);
        let object = &self.objects[name as usize - 1];
        let first = read(&object.value);
        assert!(first != 0, "{FREED}thread {thread} finds an object that was freed");
        for _ in 0..4 {
            linger::<H>();
            let value = read(&object.value);
            assert!(value == first, "{FREED}thread {thread} is inside and reads {first}, {value}");
        }
        self.seen.note(thread, name as i64);
    }

    /// Replaces the old object by a new one. Returns the old one.
    fn replace(&self) -> Option<NonNull<Header<H>>> {
        let pool = &self.objects[0].pool;
        let index = pool.take()?;
        write(&self.objects[index].value, pool.published.fetch_add(1, Plain::Relaxed) + 2);
        // Release: pairs with the acquire of `look`. Acquire: pairs with the release of another
        // exchange, so that the old object's value is visible when it is freed.
        let old = self.shared.swap(index as u64 + 1, Ordering::AcqRel);
        // A pointer to the whole object, not to its field, because `free` casts it back.
        Some(NonNull::from(&self.objects[old as usize - 1]).cast())
    }

    fn retire(&self) {
        if let Some(old) = self.replace() {
            // SAFETY: the exchange made the object unreachable; readers are inside the same scheme.
            unsafe { self.scheme.retire(old, free::<H>) };
        }
    }
}

impl<R: Reclaims<H>, H: HostWithSlots> Program for ReclaimProgram<R, H> {
    type Op = ReclaimOp;

    fn new(ops: &[ReclaimOp], rounds: u32) -> Self {
        quarantine::begin();
        let pool = Arc::new(Pool {
            free: AtomicU64::new((1 << OBJECTS) - 2),
            published: AtomicU64::new(0),
            reused: rounds > 1,
        });
        let object = |index| Object {
            header: Header::new(),
            value: DataCell::new(u64::from(index == 0)),
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

    fn begin(&self) {
        self.scheme.begin();
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
                self.scheme.collect();
                self.scheme.collect();
            }
            ReclaimOp::Collect => self.scheme.collect(),
            ReclaimOp::AdvanceAndCollect => {
                self.scheme.advance();
                self.scheme.advance();
                self.scheme.collect();
            }
            ReclaimOp::ReadQuiescent => self.scheme.read_quiescent(|| self.look(thread)),
            ReclaimOp::Barrier => {
                if let Some(old) = self.replace() {
                    // SAFETY: as in `retire`.
                    unsafe { self.scheme.retire(old, free::<H>) };
                    self.scheme.barrier();
                    // SAFETY: as in `free`. The object lives until its program ends.
                    let object = unsafe { old.cast::<Object<H>>().as_ref() };
                    let freed = object.pool.reused || read(&object.value) == 0;
                    assert!(freed, "{COUNT}a barrier did not free");
                }
            }
            ReclaimOp::Synchronize => {
                if let Some(old) = self.replace() {
                    self.scheme.synchronize();
                    // SAFETY: the object is unreachable, and a grace period is over.
                    unsafe { free(old) };
                }
            }
        }
    }

    fn finish(&self) {
        self.scheme.finish();
        let alive = self.objects.iter().filter(|object| read(&object.value) != 0).count();
        assert!(alive == 1, "{COUNT}everything was freed, and {alive} objects are alive");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
