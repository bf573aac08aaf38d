//! Changes that people ask about, in their words, of some groups of locks: one after the other, and
//! of all of them together. Of two saturated locks in a row, one alone gives nothing.

use super::version::{BATCH, Change, Changed, PARTS, READS};
use crate::model::{Group, Model};
use crate::recording::{Kind, Recording};
use std::collections::HashMap;

/// A change of the program with its name, its title and its locks.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// Name of the variant.
    pub name: String,
    /// The change in words.
    pub title: String,
    /// The change.
    pub change: Change,
    /// Places of the groups that are changed.
    pub groups: Vec<usize>,
}

/// Beginning of the names of variants without a lock: no change can give more.
pub const WITHOUT: &str = "without";

/// Name of the variant with each lock in a line of its own.
pub const OWN_LINES: &str = "own-lines";

/// Returns the changes of each of these groups, and of all together if there are several.
pub fn of(recording: &Recording, model: &Model, groups: &[usize]) -> Vec<WhatIf> {
    let mut all = Vec::new();
    for (group, number) in groups.iter().zip(1..) {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        all.extend(of_some(model, &[*group], &end, &model.groups[*group].name));
    }
    if groups.len() > 1 {
        let names: Vec<&str> =
            groups.iter().map(|group| model.groups[*group].name.as_str()).collect();
        let who = match names.as_slice() {
            [one, other] => format!("{one} and {other}"),
            some => format!("all {} saturated locks", some.len()),
        };
        all.extend(of_some(model, groups, "-all", &who));
    }
    let mut lines: HashMap<u64, usize> = HashMap::new();
    for (lock, _) in model.groups.iter().flat_map(Group::replayed) {
        *lines.entry(recording.about.locks[lock as usize].line).or_default() += 1;
    }
    if lines.values().any(|locks| *locks > 1) {
        all.push(WhatIf {
            name: OWN_LINES.to_owned(),
            title: "each lock in a cache line of its own".to_owned(),
            change: Change::OwnLines,
            groups: groups.to_vec(),
        });
    }
    all
}

/// Returns the changes of some groups at once. `who` names them, and names of variants end with
/// `end`.
fn of_some(model: &Model, groups: &[usize], end: &str, who: &str) -> Vec<WhatIf> {
    let changed = Changed::of(groups);
    let of = |name: &str, title: String, change: Change| WhatIf {
        name: format!("{name}{end}"),
        title,
        change,
        groups: groups.to_vec(),
    };
    let mut all =
        vec![of("hold-halved", format!("{who} held half as long"), Change::HoldHalved(changed))];
    all.extend(PARTS.map(|parts| {
        let each = if groups.len() > 1 { " each" } else { "" };
        let title = format!("{who} in {parts} shards{each}");
        of(&format!("split-{parts}"), title, Change::Split(changed, parts))
    }));
    let title = format!("{who} taken once for {BATCH}");
    all.push(of(&format!("batch-{BATCH}"), title, Change::Batched(changed)));
    if groups.iter().all(|group| model.groups[*group].kind != Kind::RwLock) {
        let title =
            format!("{who} as a reader-writer lock, {:.0} % of its sections read", READS * 100.0);
        all.push(of("read-mostly", title, Change::ReadMostly(changed)));
    }
    let title = format!("without {who} (the ceiling)");
    all.push(of(WITHOUT, title, Change::Without(changed)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{About, LockAbout};

    #[test]
    fn several_locks_are_changed_one_by_one_and_together() {
        let group = |name: &str, lock: u32| Group {
            name: name.to_owned(),
            locks: vec![(lock, 1)],
            ..Group::default()
        };
        let groups = vec![group("a", 0), group("b", 1), group("c", 2)];
        let model = Model { groups, ..Model::default() };
        let lock = |line| LockAbout { line, ..LockAbout::default() };
        let about = About { locks: vec![lock(1), lock(2), lock(3)], ..About::default() };
        let recording = Recording { about, ..Recording::default() };
        let names = |groups: &[usize]| -> Vec<String> {
            of(&recording, &model, groups).into_iter().map(|of| of.name).collect()
        };
        let one = ["hold-halved", "split-4", "split-16", "batch-8", "read-mostly", "without"];
        assert_eq!(names(&[0]), one);
        let ends = ["", "-2", "-all"].map(|end| one.map(|name| format!("{name}{end}")));
        assert_eq!(names(&[2, 0]), ends.concat());
        let all = of(&recording, &model, &[2, 0]);
        assert_eq!(all[0].title, "c held half as long");
        assert_eq!(all[13].title, "c and a in 4 shards each");
        assert_eq!(all[17].title, "without c and a (the ceiling)");
        assert_eq!(all[17].change, Change::Without(Changed::of(&[0, 2])));
        assert!(of(&recording, &model, &[]).is_empty());
    }
}
