//! Recording of a thread's activity as a phase number in its own line.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Line that one thread writes and the sampler reads. It spans two cache lines, because processors
/// prefetch the neighbouring line.
#[repr(align(128))]
#[derive(Debug)]
struct Line(AtomicU32);

/// Line for threads that are not registered.
static NOWHERE: Line = Line(AtomicU32::new(0));

/// Lines of threads that have ended, for reuse. Lines are never freed, so the sampler can read one
/// at any time. The number of lines equals the maximum number of threads ever registered at once.
static FREE: Mutex<Vec<&'static Line>> = Mutex::new(Vec::new());

std::thread_local! {
    static MINE: Cell<&'static Line> = const { Cell::new(&NOWHERE) };
}

/// Records that the calling thread enters phase number `phase`. The cost is one store to a line
/// that the sampler reads now and then. If the thread is not [`Registered`], the call has no
/// effect.
#[inline(always)]
pub fn enter(phase: u32) {
    // Relaxed: the store publishes only its own value.
    MINE.get().0.store(phase, Ordering::Relaxed);
}

/// Registration of the calling thread, which owns a line until this is dropped.
#[derive(Debug)]
pub struct Registered {
    line: &'static Line,
    // Not `Send`: the line must be returned by the thread that owns it.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Registered {
    /// Gives the calling thread a line, starting in phase 0. Also returns the sampler's handle for
    /// that line.
    ///
    /// # Errors
    ///
    /// If the system has no per-thread CPU-time clock.
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

/// Handle by which the sampler observes a registered thread.
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

/// CPU-time clock of a thread. Any thread of the process can read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(#[cfg(target_os = "linux")] libc::clockid_t);

#[cfg(target_os = "linux")]
impl Clock {
    pub(super) fn of_this_thread() -> std::io::Result<Clock> {
        let mut clock = 0;
        // SAFETY: the calling thread is alive, and the call writes only `clock`.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        if error == 0 { Ok(Clock(clock)) } else { Err(std::io::Error::from_raw_os_error(error)) }
    }

    pub(super) fn now(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is live, and the call refuses the clock of an ended thread.
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
        // Another test may take the line. This test only checks that the line is not lost.
        let again: Vec<_> = (0..64).map(|_| Registered::new().expect("there is a clock")).collect();
        let free = FREE.lock().unwrap();
        assert!(again.iter().any(|(r, _)| std::ptr::eq(r.line, first)) || free.is_empty());
    }

    #[test]
    fn a_thread_that_has_ended_has_no_clock() {
        let thread = std::thread::spawn(|| Registered::new().expect("there is a clock").1);
        let watched = thread.join().expect("it ends");
        // A new thread may have received the same ID, and its clock would be read. Either result is
        // fine.
        let _ = watched.cpu_time();
        assert!(watched.phase() < u32::MAX);
    }
}
