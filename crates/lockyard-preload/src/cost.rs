//! The cost of a recorded pair of acquisition and release, beyond that of the plain calls.
//!
//! The least is that of one lock again and again: all is in the nearest cache. The most is that of
//! a program whose locks are cold: two threads, thousands of locks in a mixed order, and other
//! memory between two pairs, so that neither the locks nor their records stay in a core's caches.
//!
//! The cost of events is that of a program that works under its lock and outside of it: the
//! processor does a part of the recorder's steps at the same time as that work. So it is measured
//! with work whose time is known, on one lock.

use crate::memory::header;
use crate::{burst, calls, real, system};
use core::arch::asm;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use lockyard_records::FAR_LOCKS;

unsafe extern "C" {
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        begin: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn calloc(count: usize, bytes: usize) -> *mut u64;
}

/// Number of pairs that are timed together: far less than a turn of a thread on a shared CPU.
const PAIRS: usize = 2000;

/// Number of comparisons of recorded pairs with plain ones, one after the other, so that both meet
/// the same clock, caches and neighbours. The median counts.
const COMPARISONS: usize = 9;

/// Number of times of either kind in a comparison, of which the median is taken.
const ROUNDS: usize = 5;

/// Memory that a thread walks through, in words: more than a core's caches have.
const OTHER: usize = 1 << 20;

/// Words of it between two pairs: 16 cache lines.
const BETWEEN: usize = 128;

/// Multiplications of a work, one after the other: some 60 to 100 ns.
const MULTIPLICATIONS: usize = 64;

#[repr(align(128))]
#[expect(dead_code, reason = "the C library's calls take addresses of its parts")]
struct Mutexes([[u64; 8]; FAR_LOCKS]);

static mut MUTEXES: Mutexes = Mutexes([[0; 8]; FAR_LOCKS]);

/// What the second thread does: one of the following.
static SECOND: AtomicU32 = AtomicU32::new(WAITS);
const WAITS: u32 = 0;
const PLAIN: u32 = 1;
const RECORDED: u32 = 2;

/// A thread's way through the locks and through other memory.
struct Walk {
    locks: usize,
    lock: usize,
    memory: *mut u64,
    at: usize,
    /// State of the works; 0 if there are none.
    work: u64,
}

/// Works in registers.
#[inline(always)]
fn work(mut state: u64) -> u64 {
    for _ in 0..MULTIPLICATIONS {
        // SAFETY: the instruction changes the register only.
        unsafe { asm!("imul {0}, {0}", inout(reg) state, options(pure, nomem, nostack)) };
    }
    state
}

/// Returns the median time of a work alone, in thousandths of a tick.
fn alone() -> u64 {
    let mut state = 3;
    let mut times = [0; COMPARISONS];
    for time in &mut times {
        let begin = system::ticks_after_loads();
        for _ in 0..PAIRS {
            state = work(state);
        }
        *time = (system::ticks_after_loads() - begin) * 1000 / PAIRS as u64;
    }
    core::hint::black_box(state);
    times.sort_unstable();
    times[COMPARISONS / 2]
}

impl Walk {
    /// Returns a walk over the first `locks` mutexes, a power of two.
    fn over(locks: usize, memory: *mut u64) -> Walk {
        Walk { locks, lock: 0, memory, at: 0, work: 0 }
    }

    /// Does [`PAIRS`] pairs.
    #[inline(never)]
    fn pairs(&mut self, recorded: bool) {
        let first = (&raw mut MUTEXES).expose_provenance();
        for _ in 0..PAIRS {
            // A generator modulo a power of two that visits all (Knuth, vol. 2, 3.2.1.2).
            self.lock = (self.lock * 1_664_525 + 1_013_904_223) & (self.locks - 1);
            let mutex = first + self.lock * size_of::<[u64; 8]>();
            // SAFETY: the mutexes are used by these calls only.
            unsafe {
                if recorded {
                    calls::mutex_lock(mutex, measure as *const () as usize);
                    self.works();
                    calls::mutex_unlock(mutex);
                } else {
                    real::one(&real::MUTEX_LOCK)(mutex);
                    self.works();
                    real::one(&real::MUTEX_UNLOCK)(mutex);
                }
            }
            self.works();
            if !self.memory.is_null() {
                for word in (self.at..self.at + BETWEEN).step_by(8) {
                    // SAFETY: the place is below the size of the memory, which is this thread's.
                    unsafe { self.memory.add(word & (OTHER - 1)).write_volatile(word as u64) };
                }
                self.at += BETWEEN;
            }
        }
    }

