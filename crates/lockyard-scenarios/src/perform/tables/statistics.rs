//! `statistics`: packets, bytes, last use and flags of flows. A flow has one record for all CPUs,
//! one for each CPU, or one for each NUMA node that updates it.
//!
//! An entry is a flow. An update counts a packet. A read sums the flow's records, reading each
//! under its lock. An insertion makes the statistics of a new flow, with the allocations that the
//! variant makes at creation. A removal drops the statistics.

use super::table_object::{Held, MakeTable, Of, TableObject};
use super::tally::Tally;
use crate::model::{MOST_RECORDS, Table, TableOperation};
use lockyard::platform::{HostWithSlots, Region, during};
use lockyard_tables::statistics::{Counts, PerCpu, PerNode, Shared, Statistics, Variant};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Size in bytes of each counted packet.
const PACKET: u64 = 64;

type Flow<V, H> = Statistics<V, lockyard::lock::Queued, H>;

pub(super) struct Records;

/// Evaluates `$body` with `$v` as the type of the variant that `$table` names.
macro_rules! with_variant {
    ($table:expr, $v:ident => $body:expr) => {
        match ($table.name("variant"), $table.name("cpus")) {
            ("shared", _) => {
                type $v = Shared;
                $body
            }
            ("per-node", _) => {
                type $v = PerNode;
                $body
            }
            (_, "16") => {
                type $v = PerCpu<16>;
                $body
            }
            (_, "64") => {
                type $v = PerCpu<64>;
                $body
            }
            _ => {
                type $v = PerCpu<MOST_RECORDS>;
                $body
            }
        }
    };
}

impl MakeTable for Records {
    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        with_variant!(table, V => layout::<V, H>(table))
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        // SAFETY: the caller upholds the contract of this function. `layout` is of the same
        // variant.
        with_variant!(table, V => unsafe { made::<V, H>(table, memory, drops) })
    }
}

fn layout<V: Variant, H: HostWithSlots>(table: &Table) -> Layout {
    // There are at most 2^16 flows of a few lines each.
    Layout::array::<Flow<V, H>>(table.entries() as usize).expect("an array of some megabytes")
}

/// # Safety
///
/// Does the same as [`MakeTable::make`], for the variant `V`.
unsafe fn made<V: Variant, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    let mut flows = Vec::new();
    for number in 0..table.entries() as usize {
        // SAFETY: the caller provides memory for the array. This is the memory of one element, and
        // each element is written once.
        let flow = unsafe {
            let place = memory.add(number * size_of::<Flow<V, H>>());
            Held::write(place, Flow::<V, H>::new().ok()?, drops)
        };
        flows.push(flow);
    }
    Some(Box::new(Flows::<V, H> { flows, refused: Tally::default(), torn: Tally::default() }))
}

struct Flows<V: Variant, H: HostWithSlots> {
    flows: Vec<Held<Flow<V, H>>>,
    /// Number of refused insertions.
    refused: Tally,
    /// Number of torn reads, whose bytes do not match their packets. Written only on such a read.
    torn: Tally,
}

impl<V: Variant, H: HostWithSlots> Flows<V, H> {
    /// Returns the flow at an address that `insert` returned.
    ///
    /// # Safety
    ///
    /// The caller must have inserted the flow, and must not have removed it.
    unsafe fn inserted(&self, address: u64) -> &Flow<V, H> {
        let flow: *const Flow<V, H> = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: by the caller's contract, the flow exists until it is removed.
        unsafe { &*flow }
    }
}

impl<V: Variant, H: HostWithSlots> TableObject for Flows<V, H> {
    #[inline]
    fn perform(&self, operation: TableOperation, of: Of) {
        let flow = match of {
            Of::Entry(number) => &*self.flows[number as usize],
            // SAFETY: the interpreter passes the flow that this task inserted last and has not
            // removed.
            Of::Inserted(address) => unsafe { self.inserted(address) },
        };
        if operation == TableOperation::Update {
            flow.update(&Counts::packet(PACKET, 1, 0));
            return;
        }
        let sum = std::hint::black_box(flow.read());
        if sum.bytes != sum.packets * PACKET {
            self.torn.note();
        }
    }

    fn insert(&self, _number: u64) -> Option<u64> {
        let layout = Layout::new::<Flow<V, H>>();
        let memory = during::<H, _>(Region::Allocate, || H::allocate(layout, None));
        let made = memory.and_then(|memory| match Flow::<V, H>::new() {
            Ok(flow) => {
                let place = memory.cast::<Flow<V, H>>();
                // SAFETY: the memory was allocated with the layout of a flow.
                unsafe { place.write(flow) };
                Some(place.as_ptr().expose_provenance() as u64)
            }
            Err(_) => {
                // SAFETY: the memory was allocated above with this layout, and is not used.
                during::<H, _>(Region::Free, || unsafe { H::deallocate(memory, layout) });
                None
            }
        });
        if made.is_none() {
            self.refused.note();
        }
        made
    }

    fn remove(&self, inserted: u64) {
        let place = std::ptr::with_exposed_provenance_mut::<Flow<V, H>>(inserted as usize);
        let Some(place) = NonNull::new(place) else { return };
        // SAFETY: `insert` made the flow, with this layout. The task that inserted it removes it
        // once, and no other task knows it.
        unsafe {
            place.drop_in_place();
            let layout = Layout::new::<Flow<V, H>>();
            during::<H, _>(Region::Free, || H::deallocate(place.cast(), layout));
        }
    }

    fn verify(&self, performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String> {
        self.torn.never(|torn| format!("was read torn {torn} times"))?;
        self.refused.no_refusal()?;
        let packets: u64 = self.flows.iter().map(|flow| flow.read().packets).sum();
        let expected = performed(TableOperation::Update);
        if packets != expected {
            return Err(format!("counts {packets} packets, not {expected}"));
        }
        Ok(())
    }

    fn address(&self) -> usize {
        self.flows.first().map_or(0, Held::address)
    }
}
