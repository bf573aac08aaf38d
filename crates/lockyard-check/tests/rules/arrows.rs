//! Rules of direction: which crate may use which, and no cycles of files within a crate.
//!
//! The test reads every Rust file of the workspace ([`modules`]), and finds the origin of each name
//! that the file uses ([`names`]). A re-export counts as a use. The tables below are the rules, and
//! an unneeded entry fails too.

mod cycles;
mod made_up;
mod modules;
mod names;

use crate::workspace::{Member, Target, members};
use cycles::{Graph, cycles, way_round};
use lockyard_check::sources::workspace;
use modules::{Tree, normal};
use names::{Arrows, arrows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates of the workspace that a crate may use.
struct Wall {
    name: &'static str,
    /// Crates that its library and its commands may use.
    uses: &'static [&'static str],
    /// Further crates that its tests and examples may use.
    tests_use: &'static [&'static str],
}

const fn wall(
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
) -> Wall {
    Wall { name, uses, tests_use }
}

/// All crates, lowest first: a crate uses only crates above it in this list.
const WALLS: &[Wall] = &[
    wall("lockyard-testing", &[], &[]),
    wall("lockyard-support", &[], &[]),
    wall("lockyard-trace", &[], &[]),
    wall("lockyard-records", &[], &[]),
    wall("lockyard-interpose", &[], &[]),
    wall("lockyard-preload", &["lockyard-records", "lockyard-interpose"], &[]),
    wall("lockyard-profile", &["lockyard-support", "lockyard-records"], &[]),
    wall("lockyard", &[], &["lockyard-testing"]),
    wall("lockyard-recorded", &[], &["lockyard"]),
    wall("lockyard-tables", &["lockyard"], &["lockyard-testing"]),
    wall("lockyard-c", &["lockyard", "lockyard-tables"], &["lockyard-testing"]),
    wall("lockyard-mutex", &["lockyard-interpose", "lockyard"], &["lockyard-testing"]),
    wall("lockyard-controls", &["lockyard"], &[]),
    wall("lockyard-sim", &["lockyard-support", "lockyard"], &["lockyard-tables"]),
    wall(
        "lockyard-scenarios",
        &["lockyard-support", "lockyard", "lockyard-tables", "lockyard-controls"],
        &["lockyard-sim"],
    ),
    wall("lockyard-peers", &["lockyard", "lockyard-scenarios"], &["lockyard-testing"]),
    wall("lockyard-results", &["lockyard-support", "lockyard-scenarios"], &[]),
    wall("lockyard-recording", &["lockyard-support", "lockyard-scenarios"], &[]),
    wall("lockyard-report", &["lockyard-support", "lockyard-sim", "lockyard-results"], &[]),
    wall(
        "lockyard-predict",
        &[
            "lockyard-support",
            "lockyard-trace",
            "lockyard",
            "lockyard-sim",
            "lockyard-scenarios",
            "lockyard-results",
            "lockyard-recording",
        ],
        &["lockyard-testing"],
    ),
    wall(
        "lockyard-sweep",
        &[
            "lockyard-support",
            "lockyard-sim",
            "lockyard-scenarios",
            "lockyard-results",
            "lockyard-predict",
        ],
        &[],
    ),
    wall(
        "lockyard-measure",
        &[
            "lockyard-support",
            "lockyard",
            "lockyard-scenarios",
            "lockyard-peers",
            "lockyard-results",
        ],
        &["lockyard-testing"],
    ),
    wall(
        "lockyard-lab",
        &[
            "lockyard-support",
            "lockyard",
            "lockyard-sim",
            "lockyard-scenarios",
            "lockyard-results",
            "lockyard-predict",
            "lockyard-measure",
        ],
        &["lockyard-testing"],
    ),
    wall(
        "lockyard-cli",
        &[
            "lockyard-support",
            "lockyard-trace",
            "lockyard",
            "lockyard-records",
            "lockyard-profile",
            "lockyard-sim",
            "lockyard-scenarios",
            "lockyard-results",
            "lockyard-recording",
            "lockyard-report",
            "lockyard-predict",
            "lockyard-sweep",
            "lockyard-measure",
            "lockyard-lab",
        ],
        &["lockyard-testing"],
    ),
    wall(
        "lockyard-fuzz",
        &[
            "lockyard-profile",
            "lockyard-sim",
            "lockyard-scenarios",
            "lockyard-results",
            "lockyard-recording",
            "lockyard-sweep",
            "lockyard-lab",
            "lockyard-cli",
        ],
        &["lockyard-testing"],
    ),
    wall("lockyard-refused", &[], &["lockyard", "lockyard-tables"]),
    wall(
        "lockyard-check",
        &["lockyard", "lockyard-tables", "lockyard-controls", "lockyard-sim"],
        &["lockyard-testing"],
    ),
];

