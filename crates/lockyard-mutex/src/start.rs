//! Start of the library: at the first call, which may come before all constructors, from an
//! allocator, and from the search for the C library's functions itself.

use crate::choice::{Lock, PAGE, REAL, named};
use crate::local::me;
use crate::{choice, filter, fork, layout, priority, real, system};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Called by the loader before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn() = start;

unsafe extern "C" fn start() {
    state();
    // The start may allocate, so it waits until the allocator may be called.
    fork::install();
}

/// The thread that starts the library; 0 before the start, [`STARTED`] after it.
static STARTER: AtomicUsize = AtomicUsize::new(0);
/// No thread has this index: see `local.rs`.
const STARTED: usize = 1;

/// State for calls that come while the library starts; 0 before it is known.
static EARLY: AtomicU32 = AtomicU32::new(0);

/// Number of naps before a thread continues without waiting for the end of the start. The thread
/// that starts may wait for the loader, while this thread has the loader's lock.
const MOST_NAPS: u32 = 4_000;

/// Returns the library's state, which is not 0. Starts the library if necessary.
#[inline(always)]
pub(crate) fn state() -> u32 {
    let state = choice::state();
    if state != 0 { state } else { first() }
}

#[cold]
fn first() -> u32 {
    // Acquire, below: pairs with the release of `STARTED`.
    match STARTER.compare_exchange(0, me(), Ordering::Relaxed, Ordering::Acquire) {
        Ok(_) => {
            let lock = named();
            EARLY.store(lock as u32, Ordering::Relaxed);
            real::find_all();
            let state = match layout::find() {
                Ok(()) => lock as u32,
                Err(what) => {
                    system::complain(&[
                        what.as_bytes(),
                        b" in this C library: its locks are not replaced",
                    ]);
                    REAL
                }
            };
            filter::find(lock);
            fork::prepare();
            choice::publish(state | priority::at_start());
            // Release: publishes the functions and the layout.
            STARTER.store(STARTED, Ordering::Release);
        }
        Err(starter) if starter != STARTED && starter != me() => {
            let mut naps = 0;
            while PAGE.state.load(Ordering::Acquire) == 0 && naps < MOST_NAPS {
                system::nap();
                naps += 1;
            }
        }
        Err(STARTED) => {
            if let Some(state) = fork::notice() {
                return state;
            }
        }
        Err(_) => {}
    }
    match choice::state() {
        0 => match EARLY.load(Ordering::Relaxed) {
            0 => Lock::Mutex as u32,
            early => early,
        },
        state => state,
    }
}
