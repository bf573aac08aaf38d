//! The queue of future events: a timing wheel with one-cycle slots for the current block of cycles,
//! a wheel of later blocks, and a heap for the rest (G. Varghese and T. Lauck, *Hashed and
//! Hierarchical Timing Wheels*, SOSP 1987).
//!
//! Events at the same time are handled in the order in which they were queued. The physics needs
//! that order: a snoop that waits for the end of a locked operation is answered before the thread
//! goes on. The order also makes a run deterministic. So a block keeps events of one time in that
//! order. When time enters the block, all its events move to their slots before any other event
//! can.
//!
//! A slot contains its first event itself, because few slots have a second one. The search for the
//! next slot runs when the previous event is popped, not when the next one is due. Handling an
//! event is a jump that a processor cannot predict, and it stalls there until the event is known.
//! The distance to the next event is not predictable either. So the next 64 cycles are searched
//! without a branch.

use super::cycles::END_OF_TIME;
use super::event::Packed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles per block.
const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
/// Number of blocks in the wheel of blocks.
const BLOCKS: usize = 1024;
const NONE: u32 = u32::MAX;

/// Events of one cycle.
#[derive(Clone, Copy)]
struct Slot {
    /// First event, if there is one.
    event: Packed,
    /// Later events.
    more: List,
}

impl Slot {
    const EMPTY: Slot = Slot { event: Packed::NOTHING, more: List::EMPTY };
}

/// Events of a later block. Events of one time are in the order in which they were queued.
#[derive(Clone, Copy)]
struct Block {
    /// Time of the first event.
    first_time: u64,
    list: List,
}

impl Block {
    const EMPTY: Block = Block { first_time: u64::MAX, list: List::EMPTY };
}

/// A list of events in nodes.
#[derive(Clone, Copy)]
struct List {
    /// First node; `NONE` if the list is empty.
    first: u32,
    /// Last node, if there is one.
    last: u32,
}

impl List {
    const EMPTY: List = List { first: NONE, last: NONE };

    /// Appends a node that has no successor.
    fn append(&mut self, node: u32, nodes: &mut [Node]) {
        if self.first == NONE {
            self.first = node;
        } else {
            nodes[self.last as usize].next = node;
        }
        self.last = node;
    }
}

/// An event that is not the first of its slot, or that is in a later block.
#[derive(Clone, Copy)]
struct Node {
    time: u64,
    event: Packed,
    /// Next event of the slot or of the block, or next free node.
    next: u32,
}

/// An event beyond the wheels, ordered by time, then by queueing order.
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
    /// Time of the first event. If there is none, the greatest number, which is later than the end
    /// of time.
    first_time: u64,
    /// Index of the block that contains `now`. The block's events are in the slots.
    block: u64,
    slots: Box<[Slot; SLOTS]>,
    /// Bits of the slots that have events, and an empty word after the last.
    occupied: [u64; WORDS + 1],
    /// Later blocks, by number.
    blocks: Box<[Block; BLOCKS]>,
    /// Bits of the later blocks that have events.
    coming: [u64; BLOCKS / 64],
    nodes: Vec<Node>,
    free: u32,
    /// Events of blocks that are beyond the wheel of blocks.
    far: BinaryHeap<Reverse<Far>>,
    sequence: u64,
    queued: usize,
}

