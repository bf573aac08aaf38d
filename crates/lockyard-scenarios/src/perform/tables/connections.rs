//! `connection-table`: connections found by protocol, addresses and ports.
//!
//! All connections are to one service, from clients with consecutive addresses. A look-up finds the
//! connection of a packet, takes a reference to it, and drops the reference.

use super::table_object::{Held, MakeTable, Of, TableObject};
use super::tally::Tally;
use super::variant::locked_or_rcu;
use crate::model::{Table, TableOperation};
use lockyard::platform::HostWithSlots;
use lockyard_tables::connections::{
    Bits, ConnectionTable, Direction, Locked, LookUp, NEVER, Rcu, Seed, Tuple,
};
use std::alloc::Layout;
use std::net::Ipv4Addr;
use std::ptr::NonNull;

/// The key of the hash. It is constant, so that runs are reproducible.
const SEED: Seed = Seed::new(0x6c6f_636b_7961_7264_0123_4567_89ab_cdef);

pub(super) struct Connections;

impl MakeTable for Connections {
    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        locked_or_rcu!(table, P => Layout::new::<ConnectionTable<u64, P, H>>())
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        // SAFETY: the caller upholds the contract of this function. `layout` is of the same
        // variant.
        locked_or_rcu!(table, P => unsafe { made::<P, H>(table, memory, drops) })
    }
}

/// # Safety
///
/// Does the same as [`MakeTable::make`], for the variant `P`.
unsafe fn made<P: LookUp<H>, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    let bits = Bits::new(table.number("bits") as u32).ok()?;
    let empty = ConnectionTable::<u64, P, H>::with_bits(bits, Some(SEED));
    // SAFETY: the caller upholds the contract of this function.
    let held = unsafe { Held::write(memory, empty, drops) };
    let connections = table.entries();
    for number in 0..connections {
        held.insert_absent(&tuple(number), number, NEVER).ok()?;
    }
    Some(Box::new(Chains {
        table: held,
        connections,
        missed: Tally::default(),
        refused: Tally::default(),
    }))
}

/// Returns the tuple of a connection's first packet. All numbers below 2^48 have different tuples.
fn tuple(number: u64) -> Tuple {
    let client = (Ipv4Addr::from_bits(number as u32).into(), (number >> 32) as u16);
    let service = (Ipv4Addr::new(192, 0, 2, 1).into(), 80);
    Tuple { protocol: 6, source: client, destination: service }
}

struct Chains<P: LookUp<H>, H: HostWithSlots> {
    table: Held<ConnectionTable<u64, P, H>>,
    connections: u64,
    /// Number of look-ups and removals that found no connection, or the wrong one. Written only on
    /// such a fault.
    missed: Tally,
    /// Number of refused insertions.
    refused: Tally,
}

impl<P: LookUp<H>, H: HostWithSlots> TableObject for Chains<P, H> {
    #[inline]
    fn perform(&self, _look_up: TableOperation, of: Of) {
        let (Of::Entry(number) | Of::Inserted(number)) = of;
        let found = self.table.look_up(&tuple(number));
        let right = found.is_some_and(|(connection, direction)| {
            *connection == number && direction == Direction::Original
        });
        if !right {
            self.missed.note();
        }
    }

    fn insert(&self, number: u64) -> Option<u64> {
        let made = self.table.insert(&tuple(number), number, NEVER).is_ok();
        if !made {
            self.refused.note();
        }
        made.then_some(number)
    }

    fn remove(&self, number: u64) {
        let found = self.table.look_up(&tuple(number));
        if !found.is_some_and(|(connection, _)| connection.remove()) {
            self.missed.note();
        }
    }

    fn verify(&self, _performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String> {
        self.missed
            .never(|missed| format!("found nothing, or another connection, {missed} times"))?;
        self.refused.no_refusal()?;
        let len = self.table.len() as u64;
        if len != self.connections {
            return Err(format!("has {len} connections at the end, not {}", self.connections));
        }
        Ok(())
    }

    fn address(&self) -> usize {
        self.table.address()
    }
}

#[cfg(test)]
mod tests {
    use super::tuple;

    #[test]
    fn connections_have_different_tuples_and_no_tuple_is_the_reply_of_another() {
        let numbers = [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, (1 << 48) - 1];
        for (i, a) in numbers.iter().enumerate() {
            for b in &numbers[..i] {
                assert_ne!(tuple(*a), tuple(*b));
                assert_ne!(tuple(*a).reversed(), tuple(*b));
            }
        }
    }
}
