//! Work on one CPU, in a separate thread.

use lockyard_measure::cpus::pin;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Work that is running on one CPU.
pub(super) struct OnCpu<T>(JoinHandle<Option<T>>);

impl<T: Send + 'static> OnCpu<T> {
    /// Runs `work` on `cpu` in a separate thread.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started, or may not run on that CPU.
    pub(super) fn start(
        cpu: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<OnCpu<T>, String> {
        let (sender, receiver) = channel();
        let spawned = std::thread::Builder::new().spawn(move || {
            let pinned = pin(cpu);
            // The thread that started this one waits for the answer.
            let _ = sender.send(pinned);
            pinned.then(work)
        });
        let thread = spawned.map_err(|error| format!("a thread cannot be started: {error}"))?;
        if receiver.recv() == Ok(true) {
            return Ok(OnCpu(thread));
        }
        Err(format!(
            "a thread cannot be pinned to CPU {cpu}: the system does not allow it, \
             or the CPU was taken away"
        ))
    }

    /// Waits until the work is done, and returns its result.
    pub(super) fn finish(self) -> Result<T, String> {
        self.0.join().ok().flatten().ok_or_else(|| "a measuring thread has ended early".to_owned())
    }
}