/// Files that read a file of another crate by its path, with reasons. These arrows also lead only
/// to lower crates.
const PATHS: [(&str, &str, &str); 3] = [
    (
        "crates/lockyard-measure/src/call_path/mod.rs",
        "crates/lockyard/examples/common/ways.rs",
        "the measured loops are those whose listings the library commits",
    ),
    (
        "crates/lockyard-tables/tests/it/support.rs",
        "crates/lockyard/tests/it/support/between.rs",
        "both crates' tests act between two operations",
    ),
    (
        "crates/lockyard-tables/tests/it/support.rs",
        "crates/lockyard/tests/it/support/failing.rs",
        "both crates' tests make allocations fail",
    ),
];

/// A cycle of files that is allowed to stay.
struct Exception {
    /// All files of the cycle, as paths from the workspace's root. The first file says "cycle of
    /// files" where it gives the reason.
    files: &'static [&'static str],
    /// A short form of that reason.
    why: &'static str,
}

/// Cycles that stay: at most [`MOST_EXCEPTIONS`] in each crate.
const EXCEPTIONS: [Exception; 1] = [Exception {
    files: &["crates/lockyard/src/lockref/guard.rs", "crates/lockyard/src/lockref/mod.rs"],
    why: "a guard and its lockref; the committed listings name the lockref's module",
}];

const MOST_EXCEPTIONS: usize = 2;

/// A target of a crate, with the names that it uses.
struct Read {
    tree: Tree,
    arrows: Arrows,
}

fn read(member: &Member, target: &Target, crates: &BTreeSet<String>) -> Read {
    let tree = Tree::read(&target.root, &member.folder);
    let arrows = arrows(&tree, crates);
    Read { tree, arrows }
}

/// Returns the names of crates as they appear in code.
fn in_code(members: &[Member]) -> BTreeSet<String> {
    members.iter().map(|member| member.name.replace('-', "_")).collect()
}

/// Returns `path` relative to the workspace's root.
fn shown(path: &Path) -> String {
    let root = normal(&workspace());
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[test]
fn arrows_between_crates_point_down() {
    let members = members();
    let crates = in_code(&members);
    let names: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let walls: BTreeSet<&str> = WALLS.iter().map(|wall| wall.name).collect();
    assert_eq!(names, walls, "the list has each crate of the workspace");
    let mut wrong = the_list_goes_from_the_ground_up();
    let mut files = 0;
    let mut count = 0;
    let mut paths = BTreeSet::new();
    for wall in WALLS {
        let member = members.iter().find(|member| member.name == wall.name).expect("it is there");
        // Arrows that were found, with their places.
        let mut found: BTreeMap<(String, bool), BTreeSet<String>> = BTreeMap::new();
        let mut add = |to: &str, is_product: bool, place: String| {
            if to != wall.name {
                found.entry((to.to_owned(), is_product)).or_default().insert(place);
            }
        };
        let manifest = shown(&member.folder.join("Cargo.toml"));
        for (list, is_product) in [(&member.dependencies, true), (&member.dev_dependencies, false)]
        {
            for to in list.iter().filter(|to| names.contains(to.as_str())) {
                add(to, is_product, manifest.clone());
            }
        }
        for target in &member.targets {
            let read = read(member, target, &crates);
            files += read.tree.files.len();
            for (to, from) in &read.arrows.crates {
                for &file in from {
                    let place = shown(&read.tree.files[file]);
                    add(&to.replace('_', "-"), target.is_product(), place);
                }
            }
            for (from, to) in &read.tree.by_path {
                let (from, to) = (shown(from), shown(to));
                let owner = owner(&members, &to);
                if owner == Some(wall.name) {
                    continue;
                }
                let for_tests = owner.filter(|owner| wall.tests_use.contains(owner));
                let is_below =
                    for_tests.or(owner.filter(|owner| wall.uses.contains(owner))).is_some();
                if is_below && PATHS.iter().any(|(a, b, _)| *a == from && *b == to) {
                    // A file may be all that tests use of a crate.
                    if let Some(owner) = for_tests.filter(|_| !target.is_product()) {
                        add(owner, false, from.clone());
                    }
                    paths.insert((from, to));
                } else {
                    wrong.push(format!("{from} reads {to}, a file of another crate, by its path"));
                }
            }
        }
        count += found.len();
        wrong.extend(compare(wall, &found));
    }
    for (from, to, why) in PATHS {
        if !paths.contains(&(from.to_owned(), to.to_owned())) {
            wrong.push(format!("{from} no longer reads {to} ({why}): take it off PATHS"));
        }
    }
    println!("{} crates, {files} files, {count} arrows between crates", WALLS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the crate that owns a file (a path from the workspace's root), by its directory.
fn owner<'a>(members: &'a [Member], file: &str) -> Option<&'a str> {
    let holds = |member: &&Member| file.starts_with(&format!("{}/", shown(&member.folder)));
    members.iter().find(holds).map(|member| member.name.as_str())
}

fn the_list_goes_from_the_ground_up() -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, wall) in WALLS.iter().enumerate() {
        let is_above = |name: &str| WALLS[..index].iter().any(|other| other.name == name);
        for name in wall.uses.iter().chain(wall.tests_use).filter(|name| !is_above(name)) {
            wrong.push(format!("{} may use {name}, which does not stand above it", wall.name));
        }
    }
    wrong
}

