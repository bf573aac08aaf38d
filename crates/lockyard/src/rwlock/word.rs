//! The lock word of the [reader-writer lock](super): its fields, and the predicates on them.

use crate::lock::queue::Name;
use crate::platform::{Event, Host, HostWithSlots, Ordering, Word};

/// A writer holds the lock.
pub(super) const WRITER: u64 = 1;
/// One of the readers is the upgradable one.
pub(super) const UPGRADABLE: u64 = 1 << 1;
/// Only the head of the queue may enter.
pub(super) const CLOSED: u64 = 1 << 2;
/// A spinning writer asks readers to stay out.
pub(super) const INTENT: u64 = 1 << 3;
/// The queue lock.
pub(super) const QUEUE_LOCK: u64 = 1 << 4;
/// One spinner.
pub(super) const SPINNER: u64 = 1 << 5;
/// The number of spinners.
const SPINNERS: u64 = 15 * SPINNER;
/// Position of the name of the newest sleeper.
const NEWEST: u32 = 9;
/// Position of the name of the head of the queue, the oldest sleeper.
const HEAD: u32 = 25;
/// Bits of a name.
const NAME: u64 = 0xffff;
/// One reader.
pub(super) const READER: u64 = 1 << READERS;
/// Position of the number of readers, which takes the rest of the word.
const READERS: u32 = 41;
/// Set if there are 2^22 readers. No more may enter.
pub(super) const FULL: u64 = 1 << 63;

/// The kind of access for which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As a reader.
    Read,
    /// As a reader, also while a writer waits.
    Recursive,
    /// As the upgradable reader.
    Upgradable,
    /// As the writer.
    Write,
    /// As the writer; the thread is the upgradable reader.
    Upgrade,
}

impl Mode {
    /// Returns true if readers may be inside at the same time.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Mode::Read | Mode::Recursive | Mode::Upgradable)
    }

    /// The state of the node of a thread that sleeps in the queue.
    pub(super) fn asleep(self) -> u32 {
        match self {
            Mode::Read | Mode::Recursive => READ_ASLEEP,
            Mode::Upgradable => UPGRADABLE_ASLEEP,
            Mode::Write | Mode::Upgrade => WRITE_ASLEEP,
        }
    }
}

/// State of a waiter's node: a reader sleeps, or is about to. (Other locks store smaller values in
/// that word, and may change only their own values.)
const READ_ASLEEP: u32 = 16;
/// A waiter's node: an upgradable reader sleeps, or is about to.
const UPGRADABLE_ASLEEP: u32 = 17;
/// A waiter's node: a writer sleeps, or is about to.
const WRITE_ASLEEP: u32 = 18;
/// Added to the state of a sleeper: it is awake, or about to be, and looks at the word before it
/// sleeps again.
pub(super) const POKED: u32 = 16;
/// A waiter's node: it has left the queue, and is inside as a reader.
pub(super) const ADMITTED: u32 = 64;

/// Returns the state of a node in the queue: asleep, with the kind of access. The caller has the
/// queue lock.
fn kind<H: Host>(name: Name) -> u32 {
    // Relaxed: the word has published the node.
    let state = name.node::<H>().ready.load(Ordering::Relaxed);
    if state >= READ_ASLEEP + POKED { state - POKED } else { state }
}

/// Returns true if the node's thread waits as a plain reader. The caller has the queue lock.
pub(super) fn waits_to_read<H: Host>(name: Name) -> bool {
    kind::<H>(name) == READ_ASLEEP
}

/// Returns true if the node's thread waits as a writer. The caller has the queue lock.
pub(super) fn waits_to_write<H: Host>(name: Name) -> bool {
    kind::<H>(name) == WRITE_ASLEEP
}

/// Returns the number of readers, including readers that are about to leave because they must wait.
#[inline(always)]
pub(super) fn readers(bits: u64) -> u64 {
    bits >> READERS
}

/// Returns the number of spinners.
pub(super) fn spinners(bits: u64) -> u32 {
    ((bits & SPINNERS) / SPINNER) as u32
}

/// Returns true if the queue is not empty.
#[inline(always)]
pub(super) fn is_queued(bits: u64) -> bool {
    bits & NAME << NEWEST != 0
}

/// Returns the newest sleeper.
pub(super) fn newest(bits: u64) -> Option<Name> {
    Name::from_bits(bits >> NEWEST & NAME)
}

