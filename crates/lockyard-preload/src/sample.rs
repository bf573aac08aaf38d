//! The sample: which holds are timed.
//!
//! Reading the clock twice and finding the cold records of a hold costs several times what counting
//! costs. So after a thread's first acquisitions, one in [`every`] is timed on average. The gaps
//! are random: a program with a period must not be caught at the same step always.

use crate::burst;
use crate::system::ticks;
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard_records::{EVENT, Thread};

/// Mean number of acquisitions for each one that is timed by chance.
static EVERY: AtomicU64 = AtomicU64::new(1);

/// Number of acquisitions of the first thread that are all timed, so that short programs are. The
/// next one has a half of it, the third one a third: threads that begin together and take one lock
/// would add up to milliseconds in which all wait.
const EARLY_OF_THREAD: u64 = 1024;

/// Number of acquisitions of any thread that are all timed.
const EARLY_AT_LEAST: u64 = 32;

/// Value of a slot's count from which an acquisition is not among the entry's first ones. These are
/// all timed, so that no call site is without a time.
pub(crate) const EARLY_OF_ENTRY: u64 = 3 * EVENT;

/// Choice of an acquisition for the sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// It is not timed.
    Not,
    /// It is timed in any case. `by_thread` is false if the reason is the entry.
    Early { by_thread: bool },
    /// It is timed by chance, and stands for this number of acquisitions.
    ByChance { every: u64 },
}

impl Chosen {
    /// Returns the number of acquisitions that this one stands for in sums over all of a thread. 0
    /// if it is not chosen independently of its lock.
    pub(crate) fn weight(self) -> u64 {
        match self {
            Chosen::Not | Chosen::Early { by_thread: false } => 0,
            Chosen::Early { by_thread: true } => 1,
            Chosen::ByChance { every } => every,
        }
    }
}

/// Sets the mean gap. It is set before anything is recorded.
pub(crate) fn set_every(every: u64) {
    EVERY.store(every, Ordering::Relaxed);
}

/// Returns the mean gap.
#[inline(always)]
pub(crate) fn every() -> u64 {
    EVERY.load(Ordering::Relaxed)
}

/// Prepares the sample of a new thread, given the number of threads before it.
///
/// # Safety
///
/// The records are the running thread's.
pub(crate) unsafe fn begin(thread: *mut Thread, before: u64) {
    // SAFETY: the caller's.
    unsafe {
        // Any number but 0; threads get different ones.
        (*thread).random = (ticks() ^ (thread.addr() as u64).rotate_left(32)) | 1;
        (*thread).early = match every() {
            1 => u64::MAX,
            // The times are those of the events.
            _ if burst::is_wanted() => 0,
            _ => (EARLY_OF_THREAD / (before + 1)).max(EARLY_AT_LEAST),
        };
        (*thread).countdown = 1;
        (*thread).given = 1;
    }
}

/// Decides whether to time an acquisition, by its slot's count.
///
/// # Safety
///
/// `thread` must be the running thread's record, and that thread must be inside the recorder.
#[inline(always)]
pub(crate) unsafe fn choose(thread: *mut Thread, events: u64) -> Chosen {
    // SAFETY: the caller's.
    unsafe {
        let mut chosen = Chosen::Not;
        if (*thread).countdown == 0 {
            if (*thread).early > 0 {
                (*thread).early -= 1;
                // The first gap is that of a moment at random: shorter than a whole one.
                (*thread).countdown = match (*thread).early {
                    0 => gap(thread).min(gap(thread)),
                    _ => 1,
                };
                (*thread).given += (*thread).countdown;
                return Chosen::Early { by_thread: true };
            }
            (*thread).countdown = gap(thread);
            (*thread).given += (*thread).countdown;
            chosen = Chosen::ByChance { every: every() };
        }
        match chosen {
            _ if burst::is_wanted() => Chosen::Not,
            _ if events < EARLY_OF_ENTRY => Chosen::Early { by_thread: false },
            chosen => chosen,
        }
    }
}

/// Returns a random gap: 1 to twice the mean less one, all equally likely.
unsafe fn gap(thread: *mut Thread) -> u64 {
    // SAFETY: the thread is the running one.
    unsafe { 1 + (((random(thread) >> 32) * (2 * every() - 1)) >> 32) }
}

/// Returns a random number.
///
/// # Safety
///
/// `thread` must be the running thread's record, and that thread must be inside the recorder.
#[inline(always)]
pub(crate) unsafe fn random(thread: *mut Thread) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        // Marsaglia's xorshift (Journal of Statistical Software 8, 2003), with shifts 13, 7, 17.
        let mut random = (*thread).random;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (*thread).random = random;
        random
    }
}
