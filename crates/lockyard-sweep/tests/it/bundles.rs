//! Bundles: a plan with all its files, for a process that has none of them.

use crate::support::Directory;
use lockyard_scenarios::LockKinds;
use lockyard_sweep::Bundle;
use lockyard_sweep::plan::Plan;
use std::fs;

const PLAN: &str = "scenarios = [\"small.toml\", \"fstat2\"]\nmachines = [\"mine.toml\"]\n\
                    threads = [1, 2]\n";

#[test]
fn a_bundle_has_all_files_and_gives_the_same_cells() {
    let directory = Directory::new("bundle");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let machine =
        fs::read_to_string(format!("{root}/cascade-lake-2s24c2t.toml")).expect("it is there");
    let family =
        fs::read_to_string(format!("{root}/families/intel-mesh.toml")).expect("it is there");
    let machine = machine
        .replace("name = \"cascade-lake-2s24c2t\"", "name = \"mine\"")
        .replace("family = \"intel-mesh\"", "family = \"of-mine.toml\"");
    fs::write(directory.path("mine.toml"), machine).expect("it can be written");
    fs::write(directory.path("of-mine.toml"), family).expect("it can be written");
    let text = PLAN.replace("threads", "variants = [\"queued\", \"lockref\"]\nthreads");
    let plan = directory.plan(&text).expect("it is right");
    let json = plan.bundle().json();
    for name in ["mine.toml", "of-mine.toml", "small.toml"] {
        assert!(json.contains(&format!("\"{name}\": ")), "{name}");
    }
    let here = directory.0.display().to_string();
    assert!(!json.contains(&here), "no path of this host");
    let ids = |plan: &Plan| (0..plan.count()).map(|n| plan.cell(n).id()).collect::<Vec<_>>();
    let expected = ids(&plan);
    drop(directory);
    let bundle = Bundle::parse("b.json", &json).expect("it is a bundle");
    let plan = Plan::of_bundle(&bundle, &LockKinds::default()).expect("it is right");
    assert_eq!(ids(&plan), expected);
    assert_eq!(plan.bundle().json(), json);
}

#[test]
fn a_text_that_is_no_bundle_is_refused() {
    for (text, expected) in [
        ("x", "b.json: is not the plan of a sweep: expected value"),
        ("{}", "its `schema` must be lockyard-sweep-1"),
        ("{\"schema\": \"lockyard-sweep-1\"}", "it lacks `origin`"),
    ] {
        let error = Bundle::parse("b.json", text).expect_err(text).0;
        assert!(error.contains(expected), "{error}");
    }
}