    #[inline(always)]
    fn works(&mut self) {
        if self.work != 0 {
            self.work = work(self.work);
        }
    }

    /// Returns the median time of rounds in ticks.
    fn time(&mut self, recorded: bool) -> u64 {
        // Meanwhile the second thread ends what it did before.
        self.pairs(recorded);
        let mut times = [0; ROUNDS];
        for time in &mut times {
            let begin = system::ticks();
            self.pairs(recorded);
            *time = system::ticks() - begin;
        }
        times.sort_unstable();
        times[ROUNDS / 2]
    }

    /// Returns the cost of recording a pair, and the time of a plain one, in thousandths of a tick.
    fn cost(mut self, with_second: bool) -> [u64; 2] {
        // The first rounds fill caches and make records.
        SECOND.store(if with_second { RECORDED } else { WAITS }, Ordering::Relaxed);
        (0..2 * self.locks.div_ceil(PAIRS)).for_each(|_| self.pairs(true));
        let (mut costs, mut plains) = ([0; COMPARISONS], [0; COMPARISONS]);
        for (cost, plain) in costs.iter_mut().zip(&mut plains) {
            let [plain_ticks, recorded] = [false, true].map(|recorded| {
                let work = if recorded { RECORDED } else { PLAIN };
                SECOND.store(if with_second { work } else { WAITS }, Ordering::Relaxed);
                self.time(recorded)
            });
            (*cost, *plain) = (recorded.saturating_sub(plain_ticks), plain_ticks);
        }
        SECOND.store(WAITS, Ordering::Relaxed);
        [costs, plains].map(|mut ticks| {
            ticks.sort_unstable();
            (ticks[COMPARISONS / 2] * 1000 / PAIRS as u64).max(1)
        })
    }
}

/// The second thread. Without one, the C library's locks are cheaper.
unsafe extern "C" fn second(_: *mut c_void) -> *mut c_void {
    // SAFETY: the call has no preconditions; null is no memory.
    let mut walk = Walk::over(FAR_LOCKS, unsafe { calloc(OTHER, size_of::<u64>()) });
    walk.lock = FAR_LOCKS / 2;
    loop {
        match SECOND.load(Ordering::Relaxed) {
            PLAIN => walk.pairs(false),
            RECORDED => walk.pairs(true),
            _ => core::hint::spin_loop(),
        }
    }
}

/// Measures the cost of a recorded pair of calls, and ends the process.
pub(crate) fn measure() -> ! {
    let mut thread = 0;
    // SAFETY: the function has the right type, and the argument is not used.
    let code = unsafe { pthread_create(&raw mut thread, core::ptr::null(), second, null_mut()) };
    if burst::is_wanted() {
        let mut walk = Walk::over(1, null_mut());
        // Odd, so that it stays so.
        walk.work = 3;
        let (work, [cost, _]) = (alone(), walk.cost(false));
        // SAFETY: there is a mapping.
        unsafe {
            (&raw mut (*header()).work).write_volatile(work);
            (&raw mut (*header()).cost).write_volatile(cost);
        }
        system::exit(0)
    }
    let [near, plain] = Walk::over(1, null_mut()).cost(false);
    // SAFETY: the call has no preconditions; null is no memory.
    let memory = unsafe { calloc(OTHER, size_of::<u64>()) };
    let [far, _] = Walk::over(FAR_LOCKS, memory).cost(true);
    let far = far.max(near);
    if code == 0 {
        // SAFETY: there is a mapping.
        unsafe {
            (&raw mut (*header()).plain).write_volatile(plain);
            (&raw mut (*header()).cost).write_volatile(near);
            (&raw mut (*header()).far_cost).write_volatile(far);
        }
    }
    system::exit(0)
}
