//! Programs that this one executes. Each call is noted with the environment's part in it: whether
//! the next program is told to load the recorder. If that has records, all is well; otherwise the
//! command knows which program it was.

use crate::notes::{self, now};
use crate::process_file::Path;
use crate::{real, system};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use lockyard_records::{DIRECTORY, Note, note};

type Text = *const c_char;
type List = *const Text;

unsafe extern "C" {
    static environ: List;
}

/// Returns true if an environment tells a program to load the recorder, and where to record.
unsafe fn keeps_recorder(variables: List) -> bool {
    let Some(own) = real::own() else { return true };
    if variables.is_null() {
        return false;
    }
    // SAFETY: the loader's text, and the program's list, which ends with null.
    unsafe {
        let own = CStr::from_ptr(own.file).to_bytes();
        let (mut loads, mut records) = (false, false);
        let mut at = variables;
        while !(*at).is_null() {
            let variable = CStr::from_ptr(*at).to_bytes();
            if let Some(value) = variable.strip_prefix(b"LD_PRELOAD=") {
                loads = value.windows(own.len().max(1)).any(|part| part == own);
            }
            if let Some(value) = variable.strip_prefix(DIRECTORY.as_bytes()) {
                records = value.first() == Some(&b'=') && value.len() > 1;
            }
            at = at.add(1);
        }
        loads && records
    }
}

/// Returns a note of a program that is executed now.
unsafe fn about(variables: List) -> Note {
    // SAFETY: the caller's.
    let state = if unsafe { keeps_recorder(variables) } { 0 } else { note::CLEARED };
    Note { state, ..now(note::EXECUTED) }
}

/// Notes that this process executes a program.
///
/// # Safety
///
/// The path is null or ends with a zero; the list is null or ends with null.
pub(crate) unsafe fn note_program(path: Text, variables: List) -> *mut Note {
    if path.is_null() || crate::memory::base().is_null() {
        return null_mut();
    }
    // SAFETY: the caller's.
    unsafe { notes::add(&about(variables), [CStr::from_ptr(path).to_bytes(), b""]) }
}

/// Notes that the program could not be executed: the call has returned.
unsafe fn failed(note: *mut Note) {
    if !note.is_null() {
        // SAFETY: the note is in the mapping, and only this thread changes it.
        unsafe { (&raw mut (*note).state).write_volatile((*note).state | note::FAILED) };
    }
}

macro_rules! executing {
    ($($name:ident, $slot:ident, $call:ident ($($argument:ident),*), $variables:expr;)*) => { $(
        pub(crate) unsafe extern "C" fn $name(
            path: Text,
            arguments: List,
            $($argument: List,)*
        ) -> c_int {
            // SAFETY: the program's arguments.
            unsafe {
                let note = note_program(path, $variables);
                let code = real::$call(&real::$slot)(
                    path.expose_provenance(),
                    arguments.expose_provenance(),
                    $($argument.expose_provenance(),)*
                );
                failed(note);
                code
            }
        }
    )* };
}

executing! {
    execve, EXECVE, three(variables), variables;
    execv, EXECV, two(), environ;
    execvp, EXECVP, two(), environ;
    execvpe, EXECVPE, three(variables), variables;
}

pub(crate) unsafe extern "C" fn fexecve(file: c_int, arguments: List, variables: List) -> c_int {
    let mut path = [0u8; 512];
    let mut link = Path::empty();
    link.push(b"/proc/self/fd/");
    link.push_number(file.unsigned_abs());
    let room = path.len() - 1;
    if let Some(room) = path.get_mut(..room) {
        system::link(link.ended(), room);
    }
    // SAFETY: the program's arguments; the path ends with a zero.
    unsafe {
        let note = note_program(path.as_ptr().cast(), variables);
        let [arguments, variables] = [arguments, variables].map(|list| list.expose_provenance());
        let code = real::three(&real::FEXECVE)(file as usize, arguments, variables);
        failed(note);
        code
    }
}

macro_rules! spawning {
    ($($name:ident, $slot:ident;)*) => { $(
        pub(crate) unsafe extern "C" fn $name(
            process: *mut c_int,
            path: Text,
            actions: usize,
            attributes: usize,
            arguments: List,
            variables: List,
        ) -> c_int {
            let mut own = 0;
            let process = if process.is_null() { &raw mut own } else { process };
            // SAFETY: the program's arguments, or a live number.
            unsafe {
                let mut about = about(variables);
                let code = real::six(&real::$slot)(
                    process.expose_provenance(),
                    path.expose_provenance(),
                    actions,
                    attributes,
                    arguments.expose_provenance(),
                    variables.expose_provenance(),
                );
                if code == 0 && !path.is_null() {
                    about.pid = (*process).unsigned_abs();
                    notes::add(&about, [CStr::from_ptr(path).to_bytes(), b""]);
                }
                code
            }
        }
    )* };
}

spawning! {
    spawn, SPAWN;
    spawn_by_path, SPAWN_BY_PATH;
    old_spawn, OLD_SPAWN;
    old_spawn_by_path, OLD_SPAWN_BY_PATH;
}

/// Notes a program that is executed with the environment of this one.
pub(crate) unsafe extern "C" fn executes(path: *const c_char) {
    real::address(&real::EXECL);
    // SAFETY: the program's argument and environment.
    unsafe { note_program(path, environ) };
}

/// Notes a program that is executed with another environment, which is not looked at.
pub(crate) unsafe extern "C" fn executes_elsewhere(path: *const c_char) {
    real::address(&real::EXECLE);
    // SAFETY: the program's argument.
    unsafe { note_program(path, core::ptr::null()) };
}
