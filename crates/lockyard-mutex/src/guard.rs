//! Guard of a slot: a robust mutex of the C library, which the slot's thread locks and never
//! unlocks.
//!
//! When the thread ends, in whatever way, the kernel marks each robust mutex that the thread holds.
//! So other threads can see by one load that it has ended. Locking the guard needs no allocation,
//! no system call and no key: the C library links it into the thread's list of robust mutexes. The
//! C library told the kernel the address of that list when it created the thread.

use crate::real;
use core::cell::UnsafeCell;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Number of words of a mutex of the C library.
pub(crate) const WORDS: usize = 10;

/// The kernel's mark in the first word of a robust mutex whose holder has ended.
const ABANDONED: u32 = 0x4000_0000;

/// Index of the word with a robust mutex's kind, and that kind. 0 if there are no robust mutexes.
static INDEX: AtomicUsize = AtomicUsize::new(0);
static KIND: AtomicU32 = AtomicU32::new(0);

/// A guard.
#[repr(C, align(8))]
pub(crate) struct Guard([UnsafeCell<AtomicU32>; WORDS]);

// SAFETY: this library's accesses are atomic. The thread that has leased the slot passes the guard
// to the C library. The C library's other accesses come from exiting threads, each to its own
// guard.
unsafe impl Sync for Guard {}

/// Learns the layout of a robust mutex, from the words of a mutex that the C library has
/// initialised.
pub(crate) fn learn(robust: [u32; WORDS]) {
    let mut set = robust.iter().enumerate().filter(|&(_, &word)| word != 0);
    if let (Some((index, &kind)), None) = (set.next(), set.next()) {
        INDEX.store(index, Ordering::Relaxed);
        KIND.store(kind, Ordering::Relaxed);
    }
}

impl Guard {
    /// Makes a guard that no thread holds.
    pub(crate) const fn new() -> Guard {
        Guard([const { UnsafeCell::new(AtomicU32::new(0)) }; WORDS])
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: all accesses by this library are atomic.
        unsafe { &*self.0[index % WORDS].get() }
    }

    fn address(&self) -> usize {
        from_ref(self).expose_provenance()
    }

    /// Locks the guard until the running thread ends. No other thread uses it.
    pub(crate) fn hold(&self) {
        let (index, kind) = (INDEX.load(Ordering::Relaxed), KIND.load(Ordering::Relaxed));
        if kind != 0 {
            self.forget();
            self.word(index).store(kind, Ordering::Relaxed);
            // If locking fails, the slot is never collected. SAFETY: this is a robust mutex that no
            // thread holds. It exists for ever.
            unsafe { real::one(&real::MUTEX_TRYLOCK, self.address()) };
        }
    }

    /// Unlocks the guard. The running thread must hold it.
    pub(crate) fn give_up(&self) {
        if KIND.load(Ordering::Relaxed) != 0 {
            // SAFETY: the running thread holds it.
            unsafe { real::one(&real::MUTEX_UNLOCK, self.address()) };
        }
    }

    /// Returns true if the guard's holder has ended.
    pub(crate) fn is_abandoned(&self) -> bool {
        // Acquire: everything that the holder did happened before, because the kernel set the mark
        // afterwards.
        self.word(0).load(Ordering::Acquire) & ABANDONED != 0
    }

    /// Forgets a holder that does not exist in this process.
    pub(crate) fn forget(&self) {
        for index in 0..WORDS {
            // Pages that no thread has written are only read, and so not copied.
            if self.word(index).load(Ordering::Relaxed) != 0 {
                self.word(index).store(0, Ordering::Relaxed);
            }
        }
    }
}
