//! A reader-writer lock like `parking_lot`'s: waiters yield and then sleep in one queue, and a
//! writer that has claimed the lock waits for the remaining readers. It is here for comparison and
//! for predictions.
//!
//! ```text
//!    63                       4  3   2  1  0           63     48 47    32 31    16      0
//!   +--------------------------+---+---+--+--+        +--------+--------+--------+-----+-+
//!   | readers                  | W |   |P |Q |        | writer | newest | oldest |     |L|
//!   +--------------------------+---+---+--+--+        +--------+--------+--------+-----+-+
//!
//!   Q   someone sleeps in the queue              oldest, newest   ends of the queue
//!   P   the writer sleeps until readers leave    writer           the writer of P
//!   W   the writer is inside, or waits for the   L                the queue lock
//!       readers that are inside
//! ```
//!
//! | step | what happens |
//! | --- | --- |
//! | read | a load and a compare-exchange, if W is not set |
//! | write | sets W, by a compare-exchange of an empty word, or beside readers; then waits for them |
//! | wait | while no thread sleeps: 2, 4 and 8 pauses, then 7 yields |
//! | sleep | joins the queue, sleeps until it is called, and begins again |
//! | leave as a reader | a subtraction; the last one calls the writer of P |
//! | leave as the writer | a subtraction; with Q, calls the oldest sleepers up to the first writer |
//!
//! Each sleeper is woken by a separate call of [`Host::unpark`].
//!
//! # Differences from the original
//!
//! - The original's queue is in a table that is shared by all locks, with a lock in each bucket.
//!   Here the queue is in the lock word, with a separate queue lock. In the original, the writer of
//!   P waits in another bucket.
//! - There are no upgradable readers, timed waits or fair releases.
//!
//! Source: `parking_lot` 0.13 (MIT or Apache 2.0), from the description of its states and queues.

use super::read_write::ReadWrite;
use crate::lock::queue::{self, Name, assert_slots_fit};
use crate::lock::{pv, sleepers};
use crate::platform::{Event, Host, HostWithSlots, Native, Ordering, Region, U64, Word, during};
use core::fmt;

/// A reader-writer lock like `parking_lot`'s. Its source file has the model.
pub struct ParkingReadWrite<H: Host = Native> {
    state: U64<H>,
    queue: U64<H>,
}

/// Bit Q: a thread sleeps in the queue.
const QUEUED: u64 = 1;
/// Bit P: the writer sleeps until the readers have left.
const PARKED: u64 = 1 << 1;
/// Bit W: the writer is inside, or waits for readers.
const WRITER: u64 = 1 << 3;
/// One reader.
const READER: u64 = 1 << 4;
const READERS: u64 = !(READER - 1);

/// The queue lock.
const LOCKED: u64 = 1;
const OLDEST: u32 = 16;
const NEWEST: u32 = 32;
const OF_PARKED: u32 = 48;

/// Rounds of pauses of a waiter. Each round has twice as many pauses as the one before.
const PAUSES: u32 = 3;
/// Total number of a waiter's rounds. It yields in the rounds after the pauses.
const ROUNDS: u32 = 10;

/// A waiter's node: a reader sleeps, or is about to. (Other locks use smaller values in that word,
/// and may change only theirs.)
const READS: u32 = 128;
/// A waiter's node: a writer sleeps, or is about to.
const WRITES: u32 = 129;
/// A waiter's node: it has left the queue.
const CALLED: u32 = 130;

/// The kind of access for which a thread waits.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Read,
    Write,
}

/// The rounds that a waiter has spent awake.
#[derive(Default)]
struct Rounds(u32);

impl Rounds {
    /// Waits for a moment. Returns false if it is time to sleep.
    fn wait<H: Host>(&mut self) -> bool {
        if self.0 >= ROUNDS {
            return false;
        }
        self.0 += 1;
        if self.0 <= PAUSES {
            (0..1 << self.0).for_each(|_| H::relax());
        } else {
            H::yield_now();
        }
        true
    }

    /// Waits for a moment after a change of the word by another thread, without yielding.
    fn after_a_loss<H: Host>(&mut self) {
        self.0 = (self.0 + 1).min(ROUNDS);
        (0..1 << self.0).for_each(|_| H::relax());
    }
}

fn name(bits: u64, at: u32) -> Option<Name> {
    Name::from_bits(bits >> at & 0xffff)
}

fn with_name(bits: u64, at: u32, name: Option<Name>) -> u64 {
    bits & !(0xffff << at) | name.map_or(0, Name::to_bits) << at
}