/// Returns the head of the queue.
pub(super) fn head(bits: u64) -> Option<Name> {
    Name::from_bits(bits >> HEAD & NAME)
}

/// Returns `bits` with another newest sleeper and another head. Both are `None`, or neither is.
pub(super) fn with_queue(bits: u64, newest: Option<Name>, head: Option<Name>) -> u64 {
    let name = |name: Option<Name>| name.map_or(0, Name::to_bits);
    bits & !(NAME << NEWEST | NAME << HEAD) | name(newest) << NEWEST | name(head) << HEAD
}

/// Returns true if a thread may enter now. `is_head` says that it is the head of the queue.
pub(super) fn may_enter(mode: Mode, bits: u64, is_head: bool) -> bool {
    let is_closed =
        if is_head { bits & (INTENT | CLOSED) == INTENT } else { bits & (INTENT | CLOSED) != 0 };
    let no_writer = bits & WRITER == 0;
    match mode {
        Mode::Read => no_writer && !is_closed && bits & FULL == 0,
        Mode::Recursive => no_writer && bits & FULL == 0,
        Mode::Upgradable => no_writer && !is_closed && bits & (UPGRADABLE | FULL) == 0,
        Mode::Write => no_writer && readers(bits) == 0 && (is_head || bits & CLOSED == 0),
        // No other thread is upgradable, so the only remaining reader is the caller.
        Mode::Upgrade => no_writer && readers(bits) == 1,
    }
}

/// Returns the word after a thread has entered.
pub(super) fn entered(mode: Mode, bits: u64) -> u64 {
    match mode {
        Mode::Read | Mode::Recursive => bits + READER,
        Mode::Upgradable => bits + (READER | UPGRADABLE),
        Mode::Write => bits | WRITER,
        Mode::Upgrade => bits - (READER | UPGRADABLE) + WRITER,
    }
}

/// Returns true if a thread that changed the word from `before` to `bits`, as it left, must poke
/// the head of the queue. `opens` says that the change lets threads in although the lock is not
/// empty.
pub(super) fn needs_poke(before: u64, bits: u64, opens: bool) -> bool {
    if !is_queued(bits) || bits & WRITER != 0 {
        return false;
    }
    // The readers beside a writer are about to find that they must wait. Otherwise, the only
    // remaining reader may wait to become the writer.
    let was_writer = before & WRITER != 0;
    let is_empty = was_writer || readers(bits) == u64::from(bits & UPGRADABLE != 0);
    opens || is_empty && (bits & CLOSED != 0 || spinners(bits) == 0)
}

/// Wakes the head of the queue, if it sleeps, so that it looks at the word. Does not touch the
/// lock. If the node has another use by now, its thread looks at its word spuriously.
///
/// The caller must have changed the word, or read it, with acquire.
pub(super) fn poke<H: HostWithSlots>(name: Name) {
    let ready = &name.node::<H>().ready;
    // Relaxed, both: the sleeper reads the word, and nothing else that this thread has written.
    let seen = ready.load(Ordering::Relaxed);
    let sleeps = matches!(seen, READ_ASLEEP | UPGRADABLE_ASLEEP | WRITE_ASLEEP);
    let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
    if sleeps && ready.compare_exchange(seen, seen + POKED, of, to).is_ok() {
        H::count(Event::Kick);
        H::unpark(ready, 1);
    }
}

/// Tells a reader that has left the queue that it is inside. After that, the node belongs to that
/// reader again.
pub(super) fn admit<H: HostWithSlots>(name: Name) {
    let ready = &name.node::<H>().ready;
    // Release: pairs with the acquire of the reader's load.
    ready.swap(ADMITTED, Ordering::Release);
    // A reader that was poked may still sleep: the thread that poked it wakes it later, and may be
    // preempted before that.
    H::count(Event::Kick);
    H::unpark(ready, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word with a sleeper.
    const QUEUED: u64 = 1 << NEWEST | 1 << HEAD;

    #[test]
    fn a_writer_that_leaves_does_not_count_readers_that_come_too_early() {
        let before = QUEUED | WRITER | READER;
        assert!(needs_poke(before, before - WRITER, false));
        // Another reader may be inside, so the last one pokes.
        assert!(!needs_poke(QUEUED + 2 * READER, QUEUED + READER, false));
        // A spinner takes the lock.
        assert!(!needs_poke(before | SPINNER, (before | SPINNER) - WRITER, false));
    }
}
