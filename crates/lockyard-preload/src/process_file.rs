//! The file of a process: its directory, its creation, and that of a child of a fork.

use crate::memory::{self, LONGEST, allocate, base, header, offset_of};
use crate::{local, maps, notes, system};
use core::sync::atomic::{AtomicUsize, Ordering};
use lockyard_records::{CALLED, EXTENSION, HEADS, MAGIC, NAMES, OWN_NAME, VERSION};

/// Path of the directory, ended by a zero; empty if nothing is recorded. It is written once, before
/// there are threads.
static mut FOLDER: [u8; LONGEST] = [0; LONGEST];

/// Name by which the program was called, ended by a zero. It is written as [`FOLDER`] is.
static mut NAME: [u8; CALLED + 1] = [0; CALLED + 1];

/// Keeps the last part of the name by which the program was called.
///
/// # Safety
///
/// There is one thread.
pub(crate) unsafe fn set_called(called: &[u8]) {
    let name = called.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let to: *mut u8 = (&raw mut NAME).cast();
    // SAFETY: it has room, and there is one thread.
    unsafe { to.copy_from_nonoverlapping(name.as_ptr(), name.len().min(CALLED)) };
}

/// Keeps the directory. Returns false if its path is too long.
///
/// # Safety
///
/// There is one thread.
pub(crate) unsafe fn set_folder(folder: &[u8]) -> bool {
    // Room for the name of a file.
    let has_room = folder.len() + 64 < LONGEST;
    if has_room {
        let to: *mut u8 = (&raw mut FOLDER).cast();
        // SAFETY: it has room, and there is one thread.
        unsafe { to.copy_from_nonoverlapping(folder.as_ptr(), folder.len()) };
    }
    has_room
}

/// The thread of this child of a fork, by the address of its data, if a signal handler forked
/// inside the recorder, and the child has no file yet; otherwise 0.
static INTERRUPTED: AtomicUsize = AtomicUsize::new(0);

/// Value of [`INTERRUPTED`]: the child has no room for a file. No thread's data have this address.
const NEVER: usize = 1;

/// Parts of a path, put together without allocation.
pub(crate) struct Path {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Path {
    /// The directory.
    pub(crate) fn folder() -> Path {
        // SAFETY: the path is written before there are threads.
        let bytes = unsafe { FOLDER };
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(0);
        Path { bytes, length }
    }

    pub(crate) fn empty() -> Path {
        Path { bytes: [0; LONGEST], length: 0 }
    }

