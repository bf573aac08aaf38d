//! The kernel's buckets: the system calls on one word, served one after another. As in the
//! scheduler, the buckets decide which thread is next, and the engine acts.

use std::collections::{HashMap, VecDeque};

/// A call that waits for its service, or is being served.
#[derive(Clone, Copy, Debug)]
struct Call {
    thread: u32,
    /// `true` if the call waits on the word, `false` if it wakes.
    waits: bool,
}

/// The calls on one word.
#[derive(Debug, Default)]
struct Bucket {
    served: Option<Call>,
    queue: VecDeque<Call>,
}

/// The words on which calls are in progress.
#[derive(Debug, Default)]
pub(super) struct Buckets(HashMap<usize, Bucket>);

impl Buckets {
    /// Returns `true` if a call that waits on the word is in progress.
    pub(super) fn has_waits(&self, word: usize) -> bool {
        self.0
            .get(&word)
            .is_some_and(|bucket| bucket.served.iter().chain(&bucket.queue).any(|call| call.waits))
    }

    /// Adds a call. Returns `true` if its service begins.
    pub(super) fn enter(&mut self, word: usize, thread: u32, waits: bool) -> bool {
        let bucket = self.0.entry(word).or_default();
        let call = Call { thread, waits };
        if bucket.served.is_some() {
            bucket.queue.push_back(call);
            return false;
        }
        bucket.served = Some(call);
        true
    }

    /// Ends the service of a call. Returns the thread that is served next, and the numbers of other
    /// calls before and behind it.
    pub(super) fn leave(&mut self, word: usize) -> Option<(u32, u64)> {
        let bucket = self.0.get_mut(&word)?;
        bucket.served = bucket.queue.pop_front();
        let Some(call) = bucket.served else {
            self.0.remove(&word);
            return None;
        };
        Some((call.thread, 1 + bucket.queue.len() as u64))
    }
}
