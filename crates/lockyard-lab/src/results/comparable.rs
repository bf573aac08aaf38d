//! Whether two runs answer the same question. What was run where, for how long and with which inputs must be the same;
//! only the program, or what is under test, may differ. What is not known of both is not compared, and said.

use super::read::{Figure, Kind, Results};
use lockyard_input::printable;

/// What makes another host, in the environment. A difference is refused unless the user wants it anyway.
pub const HOST: [&str; 10] = [
    "cpu",
    "architecture",
    "cpus",
    "smt",
    "virtualised",
    "virtualisation",
    "governor",
    "kernel",
    "cgroup_cpu_quota",
    "hostname",
];

/// How it was measured, in the environment. A difference is another question.
pub const MEASURING: [&str; 3] = ["seconds", "warm_up_seconds", "placement"];

/// How it was simulated, in the environment.
pub const SIMULATING: [&str; 1] = ["placement"];

/// Checks that the pairs of `a` and `b` can be compared; returns what is to be said of them nevertheless.
///
/// # Errors
///
/// If they cannot: what differs, and whether `anyway` would override it.
pub fn check(
    a: &Results,
    b: &Results,
    pairs: &[(&Figure, &Figure)],
    anyway: bool,
) -> Result<Vec<String>, String> {
    let has = |kind| pairs.iter().any(|(a, _)| a.key.kind == kind);
    let mut notes = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    if has(Kind::Measured) {
        names.extend(MEASURING);
    }
    if has(Kind::Simulated) {
        names.extend(SIMULATING);
    }
    names.sort_unstable();
    names.dedup();
    let otherwise = differences(a, b, &names, &mut notes);
    if !otherwise.is_empty() {
        return Err(format!(
            "not comparable: they were not run in the same way: {}",
            otherwise.join("; ")
        ));
    }
    let mut overridden = Vec::new();
    if has(Kind::Measured) {
        let host = differences(a, b, &HOST, &mut notes);
        if !host.is_empty() {
            overridden.push(format!("another host: {}", host.join("; ")));
        }
    }
    overridden.extend(another_identity(pairs));
    if !overridden.is_empty() {
        let what = overridden.join("; ");
        if !anyway {
            return Err(format!("not comparable: {what}; --anyway compares them nevertheless"));
        }
        notes.push(format!("Compared by --anyway: {what}. A verdict is about both together."));
    }
    for (results, name) in [(a, "A"), (b, "B")] {
        if let Some(why) = results.environment.get("incomplete") {
            notes.push(format!("{name} is not complete: {}.", printable(why)));
        }
    }
    let version = |results: &Results| results.environment.get("lockyard").cloned();
    if let (Some(a), Some(b)) = (version(a), version(b))
        && a != b
    {
        let (a, b) = (printable(&a), printable(&b));
        notes.push(format!("A was written by lockyard {a}, B by lockyard {b}."));
    }
    Ok(notes)
}

/// Which of the entries `names` of both environments differ. What only one has is a note.
fn differences(a: &Results, b: &Results, names: &[&str], notes: &mut Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for &name in names {
        match (a.environment.get(name), b.environment.get(name)) {
            (Some(of_a), Some(of_b)) if of_a != of_b => {
                found.push(format!("{name}: A `{}`, B `{}`", printable(of_a), printable(of_b)));
            }
            (Some(_), None) => notes.push(format!("B does not say its `{name}`: not compared.")),
            (None, Some(_)) => notes.push(format!("A does not say its `{name}`: not compared.")),
            _ => {}
        }
    }
    found
}

/// The first simulated pair of other inputs, for each input.
fn another_identity(pairs: &[(&Figure, &Figure)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, what) in
        [("machine_hash", "machine files with other numbers"), ("simulated_seeds", "other seeds")]
    {
        let differs = pairs.iter().find_map(|(a, b)| {
            let (of_a, of_b) = (a.identity.get(name)?, b.identity.get(name)?);
            (of_a != of_b).then(|| {
                let (of_a, of_b) = (printable(of_a), printable(of_b));
                let machine = &a.key.place.machine;
                format!("{what}: {name} of {machine}: A `{of_a}`, B `{of_b}`")
            })
        });
        found.extend(differs);
    }
    found
}
