//! A reader-writer lock like a `pthread_rwlock_t` with default attributes on Linux: it prefers
//! readers, its last reader hands it to a waiting writer, and its waiters sleep at once. It is here
//! for comparison and for predictions.
//!
//! ```text
//!    31                   14 13          2 1 0
//!   +-----------------------+-------------+-+-+
//!   | readers, inside or    | writers     |P|W|    readers enter as soon as W is 0
//!   | registered            | that wait   | | |
//!   +-----------------------+-------------+-+-+
//!
//!   turn      2 * number of times that a writer left to registered readers; + 1: a reader sleeps
//!   notify    2 * number of calls of a writer; + 1: the lock is handed to a writer that waits
//! ```
//!
//! | step | what happens |
//! | --- | --- |
//! | read | adds a reader; that reader is inside at once if no writer is |
//! | read beside a writer | it is registered: the writer's release lets all registered ones in |
//! | write | a compare-exchange of an empty word |
//! | write beside others | it is counted; takes the lock if that is handed over, or empty |
//! | sleep | at once: a reader on `turn`; a writer on `notify`, after it has set P |
//! | leave as a reader | subtracts itself; the last one sets W for a waiting writer, if P is set |
//! | leave as the writer, readers | lets all registered readers in; sets P if a writer waits |
//! | leave as the writer, no readers | clears P too, and calls one writer that waits |
//!
//! So a reader never waits for a waiting writer, and a steady stream of readers keeps writers out:
//! "as long as there are readers, the writer will be starved" (`pthread_rwlockattr_setkind_np(3)`).
//! Once the last reader has left, the lock belongs to the waiting writer, and others sleep until
//! that writer has woken up and left. A writer that leaves hands nothing over: the writer that it
//! calls tries again, and until then P is 0.
//!
//! P is 1 only while a writer waits. If writers wait while P is 0 and no thread is inside, one
//! writer has been called and has not looked at the lock yet.
//!
//! This is a model of the behaviour that POSIX and the manual page describe, and not a description
//! of an implementation. These texts do not mention the hand-over. It was observed from outside: a
//! thread holds the lock until others sleep, leaves, and tries the lock at once
//! (`examples/readers/observe.c`). Where no source says more, the model uses the smallest number of
//! locked operations.
//!
//! Sources: POSIX.1-2017, `pthread_rwlock_rdlock`, `pthread_rwlock_wrlock`; the manual page above;
//! registered readers: J. Mellor-Crummey and M. Scott, *Scalable Reader-Writer Synchronization for
//! Shared-Memory Multiprocessors*, PPoPP 1991 (reader preference); sleeping as in U. Drepper,
//! *Futexes Are Tricky*, 2011.

use super::read_write::ReadWrite;
use crate::platform::{Event, Host, HostWithSlots, Native, Ordering, Region, U32, Word, during};
use core::fmt;

/// A reader-writer lock that prefers readers, like a default `pthread_rwlock_t`. Its source file
/// has the model.
pub struct PthreadReadWrite<H: Host = Native> {
    state: U32<H>,
    turn: U32<H>,
    notify: U32<H>,
}

const WRITER: u32 = 1;
/// The last reader hands the lock to a writer that waits.
const PASS: u32 = 2;
/// One writer that waits.
const WAITING: u32 = 4;
const READER: u32 = 1 << 14;
/// All writers that wait.
const ALL_WAITING: u32 = READER - WAITING;
/// A reader sleeps, in `turn`.
const ASLEEP: u32 = 1;
/// One turn of readers.
const TURN: u32 = 2;
/// The mark in `notify`: the lock belongs to a waiting writer.
const HANDED: u32 = 1;
/// One call of a writer, in `notify`.
const CALL: u32 = 2;

/// Returns true if no thread is inside. Writers may wait.
fn is_empty(state: u32) -> bool {
    state < READER && state & WRITER == 0
}

/// Returns the state after one of the waiting writers has entered an empty lock.
fn entered(state: u32) -> u32 {
    let next = state - WAITING + WRITER;
    if next & ALL_WAITING == 0 { next & !PASS } else { next }
}

/// Returns the state after the writer has left.
fn left(state: u32) -> u32 {
    let next = state - WRITER;
    match state & ALL_WAITING {
        0 => next,
        _ if state >= READER => next | PASS,
        _ => next & !PASS,
    }
}

impl<H: HostWithSlots> PthreadReadWrite<H> {
    fn sleep(word: &U32<H>, expected: u32) {
        H::count(Event::Wait);
        during::<H, _>(Region::Idle, || H::park(word, expected, None));
    }

    /// Waits for the writer that was inside when this reader registered. Once that writer has left,
    /// no other writer enters before this reader has left.
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

