//! How many compare-exchanges of a line threads lose in a row before one succeeds.
//!
//! A loop of compare-exchanges may have a bound, as a lockref's has, which is reached too seldom to be seen in a simulated
//! millisecond; how often the loop comes part of the way says how often that is. A run of losses ends with the thread's next
//! compare-exchange of the line that succeeds, and is forgotten if the thread changes to another line before.

use super::Engine;

/// Runs of so many losses, or more, are counted together.
const MOST: usize = 128;

/// Of one line: how many compare-exchanges succeeded after how many losses in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Tries {
    at_once: u64,
    /// After 1, 2, ... losses. Made at the first one: most lines of a large table have none.
    after: Option<Box<[u64; MOST]>>,
}

/// The losses of a thread since its last success, all of one line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    line: u32,
    number: u32,
}

impl Engine {
    /// A compare-exchange of the line by `thread` failed.
    pub(super) fn lost(&mut self, thread: u32, line: u32) {
        let losses = &mut self.threads[thread as usize].losses;
        if losses.line != line {
            *losses = Losses { line, number: 0 };
        }
        losses.number = losses.number.saturating_add(1);
    }

    /// One succeeded.
    pub(super) fn won(&mut self, thread: u32, line: u32) {
        let losses = std::mem::take(&mut self.threads[thread as usize].losses);
        let number = if losses.line == line { losses.number as usize } else { 0 };
        let tries = &mut self.traces[line as usize].tries;
        match number.checked_sub(1) {
            None => tries.at_once += 1,
            Some(more) => {
                tries.after.get_or_insert_with(|| Box::new([0; MOST]))[more.min(MOST - 1)] += 1
            }
        }
    }

    /// How many compare-exchanges of the line at `address` succeeded after 0, 1, ... losses; nothing if the line was not used.
    pub(crate) fn lost_in_a_row(&self, address: usize) -> Vec<u64> {
        let line = self.line_of.get(self.places.line(address.wrapping_sub(self.arena.base())));
        let trace = line.and_then(|&line| self.traces.get(line as usize));
        let Some(Tries { at_once, after }) = trace.map(|trace| &trace.tries) else {
            return Vec::new();
        };
        std::iter::once(*at_once)
            .chain(after.iter().flat_map(|after| after.iter().copied()))
            .collect()
    }
}
