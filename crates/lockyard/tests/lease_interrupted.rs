//! The lease of a slot, interrupted at each of its instructions by a signal handler that also asks
//! for a slot. The handler gets either no slot or its thread's slot, and no slot is lost.
//!
//! The processor's trap flag stops after every instruction, so the test chooses the place of the
//! interruption. This file has only one test, because it counts the free slots.

#![cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]

use lockyard::Native;
use lockyard::platform::{Host, Slot};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of instructions stepped over.
static STEPS: AtomicU32 = AtomicU32::new(0);
/// Number of the instruction at which the handler asks for a slot.
static ASK_AT: AtomicU32 = AtomicU32::new(0);
/// The handler's result: a slot, or one of the values below.
static GIVEN: AtomicU32 = AtomicU32::new(0);
const NOT_ASKED: u32 = u32::MAX;
const REFUSED: u32 = u32::MAX - 1;

const TRAP_FLAG: libc::greg_t = 0x100;

extern "C" fn trapped(
    _signal: libc::c_int,
    _info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    if STEPS.fetch_add(1, Ordering::Relaxed) == ASK_AT.load(Ordering::Relaxed) {
        GIVEN.store(Native::slot().map_or(REFUSED, |slot| slot.0), Ordering::Relaxed);
        // SAFETY: the kernel passes the interrupted thread's registers, and no other code has them.
        // The rest of the lease need not be stepped over.
        unsafe { (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG };
    }
}

/// Asks for a slot with the trap flag set.
#[inline(never)]
fn lease_step_by_step() -> Option<Slot> {
    // SAFETY: sets the trap flag. The stack is as before, and the handler for SIGTRAP is installed.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let slot = Native::slot();
    // SAFETY: clears the trap flag. The stack is as before.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    slot
}

#[test]
fn a_handler_at_any_instruction_of_the_lease_gets_its_threads_slot_or_none() {
    // SAFETY: `trapped` is a handler for `SA_SIGINFO` that uses atomics, its context, and the slot,
    // whose behaviour in a handler is under test. A zeroed `sigaction` has an empty mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO;
        action.sa_sigaction = trapped as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
    }
    let (mut before, mut refused, mut after) = (0, 0, 0);
    for ask_at in 0.. {
        ASK_AT.store(ask_at, Ordering::Relaxed);
        STEPS.store(0, Ordering::Relaxed);
        GIVEN.store(NOT_ASKED, Ordering::Relaxed);
        let (leased, later) =
            std::thread::spawn(|| (lease_step_by_step(), Native::slot())).join().unwrap();
        assert_eq!(leased, Some(Slot(0)), "a slot was lost before instruction {ask_at}");
        assert_eq!(later, leased, "a thread keeps its slot; asked at {ask_at}");
        match GIVEN.load(Ordering::Relaxed) {
            NOT_ASKED if ask_at == 0 => {
                return lockyard_testing::skip!("there is no trap after an instruction here");
            }
            NOT_ASKED => break, // the lease has no more instructions
            REFUSED => refused += 1,
            given => {
                assert_eq!(Some(Slot(given)), leased, "asked at {ask_at}");
                if refused == 0 {
                    before += 1;
                } else {
                    after += 1;
                }
            }
        }
    }
    println!("{before} instructions before the lease, {refused} within, {after} after");
    assert!(before > 0 && refused > 0 && after > 0, "{before}, {refused}, {after}");
}
