//! The queue of coming events: a timing wheel of one-cycle slots with an overflow heap.
//!
//! Events at the same time are handled in the order in which they were queued: that order is part of
//! the physics (a snoop that waits for the end of a locked operation is answered before the thread
//! goes on), and it makes a run deterministic.

use super::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 4096;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

/// An event beyond the wheel's horizon; ordered by time, then by when it was queued.
struct Far {
    time: u64,
    sequence: u64,
    event: Event,
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
    head: Vec<u32>,
    tail: Vec<u32>,
    occupied: [u64; SLOTS / 64],
    pool: Vec<Node>,
    free: u32,
    in_wheel: usize,
    far: BinaryHeap<Reverse<Far>>,
    sequence: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            now: 0,
            head: vec![NONE; SLOTS],
            tail: vec![NONE; SLOTS],
            occupied: [0; SLOTS / 64],
            pool: Vec::new(),
            free: NONE,
            in_wheel: 0,
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// The time of the last event that was popped.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_wheel == 0 && self.far.is_empty()
    }

    /// Queues `event` for `time`, which is not in the past.
    pub(super) fn push(&mut self, time: u64, event: Event) {
        debug_assert!(time >= self.now, "an event in the past");
        if time < self.now + SLOTS as u64 {
            self.push_near(time, event);
        } else {
            self.sequence += 1;
            self.far.push(Reverse(Far { time, sequence: self.sequence, event }));
        }
    }

    fn push_near(&mut self, time: u64, event: Event) {
        let slot = time as usize % SLOTS;
        let node = if self.free == NONE {
            self.pool.push(Node { event, next: NONE });
            (self.pool.len() - 1) as u32
        } else {
            let node = self.free;
            self.free = self.pool[node as usize].next;
            self.pool[node as usize] = Node { event, next: NONE };
            node
        };
        if self.head[slot] == NONE {
            self.head[slot] = node;
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            let tail = self.tail[slot] as usize;
            self.pool[tail].next = node;
        }
        self.tail[slot] = node;
        self.in_wheel += 1;
    }

    /// The next event that is not after `until`, with its time.
    pub(super) fn pop(&mut self, until: u64) -> Option<(u64, Event)> {
        let time = self.next_time()?;
        if time > until {
            return None;
        }
        self.advance_to(time);
        let slot = time as usize % SLOTS;
        let node = self.head[slot];
        debug_assert!(node != NONE);
        let Node { event, next } = self.pool[node as usize];
        self.head[slot] = next;
        if next == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.pool[node as usize].next = self.free;
        self.free = node;
        self.in_wheel -= 1;
        Some((time, event))
    }

    /// Moves the clock, and far events that the wheel now reaches into it. They were queued before
    /// any event that could be pushed for their time from now on, so the order is kept.
    fn advance_to(&mut self, time: u64) {
        self.now = time;
        while let Some(Reverse(far)) = self.far.peek() {
            if far.time >= self.now + SLOTS as u64 {
                break;
            }
            let Some(Reverse(far)) = self.far.pop() else { break };
            self.push_near(far.time, far.event);
        }
    }

    fn next_time(&self) -> Option<u64> {
        if self.in_wheel == 0 {
            return self.far.peek().map(|Reverse(far)| far.time);
        }
        let first = self.now as usize % SLOTS;
        let words = SLOTS / 64;
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for step in 0..=words {
            if step == words {
                // Once round: the slots of the first word below `first`.
                bits &= !(u64::MAX << (first % 64));
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.now + (slot + SLOTS - first) as u64 % SLOTS as u64);
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
        unreachable!("the wheel counts its events")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_then_of_queueing() {
        let mut wheel = Wheel::new();
        let mut expected = Vec::new();
        let mut x: u64 = 1;
        for i in 0..5000u32 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let time = (x >> 33) % 20_000;
            wheel.push(time, Event::Retry { thread: i });
            expected.push((time, i));
        }
        expected.sort_by_key(|&(time, _)| time);
        for (time, i) in expected {
            let (at, event) = wheel.pop(u64::MAX).expect("as many as were queued");
            assert!(matches!(event, Event::Retry { thread } if thread == i) && at == time);
        }
        assert!(wheel.pop(u64::MAX).is_none());
    }

    #[test]
    fn nothing_is_popped_after_the_limit() {
        let mut wheel = Wheel::new();
        wheel.push(10_000, Event::Retry { thread: 0 });
        assert!(wheel.pop(9_999).is_none());
        assert!(wheel.pop(10_000).is_some());
    }
}
