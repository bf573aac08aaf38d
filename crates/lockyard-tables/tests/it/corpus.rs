//! The committed programs of `programs/`, replayed beside simple models, and small changes of them.

use crate::models;
use lockyard_testing::replay;
use std::path::Path;

#[test]
fn tables_do_what_simple_models_do() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs");
    for target in models::TARGETS {
        let inputs = replay::replay(&programs, target, 50);
        println!("{}: {inputs} programs", target.0);
    }
}

/// Without this, the test above could replay nothing.
#[test]
fn a_target_that_panics_is_noticed() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs");
    let target = ("id-table", (|data: &[u8]| assert!(data.len() < 10, "a fault")) as fn(&[u8]));
    let found = std::panic::catch_unwind(|| replay::replay(&programs, &target, 1));
    assert!(found.is_err());
}
