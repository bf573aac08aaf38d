//! Documents: each member of a result file is described in the documentation.

use crate::support::{lockyard, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// Members whose keys are names chosen by users, machines or hosts.
const NAMES: [&str; 2] = ["environment", "lost_in_ns_per_operation"];

/// Adds the names of all members.
fn members(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                found.insert(name.clone());
                if !NAMES.contains(&name.as_str()) {
                    members(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, found)),
        _ => {}
    }
}

#[test]
fn each_member_of_results_is_described() {
    const PAGES: [&str; 5] = [
        include_str!("../../../../docs/measure/results.md"),
        include_str!("../../../../docs/measure/fit.md"),
        include_str!("../../../../docs/measure/attribution.md"),
        include_str!("../../../../docs/model/explain.md"),
        include_str!("../../../../docs/model/sensitivity.md"),
    ];
    let predict = ["predict", "fstat2", "-m", "cascade-lake-2s24c2t", "-t", "1,2,4,8"];
    let asked = ["--explain", "--fit", "--sensitivity", "--attribution"];
    let short = ["--seconds", "0.02", "--repeats", "3"];
    let spin = ["measure", "spin-loop/same-node/embedded", "-t", "1,2", "--histogram"];
    let commands = [
        [&predict[..], &asked].concat(),
        [&spin[..], &["--attribution"], &short].concat(),
        vec!["reproduce", "qspinlock-loop", "id-table-timer-gettime", "--no-measure"],
    ];
    let mut found = BTreeSet::new();
    for arguments in commands {
        let output = lockyard(&[&arguments[..], &["-f", "json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        members(&serde_json::from_slice(&output.stdout).expect("it is JSON"), &mut found);
    }
    assert!(found.len() > 60, "{found:?}");
    let is_described = |name: &&String| {
        let code = [format!("`{name}`"), format!("\"{name}\":"), format!("`{name}:")];
        PAGES.iter().any(|page| code.iter().any(|code| page.contains(code)))
    };
    let missing: Vec<&String> = found.iter().filter(|name| !is_described(name)).collect();
    assert!(missing.is_empty(), "described nowhere: {missing:?}");
}