/// Compares what a crate uses with what it may use.
fn compare(wall: &Wall, found: &BTreeMap<(String, bool), BTreeSet<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((to, is_product), places) in found {
        let to = to.as_str();
        let is_allowed = wall.uses.contains(&to) || (!is_product && wall.tests_use.contains(&to));
        if !is_allowed {
            let places: Vec<&str> = places.iter().map(String::as_str).collect();
            let which = if *is_product { "" } else { " (in tests and examples)" };
            wrong.push(format!("{} -> {to}{which}: {}", wall.name, places.join(", ")));
        }
    }
    // A crate that only tests use may be declared in Cargo.toml alone, because unit tests are not
    // read.
    let is_used = |to: &str, is_product: bool| {
        found.get(&(to.to_owned(), is_product)).is_some_and(|places| {
            places.iter().any(|place| !is_product || !place.ends_with("Cargo.toml"))
        })
    };
    for to in wall.uses.iter().filter(|to| !is_used(to, true)) {
        wrong.push(format!("{} does not use {to}: take it off the list", wall.name));
    }
    for to in wall.tests_use.iter().filter(|to| !is_used(to, false)) {
        wrong.push(format!("{}'s tests do not use {to}: take it off the list", wall.name));
    }
    wrong
}

/// Returns the cycles of a target. Each has its files, as paths from the workspace's root, and a
/// shortest path around the cycle.
fn cycles_of(read: &Read) -> Vec<(BTreeSet<String>, String)> {
    let mut graph = Graph::new();
    for &(from, to) in read.arrows.files.keys() {
        graph.entry(from).or_default().insert(to);
    }
    let file = |index: usize| shown(&read.tree.files[index]);
    let describe = |way: &[usize]| {
        let mut text = file(way[0]);
        for step in way.windows(2) {
            let names: Vec<&str> =
                read.arrows.files[&(step[0], step[1])].iter().map(String::as_str).collect();
            text.push_str(&format!("\n      -> {} ({})", file(step[1]), names.join(", ")));
        }
        text
    };
    cycles(&graph)
        .into_iter()
        .map(|cycle| {
            let files = cycle.iter().map(|&index| file(index)).collect();
            (files, describe(&way_round(&graph, &cycle)))
        })
        .collect()
}

#[test]
fn no_files_of_a_crate_use_each_other_in_a_cycle() {
    let members = members();
    let crates = in_code(&members);
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for member in &members {
        let (mut files, mut count) = (0, 0);
        let mut found: BTreeMap<BTreeSet<String>, String> = BTreeMap::new();
        for target in &member.targets {
            let read = read(member, target, &crates);
            files += read.tree.files.len();
            count += read.arrows.files.len();
            found.extend(cycles_of(&read));
        }
        let sizes: Vec<usize> = found.keys().map(BTreeSet::len).collect();
        println!(
            "{}: {files} files, {count} arrows between them, {} cycles {sizes:?}",
            member.name,
            found.len()
        );
        let is_exception = |files: &BTreeSet<String>| {
            EXCEPTIONS.iter().position(|exception| {
                exception.files.iter().map(|file| (*file).to_owned()).eq(files.iter().cloned())
            })
        };
        let exceptions: Vec<usize> = found.keys().filter_map(is_exception).collect();
        if exceptions.len() > MOST_EXCEPTIONS {
            wrong.push(format!("{} has more than {MOST_EXCEPTIONS} exceptions", member.name));
        }
        used.extend(exceptions);
        found.retain(|files, _| is_exception(files).is_none());
        let describe = |(files, way): (&BTreeSet<String>, &String)| {
            format!("{}: a cycle of {} files, such as {way}", member.name, files.len())
        };
        wrong.extend(found.iter().map(describe));
    }
    for (index, exception) in EXCEPTIONS.iter().enumerate() {
        wrong.extend(what_is_wrong_with(exception, used.contains(&index)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn what_is_wrong_with(exception: &Exception, is_used: bool) -> Option<String> {
    let first = exception.files[0];
    if !is_used {
        return Some(format!("the cycle of {first} is gone: take it off EXCEPTIONS"));
    }
    let text = std::fs::read_to_string(workspace().join(first)).expect("a file of the cycle");
    let says_so = text.to_lowercase().contains("cycle of files");
    (!says_so).then(|| format!("{first} does not say why it is in a cycle: {}", exception.why))
}