impl<H: HostWithSlots> ParkingReadWrite<H> {
    /// Takes the queue lock. Returns the queue.
    fn lock_queue(&self) -> u64 {
        loop {
            let is_free = |bits| bits & LOCKED == 0;
            let seen = H::wait_yielding(&self.queue, Ordering::Relaxed, is_free);
            // Acquire: pairs with the release of the last thread with the queue lock.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            if self.queue.compare_exchange(seen, seen | LOCKED, of, to).is_ok() {
                return seen;
            }
        }
    }

    /// Gives the queue lock back.
    fn unlock_queue(&self, queue: u64) {
        // Release: pairs with the acquire of the next thread with the queue lock.
        self.queue.store(queue, Ordering::Release);
    }

    /// Waits for the access, and takes it. A writer then has W, and readers may be inside.
    #[cold]
    #[inline(never)]
    fn wait(&self, mode: Mode) {
        H::count(Event::Slowpath);
        let node = if pv::may_park::<H>() { queue::take::<H>() } else { None };
        let Some(me) = node else {
            return self.wait_yielding(mode);
        };
        let former_use = sleepers::former_use::<H>(me);
        let mut rounds = Rounds::default();
        let mut seen = self.state.load(Ordering::Relaxed);
        while !self.try_enter(mode, &mut seen) {
            if seen & (QUEUED | PARKED) == 0 && rounds.wait::<H>() {
                seen = self.state.load(Ordering::Relaxed);
                continue;
            }
            if seen & QUEUED == 0 {
                // Relaxed, both: the thread looks again, with the queue lock.
                let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
                if let Err(actual) = self.state.compare_exchange(seen, seen | QUEUED, of, to) {
                    seen = actual;
                    continue;
                }
            }
            self.sleep_in_queue(me, mode);
            rounds = Rounds::default();
            seen = self.state.load(Ordering::Relaxed);
        }
        sleepers::restore::<H>(me, former_use);
        queue::give_back::<H>(me);
    }

    /// Waits without a place in the queue.
    fn wait_yielding(&self, mode: Mode) {
        loop {
            // Relaxed: a hint.
            let mut seen = H::wait_yielding(&self.state, Ordering::Relaxed, |s| s & WRITER == 0);
            if self.try_enter(mode, &mut seen) {
                return;
            }
        }
    }

    /// Enters, or takes W, while W is not set. `seen` is the word. On failure `seen` becomes the
    /// word's last value.
    fn try_enter(&self, mode: Mode, seen: &mut u64) -> bool {
        let mut rounds = Rounds::default();
        while *seen & WRITER == 0 {
            let new = if mode == Mode::Read { *seen + READER } else { *seen | WRITER };
            // Acquire: pairs with the releases of the threads that have left.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            match self.state.compare_exchange_weak(*seen, new, of, to) {
                Ok(_) => return true,
                Err(_) if mode == Mode::Read => {
                    rounds.after_a_loss::<H>();
                    *seen = self.state.load(Ordering::Relaxed);
                }
                Err(actual) => *seen = actual,
            }
        }
        false
    }

    /// Joins the queue and sleeps until it is called, unless it need not wait.
    fn sleep_in_queue(&self, me: Name, mode: Mode) {
        let queue = self.lock_queue();
        // Relaxed: the queue lock orders the changes of Q.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & QUEUED == 0 || seen & WRITER == 0 {
            return self.unlock_queue(queue);
        }
        let asleep = if mode == Mode::Read { READS } else { WRITES };
        let node = me.node::<H>();
        // Relaxed, all: the queue lock publishes the node.
        node.ready.store(asleep, Ordering::Relaxed);
        node.next.store(0, Ordering::Relaxed);
        let queue = match name(queue, NEWEST) {
            Some(newest) => {
                newest.node::<H>().next.store(me.to_bits() as u32, Ordering::Relaxed);
                queue
            }
            None => with_name(queue, OLDEST, Some(me)),
        };
        self.unlock_queue(with_name(queue, NEWEST, Some(me)));
        Self::sleep(me, asleep);
    }

    /// Sleeps until it is called.
    fn sleep(me: Name, asleep: u32) {
        let ready = &me.node::<H>().ready;
        H::count(Event::Wait);
        // Acquire: pairs with the release of the thread that calls this one, which uses the node no
        // more.
        while ready.load(Ordering::Acquire) == asleep {
            during::<H, _>(Region::Idle, || H::park(ready, asleep, None));
        }
    }

    /// Calls a sleeper that has left the queue. It is woken later.
    fn call(called: Name) {
        // Release: pairs with the acquire of the sleeper. After this store, no code touches the
        // node, except for a wake-up, which may be spurious.
        called.node::<H>().ready.store(CALLED, Ordering::Release);
    }

    fn wake(called: Name) {
        H::count(Event::Kick);
        H::unpark(&raw const called.node::<H>().ready, 1);
    }

    /// Waits until the readers have left. The thread has W.
    #[cold]
    #[inline(never)]
    fn wait_for_readers(&self) {
        let mut rounds = Rounds::default();
        let node = if pv::may_park::<H>() { queue::take::<H>() } else { None };
        let Some(me) = node else {
            // Acquire: pairs with the releases of the readers.
            H::wait_yielding(&self.state, Ordering::Acquire, |state| state & READERS == 0);
            return;
        };
        let former_use = sleepers::former_use::<H>(me);
        loop {
            // Acquire: pairs with the releases of the readers.
            let seen = self.state.load(Ordering::Acquire);
            if seen & READERS == 0 {
                break;
            }
            if rounds.wait::<H>() {
                continue;
            }
            // Relaxed, both: the thread looks again, with the queue lock.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            if seen & PARKED == 0
                && self.state.compare_exchange(seen, seen | PARKED, of, to).is_err()
            {
                continue;
            }
            let queue = self.lock_queue();
            // Relaxed: the queue lock orders the changes of P.
            let seen = self.state.load(Ordering::Relaxed);
            if seen & READERS == 0 || seen & PARKED == 0 {
                self.unlock_queue(queue);
                continue;
            }
            me.node::<H>().ready.store(WRITES, Ordering::Relaxed);
            self.unlock_queue(with_name(queue, OF_PARKED, Some(me)));
            Self::sleep(me, WRITES);
        }
        sleepers::restore::<H>(me, former_use);
        queue::give_back::<H>(me);
    }

    /// Calls the writer of P. The last reader has left.
    #[cold]
    #[inline(never)]
    fn call_the_writer(&self) {
        let queue = self.lock_queue();
        // Relaxed: as in `wait_for_readers`.
        self.state.fetch_and(!PARKED, Ordering::Relaxed);
        let parked = name(queue, OF_PARKED);
        if let Some(writer) = parked {
            Self::call(writer);
        }
        self.unlock_queue(with_name(queue, OF_PARKED, None));
        if let Some(writer) = parked {
            Self::wake(writer);
        }
    }

    /// Calls the oldest sleepers, up to the first writer. The writer has left.
    #[cold]
    #[inline(never)]
    fn call_sleepers(&self) {
        let queue = self.lock_queue();
        let oldest = name(queue, OLDEST);
        let next = |of: Name| {
            // Relaxed: the queue lock orders the links.
            Name::from_bits(u64::from(of.node::<H>().next.load(Ordering::Relaxed)))
        };
        let (mut last, mut rest) = (None, oldest);
        while let Some(sleeper) = rest {
            last = Some(sleeper);
            rest = next(sleeper);
            if sleeper.node::<H>().ready.load(Ordering::Relaxed) == WRITES {
                break;
            }
        }
        if rest.is_none() {
            // Relaxed: the queue lock orders the changes of Q.
            self.state.fetch_and(!QUEUED, Ordering::Relaxed);
        }
        let queue = with_name(queue, OLDEST, rest);
        self.unlock_queue(if rest.is_none() { with_name(queue, NEWEST, None) } else { queue });
        // The sleepers up to `last` belong to this thread now, until it calls each.
        let mut called = oldest.filter(|_| last.is_some());
        while let Some(sleeper) = called {
            called = if last == Some(sleeper) { None } else { next(sleeper) };
            Self::call(sleeper);
            Self::wake(sleeper);
        }
    }
}

