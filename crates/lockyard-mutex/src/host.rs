//! This process as the host of the locks: no allocation, no lock and no cancellation point of the C
//! library, so that locks work inside an allocator, before constructors, and while a thread ends.

use crate::local::{Clock, NO_SLOT, local, me};
use crate::slots::{self, SLOTS};
use crate::{sleep, system};
use core::alloc::Layout;
use core::ffi::{c_int, c_uint, c_void};
use core::ptr::{NonNull, without_provenance};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use libc::timespec;
use lockyard::platform::{
    Announcement, BudgetSpent, Host, HostWithSlots, NativeAtomics, NativeU32, Ordering as Order,
    QueueNode, Slot, Word, slot_is_idle, spread,
};

unsafe extern "C" {
    fn pthread_key_create(
        key: *mut c_uint,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    fn pthread_self() -> usize;
}

/// Threads of this process.
pub(crate) struct Process;

/// Key whose destructor runs when a thread ends, plus one; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Number of keys whose values the C library stores without allocation.
const WITHOUT_ALLOCATION: c_uint = 32;

/// Number of times that a thread gives its slot back: POSIX lets a C library run destructors four
/// times. A lock in a later one finds no slot, and yields.
const MOST_ENDS: u8 = 3;

/// Number of polls of a spinning thread between two yields.
const POLLS: u32 = 64;

/// Longest sleep of a thread whose deadline is on the real-time clock. If the clock is set, the new
/// time decides, so the thread looks at it again.
const LONGEST_REALTIME: Duration = Duration::from_millis(50);

/// Asks for a call at the end of each thread that has a slot.
pub(crate) fn install() {
    let mut key = 0;
    // SAFETY: the call writes the key, and keeps the function.
    let code = unsafe { pthread_key_create(&raw mut key, Some(thread_ends)) };
    if code == 0 && key < WITHOUT_ALLOCATION {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

#[cold]
fn first_slot() -> Option<Slot> {
    // SAFETY: the thread's own data.
    if unsafe { (*local()).slot } == NO_SLOT {
        return None;
    }
    let slot = slots::take()?;
    // SAFETY: the thread's own data; the key's value is no address that anyone uses.
    unsafe {
        (*local()).slot = slot.0 + 1;
        slots::record(slot).thread.store(pthread_self(), Ordering::Relaxed);
        let key = KEY.load(Ordering::Relaxed);
        if key != 0 {
            pthread_setspecific(key - 1, without_provenance(me()));
        }
    }
    Some(slot)
}

/// Gives the slot of a thread that ends back, unless a wait still uses it.
unsafe extern "C" fn thread_ends(_: *mut c_void) {
    let Some(slot) = slots::mine() else { return };
    if !slot_is_idle::<Process>(slot) {
        return;
    }
    // SAFETY: the thread's own data.
    unsafe {
        (*local()).ends += 1;
        (*local()).slot = if (*local()).ends < MOST_ENDS { 0 } else { NO_SLOT };
    }
    slots::give_back(slot);
}

/// Returns the time on a clock.
pub(crate) fn read(clock: Clock) -> Duration {
    let clock = match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
        Clock::Still => return Duration::from_secs(1),
    };
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is live. Both clocks exist, so the call does not fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), time.tv_nsec as u32)
}

// SAFETY: a slot is leased to one thread at a time, and stays with it while it is not idle. Nodes
// and announcements are distinct statics; in the child of a fork, those of threads that do not
// exist there begin anew. No memory is allocated. `fatal` ends the process.
unsafe impl Host for Process {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = SLOTS;

    #[inline]
    fn slot() -> Option<Slot> {
        slots::mine().or_else(first_slot)
    }

    fn numa_node() -> u32 {
        0
    }

    #[inline]
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        slots::node(slot, level)
    }

    #[inline]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        slots::announcements(spread(lock, turn))
    }

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    fn yield_now() {
        system::yield_now();
    }

    fn now() -> Duration {
        // SAFETY: the thread's own data.
        let (stop, clock) = unsafe { ((*local()).stop, (*local()).clock) };
        if stop { Duration::MAX } else { read(clock) }
    }

    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        let word = core::ptr::from_ref(word).cast();
        if !slots::is_in_node(word) {
            return sleep::sleep(word, expected);
        }
        // SAFETY: the thread's own data.
        let is_realtime = unsafe { (*local()).clock } == Clock::Realtime;
        let longest = if is_realtime { LONGEST_REALTIME } else { Duration::MAX };
        let timeout = timeout.map(|timeout| timeout.min(longest)).map(|timeout| timespec {
            tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        });
        system::sleep_for(word, expected, timeout);
    }

    fn unpark(word: *const NativeU32, count: u32) {
        system::wake(word.cast(), count);
    }

    /// Yields from time to time: a program may have more threads than CPUs, and the thread that a
    /// queued or ticket lock serves next may have none.
    #[inline]
    fn wait_until<W: Word>(
        word: &W,
        order: Order,
        mut predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        loop {
            match Self::wait_within(word, order, POLLS, &mut predicate) {
                Ok(value) => return value,
                Err(BudgetSpent(_)) => Self::yield_now(),
            }
        }
    }

    fn allocate(_: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn deallocate(_: NonNull<u8>, _: Layout) {}

    #[cold]
    fn fatal(message: &'static str) -> ! {
        system::complain(&[message.as_bytes()]);
        system::exit(134)
    }
}

impl HostWithSlots for Process {}
