//! A reader-writer lock like `std::sync::RwLock` on Linux: it polls 100 times and then sleeps, and
//! writers come before readers. It is here for comparison and for predictions.
//!
//! ```text
//!    31 30 29                             0
//!   +--+--+--------------------------------+
//!   |W |R | readers; all ones: the writer  |    R: readers sleep on this word
//!   +--+--+--------------------------------+    W: writers sleep on the second word
//!
//!   notify    number of calls of a writer
//!   asleep    writers that sleep, or are about to
//! ```
//!
//! | step | what happens |
//! | --- | --- |
//! | read | a load and a compare-exchange, if the writer is not inside and neither R nor W is set |
//! | write | a compare-exchange of an empty word; after a wait, of one with R or W too |
//! | wait | at most 100 polls, until the lock is empty (a reader: has no writer) or R or W is set |
//! | sleep | sets R or W, and sleeps; polls again after each wake-up |
//! | leave | a subtraction; the last one out wakes one writer, or else all readers in one call |
//!
//! A writer that has slept keeps W set when it enters, because others may sleep too.
//!
//! # Differences from the original
//!
//! - Linux tells the original whether a wake-up call has woken a writer. If it has not, the
//!   original wakes the readers. Here writers count themselves in a word, because hosts do not
//!   report this. A writer that is awake, and has not looked at the lock yet, is counted here and
//!   not in the original. It looks soon, and its own release then wakes the readers.
//! - The original also watches for panics.
//!
//! Source: `std::sync::RwLock` of the Rust project (MIT or Apache 2.0), from the description of its
//! states; U. Drepper, *Futexes Are Tricky*, 2011.

use super::read_write::ReadWrite;
use crate::platform::{
    BudgetSpent, Event, Host, HostWithSlots, Native, Ordering, Region, U32, Word, during,
};
use core::fmt;

/// A reader-writer lock like `std`'s. Its source file has the model.
pub struct StdReadWrite<H: Host = Native> {
    state: U32<H>,
    notify: U32<H>,
    asleep: U32<H>,
}

const READERS_ASLEEP: u32 = 1 << 30;
const WRITERS_ASLEEP: u32 = 1 << 31;
const INSIDE: u32 = READERS_ASLEEP - 1;
const WRITER: u32 = INSIDE;
const READER: u32 = 1;
const POLLS: u32 = 100;

fn is_empty(state: u32) -> bool {
    state & INSIDE == 0
}

fn sleeps(state: u32) -> bool {
    state & (READERS_ASLEEP | WRITERS_ASLEEP) != 0
}

fn may_read(state: u32) -> bool {
    state & INSIDE < WRITER - 1 && !sleeps(state)
}

impl<H: HostWithSlots> StdReadWrite<H> {
    /// Polls until `ends` is true of the state. Returns the state that it saw last.
    fn spin(&self, ends: impl Fn(u32) -> bool) -> u32 {
        // Relaxed: a hint.
        match H::wait_within(&self.state, Ordering::Relaxed, POLLS, ends) {
            Ok(seen) | Err(BudgetSpent(seen)) => seen,
        }
    }

    fn sleep(&self, word: &U32<H>, expected: u32) {
        H::count(Event::Wait);
        during::<H, _>(Region::Idle, || H::park(word, expected, None));
    }

