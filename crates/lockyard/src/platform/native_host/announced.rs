//! The native host's table of parked waiters: lines of eight words, in static memory, indexed by
//! lock and turn. The table is 32 KiB of zeros, and is linked only into programs with a lock that
//! parks. Only pages that are used take memory.

use super::super::{Announcement, NativeAtomics, spread};

const LINES: usize = 512;
const WORDS: usize = 8;

#[repr(C, align(64))]
struct Line([Announcement<NativeAtomics>; WORDS]);

const _: () = assert!(size_of::<Line>() == 64, "a waker reads one line");

static TABLE: [Line; LINES] = [const { Line([const { Announcement::UNUSED }; WORDS]) }; LINES];

#[inline]
pub(super) fn line(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
    &TABLE[spread(lock, turn) as usize % LINES].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_turns_of_one_lock_and_the_locks_of_one_turn_are_spread_over_the_table() {
        let lines = |all: &mut dyn Iterator<Item = (usize, u32)>| {
            let lines = all.map(|(lock, turn)| line(lock, turn).as_ptr() as usize);
            lines.collect::<HashSet<_>>().len()
        };
        // 512 random choices among 512 lines hit 324 lines on average.
        assert!(lines(&mut (0..512).map(|n| (0x7f00_0000_1000, 2 * n))) > 280);
        assert!(lines(&mut (0..512).map(|n| (0x7f00_0000_1000 + 64 * n, 0))) > 280);
    }
}
