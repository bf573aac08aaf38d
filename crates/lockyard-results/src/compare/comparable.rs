//! Checks that two runs answer the same question: same host, workload, duration and inputs. Only
//! the program, or the object under test, may differ. An entry that only one file has is not
//! compared, and a note says so.

use super::read::{Figure, FigureKind, ResultFile};
use lockyard_support::printable;

/// Environment entries that identify a host. If any differs, the comparison is refused unless the
/// user passes `--anyway`.
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

/// Values that mean "unknown". They are not compared.
const NOT_KNOWN: [&str; 2] = ["not available here", "not known"];

/// Environment entries that say how figures were measured. Files that differ in any of them answer
/// different questions.
pub const MEASURING: [&str; 3] = ["seconds", "warm_up_seconds", "placement"];

/// Environment entries that say how figures were simulated.
pub const SIMULATING: [&str; 1] = ["placement"];

/// Checks that `pairs` of figures from `a` and `b` can be compared. Returns notes for the reader.
///
/// # Errors
///
/// If they cannot be compared. The message names the difference, and says whether `--anyway`
/// overrides it.
pub fn check(
    a: &ResultFile,
    b: &ResultFile,
    pairs: &[(&Figure, &Figure)],
    anyway: bool,
) -> Result<Vec<String>, String> {
    let has = |kind| pairs.iter().any(|(a, _)| a.key.kind == kind);
    let (mut notes, mut unknown) = (Vec::new(), Vec::new());
    let kinds = [FigureKind::Measured, FigureKind::Simulated];
    let kinds: Vec<FigureKind> = kinds.into_iter().filter(|&kind| has(kind)).collect();
    same_way(a, b, &kinds, &mut unknown)?;
    let mut overridden: Vec<String> = Vec::new();
    if has(FigureKind::Measured) {
        overridden.extend(another_host(a, b, &mut unknown));
    }
    overridden.extend(another_identity(pairs));
    if !overridden.is_empty() {
        let what = overridden.join("; ");
        if !anyway {
            return Err(format!("not comparable: {what}; --anyway compares them nevertheless"));
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
            notes.push(format!(
                "{name}'s host had conditions that spoil measurements: {}.",
                printable(warnings)
            ));
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

/// Returns true if the seeds of all simulated pairs are known and equal.
pub(super) fn same_seeds(pairs: &[(&Figure, &Figure)]) -> bool {
    let mut simulated = pairs.iter().filter(|(a, _)| a.key.kind == FigureKind::Simulated);
    simulated.all(|(a, b)| {
        let of = |figure: &Figure| figure.identity.get("seeds").cloned();
        of(a).is_some() && of(a) == of(b)
    })
}

/// Checks that figures of these kinds were obtained in the same way. Adds to `unknown` the entries
/// that only one file has.
pub(super) fn same_way(
    a: &ResultFile,
    b: &ResultFile,
    kinds: &[FigureKind],
    unknown: &mut Vec<&'static str>,
) -> Result<(), String> {
    let mut names: Vec<&'static str> = Vec::new();
    for kind in kinds {
        match kind {
            FigureKind::Measured => names.extend(MEASURING),
            FigureKind::Simulated => names.extend(SIMULATING),
        }
    }
    names.sort_unstable();
    names.dedup();
    let otherwise = differences(a, b, &names, unknown);
    if otherwise.is_empty() {
        return Ok(());
    }
    let otherwise = otherwise.join("; ");
    Err(format!("not comparable: they were not run in the same way: {otherwise}"))
}

/// Returns the differences of the hosts, if there are any.
pub(super) fn another_host(
    a: &ResultFile,
    b: &ResultFile,
    unknown: &mut Vec<&'static str>,
) -> Option<String> {
    let host = differences(a, b, &HOST, unknown);
    (!host.is_empty()).then(|| format!("another host: {}", host.join("; ")))
}

/// Returns the `names` for which the two environments differ. Adds to `unknown` the names that only
/// one environment has.
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

/// Returns, for each input, the first simulated pair for which it differs.
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
