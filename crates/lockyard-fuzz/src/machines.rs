//! Machine files. What a machine file resolves to is complete, and comments do not change it.

use crate::errors::{ORIGIN, check_in, text};
use lockyard_sim::Machine;

pub(crate) fn machine(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match Machine::parse(ORIGIN, text) {
        Err(error) => check_in(text, &error.to_string()),
        Ok(machine) => {
            let threads = machine.hardware_threads();
            assert!((1..=4096).contains(&threads), "{threads} hardware threads");
            let commented = format!("# a comment\n{text}\n# an end");
            let again = Machine::parse(ORIGIN, &commented);
            let again = again.unwrap_or_else(|error| panic!("{error}: {commented:?}"));
            assert_eq!(format!("{machine:?}"), format!("{again:?}"), "{commented:?}");
        }
    }
}
