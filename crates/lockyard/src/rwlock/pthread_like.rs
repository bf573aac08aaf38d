//! A reader-writer lock as a `pthread_rwlock_t` with default attributes on Linux: it prefers
//! readers, and its waiters sleep at once. It is here for comparison and for predictions.
//!
//! ```text
//!    31                                  1 0
//!   +-------------------------------------+-+
//!   | readers, inside or registered       |W|    readers enter as soon as W is 0
//!   +-------------------------------------+-+
//!
//!   turn      2 * number of times that a writer left to registered readers; + 1: a reader sleeps
//!   notify    number of calls of a writer
//!   asleep    1: a writer may sleep
//! ```
//!
//! | step | what happens |
//! | --- | --- |
//! | read | adds a reader; that reader is inside at once if no writer is |
//! | read beside a writer | it is registered: the writer's release lets all registered ones in |
//! | write | a compare-exchange of an empty word |
//! | sleep | at once, a reader on `turn`, a writer on `notify` |
//! | leave as a reader | subtracts itself; the last one wakes one writer |
//! | leave as the writer | clears W; wakes all registered readers, or else one writer |
//!
//! So a reader never waits for a writer that waits, and readers that come again and again keep
//! writers out: "as long as there are readers, the writer will be starved"
//! (`pthread_rwlockattr_setkind_np(3)`).
//!
//! This is a model of the behaviour that POSIX and the manual page describe, and no description of
//! an implementation. Where they say nothing, the model has the least number of locked operations.
//!
//! Sources: POSIX.1-2017, `pthread_rwlock_rdlock`, `pthread_rwlock_wrlock`; the manual page above;
//! registered readers are those of J. Mellor-Crummey and M. Scott, *Scalable Reader-Writer
//! Synchronization for Shared-Memory Multiprocessors*, PPoPP 1991 (reader preference); sleeping as
//! in U. Drepper, *Futexes Are Tricky*, 2011.

use super::read_write::ReadWrite;
use crate::platform::{Event, Host, HostWithSlots, Native, Ordering, Region, U32, Word, during};
use core::fmt;

/// A reader-writer lock that prefers readers, as a default `pthread_rwlock_t`. Its source
/// file has the model.
pub struct PthreadReadWrite<H: Host = Native> {
    state: U32<H>,
    turn: U32<H>,
    notify: U32<H>,
    asleep: U32<H>,
}

const WRITER: u32 = 1;
const READER: u32 = 2;
/// A reader sleeps, in `turn`.
const ASLEEP: u32 = 1;
/// One turn of readers.
const TURN: u32 = 2;

impl<H: HostWithSlots> PthreadReadWrite<H> {
    fn sleep(word: &U32<H>, expected: u32) {
        H::count(Event::Wait);
        during::<H, _>(Region::Idle, || H::park(word, expected, None));
    }

    /// Waits for the writer that was inside when this reader registered. Once that one has left, no
    /// other enters before this reader has left.
    #[cold]
    #[inline(never)]
    fn wait_to_read(&self) {
        H::count(Event::Slowpath);
        loop {
            // Acquire: pairs with the release of the change of the turn. So a reader that finds the
            // new turn finds that the writer has left.
            let turn = self.turn.load(Ordering::Acquire);
            // Acquire: pairs with the release of the writer.
            if self.state.load(Ordering::Acquire) & WRITER == 0 {
                return;
            }
            // Relaxed, both: the word itself is compared when the thread goes to sleep.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            if turn & ASLEEP == 0
                && self.turn.compare_exchange(turn, turn | ASLEEP, of, to).is_err()
            {
                continue;
            }
            Self::sleep(&self.turn, turn | ASLEEP);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self) {
        H::count(Event::Slowpath);
        let mut has_slept = false;
        loop {
            // Acquire: pairs with the release in `wake_a_writer`, which has cleared the mark
            // before.
            let notified = self.notify.load(Ordering::Acquire);
            // Acquire: pairs with the releases of all that have left.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            if self.state.compare_exchange(0, WRITER, of, to).is_ok() {
                break;
            }
            // Relaxed: the next change publishes it.
            self.asleep.store(1, Ordering::Relaxed);
            // Release: pairs with the acquire of a thread that leaves later, which then sees the
            // mark.
            if self.state.fetch_add(0, Ordering::Release) != 0 {
                Self::sleep(&self.notify, notified);
                has_slept = true;
            }
        }
        if has_slept {
            // Others may sleep too. Relaxed: its own release publishes it.
            self.asleep.store(1, Ordering::Relaxed);
        }
    }

    /// Wakes a writer, if one sleeps or is about to. The caller has left the lock empty, by a
    /// change that acquires.
    #[inline(always)]
    fn wake_a_writer(&self) {
        // Relaxed: the change of the state by which the caller has left acquires.
        if self.asleep.load(Ordering::Relaxed) != 0 {
            self.call_a_writer();
        }
    }

    #[cold]
    fn call_a_writer(&self) {
        // Relaxed: the next change publishes it.
        self.asleep.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire of the writer's look.
        self.notify.fetch_add(1, Ordering::Release);
        H::count(Event::Kick);
        H::unpark(&raw const self.notify, 1);
    }

    /// Lets the registered readers in. The caller has cleared W.
    #[cold]
    fn begin_turn(&self) {
        let mut turn = self.turn.load(Ordering::Relaxed);
        loop {
            let next = (turn & !ASLEEP).wrapping_add(TURN);
            // Release: a reader that finds the new turn finds that the writer has left.
            let (of, to) = (Ordering::Release, Ordering::Relaxed);
            match self.turn.compare_exchange(turn, next, of, to) {
                Ok(_) => break,
                Err(actual) => turn = actual,
            }
        }
        if turn & ASLEEP != 0 {
            H::count(Event::Kick);
            H::unpark(&raw const self.turn, u32::MAX);
        }
    }
}

// SAFETY: exclusion: a writer sets W in an empty word, and a reader is inside once it is counted
// and W is 0. While it is counted the word is not empty, so no writer sets W. Ordering: the
// writer's compare-exchange, and the reader's addition and load, acquire. The releases of both
// release. All changes are read-modify-writes of the word.
unsafe impl<H: HostWithSlots> ReadWrite<H> for PthreadReadWrite<H> {
    fn free() -> Self {
        PthreadReadWrite {
            state: Word::new(0),
            turn: Word::new(0),
            notify: Word::new(0),
            asleep: Word::new(0),
        }
    }

    #[inline(always)]
    fn lock_shared(&self) {
        // Acquire: pairs with the release of the last writer.
        if self.state.fetch_add(READER, Ordering::Acquire) & WRITER != 0 {
            self.wait_to_read();
        }
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self) {
        // Release: pairs with the acquire of the next writer. Acquire: pairs with the release of a
        // writer that has looked at the state before it sleeps.
        if self.state.fetch_sub(READER, Ordering::AcqRel) == READER {
            self.wake_a_writer();
        }
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        // Acquire: pairs with the releases of all that have left.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange(0, WRITER, of, to).is_err() {
            self.wait_to_write();
        }
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // Release: pairs with the acquire of the next thread that enters. Acquire: as in
        // `unlock_shared`.
        if self.state.fetch_sub(WRITER, Ordering::AcqRel) == WRITER {
            self.wake_a_writer();
        } else {
            self.begin_turn();
        }
    }

    fn is_inside(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }
}

impl<H: Host> fmt::Debug for PthreadReadWrite<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.state.load(Ordering::Relaxed);
        f.debug_struct("PthreadReadWrite").field("bits", &bits).finish_non_exhaustive()
    }
}
