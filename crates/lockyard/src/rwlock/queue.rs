//! The queue of the [reader-writer lock](super): the work of the thread with the queue lock.
//!
//! A thread joins without the queue lock (in `wait.rs`). All other changes are here: the head
//! leaves when it enters, any sleeper leaves after a timeout, and an upgrading reader comes first.
//! Each change ends with one compare-exchange of the word, which gives the queue lock back. The
//! head of the queue changes only there. So a thread that reads its own name as the head, in a
//! compare-exchange, is the head.

use super::word::{
    CLOSED, Mode, QUEUE_LOCK, READER, admit, head, newest, poke, waits_to_read, waits_to_write,
    with_queue,
};
use crate::lock::queue::Name;
use crate::lock::sleepers;
use crate::platform::{Host, HostWithSlots, Ordering, U64, Word};

/// Takes the queue lock, and returns the word.
pub(super) fn lock_queue<H: Host>(word: &U64<H>) -> u64 {
    loop {
        let is_free = |bits| bits & QUEUE_LOCK == 0;
        let seen = H::wait_yielding(word, Ordering::Relaxed, is_free);
        let new = seen | QUEUE_LOCK;
        // Acquire: pairs with the release that gave the queue lock back, and with the releases of
        // the threads that have joined.
        if word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return new;
        }
    }
}

/// Changes the word from `seen` to `change(seen)`, which gives the queue lock back. `change` is
/// repeated if the word has changed.
fn unlock_queue<H: Host>(word: &U64<H>, mut seen: u64, mut change: impl FnMut(u64) -> u64) {
    loop {
        let new = change(seen) & !QUEUE_LOCK;
        // Release: pairs with the acquire of the next thread with the queue lock. It publishes the
        // changes of the nodes. Acquire: pairs with the release of a sleeper that has gone to sleep
        // again without a change of the word's value. The caller may poke it.
        if word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return;
        }
        // Acquire: pairs with the releases of threads that have joined.
        seen = word.load(Ordering::Acquire);
    }
}

/// Removes `me`, the head, which has just entered by `mode` and has the queue lock. Gives the queue
/// lock back. `seen` is the word.
///
/// If the head is a reader, the readers behind it, up to the first sleeper of another kind, enter
/// with it. With `tells_next` the next head is told that it is the head.
pub(super) fn leave_inside<H: HostWithSlots>(
    word: &U64<H>,
    seen: u64,
    me: Name,
    mode: Mode,
    tells_next: bool,
) {
    let (mut admitted, mut to_poke) = (0, None);
    unlock_queue::<H>(word, seen, |bits| {
        let Some(last) = newest(bits) else {
            H::fatal("reader-writer lock: the head is not in the queue");
        };
        // Fills in `newer` of each node.
        sleepers::oldest::<H>(last);
        let next = |of: Name| if of == last { None } else { sleepers::newer::<H>(of) };
        let mut first = next(me);
        admitted = 0;
        while let Some(reader) = first.filter(|&it| mode.is_shared() && waits_to_read::<H>(it)) {
            // A reader that has timed out now knows that it must wait for its admission.
            sleepers::mark_removed::<H>(reader);
            admitted += 1;
            first = next(reader);
        }
        to_poke = None;
        if let Some(first) = first {
            sleepers::drop_before::<H>(last, first);
            // It may be able to enter as well.
            let may_come = mode.is_shared() && !waits_to_write::<H>(first);
            to_poke = Some(first).filter(|_| may_come || tells_next);
        }
        let bits = with_queue(bits, first.and(Some(last)), first);
        // A lock that was closed stays closed for a writer that is next. An upgrade may have come
        // before the writer that closed it.
        let stays = mode != Mode::Write && first.is_some_and(waits_to_write::<H>);
        (if stays { bits } else { bits & !CLOSED }) + READER * admitted
    });
    let mut next = if admitted > 0 { sleepers::newer::<H>(me) } else { None };
    for left in (0..admitted).rev() {
        let Some(reader) = next else {
            H::fatal("reader-writer lock: a reader that was admitted is not in the queue");
        };
        // After the admission, the links belong to the node's owner.
        next = if left > 0 { sleepers::newer::<H>(reader) } else { None };
        admit::<H>(reader);
    }
    if let Some(head) = to_poke {
        poke::<H>(head);
    }
}

/// Puts `me` first in the queue, and closes the lock for it. Clears `mark` in the word, which
/// stands for the thread there.
pub(super) fn come_first<H: HostWithSlots>(word: &U64<H>, me: Name, mark: u64) {
    let seen = lock_queue::<H>(word);
    let mut is_linked = false;
    unlock_queue::<H>(word, seen, |bits| {
        let last = newest(bits);
        match last {
            Some(last) if !is_linked => {
                sleepers::put_first::<H>(last, me);
                is_linked = true;
            }
            Some(_) => {}
            None => sleepers::prepare::<H>(me, None),
        }
        (with_queue(bits, last.or(Some(me)), Some(me)) - mark) | CLOSED
    });
}

/// Removes `me`, which waits as `mode` and has timed out. Returns false if another thread has
/// removed `me`: that thread is about to admit it.
pub(super) fn leave_outside<H: HostWithSlots>(word: &U64<H>, me: Name, mode: Mode) -> bool {
    let seen = lock_queue::<H>(word);
    if sleepers::is_removed::<H>(me) {
        unlock_queue::<H>(word, seen, |bits| bits);
        return false;
    }
    let was_head = head(seen) == Some(me);
    let mut is_unlinked = false;
    let mut new_head = None;
    unlock_queue::<H>(word, seen, |bits| {
        let mut last = newest(bits);
        if let Some(newest) = last.filter(|_| !is_unlinked) {
            if newest == me {
                last = sleepers::before_newest::<H>(me);
            } else {
                sleepers::remove::<H>(newest, me);
                is_unlinked = true;
            }
        }
        new_head = if was_head { last.map(sleepers::oldest::<H>) } else { head(bits) };
        let bits = with_queue(bits, last, new_head);
        // An upgrade may have come before a writer that has closed the lock.
        let stays = mode == Mode::Upgrade && new_head.is_some_and(waits_to_write::<H>);
        if was_head && !stays { bits & !CLOSED } else { bits }
    });
    // A release may have counted on this thread, or this thread may have kept others out.
    if let Some(head) = new_head.filter(|_| was_head) {
        poke::<H>(head);
    }
    true
}
