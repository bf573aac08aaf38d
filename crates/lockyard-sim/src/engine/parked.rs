//! Parked threads. As in the scheduler, the list decides which thread to wake, and the engine wakes
//! it.

/// A parked thread.
#[derive(Clone, Copy, Debug)]
struct Parked {
    /// Address of the word where the thread waits.
    word: usize,
    thread: u32,
}

/// Parked threads, oldest first. A thread is in the list at most once.
#[derive(Debug, Default)]
pub(super) struct ParkedThreads(Vec<Parked>);

impl ParkedThreads {
    /// Adds a thread that waits on `word`.
    pub(super) fn add(&mut self, word: usize, thread: u32) {
        debug_assert!(self.0.iter().all(|parked| parked.thread != thread), "it is parked already");
        self.0.push(Parked { word, thread });
    }

    /// Removes a thread. Returns `false` if it is not in the list.
    pub(super) fn remove_thread(&mut self, thread: u32) -> bool {
        let index = self.0.iter().position(|parked| parked.thread == thread);
        index.map(|index| self.0.remove(index)).is_some()
    }

    /// Returns `true` if a thread waits on `word`.
    pub(super) fn is_waited_on(&self, word: usize) -> bool {
        self.0.iter().any(|parked| parked.word == word)
    }

    /// Removes the first `count` threads that wait on `word`. Returns them in order.
    pub(super) fn take(&mut self, word: usize, count: u32) -> Vec<u32> {
        let mut woken = Vec::new();
        self.0.retain(|parked| {
            let wakes = parked.word == word && woken.len() < count as usize;
            if wakes {
                woken.push(parked.thread);
            }
            !wakes
        });
        woken
    }
}
