//! Start of a process, and of the child of a fork.

use crate::memory::{self, LONGEST, TOPOLOGY, allocate, base, header, offset_of};
use crate::{burst, cost, local, maps, real, sample, system, thread};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use lockyard_records::{
    CPUS, Cpu, DIRECTORY, EVENTS, EVERY, EXTENSION, HEADS, MAGIC, MEASURE_COST, TOPOLOGY as PLACES,
    VERSION,
};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}

/// Called by the loader before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn() = start;

/// Path of the directory, ended by a zero; empty if nothing is recorded. It is written once, before
/// there are threads.
static mut FOLDER: [u8; LONGEST] = [0; LONGEST];

/// True if this process or its parent records. It stays when a fork clears the base.
static IS_RECORDED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn start() {
    real::resolve();
    let Some(folder) = variable(DIRECTORY) else { return };
    if !local::begin() {
        return;
    }
    // SAFETY: there is one thread.
    unsafe {
        // Room for the name of a file.
        if folder.len() + 64 < LONGEST {
            let to: *mut u8 = (&raw mut FOLDER).cast();
            to.copy_from_nonoverlapping(folder.as_ptr(), folder.len());
            if let Some(folder) = system::open_own_folder(Path::folder().ended()) {
                system::look_at_processor();
                sample::set_every(variable(EVERY).map_or(1, number).max(1));
                burst::set_ticks(variable(EVENTS).map_or(0, number));
                map_topology(folder);
                create(folder, false);
                system::close(folder);
            }
        }
    }
    local::end();
    if base().is_null() {
        return;
    }
    memory::clear_in_children();
    IS_RECORDED.store(true, Ordering::Relaxed);
    thread::install();
    // SAFETY: the function is one of this library, which is never unloaded.
    unsafe { pthread_atfork(None, None, Some(forked)) };
    if variable(MEASURE_COST).is_some() {
        cost::measure();
    }
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

/// Parts of a path, put together without allocation.
struct Path {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Path {
    /// The directory.
    fn folder() -> Path {
        // SAFETY: the path is written before there are threads.
        let bytes = unsafe { FOLDER };
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(0);
        Path { bytes, length }
    }

    fn empty() -> Path {
        Path { bytes: [0; LONGEST], length: 0 }
    }

    /// Appends a text. What does not fit is left out, and a zero follows in any case.
    fn push(&mut self, text: &[u8]) {
        for &byte in text {
            if self.length + 1 < LONGEST {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
        self.bytes[self.length] = 0;
    }

    fn push_number(&mut self, number: u32) {
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
    fn ended(&self) -> &[u8] {
        self.bytes.get(..=self.length).unwrap_or_default()
    }
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

/// Creates the file of this process in a directory, and maps it.
///
/// # Safety
///
/// There is one thread, which is inside the recorder.
unsafe fn create(folder: i32, forked: bool) {
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
        let file = system::move_up(file);
        // SAFETY: there is one thread.
        if !unsafe { memory::create(file, path.ended()) } {
            system::close(file);
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
        (*header).version = VERSION;
        (*header).pid = process;
        (*header).parent = system::parent();
        (*header).forked = u32::from(forked);
        (*header).start = system::ticks();
        (*header).every = sample::every();
        let program = &mut (*header).program;
        let room = program.len() - 1;
        if let Some(room) = program.get_mut(..room) {
            system::link(b"/proc/self/exe\0", room);
        }
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

/// Gives the child of a fork its own file. It still has the parent's mapping, to which it must not
/// write.
unsafe extern "C" fn forked() {
    let is_recorded = IS_RECORDED.load(Ordering::Relaxed);
    memory::forget();
    // SAFETY: the child has one thread. The place of the parent's records is not used again.
    unsafe {
        (*local::local()).thread = core::ptr::null_mut();
        if !local::begin() {
            return;
        }
        if is_recorded && let Some(folder) = system::open_own_folder(Path::folder().ended()) {
            create(folder, true);
            system::close(folder);
        }
    }
    local::end();
}

const _: () = assert!(size_of::<AtomicPtr<u8>>() == 8);
