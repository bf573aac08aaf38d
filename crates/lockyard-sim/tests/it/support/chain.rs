//! A million objects in one chain, laid out before threads run. It has the shape of a table that
//! fits into no cache.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, Simulated, SimulatedU64, Simulation};
use std::alloc::Layout;

/// Number of objects.
pub(crate) const OBJECTS: usize = 1_000_000;
/// Size of each object in bytes.
pub(crate) const BYTES: usize = 80;

/// Returns a simulation with room for the objects.
pub(crate) fn simulation(machine: &Machine) -> Simulation {
    Simulation::with_memory(machine, 1, OBJECTS * BYTES + 4096)
}

/// Lays out the objects, with socket 0 as home. Returns a function from an object's number to its
/// word. The word contains the index of the next object.
pub(crate) fn lay_out(
    simulation: &mut Simulation,
) -> impl Fn(usize) -> &'static SimulatedU64 + Copy + 'static {
    // One allocation, like a slab: object `i` is at `i * BYTES`.
    let layout = Layout::from_size_align(OBJECTS * BYTES, 64).expect("it is sane");
    let memory = simulation.setup(|| Simulated::allocate(layout, Some(0)).expect("it fits"));
    let base = memory.as_ptr() as usize;
    let word = move |object: usize| {
        // SAFETY: the address is within the allocation, aligned to 8, and zero at first. The memory
        // lives as long as the simulation, and no reference is kept longer.
        unsafe { &*((base + object * BYTES) as *const SimulatedU64) }
    };
    simulation.setup(|| {
        for object in 0..OBJECTS {
            // A chain through the whole arena, in which successive objects are far apart.
            word(object).store(((object + 618_033) % OBJECTS) as u64, Ordering::Relaxed);
        }
    });
    word
}
