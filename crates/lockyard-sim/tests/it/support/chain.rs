//! A million objects in one chain, laid out before threads run: the shape of a table that no cache holds.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, Simulated, SimulatedU64, Simulation};
use std::alloc::Layout;

/// So many objects,
pub(crate) const OBJECTS: usize = 1_000_000;
/// each so many bytes.
pub(crate) const BYTES: usize = 80;

/// A simulation with room for them.
pub(crate) fn simulation(machine: &Machine) -> Simulation {
    Simulation::with_memory(machine, 1, OBJECTS * BYTES + 4096)
}

/// Lays them out, at home on socket 0; returns the word of an object, which names the next one.
pub(crate) fn lay_out(
    simulation: &mut Simulation,
) -> impl Fn(usize) -> &'static SimulatedU64 + Copy + 'static {
    // One allocation, as a slab is: object `i` is at `i * BYTES`.
    let layout = Layout::from_size_align(OBJECTS * BYTES, 64).expect("it is sane");
    let memory = simulation.setup(|| Simulated::allocate(layout, Some(0)).expect("it fits"));
    let base = memory.as_ptr() as usize;
    let word = move |object: usize| {
        // SAFETY: within the allocation, aligned to 8, all zero at first, and alive while the simulation is: nobody keeps the reference.
        unsafe { &*((base + object * BYTES) as *const SimulatedU64) }
    };
    simulation.setup(|| {
        for object in 0..OBJECTS {
            // A chain through the whole arena: neighbours in it are far apart.
            word(object).store(((object + 618_033) % OBJECTS) as u64, Ordering::Relaxed);
        }
    });
    word
}
