//! The watchdog that ends a test that hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Ends the process if `test` does not end.
pub(crate) fn watched<R>(test: impl FnOnce() -> R) -> R {
    const PATIENCE: Duration = Duration::from_secs(300);
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    let watchdog = thread::spawn(move || {
        thread::park_timeout(PATIENCE);
        if !seen.load(Ordering::Relaxed) {
            eprintln!("a wait did not end");
            std::process::abort();
        }
    });
    let result = test();
    ended.store(true, Ordering::Relaxed);
    watchdog.thread().unpark();
    result
}
