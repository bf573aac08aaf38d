//! Negative controls: wrong reference counts, wrong reclamation, and a lock with a needlessly
//! strong ordering. `lockyard-controls` has the locks with wrong behaviour.
//!
//! Each control makes one mistake that the correct primitive does not make, and runs in the same
//! programs.

use crate::program::{PageCount, Reclaims, RefCount, forward_reclamation, linger};
use lockyard::lane::{FourBytes, Lane};
use lockyard::lock::{Algorithm, LaneLock};
use lockyard::platform::{HostWithSlots, Int, Ordering, U32, Word};
use lockyard::reclaim::{Domain, Free, Header};
use std::ptr::NonNull;
use std::sync::Mutex;

pub use lockyard_controls::{DoesNotExclude, LosesWakeUps, TouchesAfterRelease, Unfair};

const HELD: u64 = 1;

fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

/// A test-and-set lock whose acquisition has a needlessly strong ordering.
#[derive(Debug)]
pub struct TooStrong;

impl Algorithm for TooStrong {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & HELD != 0
    }
}

// SAFETY: it excludes like a test-and-set lock.
unsafe impl<H: HostWithSlots> LaneLock<H> for TooStrong {
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release in `unlock`. The mistake is the release, which pairs with
        // nothing.
        while Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::AcqRel)) {
            lane.wait_until::<H>(Ordering::Relaxed, |bits| !Self::is_held(bits));
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Acquire: pairs with the release in `unlock`.
        (!Self::is_held(lane.fetch_or(bits::<L>(HELD), Ordering::Acquire))).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder.
        lane.store_lowest_byte(HELD as u8, 0, Ordering::Release);
    }
}

/// A reference count that can revive a dead object. It checks for a reference and then adds one, in
/// two steps.
pub struct Reviving<H: HostWithSlots>(U32<H>);

impl<H: HostWithSlots> RefCount<H> for Reviving<H> {
    fn new(count: u32) -> Self {
        Reviving(Word::new(count))
    }

    fn get_not_zero(&self) -> bool {
        if self.0.load(Ordering::Relaxed) == 0 {
            return false;
        }
        linger::<H>();
        // The mistake: the count may be zero by now. Acquire: pairs with the release of a put.
        self.0.fetch_add(1, Ordering::Acquire);
        true
    }

    fn put(&self) -> bool {
        // Release: pairs with the acquire of the thread that drops the last reference, also in this
        // operation.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// A page reference count whose frozen state is a bit. A thread that finds the bit undoes its
/// addition, which is wrong: after the addition the owner may unfreeze to one reference, and the
/// undo then takes that reference away.
pub struct Undoing<H: HostWithSlots>(U32<H>);

const FROZEN: u32 = 1 << 31;

impl<H: HostWithSlots> PageCount<H> for Undoing<H> {
    fn new(references: u32) -> Self {
        Undoing(Word::new(references))
    }

    fn get(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get_not_zero(&self) -> bool {
        // Acquire: pairs with the release of an unfreeze.
        if self.0.fetch_add(1, Ordering::Acquire) & FROZEN == 0 {
            return true;
        }
        linger::<H>();
        // The mistake: the count may be unfrozen by now.
        self.0.fetch_sub(1, Ordering::Relaxed);
        false
    }

    fn put(&self) -> bool {
        // Release: pairs with the acquire of the last put.
        if self.0.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Acquire: pairs with the release of all other puts.
        self.0.compare_exchange(0, FROZEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn try_freeze(&self, expected: u32) -> bool {
        // Acquire: pairs with the release of all puts.
        self.0.compare_exchange(expected, FROZEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unfreeze(&self, references: u32) {
        // Release: pairs with the acquire of the gets that follow.
        self.0.swap(references, Ordering::Release);
    }

    fn references(&self) -> Option<u32> {
        let word = self.0.load(Ordering::Relaxed);
        (word & FROZEN == 0).then_some(word)
    }
}

/// Reclamation that frees one epoch too early. A reader that noted the epoch that has just ended
/// may still hold the object.
pub struct OneEpoch<H: HostWithSlots> {
    domain: Domain<H>,
    waiting: Mutex<Vec<Waiting<H>>>,
}

struct Waiting<H: HostWithSlots>(NonNull<Header<H>>, Free<H>);

// SAFETY: a retired object may be freed by any thread.
unsafe impl<H: HostWithSlots> Send for Waiting<H> {}

impl<H: HostWithSlots> Reclaims<H> for OneEpoch<H> {
    fn new() -> Self {
        OneEpoch { domain: Reclaims::new(), waiting: Mutex::default() }
    }
    fn begin(&self) {
        self.domain.begin();
    }
    fn read<R>(&self, body: impl FnOnce() -> R) -> R {
        self.domain.read(body)
    }
    unsafe fn retire(&self, object: NonNull<Header<H>>, free: Free<H>) {
        self.waiting.lock().expect("no thread panics with it").push(Waiting(object, free));
    }
    fn collect(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("no thread panics with it"));
        // The mistake: only one epoch ends here.
        if self.domain.try_advance().is_ok() {
            for Waiting(object, free) in waiting {
                // SAFETY: the object lives until its program ends. The checks look for a free that
                // comes too early.
                unsafe { free(object) };
            }
        } else {
            self.waiting.lock().expect("no thread panics with it").extend(waiting);
        }
    }
    fn advance(&self) {
        let _ = self.domain.try_advance();
    }
    fn synchronize(&self) {
        while self.domain.try_advance().is_err() {
            H::yield_now();
        }
    }
    fn barrier(&self) {
        self.synchronize();
        self.finish();
    }
    fn read_quiescent(&self, body: impl Fn()) {
        self.domain.read_quiescent(body);
    }
    fn finish(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("no thread panics with it"));
        for Waiting(object, free) in waiting {
            // SAFETY: as above.
            unsafe { free(object) };
        }
    }
}

/// Reclamation whose readers never leave: guards are forgotten.
pub struct NeverLeft<H: HostWithSlots>(Domain<H>);

impl<H: HostWithSlots> Reclaims<H> for NeverLeft<H> {
    fn new() -> Self {
        NeverLeft(Reclaims::new())
    }
    fn begin(&self) {
        self.0.begin();
    }
    fn read<R>(&self, body: impl FnOnce() -> R) -> R {
        // The mistake: the guard is never dropped.
        std::mem::forget(self.0.enter());
        body()
    }
    forward_reclamation!();
}
