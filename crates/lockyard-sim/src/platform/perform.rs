//! Operations of the platform. Each suspends its simulated thread until the engine has completed
//! it.

use crate::op::{Op, Rmw};
use crate::shared::{DEADLINE, Shared};
use lockyard::platform::{Budget, BudgetSpent, Int, Ordering};
use std::panic::Location;

/// Position of an atomic: its 64-bit unit, and its bits in that unit.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    pub address: usize,
    pub shift: u32,
    pub mask: u64,
}

impl Bits {
    #[track_caller]
    #[inline(always)]
    pub(super) fn of<T: Int>(word: *const T) -> Bits {
        let address = word as usize;
        Shared::with(|s| s.check(address, size_of::<T>()));
        let shift = (address % 8 * 8) as u32;
        let mask = T::truncate(u64::MAX).to_u64() << shift;
        Bits { address: address & !7, shift, mask }
    }

    #[inline(always)]
    pub(super) fn part<P: Int>(self, shift: u32) -> Bits {
        let shift = self.shift + shift;
        Bits { shift, mask: P::truncate(u64::MAX).to_u64() << shift, ..self }
    }

    #[inline(always)]
    pub(super) fn value<T: Int>(self, unit: u64) -> T {
        T::truncate((unit & self.mask) >> self.shift)
    }

    #[inline(always)]
    pub(super) fn unit<T: Int>(self, value: T) -> u64 {
        value.to_u64() << self.shift
    }
}

/// Performs an operation: as an event in a simulated thread, immediately in setup code.
///
/// This function and all functions that it calls are inlined. After a switch of stacks, the
/// processor's return predictor has the other stack's addresses: each return is mispredicted until
/// execution is back in the caller's loop.
#[track_caller]
#[inline(always)]
pub(super) fn perform(op: Op) -> u64 {
    let location = Location::caller();
    let shared = Shared::current();
    // SAFETY: the pointer is valid until `Shared::while_current` has run its closure, and this code
    // runs inside that closure.
    let shared = unsafe { &*shared };
    if shared.in_thread() { shared.suspend(op, location) } else { at_once(shared, op) }
}

/// Performs an operation of setup code.
///
/// This function is also inlined, at places where the kind of operation is known. Otherwise each
/// call would store the operation in memory and copy it again, also in threads' code. The processor
/// would stall until the separate stores have reached its cache.
#[inline(always)]
fn at_once(shared: &Shared, op: Op) -> u64 {
    std::hint::cold_path();
    let arena = shared.arena();
    match op {
        Op::Load { address, .. } => arena.read(address),
        Op::Store { address, mask, value } => {
            arena.write(address, (arena.read(address) & !mask) | (value & mask));
            0
        }
        Op::Rmw { address, rmw } => {
            let old = arena.read(address);
            arena.write(address, rmw.apply(old).0);
            old
        }
        Op::Fatal(message) => panic!("{message}"),
        Op::Sleep { .. } | Op::Park { .. } => {
            panic!("setup code waits for something that will not happen")
        }
        Op::Fence
        | Op::Work { .. }
        | Op::Pause(_)
        | Op::EnterBucket { .. }
        | Op::Unpark { .. }
        | Op::WaitForOthers => 0,
    }
}

/// Stores a value. A sequentially consistent store empties the store buffer, as a read-modify-write
/// does. Weaker stores go through the buffer.
#[track_caller]
#[inline(always)]
pub(super) fn store(bits: Bits, value: u64, order: Ordering) {
    if order == Ordering::SeqCst {
        perform(Op::Rmw { address: bits.address, rmw: Rmw::Swap { mask: bits.mask, value } });
    } else {
        perform(Op::Store { address: bits.address, mask: bits.mask, value });
    }
}

/// Waits until `predicate` is true for the word, asleep between polls. A budget counts polls, not
/// time. A poll that misses counts as one poll, no matter how long the line takes to arrive.
#[track_caller]
pub(super) fn wait<T: Int>(
    bits: Bits,
    budget: Budget,
    mut predicate: impl FnMut(T) -> bool,
) -> Result<T, BudgetSpent<T>> {
    // A poll of a line that stays takes `load` cycles. The next poll begins one `period` after the
    // start of this one.
    let (load, period) = Shared::with(|shared| {
        let n = shared.machine().numbers();
        (n.load, n.pause + n.poll)
    });
    // Number of polls after the next one.
    let mut left = match budget {
        Budget::Unbounded => None,
        Budget::Polls(polls) => Some(u64::from(polls.saturating_sub(1))),
    };
    // The first poll is an ordinary load. The thread counts as waiting once that poll has failed.
    let mut poll = false;
    loop {
        let unit = perform(Op::Load { address: bits.address, mask: bits.mask, poll });
        poll = true;
        let value = bits.value(unit);
        if predicate(value) {
            return Ok(value);
        }
        if left == Some(0) {
            return Err(BudgetSpent(value));
        }
        let began = Shared::with(Shared::now).saturating_sub(load);
        let deadline = left.map(|left| began + left * period);
        let seen = unit & bits.mask;
        // A preempted thread does not poll.
        let off_cpu = left.map(|_| Shared::with(Shared::off_cpu));
        let sleep = Op::Sleep { address: bits.address, mask: bits.mask, seen, deadline };
        let spent = perform(sleep) == DEADLINE;
        let missed = off_cpu.map_or(0, |before| Shared::with(Shared::off_cpu) - before);
        let slept = (Shared::with(Shared::now) - began).saturating_sub(missed);
        // While asleep, the thread would have polled once per period. Count those polls; the next
        // one is real.
        let polled = (slept / period).max(1);
        left = left.map(|left| if spent { 0 } else { left.saturating_sub(polled) });
    }
}
