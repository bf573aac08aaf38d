//! Functions for programs that record their own locks, such as those that are compiled into the
//! program. `lockyard-recorded` finds them by name.

use crate::late::{self, Wait};
use crate::memory::{self, base};
use crate::record::{self, Call};
use crate::{local, system, thread};
use core::arch::naked_asm;
use lockyard_records::{Kind, event};

/// Returns the time in ticks, or 0 if nothing is recorded.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn lockyard_record_ticks() -> u64 {
    if base().is_null() { 0 } else { system::ticks() }
}

/// Records an acquisition: the lock's address, and the time at which the call began to wait, or 0.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn lockyard_record_acquired(_lock: usize, _waits_since: u64) {
    naked_asm!(
        "xor edx, edx",
        "mov rcx, [rsp]",
        "jmp {acquired}",
        acquired = sym acquired
    )
}

/// Records an acquisition that others may share.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn lockyard_record_shared(_lock: usize, _waits_since: u64) {
    naked_asm!(
        "mov edx, 1",
        "mov rcx, [rsp]",
        "jmp {acquired}",
        acquired = sym acquired
    )
}

unsafe extern "C" fn acquired(lock: usize, waits_since: u64, shared: usize, site: usize) {
    if base().is_null() || !local::begin() {
        return;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            memory::count(&raw mut (*memory::header()).lost);
        } else {
            let event = if shared == 0 { event::ACQUIRED } else { event::READ };
            let call = Call::new(lock, site, Kind::Own, event, false);
            let wait = if waits_since == 0 { Wait::None } else { Wait::Since(waits_since) };
            late::acquired(mine, &call, wait, false);
        }
    }
    local::end();
}

/// Records a release, just before it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn lockyard_record_released(lock: usize) {
    if base().is_null() || !local::begin() {
        return;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        if !mine.is_null() {
            record::end_before(mine, lock as u64);
        }
    }
    local::end();
}
