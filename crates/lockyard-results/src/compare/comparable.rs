//! Whether two runs answer the same question. What was run where, for how long and with which
//! inputs must be the same; only the program, or what is under test, may differ. What is not known
//! of both is not compared, and said.

use super::read::{Figure, FigureKind, ResultFile};
use lockyard_support::printable;

/// What makes another host, in the environment. A difference is refused unless the user wants it
/// anyway.
pub const HOST: [&str; 15] = [
    "cpu",
    "architecture",
    "cpus",
    "sockets",
    "cores",
    "nodes",
    "smt",
    "virtualised",
    "virtualisation",
    "container",
    "cgroup_cpu_quota",
    "governor",
    "turbo",
    "kernel",
    "flaws",
];

/// What an entry says that the system did not tell: it is not compared.
const NOT_KNOWN: [&str; 2] = ["not available here", "not known"];

/// How it was measured, in the environment. A difference is another question.
pub const MEASURING: [&str; 3] = ["seconds", "warm_up_seconds", "placement"];

/// How it was simulated, in the environment.
pub const SIMULATING: [&str; 1] = ["placement"];

/// Checks that the pairs of `a` and `b` can be compared; returns what is to be said of them
/// nevertheless.
///
/// # Errors
///
/// If they cannot: what differs, and whether `anyway` would override it.
pub fn check(
    a: &ResultFile,
    b: &ResultFile,
    pairs: &[(&Figure, &Figure)],
    anyway: bool,
) -> Result<Vec<String>, String> {
    let has = |kind| pairs.iter().any(|(a, _)| a.key.kind == kind);
    let (mut notes, mut unknown) = (Vec::new(), Vec::new());
    let mut names: Vec<&'static str> = Vec::new();
    if has(FigureKind::Measured) {
        names.extend(MEASURING);
    }
    if has(FigureKind::Simulated) {
        names.extend(SIMULATING);
    }
    names.sort_unstable();
    names.dedup();
    let otherwise = differences(a, b, &names, &mut unknown);
    if !otherwise.is_empty() {
        return Err(format!(
            "not comparable: they were not run in the same way: {}",
            otherwise.join("; ")
        ));
    }
    let mut overridden = Vec::new();
    if has(FigureKind::Measured) {
        let host = differences(a, b, &HOST, &mut unknown);
        if !host.is_empty() {
            overridden.push(format!("another host: {}", host.join("; ")));
        }
    }
    overridden.extend(another_identity(pairs));
    if !overridden.is_empty() {
        let what = overridden.join("; ");
        if !anyway {
            return Err(format!("not comparable: {what}; --anyway compares them all the same"));
        }
        notes.push(format!(
            "Compared because of --anyway: {what}. A verdict covers both effects together."
        ));
    }
    if !unknown.is_empty() {
        notes.push(format!("Not compared, because only one file has it: {}.", unknown.join(", ")));
    }
    for (results, name) in [(a, "A"), (b, "B")] {
        let warned = results.environment.get("warnings").filter(|warnings| *warnings != "none");
        if let (Some(warnings), true) = (warned, has(FigureKind::Measured)) {
            notes.push(format!("{name}'s host was not at its best: {}.", printable(warnings)));
        }
        if let Some(why) = results.environment.get("incomplete") {
            notes.push(format!("{name} is not complete: {}.", printable(why)));
        }
    }
    let version = |results: &ResultFile| results.environment.get("lockyard").cloned();
    if let (Some(a), Some(b)) = (version(a), version(b))
        && a != b
    {
        let (a, b) = (printable(&a), printable(&b));
        notes.push(format!("A was written by lockyard {a}, B by lockyard {b}."));
    }
    Ok(notes)
}

/// Which of the entries `names` of both environments differ. What only one knows goes to `unknown`.
fn differences(
    a: &ResultFile,
    b: &ResultFile,
    names: &[&'static str],
    unknown: &mut Vec<&'static str>,
) -> Vec<String> {
    let of = |results: &ResultFile, name: &str| {
        results.environment.get(name).filter(|value| !NOT_KNOWN.contains(&value.as_str())).cloned()
    };
    let mut found = Vec::new();
    for &name in names {
        match (of(a, name), of(b, name)) {
            (Some(of_a), Some(of_b)) if of_a != of_b => {
                found.push(format!("{name}: A `{}`, B `{}`", printable(&of_a), printable(&of_b)));
            }
            (Some(_), None) | (None, Some(_)) => unknown.push(name),
            _ => {}
        }
    }
    found
}

/// The first simulated pair of other inputs, for each input.
fn another_identity(pairs: &[(&Figure, &Figure)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, what) in
        [("machine_hash", "machine files with other numbers"), ("seeds", "other seeds")]
    {
        let differs = pairs.iter().find_map(|(a, b)| {
            let (of_a, of_b) = (a.identity.get(name)?, b.identity.get(name)?);
            (of_a != of_b).then(|| {
                let (of_a, of_b) = (printable(of_a), printable(of_b));
                let machine = &a.key.cell.machine;
                format!("{what}: {name} of {machine}: A `{of_a}`, B `{of_b}`")
            })
        });
        found.extend(differs);
    }
    found
}
