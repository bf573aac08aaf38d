//! Record of a line, used to count its moves as needed or not (see `attribution.rs`).

use super::attribution::LineCounts;
use super::distance::LineDistance;
use super::failure_streaks::FailureStreaks;
use crate::engine::sparse::Sparse;

/// Record of a line, used to count its moves.
#[derive(Clone, Debug)]
pub(crate) struct LineTrace {
    pub counts: LineCounts,
    last: Option<u32>,
    /// Number of operations so far that needed the line exclusively.
    touches: u64,
    /// Last touch of each 64-bit unit, for up to 128 bytes. Allocated at the first touch.
    units: Option<Box<[Touch; 16]>>,
    /// Record of each thread's copy of the line.
    copies: Sparse<Copied>,
    pub streaks: FailureStreaks,
}

/// An operation that needed a line exclusively.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// Number of the operation, counted per line from 1; 0 if there was none.
    number: u64,
    thread: u32,
}

/// Record of a thread's copy of a line.
#[derive(Clone, Copy, Debug)]
struct Copied {
    /// Number of touches at the last move that was needed.
    used: u64,
    /// Number of touches when the line last arrived, or when the thread last touched it.
    since: u64,
    /// `true` if the last move has not been needed so far.
    open: bool,
}

impl LineTrace {
    pub(crate) fn new() -> Self {
        let counts = LineCounts::default();
        let never = Copied { used: u64::MAX, since: u64::MAX, open: false };
        LineTrace {
            counts,
            last: None,
            touches: 0,
            units: None,
            copies: Sparse::new(never),
            streaks: FailureStreaks::default(),
        }
    }

    /// Counts a request that arrives at an agent. `length` requests then wait, including this one.
    #[inline(always)]
    pub(super) fn count_request(&mut self, length: u64) {
        self.counts.queue_length += length;
        self.counts.requests += 1;
    }

    /// Counts cycles that a thread spends in a phase on the line, with its code in `region`.
    #[inline(always)]
    pub(super) fn count_cycles(&mut self, phase: usize, region: usize, cycles: u64) {
        self.counts.cycles[phase] += cycles;
        self.counts.regions[region] += cycles;
    }

    /// Thread that last needed the line exclusively, unless it is `thread`.
    #[inline(always)]
    pub(super) fn last_other(&self, thread: u32) -> Option<u32> {
        self.last.filter(|&last| last != thread)
    }

    /// Last touch of `unit`.
    fn last_at(&self, unit: usize) -> Touch {
        self.units.as_ref().map_or(Touch::default(), |units| units[unit])
    }

    /// Counts an operation of `thread` at `unit` that needed the line exclusively. `distance` is
    /// the distance to the previous exclusive owner, if that was another thread.
    #[inline(always)]
    pub(super) fn count_touch(&mut self, thread: u32, unit: usize, distance: Option<LineDistance>) {
        let LineTrace { counts, last, touches, units, copies, .. } = self;
        let units = units.get_or_insert_default();
        let by = units[unit];
        let copy = &mut copies[thread as usize];
        if distance.is_none() || copy.since == *touches {
            // The thread already had the line, at least shared.
            copy.count_use(counts, *touches, thread, by);
        }
        if let Some(distance) = distance {
            counts.hand_overs[distance as usize] += 1;
            copy.count_move(counts, *touches, by.number > 0 && by.thread != thread);
        }
        *last = Some(thread);
        *touches += 1;
        units[unit] = Touch { number: *touches, thread };
        copy.since = *touches;
    }

    /// Counts a load of `thread` at `unit` that hits.
    pub(super) fn count_hit(&mut self, thread: u32, unit: usize) {
        let by = self.last_at(unit);
        self.copies[thread as usize].count_use(&mut self.counts, self.touches, thread, by);
    }

    /// Counts a load of `thread` at `unit` that missed. Called when its data arrives.
    pub(super) fn count_arrival(
        &mut self,
        thread: u32,
        unit: usize,
        distance: Option<LineDistance>,
    ) {
        if let Some(distance) = distance {
            self.counts.reads[distance as usize] += 1;
        }
        self.copies[thread as usize].count_move(&mut self.counts, self.touches, false);
        self.count_hit(thread, unit);
    }
}

impl Copied {
    /// Counts a move of the line to the thread, after `touches` touches. `needed` is true if the
    /// move is already known to be needed.
    #[inline(always)]
    fn count_move(&mut self, counts: &mut LineCounts, touches: u64, needed: bool) {
        let first = self.since == u64::MAX;
        let needed = needed || first;
        self.used = if needed { touches } else { self.used };
        self.since = touches;
        self.open = !needed;
        counts.moves += 1;
        counts.needed += u64::from(needed);
    }

    /// Records a use of a unit by a thread that has the line, after `touches` touches. Counts the
    /// move that brought the line as needed if another thread has touched the unit since. `last` is
    /// the unit's last touch.
    #[inline(always)]
    fn count_use(&mut self, counts: &mut LineCounts, touches: u64, thread: u32, last: Touch) {
        if self.open && last.number > self.used && last.thread != thread {
            self.open = false;
            self.used = touches;
            counts.needed += 1;
        }
    }
}
