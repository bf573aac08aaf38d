//! Records a thread's activity: the number of its phase, in its own line.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Line that one thread writes and the sampler reads. It takes two cache lines, because neighbours
/// are fetched in pairs.
#[repr(align(128))]
#[derive(Debug)]
struct Line(AtomicU32);

/// Line to which unregistered threads write.
static NOWHERE: Line = Line(AtomicU32::new(0));

/// Lines of threads that have ended. Lines are never freed, which lets a reader read one at any
/// time. Their number is the maximum number of threads that were registered at once.
static FREE: Mutex<Vec<&'static Line>> = Mutex::new(Vec::new());

std::thread_local! {
    static MINE: Cell<&'static Line> = const { Cell::new(&NOWHERE) };
}

/// Moves the calling thread to phase `phase`. This is a store to a line that the sampler reads now
/// and then. It has no effect on a thread that is not [`Registered`].
#[inline(always)]
pub fn enter(phase: u32) {
    // Relaxed: the store publishes nothing but itself.
    MINE.get().0.store(phase, Ordering::Relaxed);
}

/// Registration of the calling thread, which has a line until this is dropped.
#[derive(Debug)]
pub struct Registered {
    line: &'static Line,
    // Not `Send`: another thread must not take this thread's line away.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Registered {
    /// Gives the calling thread a line, in phase 0, and returns the sampler's handle to it.
    ///
    /// # Errors
    ///
    /// If the system has no CPU-time clock for threads.
    pub fn new() -> std::io::Result<(Registered, Watched)> {
        let clock = Clock::of_this_thread()?;
        let free = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let line = free.unwrap_or_else(|| Box::leak(Box::new(Line(AtomicU32::new(0)))));
        line.0.store(0, Ordering::Relaxed);
        MINE.set(line);
        Ok((Registered { line, _not_send: std::marker::PhantomData }, Watched { line, clock }))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        MINE.set(&NOWHERE);
        FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(self.line);
    }
}

/// A registered thread, as the sampler sees it.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    line: &'static Line,
    clock: Clock,
}

impl Watched {
    pub(super) fn phase(self) -> u32 {
        self.line.0.load(Ordering::Relaxed)
    }

    /// Returns the CPU time that the thread has used; `None` if it has ended.
    pub(super) fn cpu_time(self) -> Option<Duration> {
        self.clock.now()
    }
}

/// The CPU-time clock of a thread. Any thread of the process can read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(#[cfg(target_os = "linux")] libc::clockid_t);

#[cfg(target_os = "linux")]
impl Clock {
    pub(super) fn of_this_thread() -> std::io::Result<Clock> {
        let mut clock = 0;
        // SAFETY: the thread is the calling one and therefore alive; the call writes `clock`.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        if error == 0 { Ok(Clock(clock)) } else { Err(std::io::Error::from_raw_os_error(error)) }
    }

    pub(super) fn now(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is live; the call refuses the clock of a thread that has ended.
        let known = unsafe { libc::clock_gettime(self.0, &raw mut time) } == 0;
        known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

#[cfg(not(target_os = "linux"))]
impl Clock {
    pub(super) fn of_this_thread() -> std::io::Result<Clock> {
        Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
    }

    pub(super) fn now(self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_seen_in_its_phase_and_lines_are_used_again() {
        let (registered, watched) = Registered::new().expect("there is a clock");
        let first: *const Line = registered.line;
        assert_eq!(watched.phase(), 0);
        enter(3);
        assert_eq!(watched.phase(), 3);
        assert!(watched.cpu_time().is_some());
        drop(registered);
        enter(7);
        assert_eq!(watched.phase(), 3, "a thread that is not registered is not seen");
        // Other tests may take the line. The test only needs it not to be lost.
        let again: Vec<_> = (0..64).map(|_| Registered::new().expect("there is a clock")).collect();
        let free = FREE.lock().unwrap();
        assert!(again.iter().any(|(r, _)| std::ptr::eq(r.line, first)) || free.is_empty());
    }

    #[test]
    fn a_thread_that_has_ended_has_no_clock() {
        let thread = std::thread::spawn(|| Registered::new().expect("there is a clock").1);
        let watched = thread.join().expect("it ends");
        // Another thread may have received its number meanwhile, and then has a clock.
        let _ = watched.cpu_time();
        assert!(watched.phase() < u32::MAX);
    }
}
