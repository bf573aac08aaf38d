//! The committed programs of `fuzz/corpus/`, replayed beside simple models, and small changes of them.

use std::path::Path;

#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/tables.rs"]
mod tables;

type Target = (&'static str, fn(&[u8]));

#[test]
fn tables_do_what_simple_models_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for target in tables::TARGETS {
        let inputs = replay::replay(&root, target, 50);
        println!("{}: {inputs} programs", target.0);
    }
}
