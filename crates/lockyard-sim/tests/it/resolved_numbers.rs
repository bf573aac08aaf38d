//! The numbers that the engine gets from the families of machines.
//!
//! A machine takes most of its protocol numbers from its family, scaled and rounded. So a change of
//! a family, of what is scaled or of the rounding changes machines whose files stay the same. This
//! table shows which families change, and so which machines. After an intended change, update the
//! table and then check the predictions.

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

/// Family, scale, and the numbers that a machine of both has.
const TABLE: &[(&str, &str, &str)] = &[
    ("amd-zen", "0.8", "2 18 8 43 2 27 29 106 30 11 59 10 130 0 0.28 1 0.77 13 random 0 0 0 96"),
    ("amd-zen", "1.0", "2 22 10 54 2 34 36 132 37 14 74 10 130 0 0.28 1 0.77 13 random 0 0 0 96"),
    ("amd-zen", "1.24", "2 27 12 67 2 42 45 164 46 17 92 10 130 0 0.28 1 0.77 13 random 0 0 0 96"),
    ("intel-mesh", "0.8", "5 18 13 63 2 53 23 63 26 3 53 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    ("intel-mesh", "1.0", "6 23 16 79 2 66 29 79 33 4 66 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    ("intel-mesh", "1.24", "7 29 20 98 2 82 36 98 41 5 82 10 0 0 0.82 1 1 16 random 0 13 0 112"),
    ("intel-ring", "0.8", "1 15 10 59 2 42 39 32 19 12 38 7 0 0 1 1 20 16 random 0 12 0 96"),
    ("intel-ring", "1.0", "1 19 13 74 2 52 49 40 24 15 48 7 0 0 1 1 20 16 random 0 12 0 96"),
    ("intel-ring", "1.24", "1 24 16 92 2 64 61 50 30 19 60 7 0 0 1 1 20 16 random 0 12 0 96"),
];

/// Returns a machine that has all numbers of a family. Its other numbers are of a shipped machine.
fn of_family(family: &str, scale: &str) -> Machine {
    let file = include_str!("../../../../machines/cascade-lake-2s24c2t.toml");
    let is_of_families = |line: &&str| {
        let key = line.split(' ').next().unwrap_or_default();
        NAMES.iter().any(|name| name.split_once('.').is_some_and(|(_, name)| name == key))
    };
    let lines = file.lines().filter(|line| !is_of_families(line)).map(|line| {
        match line.split(' ').next() {
            Some("family") => format!("family = {family:?}\n"),
            Some("scale") => format!("scale = {{ value = {scale}, source = \"this test\" }}\n"),
            _ => format!("{line}\n"),
        }
    });
    Machine::parse(family, &lines.collect::<String>()).expect("it is a machine")
}

#[test]
fn machines_of_a_family_have_these_numbers() {
    for &(family, scale, numbers) in TABLE {
        let machine = of_family(family, scale);
        let number = |name: &&str| {
            let number = machine.parameter(name).expect("a machine has it");
            let source = number.source.iter().chain(&number.assumed).next().expect("it has one");
            assert!(source.starts_with("family "), "{family} has no {name}: {source}");
            number.value.to_string()
        };
        let found = NAMES.iter().map(number).collect::<Vec<_>>().join(" ");
        assert_eq!(found, numbers, "{family} at scale {scale}");
    }
}

#[test]
fn the_table_has_the_families_of_all_shipped_machines() {
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is shipped");
        let family = machine.family().expect("a shipped machine has one");
        assert!(TABLE.iter().any(|(of, ..)| *of == family), "{name} is a {family}");
    }
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
