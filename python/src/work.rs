//! Work without the interpreter's lock, which a signal can interrupt.

use lockyard_support::jobs;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Number of calls that work now. The last one that ends clears the interrupt.
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` on another thread, and returns its result. Meanwhile, this thread lets others use
/// the interpreter, and looks for signals. An interrupt ends the work of all calls of the process.
///
/// # Errors
///
/// The exception that a signal handler raised.
pub(crate) fn without_the_lock<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    // Relaxed: the count guards no other data.
    WORKING.fetch_add(1, Ordering::Relaxed);
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            scope.spawn(move || {
                let result = work();
                // The receiver lives until the thread has ended.
                let _ = done.send(result);
            });
            let mut raised = None;
            loop {
                match is_done.recv_timeout(LOOK) {
                    Ok(result) => return raised.map_or(Ok(result), Err),
                    Err(RecvTimeoutError::Disconnected) => {
                        let what = "the work ended with a fault".to_owned();
                        return Err(Python::attach(|py| crate::errors::run(py, what)));
                    }
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            jobs::interrupt();
                            raised = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    if WORKING.fetch_sub(1, Ordering::Relaxed) == 1 {
        jobs::clear_interrupt();
    }
    result
}

/// Returns the number of jobs at the same time: the given one, or one for each CPU.
pub(crate) fn jobs(given: Option<usize>) -> usize {
    given
        .filter(|&jobs| jobs > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
