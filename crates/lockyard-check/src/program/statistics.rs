//! The program for per-node statistics: threads update from several nodes, read, and take.

use super::parts::{MOST_THREADS, Outcome, Program, Seen};
use crate::finding::COUNT;
use crate::{hooks, ration};
use lockyard::lock::LaneLock;
use lockyard::platform::HostWithSlots;
use lockyard_tables::Counts;
use lockyard_tables::statistics::Statistics;
use lockyard_tables::statistics::Variant;
use std::sync::atomic::{AtomicU64, Ordering as Plain};

/// Operation of a thread on the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatOp {
    /// Counts a packet on the node.
    Update(usize),
    /// Counts a packet on the node where the thread runs.
    UpdateHere,
    /// Reads the statistics.
    Read,
    /// Reads and clears the statistics.
    Take,
    /// Reads and clears the statistics, and then counts a packet on the node.
    TakeAndUpdate(usize),
    /// Reads and clears the statistics, and then counts a packet on the node where the thread runs.
    TakeAndUpdateHere,
}

/// Bytes of every packet. If a record's bytes do not match its packets, the reading was torn.
const BYTES: u64 = 3;

/// Threads that use the statistics of one object. If `PRIMED`, node 0 has already counted a packet.
/// If the variant has words for threads, a thread has also counted one.
pub struct StatProgram<V: Variant, K: LaneLock<H>, H: HostWithSlots, const PRIMED: bool> {
    statistics: Statistics<V, K, H>,
    ops: Vec<StatOp>,
    seen: Seen,
    /// Numbers of packets counted and of packets taken, kept outside the platform.
    updates: AtomicU64,
    taken: AtomicU64,
    /// Number of packets that each thread took before it counted one, in the only round.
    taken_before: [AtomicU64; MOST_THREADS],
    rounds: u32,
    /// Time of each thread's next packet.
    times: [AtomicU64; MOST_THREADS],
}

impl<V: Variant, K: LaneLock<H>, H: HostWithSlots, const PRIMED: bool>
    StatProgram<V, K, H, PRIMED>
{
    /// Checks that a reading has only whole packets, and no flags without packets.
    fn check(&self, sum: &Counts) {
        if !V::TOGETHER {
            return;
        }
        assert!(sum.bytes == BYTES * sum.packets, "{COUNT}a torn record: {sum:?}");
        let flags = if sum.packets == 0 { 0 } else { sum.flags };
        assert!(sum.flags == flags, "{COUNT}flags without packets: {sum:?}");
    }

    /// Compares a reading with the packets that were counted. If it includes a packet that a thread
    /// counted after taking other packets, it must not include the taken packets.
    fn check_reading(&self, sum: &Counts) {
        self.check(sum);
        let mut most = self.updates.load(Plain::Relaxed);
        if !V::TOGETHER && self.rounds == 1 {
            // The flags of a record are written last.
            let seen = (0..self.ops.len()).filter(|thread| sum.flags & 2 << thread != 0);
            most -= seen.map(|thread| self.taken_before[thread].load(Plain::Relaxed)).sum::<u64>();
        }
        assert!(sum.packets <= most, "{COUNT}{most} packets are read as {}", sum.packets);
    }

    /// Reads and clears the statistics; returns the number of packets taken.
    fn take(&self, thread: usize) -> u64 {
        let sum = self.statistics.take();
        self.check(&sum);
        self.taken.fetch_add(sum.packets, Plain::Relaxed);
        self.seen.note(thread, sum.packets as i64);
        sum.packets
    }
}

impl<V: Variant, K: LaneLock<H>, H: HostWithSlots, const PRIMED: bool> Program
    for StatProgram<V, K, H, PRIMED>
{
    type Op = StatOp;

    fn new(ops: &[StatOp], rounds: u32) -> Self {
        hooks::free_nothing();
        ration::begin();
        let statistics = Statistics::new().expect("there is memory");
        if PRIMED {
            statistics.update_at(0, &Counts::packet(BYTES, 0, 1));
        }
        StatProgram {
            statistics,
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            updates: AtomicU64::new(u64::from(PRIMED) + u64::from(PRIMED && !V::TOGETHER)),
            taken: AtomicU64::new(0),
            taken_before: std::array::from_fn(|_| AtomicU64::new(0)),
            rounds,
            times: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn begin(&self) {
        if PRIMED && !V::TOGETHER {
            self.statistics.update(&Counts::packet(BYTES, 0, 1));
        }
    }

    fn step(&self, thread: usize, round: u32) {
        // Counted outside the platform before the update, so a reading is never ahead of this
        // count.
        let packet = || {
            self.updates.fetch_add(1, Plain::Relaxed);
            let time = u64::from(round) + 1;
            self.times[thread].store(time, Plain::Relaxed);
            Counts::packet(BYTES, time, 2 << thread)
        };
        match self.ops[thread] {
            StatOp::Update(node) => self.statistics.update_at(node, &packet()),
            StatOp::UpdateHere => self.statistics.update(&packet()),
            StatOp::Read => {
                let sum = self.statistics.read();
                self.check_reading(&sum);
                self.seen.note(thread, sum.packets as i64);
            }
            StatOp::Take => {
                self.take(thread);
            }
            StatOp::TakeAndUpdate(node) => {
                self.taken_before[thread].store(self.take(thread), Plain::Relaxed);
                self.statistics.update_at(node, &packet());
            }
            StatOp::TakeAndUpdateHere => {
                self.taken_before[thread].store(self.take(thread), Plain::Relaxed);
                self.statistics.update(&packet());
            }
        }
    }

    fn finish(&self) {
        let sum = self.statistics.read();
        self.check(&sum);
        let taken = self.taken.load(Plain::Relaxed);
        let updates = self.updates.load(Plain::Relaxed);
        assert!(
            sum.packets + taken == updates,
            "{COUNT}{taken} of {updates} packets were taken and {} are left",
            sum.packets
        );
        let takes =
            |op| matches!(op, StatOp::Take | StatOp::TakeAndUpdate(_) | StatOp::TakeAndUpdateHere);
        if taken == 0 && !self.ops.iter().any(|&op| takes(op)) {
            let latest = self.times.iter().map(|time| time.load(Plain::Relaxed)).max();
            assert!(Some(sum.last_used) == latest, "{COUNT}last used {latest:?} reads {sum:?}");
        }
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        let sum = self.statistics.read();
        outcome.extend([sum.packets as i64, self.statistics.records() as i64]);
        outcome
    }
}
