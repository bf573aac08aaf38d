//! Identity of a simulated figure: the machine's numbers and the seeds. Within one version of the
//! library, two figures with the same identity are equal, bit for bit. Figures with different
//! identities are not comparable.

use lockyard_results::details::SimulatedDetail;
use lockyard_sim::Machine;

/// Adds to the details that the figure was simulated on `machine` with this number of seeds.
pub fn identify(machine: &Machine, seeds: usize, simulated: &mut SimulatedDetail) {
    simulated.machine_hash = Some(machine_hash(machine));
    simulated.seeds = Some(seeds as u64);
}

/// Returns a hash of the machine's numbers and of its service order. The machine's name, comments
/// and sources are not included. The hash is FNV-1a with 64 bits (Fowler, Noll, Vo). It detects
/// accidental differences, but does not prevent forgery.
fn machine_hash(machine: &Machine) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for parameter in machine.parameters() {
        add(parameter.name.as_bytes());
        // The shortest text that represents this number exactly.
        add(format!(" {}\n", parameter.value).as_bytes());
    }
    add(format!("{:?}", machine.order()).as_bytes());
    format!("fnv1a-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_another_number_has_another_hash() {
        let machine = Machine::shipped("zen4-7840u").unwrap();
        let hash = machine_hash(&machine);
        assert_eq!(hash, machine_hash(&machine.clone()));
        let other = |pause| machine_hash(&machine.clone().with("cycles.pause", pause).unwrap());
        assert_ne!(other(40.0), other(41.0));
        let hashes: std::collections::BTreeSet<String> =
            Machine::names().filter_map(Machine::shipped).map(|m| machine_hash(&m)).collect();
        assert_eq!(hashes.len(), Machine::names().count(), "each shipped machine has its own");
    }
}
