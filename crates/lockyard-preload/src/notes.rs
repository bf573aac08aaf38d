//! Notes of what the recorder notices beside locks: calls that go past it, and programs that are
//! executed. The command reads them to say what a report does not contain.

use crate::memory::{allocate, at, base, count, header, link, offset_of};
use crate::{local, system};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::{MOST_NOTES, Note, note};

/// Marks of locks that are not recorded: 1 if there was a call in this process.
pub(crate) static SEMAPHORES: AtomicU32 = AtomicU32::new(0);
pub(crate) static STANDARD: AtomicU32 = AtomicU32::new(0);

/// Forgets which calls there were: those of the parent of a fork.
pub(crate) fn forget() {
    SEMAPHORES.store(0, Ordering::Relaxed);
    STANDARD.store(0, Ordering::Relaxed);
}

/// Adds a note with a text of two parts, each ended by a zero; unless there is one of the same
/// kind, process and text. Returns null if there is none, nothing is recorded, or there is no room.
pub(crate) fn add(about: &Note, parts: [&[u8]; 2]) -> *mut Note {
    if base().is_null() || !local::begin() {
        return null_mut();
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    let note = unsafe { add_inside(about, parts) };
    local::end();
    note
}

/// Says in the parent's records that this child of a fork has none.
///
/// # Safety
///
/// There is a mapping, that of the parent, and the thread is inside the recorder.
pub(crate) unsafe fn add_child_without_records() {
    let mut name = [0; 16];
    system::own_name(&mut name);
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    // SAFETY: the caller's promise. The parent adds notes by the same atomic operations.
    unsafe { add_inside(&now(note::CHILD), [name.get(..length).unwrap_or_default(), b""]) };
}

/// Size of the longest part of a text: that of a path.
const LONGEST: usize = 4096;

unsafe fn add_inside(about: &Note, parts: [&[u8]; 2]) -> *mut Note {
    let [first, second] = parts.map(|part| part.get(..part.len().min(LONGEST)).unwrap_or_default());
    let length = first.len() + second.len() + 2;
    // SAFETY: the caller's. A note is not changed once it is in the list, but for its state.
    unsafe {
        let notes = AtomicU64::from_ptr(&raw mut (*header()).notes);
        // Acquire: pairs with the release of the one that linked it.
        let mut next = notes.load(Ordering::Acquire);
        while next != 0 {
            let other: *mut Note = at(next);
            let text =
                core::slice::from_raw_parts(other.add(1).cast::<u8>(), (*other).bytes as usize);
            let is_same = (*other).kind == about.kind
                && (*other).pid == about.pid
                && text.len() == length
                && text.starts_with(first)
                && text.get(first.len() + 1..).is_some_and(|rest| rest.starts_with(second));
            if is_same && about.kind != note::EXECUTED {
                return other;
            }
            next = (*other).next;
        }
        let number = AtomicU64::from_ptr(&raw mut (*header()).note_count);
        if number.fetch_add(1, Ordering::Relaxed) >= MOST_NOTES {
            return null_mut();
        }
        let note: *mut Note = allocate(size_of::<Note>() + length, 64).cast();
        if note.is_null() {
            count(&raw mut (*header()).lost);
            return note;
        }
        *note = Note { bytes: length as u32, ..*about };
        // All bytes are zero, so each part ends with one.
        let text: *mut u8 = note.add(1).cast();
        text.copy_from_nonoverlapping(first.as_ptr(), first.len());
        text.add(first.len() + 1).copy_from_nonoverlapping(second.as_ptr(), second.len());
        link(&raw mut (*header()).notes, &raw mut (*note).next, offset_of(note));
        note
    }
}

/// Returns a note of this process and this moment.
pub(crate) fn now(kind: u32) -> Note {
    let (pid, ticks) = (system::process(), system::ticks());
    Note { next: 0, ticks, kind, pid, state: 0, bytes: 0 }
}
