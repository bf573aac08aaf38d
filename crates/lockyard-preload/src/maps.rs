//! Copies of the process's mappings, by which call sites and locks get their names.
//!
//! A copy is made at the start, and whenever a call site is outside all executable mappings that
//! are known: the program has loaded a library. So the names are known however the program ends,
//! and also after the library is gone.

use crate::memory::{allocate, at, count, header, link, offset_of};
use crate::system;
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard_records::Text;

/// Maximum number of copies: a program may make code all the time.
const MOST_COPIES: u64 = 64;

/// Maximum size of a copy.
const MOST_BYTES: usize = 4 << 20;

/// Makes sure that a call site is within the latest copy of the mappings, if that is possible.
///
/// # Safety
///
/// There is a mapping, and the thread is inside the recorder.
pub(crate) unsafe fn note(site: u64) {
    // SAFETY: there is a mapping. A copy is not changed once it is published.
    unsafe {
        let maps = AtomicU64::from_ptr(&raw mut (*header()).maps);
        // Acquire: pairs with the release in `copy`.
        let mut text = maps.load(Ordering::Acquire);
        while text != 0 {
            let of: *const Text = at(text);
            let bytes = core::slice::from_raw_parts(of.add(1).cast::<u8>(), (*of).bytes as usize);
            if is_executable(bytes, site) {
                return;
            }
            text = (*of).next;
        }
        let copies = AtomicU64::from_ptr(&raw mut (*header()).map_count);
        if copies.fetch_add(1, Ordering::Relaxed) < MOST_COPIES {
            copy();
        }
    }
}

/// Copies the mappings.
///
/// # Safety
///
/// As for [`note`].
pub(crate) unsafe fn copy() {
    // SAFETY: there is a mapping. The copy is this thread's until it is published.
    unsafe {
        let Some(file) = system::open(b"/proc/self/maps\0", system::READ_ONLY) else { return };
        // The size is not known before all is read: read twice, as the first time tells it.
        let mut size = 0;
        let mut part = [0u8; 1024];
        loop {
            match system::read(file, &mut part) {
                0 => break,
                count => size += count,
            }
        }
        system::close(file);
        let room = (size + 4096).min(MOST_BYTES);
        let text: *mut Text = allocate(size_of::<Text>() + room, 64).cast();
        let again = system::open(b"/proc/self/maps\0", system::READ_ONLY);
        let (false, Some(file)) = (text.is_null(), again) else {
            count(&raw mut (*header()).lost);
            return;
        };
        let bytes = core::slice::from_raw_parts_mut(text.add(1).cast::<u8>(), room);
        let mut used = 0;
        while let Some(free) = bytes.get_mut(used..).filter(|free| !free.is_empty()) {
            match system::read(file, free) {
                0 => break,
                count => used += count,
            }
        }
        system::close(file);
        (*text).bytes = used as u64;
        link(&raw mut (*header()).maps, &raw mut (*text).next, offset_of(text));
    }
}

/// Returns true if an address is in an executable mapping of a text like `/proc/self/maps`.
fn is_executable(maps: &[u8], address: u64) -> bool {
    let mut lines = maps.split(|&byte| byte == b'\n');
    lines.any(|line| {
        let Some((from, rest)) = hexadecimal(line) else { return false };
        let Some((to, rest)) = rest.get(1..).and_then(hexadecimal) else { return false };
        (from..to).contains(&address) && rest.get(3) == Some(&b'x')
    })
}

/// Splits a hexadecimal number off a text.
fn hexadecimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    let mut count = 0;
    for &byte in text {
        let Some(digit) = (byte as char).to_digit(16) else { break };
        number = (number << 4) | u64::from(digit);
        count += 1;
    }
    (count > 0).then(|| (number, text.get(count..).unwrap_or_default()))
}
