//! The numbers that the engine gets from the shipped machine files and their families.
//!
//! A machine takes most of its protocol numbers from its family, scaled and rounded. So a change of
//! a family, of a scale or of the rounding changes machines whose files stay the same. This table
//! shows which machines change. After an intended change, update the table and then check the
//! predictions.

use lockyard_sim::Machine;

/// Names of the numbers that come from families, in the order of the table below.
const NAMES: &[&str] = &[
    "cycles.miss",
    "cycles.leg",
    "cycles.owner_snoop",
    "cycles.transfer",
    "cycles.dispatch",
    "cycles.hold_exclusive",
    "cycles.hold_shared",
    "cycles.shared_read",
    "cycles.last_level",
    "cycles.invalidate",
    "cycles.memory",
    "cycles.jitter",
    "cycles.complex_leg",
    "cycles.idle_answer",
    "protocol.granted_legs",
    "protocol.granted_spread",
    "protocol.snoop_weight",
    "protocol.redirect",
    "protocol.order",
    "protocol.exclusive_loads",
    "protocol.load_behind_lock",
    "protocol.early_stores",
    "protocol.run_ahead",
];

const TABLE: &[(&str, &str)] = &[
    ("altra-q80-80c", "19 74 51 253 6 211 93 253 106 13 211 109 0 0 0.82 1 1 16 random 0 13 0 64"),
    ("apple-m1-pro-6p", "6 22 15 74 2 62 27 74 31 4 62 10 159 0 0.82 1 1 16 random 0 13 0 300"),
    (
        "bergamo-9754-2s128c2t",
        "2 24 11 58 2 36 39 142 40 15 79 10 119 0 0.28 1 0.77 13 random 0 0 0 160",
    ),
    ("broadwell-ep-2s22c2t", "1 19 13 74 2 52 49 40 24 15 48 7 0 0 1 1 20 16 random 0 12 0 96"),
    ("broadwell-ex-8s10c2t", "1 21 14 80 2 56 53 43 26 16 52 7 0 0 1 1 20 16 random 0 12 0 96"),
    ("cascade-lake-2s24c2t", "6 23 16 79 2 66 29 79 33 4 66 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    (
        "genoa-9654-2s96c2t",
        "2 22 10 53 2 34 36 130 37 14 73 10 127 0 0.28 1 0.77 13 random 0 0 0 160",
    ),
    ("graviton2-64c", "5 18 13 64 2 53 23 64 27 3 53 23 0 0 0.82 1 1 16 random 0 13 0 64"),
    ("graviton3-64c", "5 18 13 63 2 53 23 63 26 3 53 28 0 0 0.82 1 1 16 random 0 13 0 128"),
    (
        "ice-lake-8375c-2s32c2t",
        "7 28 20 98 2 82 36 98 41 5 82 25 0 0 0.82 1 1 16 random 0 13 0 176",
    ),
    ("ivy-bridge-ex-4s15c", "1 24 16 92 2 64 61 50 30 19 60 7 0 0 1 1 20 16 random 0 12 0 84"),
    (
        "milan-7763-2s64c2t",
        "2 20 9 48 2 30 32 118 33 13 66 10 167 0 0.28 1 0.77 13 random 0 0 0 128",
    ),
    (
        "milan-7r13-2s48c2t",
        "2 19 8 45 2 29 30 111 31 12 62 10 149 0 0.28 1 0.77 13 random 0 0 0 128",
    ),
    (
        "naples-7601-2s32c2t",
        "2 27 12 67 2 42 45 164 46 17 92 10 144 0 0.28 1 0.77 16 random 0 0 0 96",
    ),
    ("nehalem-2s4c2t", "1 14 10 56 2 40 37 31 18 11 37 7 0 0 1 1 20 17 random 0 12 0 64"),
    (
        "rome-7742-2s64c2t",
        "2 18 8 44 2 28 29 108 30 11 60 10 177 0 0.28 1 0.77 16 random 0 0 0 112",
    ),
    ("sandy-bridge-32c-kvm", "1 14 9 54 1 38 35 29 17 11 35 7 0 0 1 1 20 16 random 0 12 0 84"),
    ("sapphire-rapids", "6 25 17 85 2 71 31 85 36 4 71 41 0 0 0.82 1 1 16 random 1 13 1 112"),
    ("skylake-client-4c", "3 12 8 41 1 34 15 41 17 2 34 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    ("skylake-sp-1s24c2t", "6 23 16 79 2 66 29 79 33 4 66 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    ("skylake-sp-2s14c", "7 25 18 87 2 73 32 87 36 4 73 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    (
        "skylake-sp-8180-2s28c2t",
        "5 18 12 62 2 51 23 62 26 3 51 10 0 0 0.82 1 1 16 random 0 13 0 112",
    ),
    ("westmere-ex-4s10c", "1 13 9 50 1 35 33 27 16 10 32 7 0 315 1 1 20 17 random 0 12 0 64"),
    ("xen", "1 17 11 64 2 45 43 35 21 13 42 7 0 0 1 1 20 16 random 0 12 0 96"),
    ("zen1-8x4c2t", "2 22 10 54 2 34 36 132 37 14 74 10 130 0 0.28 1 0.77 13 random 0 0 0 96"),
    ("zen3-5825u", "2 17 8 42 2 26 28 102 28 11 57 10 130 0 0.28 1 0.77 13 random 0 0 0 128"),
    ("zen3-5950x", "2 19 8 45 2 29 30 111 31 12 62 10 151 0 0.28 1 0.77 13 random 0 0 0 128"),
    ("zen4-7840u", "2 22 10 54 2 34 36 132 37 14 74 10 130 0 0.28 1 0.77 13 random 0 0 0 160"),
    ("zen4-7950x", "2 21 9 50 2 32 34 123 34 13 69 10 142 0 0.28 1 0.77 13 random 0 0 0 160"),
];

#[test]
fn the_shipped_machines_have_these_numbers() {
    let found: Vec<(&str, String)> = Machine::names()
        .map(|name| {
            let machine = Machine::shipped(name).expect("it is shipped");
            let number = |wanted: &&str| {
                let found = machine.parameter(wanted);
                found.unwrap_or_else(|| panic!("{name} has no {wanted}")).value.to_string()
            };
            (name, NAMES.iter().map(number).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, row)| (*name, row.as_str())).collect();
    assert_eq!(found, TABLE);
}

#[test]
fn every_number_that_comes_from_a_family_is_in_the_table() {
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is shipped");
        for parameter in machine.parameters() {
            let said = parameter.source.iter().chain(&parameter.assumed);
            if said.clone().any(|said| said.starts_with("family ")) {
                assert!(NAMES.contains(&parameter.name.as_str()), "{name}: {}", parameter.name);
            }
        }
    }
}
