//! The queue of coming events: a timing wheel of one-cycle slots with an overflow heap.
//!
//! Events at the same time are handled in the order in which they were queued: that order is part of
//! the physics (a snoop that waits for the end of a locked operation is answered before the thread
//! goes on), and it makes a run deterministic.
//!
//! The first event is looked up when the one before it is popped, not when it is its turn: what to do with an event is a jump that a
//! processor cannot foresee, and it stops where that goes until the event has come through four dependent loads.

use super::END_OF_TIME;
use super::event::Packed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    event: Packed,
    /// The next event of the slot, or the next free node.
    next: u32,
    /// Of the first event of a slot: the last one.
    last: u32,
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
    /// The first event, if it is in the wheel.
    first: Packed,
    /// The first event of each slot that has any.
    slots: Box<[u32; SLOTS]>,
    /// The slots that have events, as bits.
    occupied: [u64; WORDS],
    pool: Vec<Node>,
    free: u32,
    in_wheel: usize,
    far: BinaryHeap<Reverse<Far>>,
    /// The time of the first far event; the end of time if there is none.
    first_far: u64,
    sequence: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            now: 0,
            first_time: u64::MAX,
            first: Packed::NOTHING,
            slots: Box::new([NONE; SLOTS]),
            occupied: [0; WORDS],
            pool: Vec::new(),
            free: NONE,
            in_wheel: 0,
            far: BinaryHeap::new(),
            first_far: u64::MAX,
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
            self.first = event;
        }
        let slot = time as usize % SLOTS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        let node = self.free;
        if node == NONE {
            return self.push_in_new_node(time, event);
        }
        let entry = &mut self.pool[node as usize];
        self.free = entry.next;
        entry.event = event;
        entry.last = node;
        if self.occupied[word] & bit == 0 {
            self.occupied[word] |= bit;
            self.slots[slot] = node;
        } else {
            let first = &mut self.pool[self.slots[slot] as usize];
            let last = std::mem::replace(&mut first.last, node);
            self.pool[last as usize].next = node;
        }
        self.in_wheel += 1;
    }

    #[cold]
    fn push_in_new_node(&mut self, time: u64, event: Packed) {
        self.free = self.pool.len() as u32;
        self.pool.push(Node { event, next: NONE, last: NONE });
        self.push(time, event);
    }

    #[cold]
    fn push_far(&mut self, time: u64, event: Packed) {
        self.sequence += 1;
        self.first_time = self.first_time.min(time);
        self.far.push(Reverse(Far { time, sequence: self.sequence, event }));
        self.first_far = self.first_far.min(time);
    }

    /// The next event, if it is not after `until`; it is then [`now`](Self::now).
    #[inline]
    pub(super) fn pop(&mut self, until: u64) -> Option<Packed> {
        let time = self.first_time;
        if time > until.min(END_OF_TIME) {
            return None;
        }
        debug_assert!(time >= self.now, "time goes back");
        self.now = time;
        if self.first_far - time < SLOTS as u64 {
            self.bring_near();
        }
        let event = self.first;
        let slot = time as usize % SLOTS;
        let node = self.slots[slot];
        let entry = &mut self.pool[node as usize];
        let last = entry.last;
        let next = std::mem::replace(&mut entry.next, self.free);
        self.free = node;
        self.in_wheel -= 1;
        if node == last {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            self.find_first();
        } else {
            self.slots[slot] = next;
            let entry = &mut self.pool[next as usize];
            entry.last = last;
            self.first = entry.event;
        }
        Some(event)
    }

    /// Looks the first event up.
    #[inline]
    fn find_first(&mut self) {
        if self.in_wheel == 0 {
            self.first_time = self.first_far;
            return;
        }
        self.first_time = self.next_in_wheel();
        let node = self.slots[self.first_time as usize % SLOTS];
        self.first = self.pool[node as usize].event;
    }

    /// Moves far events that the wheel now reaches into it. They were queued before any event that could be pushed for their
    /// time from now on, so the order is kept.
    #[cold]
    fn bring_near(&mut self) {
        self.first_far = loop {
            let Some(Reverse(far)) = self.far.peek() else { break u64::MAX };
            if far.time - self.now >= SLOTS as u64 {
                break far.time;
            }
            let Some(Reverse(far)) = self.far.pop() else { break u64::MAX };
            self.push_near(far.time, far.event);
        };
        self.find_first();
    }

    /// The time of the first event in the wheel, which has one.
    #[inline(always)]
    fn next_in_wheel(&self) -> u64 {
        let first = self.now as usize % SLOTS;
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        let mut steps = 0;
        while bits == 0 {
            steps += 1;
            word = (word + 1) % WORDS;
            bits = self.occupied[word];
            debug_assert!(steps <= WORDS, "the wheel counts its events");
        }
        // After a whole turn the bits below `first` are looked at too: those at and above it are none.
        let slot = word * 64 + bits.trailing_zeros() as usize;
        self.now + (slot.wrapping_sub(first) % SLOTS) as u64
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
            wheel.push(time, Event::Lock { thread: i }.pack());
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
        wheel.push(10_000, Event::Lock { thread: 0 }.pack());
        assert!(wheel.pop(9_999).is_none());
        assert!(wheel.pop(10_000).is_some());
    }
}