    /// Takes an empty lock, or counts this writer as waiting. Returns true if it is inside.
    fn enter_or_register(&self) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            let enters = is_empty(seen);
            if !enters && seen & ALL_WAITING == ALL_WAITING {
                H::fatal("reader-writer lock: 2^12 writers wait");
            }
            let next = if enters { seen | WRITER } else { (seen + WAITING) | PASS };
            // Acquire: pairs with the releases of all threads that have left.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            match self.state.compare_exchange(seen, next, of, to) {
                Ok(_) => return enters,
                Err(actual) => seen = actual,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self) {
        H::count(Event::Slowpath);
        if self.enter_or_register() {
            return;
        }
        loop {
            // Acquire: pairs with the releases in `call_a_writer` and `hand_over`. So a writer that
            // finds the call, or the mark, finds that the caller has left.
            let notified = self.notify.load(Ordering::Acquire);
            if notified & HANDED != 0 {
                // The addition clears the mark, and counts as a call. Relaxed, both: the load has
                // acquired.
                let taken = notified.wrapping_add(HANDED);
                let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
                if self.notify.compare_exchange(notified, taken, of, to).is_ok() {
                    return;
                }
                continue;
            }
            let seen = self.state.load(Ordering::Relaxed);
            if is_empty(seen) {
                // Acquire: pairs with the releases of all threads that have left.
                let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
                if self.state.compare_exchange(seen, entered(seen), of, to).is_ok() {
                    return;
                }
                continue;
            }
            // Relaxed, both: P publishes nothing. If no waiting writer is counted any more, the
            // lock is being handed to this writer, and `notify` changes before this writer sleeps.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            if seen & ALL_WAITING != 0
                && seen & PASS == 0
                && self.state.compare_exchange(seen, seen | PASS, of, to).is_err()
            {
                continue;
            }
            Self::sleep(&self.notify, notified);
        }
    }

    /// Hands the lock to a writer that waits. The caller was the last reader. If another thread has
    /// entered since, that thread calls the writers, or hands the lock to one, when it leaves.
    #[cold]
    fn hand_over(&self, mut seen: u32) {
        while is_empty(seen) && seen & PASS != 0 {
            // Acquire: pairs with the releases of the readers that have left.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            match self.state.compare_exchange(seen, entered(seen) & !PASS, of, to) {
                Ok(_) => {
                    // The mark is clear: a lock that is handed over has W until its writer leaves.
                    // Release: pairs with the acquire of that writer.
                    self.notify.fetch_add(HANDED, Ordering::Release);
                    H::count(Event::Kick);
                    H::unpark(&raw const self.notify, 1);
                    return;
                }
                Err(actual) => seen = actual,
            }
        }
    }

    /// Wakes a writer, which tries again. The caller has left the lock empty.
    #[cold]
    fn call_a_writer(&self) {
        // Release: pairs with the acquire of the writer's next load.
        self.notify.fetch_add(CALL, Ordering::Release);
        H::count(Event::Kick);
        H::unpark(&raw const self.notify, 1);
    }

    /// Leaves as the writer, beside threads that are registered or wait.
    #[cold]
    #[inline(never)]
    fn leave_to_others(&self, mut seen: u32) {
        // Release: pairs with the acquire of the next thread that enters.
        let (of, to) = (Ordering::Release, Ordering::Relaxed);
        while let Err(actual) = self.state.compare_exchange(seen, left(seen), of, to) {
            seen = actual;
        }
        if seen >= READER {
            self.begin_turn();
        } else if seen & ALL_WAITING != 0 {
            self.call_a_writer();
        }
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

// SAFETY: exclusion: a writer sets W only in a word without W and without readers. A reader is
// inside once it is counted and W is 0. While a reader is counted, the word is not empty, so no
// writer sets W. The last reader sets W for one writer. That writer alone clears the mark in
// `notify`, and no other mark is set before W is cleared. Ordering: a writer's compare-exchange,
// and the reader's addition and load, have acquire ordering. The last reader's compare-exchange
// acquires from the releases of other readers, and its mark has release ordering. All changes are
// read-modify-writes of the word.
unsafe impl<H: HostWithSlots> ReadWrite<H> for PthreadReadWrite<H> {
    type Entry = ();

    fn free() -> Self {
        PthreadReadWrite { state: Word::new(0), turn: Word::new(0), notify: Word::new(0) }
    }

    #[inline(always)]
    fn lock_shared(&self) {
        // Acquire: pairs with the release of the last writer.
        if self.state.fetch_add(READER, Ordering::Acquire) & WRITER != 0 {
            self.wait_to_read();
        }
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, (): ()) {
        // Release: pairs with the acquire of the next writer, or of the reader that hands over.
        let left = self.state.fetch_sub(READER, Ordering::Release) - READER;
        if left < READER && left & PASS != 0 {
            self.hand_over(left);
        }
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        // Acquire: pairs with the releases of all threads that have left.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange(0, WRITER, of, to).is_err() {
            self.wait_to_write();
        }
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // Release: pairs with the acquire of the next thread that enters.
        let (of, to) = (Ordering::Release, Ordering::Relaxed);
        if let Err(seen) = self.state.compare_exchange(WRITER, 0, of, to) {
            self.leave_to_others(seen);
        }
    }

    fn is_inside(&self) -> bool {
        // The only waiting writer has been called, and enters next.
        self.state.load(Ordering::Relaxed) != 0
    }
}

impl<H: Host> fmt::Debug for PthreadReadWrite<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.state.load(Ordering::Relaxed);
        f.debug_struct("PthreadReadWrite").field("bits", &bits).finish_non_exhaustive()
    }
}
