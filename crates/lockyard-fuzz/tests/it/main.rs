//! Replays the inputs that searches have kept, those that once failed, and shipped files, and small
//! changes of each. `.ci/fuzz` searches for more.

use lockyard_fuzz::{CONTROL, TARGETS, Target};
use lockyard_testing::replay;
use std::path::{Path, PathBuf};

/// Changes of each small input, and of each shipped file.
const CHANGES: u64 = 30;
const CHANGES_OF_SHIPPED: u64 = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn replay(folder: &Path, target: &Target, changes: u64) -> u64 {
    replay::replay(folder, &(target.name, target.run), changes)
}

fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target `{name}`"))
}

#[test]
fn every_target_holds_for_its_corpus() {
    for target in TARGETS {
        let inputs = replay(&root().join("fuzz/corpus"), target, CHANGES);
        println!("{}: {inputs} inputs", target.name);
    }
}

#[test]
fn inputs_that_once_failed_hold() {
    let folder = root().join("fuzz/regressions");
    for entry in std::fs::read_dir(&folder).expect("it is committed") {
        let entry = entry.expect("an entry");
        if entry.path().is_file() {
            continue; // the directory's own description
        }
        let name = entry.file_name().into_string().expect("a name");
        replay(&folder, target(&name), CHANGES);
    }
}

#[test]
fn shipped_scenarios_and_tables_hold() {
    for (folder, name) in [("scenarios", "script"), ("published", "published")] {
        let as_corpus = Target { name: folder, ..*target(name) };
        replay(&root(), &as_corpus, CHANGES_OF_SHIPPED);
    }
}

#[test]
fn the_control_has_its_fault() {
    (CONTROL.run)(b"size=4999");
    (CONTROL.run)(b"size=99999");
    let found = std::panic::catch_unwind(|| (CONTROL.run)(b"size=8080"));
    assert!(found.is_err(), "a search has nothing to find");
}

#[test]
fn every_target_can_be_searched() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is committed");
    let manifest = read("fuzz/Cargo.toml");
    for target in TARGETS.iter().chain([&CONTROL]) {
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        let program = read(&format!("fuzz/targets/{}.rs", target.name.replace('-', "_")));
        assert!(program.contains(&format!("run(\"{}\", ", target.name)), "{program}");
    }
}