/// Index of the block that contains `time`.
fn block_of(time: u64) -> u64 {
    time / SLOTS as u64
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            now: 0,
            first_time: u64::MAX,
            block: 0,
            slots: Box::new([Slot::EMPTY; SLOTS]),
            occupied: [0; WORDS + 1],
            blocks: Box::new([Block::EMPTY; BLOCKS]),
            coming: [0; BLOCKS / 64],
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            sequence: 0,
            queued: 0,
        }
    }

    /// The time of the last event that was popped.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Number of queued events.
    pub(super) fn len(&self) -> usize {
        self.queued
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Queues `event` for `time`, which is not in the past, but at most for the end of time.
    #[inline(never)]
    pub(super) fn push(&mut self, time: u64, event: Packed) {
        debug_assert!(time >= self.now, "an event in the past");
        let time = time.min(END_OF_TIME);
        self.queued += 1;
        if block_of(time) == self.block {
            self.push_near(time, event);
        } else {
            self.push_later(time, event);
        }
    }

    #[inline(always)]
    fn push_near(&mut self, time: u64, event: Packed) {
        if time < self.first_time {
            self.first_time = time;
        }
        let slot = time as usize % SLOTS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if self.occupied[word] & bit == 0 {
            self.occupied[word] |= bit;
            self.slots[slot].event = event;
        } else {
            self.push_behind(time, event);
        }
    }

    /// Queues an event for a slot that already has one.
    #[inline(never)]
    fn push_behind(&mut self, time: u64, event: Packed) {
        let node = self.node(time, event);
        self.slots[time as usize % SLOTS].more.append(node, &mut self.nodes);
    }

    /// Puts an event into a node. Returns the node's index.
    fn node(&mut self, time: u64, event: Packed) -> u32 {
        let node = self.free;
        let entry = Node { time, event, next: NONE };
        if node == NONE {
            self.nodes.push(entry);
            return (self.nodes.len() - 1) as u32;
        }
        self.free = std::mem::replace(&mut self.nodes[node as usize], entry).next;
        node
    }

    /// Queues an event for a later block.
    #[inline(never)]
    fn push_later(&mut self, time: u64, event: Packed) {
        self.first_time = self.first_time.min(time);
        if block_of(time) - self.block >= BLOCKS as u64 {
            self.sequence += 1;
            self.far.push(Reverse(Far { time, sequence: self.sequence, event }));
            return;
        }
        let node = self.node(time, event);
        let number = block_of(time) as usize % BLOCKS;
        self.coming[number / 64] |= 1 << (number % 64);
        let block = &mut self.blocks[number];
        block.first_time = block.first_time.min(time);
        block.list.append(node, &mut self.nodes);
    }

    /// Returns the next event, if it is not later than `until`. [`now`](Self::now) is then the
    /// event's time.
    #[inline(always)]
    pub(super) fn pop(&mut self, until: u64) -> Option<Packed> {
        let time = self.first_time;
        if time > until.min(END_OF_TIME) {
            return None;
        }
        debug_assert!(time >= self.now, "time goes back");
        self.now = time;
        if block_of(time) != self.block {
            self.enter(block_of(time));
        }
        self.queued -= 1;
        let number = time as usize % SLOTS;
        let slot = &self.slots[number];
        let event = slot.event;
        if slot.more.first == NONE {
            let (word, bit) = (number / 64, number % 64);
            let left = self.occupied[word] & !(1 << bit);
            self.occupied[word] = left;
            // The next 64 cycles usually have another event, so a processor predicts the branch
            // below.
            let soon = left >> bit | self.occupied[word + 1] << 1 << (63 - bit);
            self.first_time = match soon {
                0 => self.next_later(),
                _ => time + u64::from(soon.trailing_zeros()),
            };
        } else {
            self.move_up(number);
        }
        Some(event)
    }

    /// Moves the second event of a slot up to be its first one.
    #[inline(never)]
    fn move_up(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        let node = slot.more.first;
        let entry = &mut self.nodes[node as usize];
        slot.event = entry.event;
        slot.more.first = std::mem::replace(&mut entry.next, self.free);
        self.free = node;
    }

    /// Enters a block: its events move to their slots. All slots are free, because events of
    /// earlier blocks are gone.
    #[inline(never)]
    fn enter(&mut self, number: u64) {
        self.block = number;
        // First move the events that were beyond the wheel of blocks. They were queued before any
        // event that can be pushed for their blocks from now on.
        while let Some(Reverse(far)) = self.far.peek()
            && block_of(far.time) - number < BLOCKS as u64
            && let Some(Reverse(far)) = self.far.pop()
        {
            self.push_later(far.time, far.event);
        }
        let number = number as usize % BLOCKS;
        self.coming[number / 64] &= !(1 << (number % 64));
        let mut next = std::mem::replace(&mut self.blocks[number], Block::EMPTY).list.first;
        while next != NONE {
            let node = next;
            let Node { time, event, .. } = self.nodes[node as usize];
            next = std::mem::replace(&mut self.nodes[node as usize].next, self.free);
            self.free = node;
            self.push_near(time, event);
        }
    }

    /// Time of the first event, which is more than 64 cycles away; the greatest number if there is
    /// none.
    #[inline(never)]
    fn next_later(&self) -> u64 {
        let first = self.now as usize % SLOTS / 64 + 1;
        let mut words = self.occupied[first..].iter().enumerate();
        if let Some((step, word)) = words.find(|&(_, &word)| word != 0) {
            let slot = 64 * (first + step) as u64 + u64::from(word.trailing_zeros());
            return self.block * SLOTS as u64 + slot;
        }
        match self.next_block() {
            Some(number) => self.blocks[number].first_time,
            None => self.far.peek().map_or(u64::MAX, |Reverse(far)| far.time),
        }
    }

    /// Index of the first coming block that has events.
    fn next_block(&self) -> Option<usize> {
        let after = (self.block as usize + 1) % BLOCKS;
        let (first, bit) = (after / 64, after % 64);
        let words = self.coming.len();
        // After a whole turn, search the first word again, for blocks with lower numbers.
        (0..=words).find_map(|step| {
            let index = (first + step) % words;
            let word = match step {
                0 => self.coming[index] >> bit << bit,
                _ => self.coming[index],
            };
            (word != 0).then(|| 64 * index + word.trailing_zeros() as usize)
        })
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
            wheel.push(time, Event::LineHeld { thread: i, core_line: None }.pack());
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
        wheel.push(10_000, Event::LineHeld { thread: 0, core_line: None }.pack());
        assert!(wheel.pop(9_999).is_none());
        assert!(wheel.pop(10_000).is_some());
    }

    #[test]
    fn an_event_before_the_first_one_may_be_queued_when_nothing_was_popped() {
        let lock = |thread| Event::LineHeld { thread, core_line: None }.pack();
        let mut wheel = Wheel::new();
        let block = SLOTS as u64;
        wheel.push(5 * block, lock(3));
        assert!(wheel.pop(4 * block).is_none());
        for (time, thread) in [(3 * block, 2), (10, 0), (block, 1)] {
            wheel.push(time, lock(thread));
        }
        let order: Vec<u32> =
            std::iter::from_fn(|| wheel.pop(u64::MAX)).map(Packed::thread).collect();
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn no_event_is_after_the_end_of_time() {
        let lock = |thread| Event::LineHeld { thread, core_line: None }.pack();
        let mut wheel = Wheel::new();
        wheel.push(u64::MAX, lock(0));
        assert_eq!(wheel.pop(u64::MAX).map(Packed::thread), Some(0));
        for (thread, more) in (1..).zip([10, 10_000, u64::MAX - END_OF_TIME, 0]) {
            wheel.push(END_OF_TIME + more, lock(thread));
        }
        for thread in 1..=4 {
            assert_eq!(wheel.pop(u64::MAX).map(Packed::thread), Some(thread));
            assert_eq!((wheel.now(), wheel.len()), (END_OF_TIME, 4 - thread as usize));
        }
        assert!(wheel.pop(u64::MAX).is_none());
    }

    #[test]
    fn events_that_are_far_apart_come_in_order() {
        for gap in [1, 63, 64, 65, 127, 128, 4032, 4095, 4096, 5000] {
            let mut wheel = Wheel::new();
            let mut time = 0;
            for i in 0..200 {
                // One event is already queued, and another arrives while nothing else is queued.
                wheel.push(time + gap, Event::LineHeld { thread: i, core_line: None }.pack());
                wheel.push(time, Event::LineHeld { thread: 1000, core_line: None }.pack());
                let (now, next) = (wheel.pop(u64::MAX), wheel.pop(u64::MAX));
                assert_eq!(now.map(Packed::thread), Some(1000), "{gap}");
                assert_eq!(next.map(Packed::thread), Some(i), "{gap}");
                time += gap;
                assert_eq!((wheel.now(), wheel.len()), (time, 0));
            }
        }
    }

    #[test]
    fn events_come_in_order_from_wherever_they_were_queued() {
        // Times that are often equal: near, in later blocks, on block boundaries, and beyond the
        // wheels. Events are queued while time goes on.
        let (block, wheels) = (SLOTS as u64, (SLOTS * BLOCKS) as u64);
        let (half, most) = (wheels / 2, 2 * wheels);
        let gaps = [0, 1, 100, block - 1, block, 3 * block, half, wheels - 1, wheels, most];
        let mut wheel = Wheel::new();
        let mut expected: Vec<(u64, u32)> = Vec::new();
        let mut random = crate::random::Random::new(1);
        let mut queued = 0;
        for _ in 0..20_000 {
            while queued < 100_000 && (expected.len() < 50 || random.below(2) == 0) {
                let gap = gaps[random.below(gaps.len() as u64) as usize];
                // Round more coarsely for longer gaps, so that times coincide.
                let step = (gap / 4).max(1 + 50 * random.below(2)).next_power_of_two();
                let time = (wheel.now() + gap).next_multiple_of(step);
                wheel.push(time, Event::LineHeld { thread: queued, core_line: None }.pack());
                let behind = expected.partition_point(|&(other, _)| other <= time);
                expected.insert(behind, (time, queued));
                queued += 1;
            }
            let event = wheel.pop(u64::MAX).expect("as many as were queued");
            assert_eq!((wheel.now(), event.thread()), expected.remove(0));
            assert_eq!(wheel.len(), expected.len());
        }
        assert!(wheel.now() > 3 * wheels, "{} cycles are too few", wheel.now());
    }

    #[test]
    fn events_of_one_time_come_as_they_were_queued() {
        let mut wheel = Wheel::new();
        for round in 0..3 {
            for i in 0..5 {
                wheel.push(round * 100 + 70, Event::LineHeld { thread: i, core_line: None }.pack());
            }
            for i in 0..5 {
                assert_eq!(wheel.pop(u64::MAX).map(Packed::thread), Some(i));
                // Events that arrive meanwhile come last.
                if i < 2 {
                    let event = Event::LineHeld { thread: i + 5, core_line: None }.pack();
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
