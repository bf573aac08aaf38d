//! Orderings in the sources of the primitives that no program reaches. Such orderings cannot be
//! weakened, so they are listed here.
//!
//! Orderings are counted by function. If a function's source has more orderings stronger than
//! relaxed than its reached sites, the others must have a reason in `ELSEWHERE`.

use super::suite::Suite;
use crate::hooks::Site;
use crate::sources::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Orderings that the search looks for.
const STRONGER: [&str; 4] =
    ["Ordering::Acquire", "Ordering::Release", "Ordering::AcqRel", "Ordering::SeqCst"];

/// Orderings in a function that no program reaches, or that are reached in another function. The
/// reason stands beside each.
pub(crate) struct Excuse {
    /// Suffix of the file's path.
    file: &'static str,
    function: &'static str,
    /// Number of orderings.
    count: usize,
}

/// The excused orderings of the library.
const ELSEWHERE: &[Excuse] = &[
    // The orderings of the operations. The sites are in lockref/mod.rs, where the operations are
    // called.
    Excuse { file: "lockref/count.rs", function: "apply", count: 4 },
    // A saturated count: it takes 2^30 references, and the object is never freed.
    Excuse { file: "lockref/mod.rs", function: "attempt", count: 2 },
    // A guard that is dropped when its thread has given its slot back: threads of a model keep
    // their slots to the end.
    Excuse { file: "reclaim/guard.rs", function: "leave_after_slot", count: 1 },
];

/// Returns the function that contains a line: the name after the last `fn` above it. Returns the
/// file's top level if there is none.
pub(super) fn function_of(source: &Source, line: usize) -> String {
    let lines: Vec<&str> = source.code.lines().take(line).collect();
    let names = lines.iter().rev().filter_map(|line| {
        let rest = line.split("fn ").nth(1)?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (!name.is_empty()).then_some(name)
    });
    names.into_iter().next().unwrap_or_default()
}

/// Returns one complaint for each function with unreached orderings, in the sources of the
/// primitives.
pub(super) fn unreached(suites: &[Suite], reached: &[Site]) -> Vec<String> {
    let mut complaints = Vec::new();
    let all = ["crates/lockyard/src", "crates/lockyard-tables/src"].map(sources);
    let primitives = all.iter().flatten().filter(|source| !source.path.contains("/platform/"));
    for source in primitives {
        if standing(source).is_empty() {
            continue;
        }
        let owned = suites.iter().any(|s| s.files.iter().any(|file| source.path.ends_with(file)));
        if !owned {
            complaints.push(format!("{} has orderings, and no suite", source.path));
            continue;
        }
        let seen: BTreeSet<Site> =
            reached.iter().filter(|site| source.path.ends_with(site.file)).copied().collect();
        complaints.extend(unreached_in(source, &seen, ELSEWHERE));
    }
    complaints
}

/// Returns one complaint for each function of a source with unreached orderings that are not
/// excused. `reached` has the reached sites of this source.
pub(crate) fn unreached_in(
    source: &Source,
    reached: &BTreeSet<Site>,
    excuses: &[Excuse],
) -> Vec<String> {
    let mut complaints = Vec::new();
    for (function, count) in standing(source) {
        let in_function = |site: &&Site| function_of(source, site.at.0 as usize) == function;
        let seen = reached.iter().filter(in_function).count();
        let excused = excuses
            .iter()
            .find(|excuse| source.path.ends_with(excuse.file) && excuse.function == function)
            .map_or(0, |excuse| excuse.count);
        if seen + excused < count || excused > 0 && seen >= count {
            complaints.push(format!(
                "{}, `{function}`: {count} orderings in the source, \
                 {seen} sites reached and {excused} excused with a reason",
                source.path
            ));
        }
    }
    complaints
}

/// Counts the orderings in each function of a source.
fn standing(source: &Source) -> BTreeMap<String, usize> {
    let mut standing = BTreeMap::new();
    for (index, line) in source.code.lines().enumerate() {
        let count: usize = STRONGER.iter().map(|order| line.matches(order).count()).sum();
        if count > 0 {
            *standing.entry(function_of(source, index + 1)).or_default() += count;
        }
    }
    standing
}