    #[cold]
    #[inline(never)]
    fn wait_to_read(&self) {
        H::count(Event::Slowpath);
        let spin = || self.spin(|state| state & INSIDE != WRITER || sleeps(state));
        let mut seen = spin();
        loop {
            if may_read(seen) {
                // Acquire: pairs with the release of the last writer.
                let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
                match self.state.compare_exchange(seen, seen + READER, of, to) {
                    Ok(_) => return,
                    Err(actual) => seen = actual,
                }
                continue;
            }
            if seen & INSIDE == WRITER - 1 {
                H::fatal("reader-writer lock: it has 2^30 readers");
            }
            if seen & READERS_ASLEEP == 0 {
                // Relaxed, both: the word itself is compared when the thread goes to sleep.
                let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
                if let Err(actual) =
                    self.state.compare_exchange(seen, seen | READERS_ASLEEP, of, to)
                {
                    seen = actual;
                    continue;
                }
            }
            self.sleep(&self.state, seen | READERS_ASLEEP);
            seen = spin();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self) {
        H::count(Event::Slowpath);
        let spin = || self.spin(|state| is_empty(state) || state & WRITERS_ASLEEP != 0);
        let mut seen = spin();
        let mut others = 0;
        loop {
            if is_empty(seen) {
                // Acquire: pairs with the releases of all threads that have left.
                let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
                match self.state.compare_exchange(seen, seen | WRITER | others, of, to) {
                    Ok(_) => return,
                    Err(actual) => seen = actual,
                }
                continue;
            }
            if seen & WRITERS_ASLEEP == 0 {
                // Relaxed, both: the thread looks at the state again before it sleeps.
                let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
                if let Err(actual) =
                    self.state.compare_exchange(seen, seen | WRITERS_ASLEEP, of, to)
                {
                    seen = actual;
                    continue;
                }
            }
            others = WRITERS_ASLEEP;
            // Relaxed: a call that does not count this writer wakes the readers too.
            self.asleep.fetch_add(1, Ordering::Relaxed);
            // Acquire: pairs with the release in `wake_a_writer`. The state that this thread reads
            // next is then the state that the call found, or a later state.
            let notified = self.notify.load(Ordering::Acquire);
            seen = self.state.load(Ordering::Relaxed);
            let may_sleep = !is_empty(seen) && seen & WRITERS_ASLEEP != 0;
            if may_sleep {
                self.sleep(&self.notify, notified);
            }
            // Relaxed: the thread is awake, and looks at the lock next.
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            if may_sleep {
                seen = spin();
            }
        }
    }

    /// Wakes the sleepers. The lock was empty, with the value `state`. If another thread enters
    /// meanwhile, that thread wakes the sleepers when it leaves.
    #[cold]
    #[inline(never)]
    fn wake(&self, mut state: u32) {
        // Acquire: pairs with the release of a writer that has entered and left meanwhile. That
        // writer then no longer counts as asleep. A thread that is woken acquires when it enters.
        let change =
            |from, to| self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed);
        if state == WRITERS_ASLEEP {
            match change(state, 0) {
                Ok(_) => {
                    self.wake_a_writer();
                    return;
                }
                Err(actual) => state = actual,
            }
        }
        if state == READERS_ASLEEP | WRITERS_ASLEEP {
            if change(state, READERS_ASLEEP).is_err() || self.wake_a_writer() {
                return;
            }
            state = READERS_ASLEEP;
        }
        if state == READERS_ASLEEP && change(state, 0).is_ok() {
            H::count(Event::Kick);
            H::unpark(&raw const self.state, u32::MAX);
        }
    }

    /// Wakes a writer. Returns false if none sleeps.
    fn wake_a_writer(&self) -> bool {
        // Release: pairs with the acquire of the writer's next load.
        self.notify.fetch_add(1, Ordering::Release);
        // Relaxed: the change of the state before this orders it after the writers that have gone.
        let sleeps = self.asleep.load(Ordering::Relaxed) != 0;
        H::count(Event::Kick);
        H::unpark(&raw const self.notify, 1);
        sleeps
    }
}

// SAFETY: exclusion: a reader adds itself to a word without a writer, and a writer takes an empty
// word, both by a compare-exchange. Ordering: those compare-exchanges have acquire ordering, and
// the subtractions have release ordering. All changes are read-modify-writes of the word.
unsafe impl<H: HostWithSlots> ReadWrite<H> for StdReadWrite<H> {
    type Entry = ();

    fn free() -> Self {
        StdReadWrite { state: Word::new(0), notify: Word::new(0), asleep: Word::new(0) }
    }

    #[inline(always)]
    fn lock_shared(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        // Acquire: pairs with the release of the last writer.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if !may_read(seen) || self.state.compare_exchange_weak(seen, seen + READER, of, to).is_err()
        {
            self.wait_to_read();
        }
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, (): ()) {
        // Release: pairs with the acquire of the next writer.
        let left = self.state.fetch_sub(READER, Ordering::Release) - READER;
        if is_empty(left) && left & WRITERS_ASLEEP != 0 {
            self.wake(left);
        }
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        // Acquire: pairs with the releases of all threads that have left.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange_weak(0, WRITER, of, to).is_err() {
            self.wait_to_write();
        }
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // Release: pairs with the acquire of the next thread that enters.
        let left = self.state.fetch_sub(WRITER, Ordering::Release) - WRITER;
        if left != 0 {
            self.wake(left);
        }
    }

    fn is_inside(&self) -> bool {
        !is_empty(self.state.load(Ordering::Relaxed))
    }
}

impl<H: Host> fmt::Debug for StdReadWrite<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.state.load(Ordering::Relaxed);
        f.debug_struct("StdReadWrite").field("bits", &bits).finish_non_exhaustive()
    }
}
