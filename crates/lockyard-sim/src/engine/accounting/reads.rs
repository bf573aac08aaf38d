//! The first reads of a line, one by one.
//!
//! Most lines of a large table are read once or twice, and never written. Their full record would
//! take ten times the memory of these lines' reads. So a line begins with a list of what happened,
//! which [`Reads::replay`] turns into the full record when the list is full, or when something else
//! than a read happens.

use super::attribution::LineCounts;
use super::distance::LineDistance;
use super::line_trace::LineTrace;
use lockyard::platform::Region;

/// Maximum number of events in the list: the events of two reads.
const MOST: usize = 6;

/// An event of a line that no operation has needed exclusively so far.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    /// A request arrived at an agent. `length` requests then waited, including this one.
    Request { length: u32 },
    /// A thread spent cycles in a phase on the line, while its code was in the region.
    Spend { phase: u8, region: u8, cycles: u32 },
    /// The data of a load that missed arrived.
    Arrival { unit: u8, distance: Option<LineDistance>, thread: u32 },
}

/// The events of a line, oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    len: u8,
    /// Number of events before the start of the attribution. Of these, only arrivals are kept.
    before: u8,
    events: [Read; MOST],
}

impl Reads {
    pub(super) const NONE: Reads =
        Reads { len: 0, before: 0, events: [Read::Request { length: 0 }; MOST] };

    /// Adds an event. Returns `false` if there is no room.
    #[inline]
    pub(super) fn add(&mut self, event: Read) -> bool {
        let has_room = (self.len as usize) < MOST;
        if has_room {
            self.events[self.len as usize] = event;
            self.len += 1;
        }
        has_room
    }

    /// Forgets the counts so far.
    pub(super) fn begin_attribution(&mut self) {
        let mut kept = Reads::NONE;
        for &event in &self.events[..self.len as usize] {
            if matches!(event, Read::Arrival { .. }) {
                kept.add(event);
            }
        }
        kept.before = kept.len;
        *self = kept;
    }

    /// Returns the full record of the line.
    pub(super) fn replay(&self) -> LineTrace {
        let mut trace = LineTrace::new();
        let (before, after) = self.events[..self.len as usize].split_at(self.before as usize);
        for &event in before {
            event.count(&mut trace);
        }
        trace.counts = LineCounts::default();
        for &event in after {
            event.count(&mut trace);
        }
        trace
    }
}

impl Read {
    pub(super) fn count(self, trace: &mut LineTrace) {
        match self {
            Read::Request { length } => trace.count_request(length.into()),
            Read::Spend { phase, region, cycles } => {
                trace.count_cycles(phase.into(), region.into(), cycles.into());
            }
            Read::Arrival { unit, distance, thread } => {
                trace.count_arrival(thread, unit.into(), distance);
            }
        }
    }
}

const _: () = assert!(size_of::<Read>() == 8 && Region::COUNT <= u8::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Draws an event.
    fn draw(random: &mut Random) -> Read {
        let below = |random: &mut Random, end| random.below(end) as u32;
        match random.below(3) {
            0 => Read::Request { length: 1 + below(random, 3) },
            1 => Read::Spend {
                phase: random.below(6) as u8,
                region: random.below(Region::COUNT as u64) as u8,
                cycles: below(random, 1000),
            },
            _ => Read::Arrival {
                unit: random.below(8) as u8,
                distance: [None, Some(LineDistance::Socket)][random.below(2) as usize],
                thread: below(random, 3),
            },
        }
    }

    #[test]
    fn a_replayed_line_is_as_if_its_events_had_been_counted_at_once() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let (mut reads, mut trace) = (Reads::NONE, LineTrace::new());
            for _ in 0..random.below(MOST as u64 + 1) {
                if random.below(4) == 0 {
                    reads.begin_attribution();
                    trace.counts = LineCounts::default();
                }
                let event = draw(&mut random);
                assert!(reads.add(event), "there is room");
                event.count(&mut trace);
            }
            let mut replayed = reads.replay();
            assert_eq!(replayed.counts, trace.counts);
            // Later events are counted in the same way, so the rest of the record is equal.
            for _ in 0..4 {
                let (thread, unit) = (random.below(3) as u32, random.below(8) as usize);
                for line in [&mut replayed, &mut trace] {
                    line.count_touch(thread, unit, Some(LineDistance::Core));
                    line.count_arrival((thread + 1) % 3, unit, None);
                    line.count_hit(thread, unit);
                }
            }
            assert_eq!(replayed.counts, trace.counts);
        }
    }

    #[test]
    fn a_full_list_takes_nothing_more() {
        let mut reads = Reads::NONE;
        for _ in 0..MOST {
            assert!(reads.add(Read::Request { length: 1 }));
        }
        assert!(!reads.add(Read::Request { length: 1 }));
        assert_eq!(reads.replay().counts.requests, MOST as u64);
        reads.begin_attribution();
        assert_eq!(reads.replay().counts, LineCounts::default());
        assert!(reads.add(Read::Request { length: 1 }));
    }
}
