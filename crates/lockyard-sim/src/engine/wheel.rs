//! The queue of coming events: a timing wheel of one-cycle slots with an overflow heap.
//!
//! Events at the same time are handled in the order in which they were queued: that order is part of
//! the physics (a snoop that waits for the end of a locked operation is answered before the thread
//! goes on), and it makes a run deterministic.
//!
//! A slot has its first event itself: few slots have a second one. Which slot is next is looked up when the event before it is
//! popped, not when it is its turn: what to do with an event is a jump that a processor cannot foresee, and it stops there until the
//! event has come. How far the next event is it cannot foresee either; so it is looked for without a jump in the next 64 cycles.

use super::END_OF_TIME;
use super::event::Packed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

/// A cycle's events.
#[derive(Clone, Copy)]
struct Slot {
    /// The first one, if there is any.
    event: Packed,
    /// The second one; the others follow it. `NONE` if there are not two.
    more: u32,
    /// The last one, if there are two.
    last: u32,
}

/// An event that is not the first one of its slot.
#[derive(Clone, Copy)]
struct Node {
    event: Packed,
    /// The next event of the slot, or the next free node.
    next: u32,
}

/// An event beyond the wheel's horizon; ordered by time, then by when it was queued.
struct Far {
    time: u64,
    sequence: u64,
    event: Packed,
}

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.sequence) == (other.time, other.sequence)
    }
}
impl Eq for Far {}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Far {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

/// The queue. Time never goes back: [`pop`](Wheel::pop) returns events in order of time.
pub(super) struct Wheel {
    now: u64,
    /// The time of the first event; the end of time if there is none.
    first_time: u64,
    slots: Box<[Slot; SLOTS]>,
    /// The slots that have events, as bits.
    occupied: [u64; WORDS],
    in_wheel: usize,
    pool: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<Far>>,
    /// From this time on the wheel reaches the first far event.
    reaches_far: u64,
    sequence: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            now: 0,
            first_time: u64::MAX,
            slots: Box::new([Slot { event: Packed::NOTHING, more: NONE, last: NONE }; SLOTS]),
            occupied: [0; WORDS],
            in_wheel: 0,
            pool: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            reaches_far: u64::MAX,
            sequence: 0,
        }
    }

    /// The time of the last event that was popped.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// How many events are queued.
    pub(super) fn len(&self) -> usize {
        self.in_wheel + self.far.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_wheel == 0 && self.far.is_empty()
    }

    /// Queues `event` for `time`, which is not in the past, or for the end of time.
    #[inline(never)]
    pub(super) fn push(&mut self, time: u64, event: Packed) {
        debug_assert!(time >= self.now, "an event in the past");
        if time - self.now < SLOTS as u64 {
            self.push_near(time, event);
        } else {
            self.push_far(time.min(END_OF_TIME), event);
        }
    }

    #[inline(always)]
    fn push_near(&mut self, time: u64, event: Packed) {
        if time < self.first_time {
            self.first_time = time;
        }
        self.in_wheel += 1;
        let slot = time as usize % SLOTS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if self.occupied[word] & bit == 0 {
            self.occupied[word] |= bit;
            self.slots[slot].event = event;
        } else {
            self.push_behind(slot, event);
        }
    }

    /// Queues an event for a slot that has one.
    #[inline(never)]
    fn push_behind(&mut self, slot: usize, event: Packed) {
        let node = self.free;
        let entry = Node { event, next: NONE };
        let node = if node == NONE {
            self.pool.push(entry);
            (self.pool.len() - 1) as u32
        } else {
            self.free = std::mem::replace(&mut self.pool[node as usize], entry).next;
            node
        };
        let slot = &mut self.slots[slot];
        if slot.more == NONE {
            slot.more = node;
        } else {
            self.pool[slot.last as usize].next = node;
        }
        slot.last = node;
    }

    #[cold]
    fn push_far(&mut self, time: u64, event: Packed) {
        self.sequence += 1;
        self.first_time = self.first_time.min(time);
        self.far.push(Reverse(Far { time, sequence: self.sequence, event }));
        self.reaches_far = self.reaches_far.min(time - SLOTS as u64 + 1);
    }

    /// The next event, if it is not after `until`; it is then [`now`](Self::now).
    #[inline(always)]
    pub(super) fn pop(&mut self, until: u64) -> Option<Packed> {
        let time = self.first_time;
        if time > until.min(END_OF_TIME) {
            return None;
        }
        debug_assert!(time >= self.now, "time goes back");
        self.now = time;
        if time >= self.reaches_far {
            self.bring_near();
        }
        self.in_wheel -= 1;
        let number = time as usize % SLOTS;
        let slot = &self.slots[number];
        let event = slot.event;
        if slot.more == NONE {
            let (word, bit) = (number / 64, number % 64);
            let left = self.occupied[word] & !(1 << bit);
            self.occupied[word] = left;
            // The next 64 cycles, most often, have another event: a jump that a processor foresees.
            let soon = left >> bit | self.occupied[(word + 1) % WORDS] << 1 << (63 - bit);
            self.first_time = match soon {
                0 => self.next_later(),
                _ => time + u64::from(soon.trailing_zeros()),
            };
        } else {
            self.move_up(number);
        }
        Some(event)
    }

    /// The second event of a slot is its first one now.
    #[inline(never)]
    fn move_up(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        let node = slot.more;
        let entry = &mut self.pool[node as usize];
        slot.event = entry.event;
        slot.more = std::mem::replace(&mut entry.next, self.free);
        self.free = node;
    }

    /// Moves far events that the wheel now reaches into it. They were queued before any event that could be pushed for their
    /// time from now on, so the order is kept.
    #[cold]
    fn bring_near(&mut self) {
        while let Some(Reverse(far)) = self.far.peek()
            && far.time - self.now < SLOTS as u64
            && let Some(Reverse(far)) = self.far.pop()
        {
            self.push_near(far.time, far.event);
        }
        self.reaches_far =
            self.far.peek().map_or(u64::MAX, |Reverse(far)| far.time - (SLOTS as u64 - 1));
    }

    /// The time of the first event, which is not within 64 cycles; the end of time if there is none.
    #[inline(never)]
    fn next_later(&self) -> u64 {
        if self.in_wheel == 0 {
            return self.far.peek().map_or(u64::MAX, |Reverse(far)| far.time);
        }
        let first = self.now as usize % SLOTS / 64;
        // After a whole turn the first word is looked at too: then events are left only below the slot.
        let mut words = (1..=WORDS).map(|step| (step, self.occupied[(first + step) % WORDS]));
        let found = words.find(|&(_, word)| word != 0);
        let (step, word) = found.expect("the wheel counts its events");
        (self.now & !63) + 64 * step as u64 + u64::from(word.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_then_of_queueing() {
        let mut wheel = Wheel::new();
        let mut expected = Vec::new();
        let mut x: u64 = 1;
        for i in 0..5000u32 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let time = (x >> 33) % 20_000;
            wheel.push(time, Event::Lock { thread: i, view: None }.pack());
            expected.push((time, i));
        }
        expected.sort_by_key(|&(time, _)| time);
        for (time, i) in expected {
            let event = wheel.pop(u64::MAX).expect("as many as were queued");
            assert_eq!((event.thread(), wheel.now()), (i, time));
        }
        assert!(wheel.pop(u64::MAX).is_none());
    }

    #[test]
    fn nothing_is_popped_after_the_limit() {
        let mut wheel = Wheel::new();
        wheel.push(10_000, Event::Lock { thread: 0, view: None }.pack());
        assert!(wheel.pop(9_999).is_none());
        assert!(wheel.pop(10_000).is_some());
    }
    #[test]
    fn events_that_are_far_apart_come_in_order() {
        for gap in [1, 63, 64, 65, 127, 128, 4032, 4095, 4096, 5000] {
            let mut wheel = Wheel::new();
            let mut time = 0;
            for i in 0..200 {
                // One that is there already, and one that comes while nothing else is queued.
                wheel.push(time + gap, Event::Lock { thread: i, view: None }.pack());
                wheel.push(time, Event::Lock { thread: 1000, view: None }.pack());
                let (now, next) = (wheel.pop(u64::MAX), wheel.pop(u64::MAX));
                assert_eq!(now.map(Packed::thread), Some(1000), "{gap}");
                assert_eq!(next.map(Packed::thread), Some(i), "{gap}");
                time += gap;
                assert_eq!((wheel.now(), wheel.len()), (time, 0));
            }
        }
    }

    #[test]
    fn events_of_one_time_come_as_they_were_queued() {
        let mut wheel = Wheel::new();
        for round in 0..3 {
            for i in 0..5 {
                wheel.push(round * 100 + 70, Event::Lock { thread: i, view: None }.pack());
            }
            for i in 0..5 {
                assert_eq!(wheel.pop(u64::MAX).map(Packed::thread), Some(i));
                // Those that come meanwhile come last.
                if i < 2 {
                    let event = Event::Lock { thread: i + 5, view: None }.pack();
                    wheel.push(round * 100 + 70, event);
                }
            }
            for i in 5..7 {
                assert_eq!(wheel.pop(u64::MAX).map(Packed::thread), Some(i));
            }
            assert!(wheel.is_empty());
        }
    }
}
