//! The memory of a simulated machine, as the library's platform trait.

use super::cell::SimulatedCell;
use super::perform::perform;
use super::plain_words::SimulatedWords;
use super::words::{SimulatedU16, SimulatedU32, SimulatedU64};
use crate::op::Op;
use lockyard::platform::{Atomics, ConstAtomics, NoUninit, Ordering};

/// The memory of a simulated machine.
#[derive(Debug)]
pub struct SimulatedAtomics(());

// SAFETY: the engine applies each operation at one instant of simulated time, in a single order.
// Stores of a thread are committed in order, and before its read-modify-writes. This is total store
// order, which is stronger than any requested ordering. A store of a part goes through the store
// buffer under a mask, so it changes nothing else.
unsafe impl Atomics for SimulatedAtomics {
    type U16 = SimulatedU16;
    type U32 = SimulatedU32;
    type U64 = SimulatedU64;
    type Cell<T: Send> = SimulatedCell<T>;
    type Words<T: NoUninit + Send> = SimulatedWords<T>;

    fn fence(order: Ordering) {
        // On x86-64, only a sequentially consistent fence needs an instruction.
        if order == Ordering::SeqCst {
            perform(Op::Fence);
        }
    }
}

impl ConstAtomics for SimulatedAtomics {
    const U16_ZERO: SimulatedU16 = SimulatedU16::new(0);
    const U32_ZERO: SimulatedU32 = SimulatedU32::new(0);
    const U64_ZERO: SimulatedU64 = SimulatedU64::new(0);
}