    /// Appends a text. What does not fit is left out, and a zero follows in any case.
    pub(crate) fn push(&mut self, text: &[u8]) {
        for &byte in text {
            if self.length + 1 < LONGEST {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
        self.bytes[self.length] = 0;
    }

    pub(crate) fn push_number(&mut self, number: u32) {
        let mut digits = [0u8; 10];
        let mut at = digits.len();
        let mut rest = number;
        while at > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(at..).unwrap_or_default());
    }

    /// Returns the path without the zero.
    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns the path with the zero.
    pub(crate) fn ended(&self) -> &[u8] {
        self.bytes.get(..=self.length).unwrap_or_default()
    }
}

/// Creates the file of this process in a directory, and maps it.
///
/// # Safety
///
/// There is one thread, which is inside the recorder.
pub(crate) unsafe fn create(folder: i32, forked: bool) {
    const EXISTS: i32 = 17;
    let process = system::process();
    // A process may execute one program after another: each has its own file.
    for attempt in 0..1000 {
        let mut name = Path::empty();
        name.push_number(process);
        name.push(b"-");
        name.push_number(attempt);
        name.push(EXTENSION.as_bytes());
        let flags = system::READ_WRITE | system::CREATE_NEW;
        let file = match system::open_at(folder, name.ended(), flags) {
            Ok(file) => file,
            Err(EXISTS) => continue,
            Err(_) => return,
        };
        let mut path = Path::folder();
        path.push(b"/");
        path.push(name.text());
        // SAFETY: there is one thread.
        let is_mapped = unsafe { memory::create(file, path.ended()) };
        system::close(file);
        if !is_mapped {
            return;
        }
        // SAFETY: there is a mapping, and one thread.
        unsafe { describe(process, forked) };
        return;
    }
}

unsafe fn describe(process: u32, forked: bool) {
    // SAFETY: there is a mapping, and one thread.
    unsafe {
        let header = header();
        notes::forget();
        (*header).version = VERSION;
        (*header).pid = process;
        (*header).parent = system::parent();
        (*header).forked = u32::from(forked);
        (*header).start = system::ticks();
        write_names(&mut (*header).program, forked);
        let heads = allocate(HEADS * size_of::<u32>(), 64);
        if heads.is_null() {
            memory::forget();
            return;
        }
        (*header).heads = offset_of(heads);
        maps::copy();
        (*header).map_count = 1;
        // The file is complete from here on. A reader comes after the process.
        (&raw mut (*header).magic).write_volatile(MAGIC);
    }
}

/// Writes the names of the process, each ended by a zero: its file's, as it was called, and its own
/// if it is a child. A path that is too long is cut.
fn write_names(names: &mut [u8; NAMES], forked: bool) {
    const OTHERS: usize = CALLED + OWN_NAME + 3;
    if let Some(room) = names.get_mut(..NAMES - OTHERS) {
        system::link(b"/proc/self/exe\0", room);
    }
    let mut at = names.iter().position(|&byte| byte == 0).unwrap_or(0) + 1;
    let mut push = |text: &[u8]| {
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        if let Some(room) = names.get_mut(at..at + text.len()) {
            room.copy_from_slice(text);
            at += text.len() + 1;
        }
    };
    // SAFETY: it is written before there are threads.
    push(&unsafe { NAME });
    let file = if forked { system::open(b"/proc/self/comm\0", system::READ_ONLY) } else { None };
    if let Some(file) = file {
        let mut own = [0; OWN_NAME + 1];
        system::read(file, &mut own);
        system::close(file);
        // A line end follows the name.
        if let Some(end) = own.iter().rposition(|&byte| byte == b'\n') {
            own[end] = 0;
        }
        push(own.get(..OWN_NAME).unwrap_or_default());
    }
}

/// Creates the file of a child of a fork.
///
/// # Safety
///
/// As [`create`].
pub(crate) unsafe fn create_for_child() {
    INTERRUPTED.store(0, Ordering::Relaxed);
    if let Some(folder) = system::open_own_folder(Path::folder().ended()) {
        // SAFETY: the caller's promise.
        unsafe { create(folder, true) };
        system::close(folder);
    }
    if base().is_null() && !memory::is_a_copy() {
        // The directory cannot be reached any more, or has no room. What the child does is missing,
        // and only the parent's records can say so.
        memory::resume();
        // SAFETY: the caller's promise, and there is the parent's mapping.
        unsafe { notes::add_child_without_records() };
        memory::forget();
    }
}

/// Does so later: the fork has interrupted the recorder in this thread.
///
/// # Safety
///
/// The child has one thread, and its parent has a mapping.
pub(crate) unsafe fn create_later() {
    match system::open_own_folder(Path::folder().ended()) {
        Some(folder) => system::close(folder),
        None => {
            // The child will have no file. The parent's records say so, until there is a copy.
            memory::resume();
            // SAFETY: the caller's promise, and there is the parent's mapping.
            unsafe { notes::add_child_without_records() };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { memory::keep_a_copy() };
    INTERRUPTED.store(local::local().addr(), Ordering::Relaxed);
}

/// Returns true if a thread that has no records may begin some. Gives the child of a fork its file
/// if what the fork interrupted has ended. Until then other threads of the child record nothing.
///
/// # Safety
///
/// There is a mapping, and the thread is inside the recorder.
pub(crate) unsafe fn may_begin() -> bool {
    let interrupted = INTERRUPTED.load(Ordering::Relaxed);
    if interrupted == 0 {
        return true;
    }
    if interrupted == local::local().addr() {
        // SAFETY: the thread comes from outside the recorder, so the interrupted call has ended. No
        // other thread has records, so none uses the mapping but for its counters.
        unsafe { create_for_child() };
        if !base().is_null() {
            return true;
        }
        // There is no room for records, but the callers count what is lost.
        memory::resume();
        INTERRUPTED.store(NEVER, Ordering::Relaxed);
    }
    false
}