// SAFETY: exclusion: a reader adds itself while W is not set, and a writer is inside once it has
// changed W from 0 to 1 and then seen no reader. Ordering: those operations have acquire ordering,
// and the subtractions have release ordering. All changes of the word are read-modify-writes.
unsafe impl<H: HostWithSlots> ReadWrite<H> for ParkingReadWrite<H> {
    type Entry = ();

    fn free() -> Self {
        const { assert_slots_fit::<H>() }
        ParkingReadWrite { state: Word::new(0), queue: Word::new(0) }
    }

    #[inline(always)]
    fn lock_shared(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        // Acquire: pairs with the release of the last writer.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if seen & WRITER != 0
            || self.state.compare_exchange_weak(seen, seen + READER, of, to).is_err()
        {
            self.wait(Mode::Read);
        }
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, (): ()) {
        // Release: pairs with the acquire of the next writer.
        let before = self.state.fetch_sub(READER, Ordering::Release);
        if before & (READERS | PARKED) == READER | PARKED {
            self.call_the_writer();
        }
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        // Acquire: pairs with the releases of all threads that have left.
        let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange_weak(0, WRITER, of, to).is_err() {
            self.wait(Mode::Write);
            self.wait_for_readers();
        }
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // Release: pairs with the acquire of the next thread that enters.
        if self.state.fetch_sub(WRITER, Ordering::Release) & QUEUED != 0 {
            self.call_sleepers();
        }
    }

    fn is_inside(&self) -> bool {
        self.state.load(Ordering::Relaxed) & (READERS | WRITER) != 0
    }
}

impl<H: Host> fmt::Debug for ParkingReadWrite<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.state.load(Ordering::Relaxed);
        f.debug_struct("ParkingReadWrite").field("bits", &bits).finish_non_exhaustive()
    }
}
