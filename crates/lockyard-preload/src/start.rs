//! Start of a process, and of the child of a fork.

use crate::memory::{self, TOPOLOGY, base};
use crate::process_file::{self, Path};
use crate::{burst, cost, local, real, sample, system, thread, unseen};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use lockyard_records::{CPUS, Cpu, DIRECTORY, EVENTS, EVERY, MEASURE_COST, TOPOLOGY as PLACES};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn getauxval(kind: usize) -> usize;
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}

/// Called by the loader before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(c_int, *const *const c_char) = start;

/// True if this process or its parent records. It stays when a fork clears the base.
static IS_RECORDED: AtomicBool = AtomicBool::new(false);

/// The loader of the GNU C library gives the arguments of the program.
unsafe extern "C" fn start(count: c_int, arguments: *const *const c_char) {
    real::resolve();
    let Some(folder) = variable(DIRECTORY) else { return };
    if !local::begin() {
        return;
    }
    // SAFETY: there is one thread.
    unsafe {
        if process_file::set_folder(folder)
            && let Some(folder) = system::open_own_folder(Path::folder().ended())
        {
            system::look_at_processor();
            sample::set_every(variable(EVERY).map_or(1, number).max(1));
            burst::set_ticks(variable(EVENTS).map_or(0, number));
            map_topology(folder);
            process_file::set_called(called(count, arguments));
            process_file::create(folder, false);
            system::close(folder);
        }
    }
    local::end();
    if base().is_null() {
        return;
    }
    memory::clear_in_children();
    IS_RECORDED.store(true, Ordering::Relaxed);
    thread::install();
    unseen::look_before();
    // SAFETY: the function is one of this library, which is never unloaded.
    unsafe { pthread_atfork(None, None, Some(forked)) };
    if variable(MEASURE_COST).is_some() {
        cost::measure();
    }
}

/// Returns the name by which the program was called: its first argument, or the script that the
/// kernel runs by another program. Without one it is empty.
///
/// # Safety
///
/// The arguments are as `main` gets them.
unsafe fn called(count: c_int, arguments: *const *const c_char) -> &'static [u8] {
    const PATH_OF_PROGRAM: usize = 31;
    let text = |text: *const c_char| {
        // SAFETY: the kernel wrote the texts, each ended by a zero, and this is before `main`.
        if text.is_null() { &[][..] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
    };
    let argument = |index: usize| {
        if arguments.is_null() || index >= usize::try_from(count).unwrap_or(0) {
            return &[][..];
        }
        // SAFETY: as many arguments are there.
        text(unsafe { *arguments.add(index) })
    };
    // SAFETY: the call has no preconditions, and its result is the text that `execve` got, or 0.
    let executed = text(unsafe { getauxval(PATH_OF_PROGRAM) } as *const c_char);
    let first = argument(0);
    // Before a script, the kernel puts the program that runs it, and at most one option.
    let is_script = first != executed && [argument(1), argument(2)].contains(&executed);
    if first.is_empty() || is_script && !executed.is_empty() { executed } else { first }
}

/// Returns the value of an environment variable that is set and not empty.
fn variable(name: &str) -> Option<&'static [u8]> {
    let mut text = [0u8; 64];
    text.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    // SAFETY: the name ends with a zero, and the value does too, and stays until the program
    // changes it. The loader calls this before the program.
    let value = unsafe {
        let value = getenv(text.as_ptr().cast());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_bytes()
    };
    (!value.is_empty()).then_some(value)
}

/// Returns a decimal number, up to its first other character.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits
        .fold(0, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// Maps the places of the CPUs.
unsafe fn map_topology(folder: i32) {
    let mut name = Path::empty();
    name.push(PLACES.as_bytes());
    let Ok(file) = system::open_at(folder, name.ended(), system::READ_ONLY) else { return };
    let bytes = (CPUS * size_of::<Cpu>()) as u64;
    let places = system::map(file, bytes, false);
    system::close(file);
    TOPOLOGY.store(places.cast(), Ordering::Relaxed);
}

/// Gives the child of a fork its own file. It still has the parent's mapping, to which it must not
/// write.
unsafe extern "C" fn forked() {
    let is_recorded = IS_RECORDED.load(Ordering::Relaxed);
    // SAFETY: the child has one thread. The place of the parent's records is not used again.
    unsafe {
        (*local::local()).thread = core::ptr::null_mut();
        if !local::begin() {
            // A signal handler forks, and has interrupted the recorder. If the handler returns, the
            // recorder goes on with what it was doing. The file comes after that.
            if is_recorded {
                process_file::create_later();
            }
            return;
        }
        memory::forget();
        if is_recorded {
            process_file::create_for_child();
        }
    }
    local::end();
}

const _: () = assert!(size_of::<AtomicPtr<u8>>() == 8);
