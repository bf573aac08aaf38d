//! System calls: a thread sleeps while a word has a value, and another thread wakes it; a thread
//! yields its CPU.

use std::io::Error;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The system calls, for threads of one process.
const WAIT: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: libc::c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Result of a call that may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slept {
    /// The thread was woken, by a call or spuriously.
    Woken,
    /// The word had another value.
    Changed,
    /// Time ran out, or a signal came.
    Interrupted,
    /// The system refuses the call.
    Refused,
}

/// Sleeps while the word has a value, for at most this long if there is a bound. A call with a
/// bound takes longer: the kernel sets a timer first.
pub(super) fn wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) -> Slept {
    let timeout = at_most.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the time live until the end of the call, which changes neither. A null
    // time means no bound.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAIT, value, timeout) };
    if result == 0 {
        return Slept::Woken;
    }
    match Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Slept::Changed,
        Some(libc::ETIMEDOUT | libc::EINTR) => Slept::Interrupted,
        _ => Slept::Refused,
    }
}

/// Wakes a thread that sleeps on the word. Returns the number of threads woken, or `None` if the
/// system refuses the call.
pub(super) fn wake(word: &AtomicU32) -> Option<usize> {
    // SAFETY: the word lives until the end of the call, which does not access it.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAKE, 1) };
    usize::try_from(result).ok()
}

/// Yields the CPU. Returns false if the system refuses the call.
pub(super) fn yield_cpu() -> bool {
    // SAFETY: the call has no arguments, and accesses no memory of the process.
    unsafe { libc::sched_yield() == 0 }
}

/// Returns the number of times that the calling thread has left its CPU, if the system counts it.
pub(super) fn switches() -> Option<u64> {
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live `rusage`.
    let told = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } == 0;
    told.then_some((usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_say_how_they_ended() {
        let word = AtomicU32::new(1);
        if wait(&word, 2, None) == Slept::Refused {
            return lockyard_testing::skip!("futex calls are refused");
        }
        assert_eq!(wait(&word, 2, Some(Duration::from_secs(10))), Slept::Changed);
        assert_eq!(wait(&word, 1, Some(Duration::from_millis(1))), Slept::Interrupted);
        assert_eq!(wake(&word), Some(0));
        assert!(yield_cpu());
    }
}
