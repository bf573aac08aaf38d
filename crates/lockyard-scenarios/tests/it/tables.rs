//! Tables in scripts, and their allowed settings. Both back-ends perform the same script on them.

use crate::support::{Run, Tasks, Threads};
use lockyard_scenarios::{Prepared, Script};

/// Settings of the connection table.
const CONNECTIONS: &str = "bits = 4, connections = 200";

/// Returns a script with four kinds of tables, `steps`, and a variant for each element of `sets`.
fn script(steps: &str, sets: &[&str]) -> String {
    let variants: Vec<String> = sets
        .iter()
        .enumerate()
        .map(|(i, set)| format!("{{ name = \"v{i}\", title = \"v\", set = [{set}] }}"))
        .collect();
    format!(
        r#"name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    {{ name = "ids", kind = "id-table", with = {{ entries = 64 }}, line = "a" }},
    {{ name = "flows", kind = "statistics", with = {{ entries = 3 }}, line = "b" }},
    {{ name = "connections", kind = "connection-table", with = {{ {CONNECTIONS} }}, line = "c" }},
    {{ name = "word", kind = "word", line = "d" }},
    {{ name = "handles", kind = "handle-table", with = {{ entries = 64 }}, line = "e" }},
]
steps = [{steps}]
variants = [{}]
[placement]
order = "siblings-last"
"#,
        variants.join(", ")
    )
}

const STEPS_LINE: usize = 14;
const VARIANTS_LINE: usize = 15;

fn error_at(line: usize, text: &str) -> String {
    let error = Script::parse("s.toml", text).expect_err("it is broken").to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    let prefix = format!("s.toml:{line}: ");
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn a_wrong_step_says_what_the_table_allows() {
    let error = |steps: &str| error_at(STEPS_LINE, &script(steps, &[""]));
    for (steps, expected) in [
        (
            r#"{ do = "insert", object = "ids" }"#,
            "entries inserted into `ids` stay there, and a run would fill the memory; add a \
             `remove` step",
        ),
        (
            r#"{ do = "remove", object = "ids" }"#,
            "nothing is left in `ids` that this operation inserted",
        ),
        (
            r#"{ do = "insert", object = "flows" }, { do = "remove", object = "ids" }"#,
            "nothing is left in `ids` that this operation inserted",
        ),
        (
            r#"{ do = "look-up", object = "flows" }"#,
            "`flows` has no `look-up` steps, because its kind is `statistics`; allowed: update, \
             read, insert, remove",
        ),
        (
            r#"{ do = "update", object = "connections" }"#,
            "`connections` has no `update` steps, because its kind is `connection-table`; allowed: \
             look-up, insert, remove",
        ),
        (
            r#"{ do = "look-up", object = "word" }"#,
            "`look-up` steps need a table; `word` is not one",
        ),
        (
            r#"{ do = "write", object = "ids" }"#,
            "`write` steps need a word or data; `ids` is not one",
        ),
        (
            r#"{ do = "look-up", object = "ids", key = "rnadom" }"#,
            "there is no key `rnadom`; did you mean `random`?",
        ),
        (
            r#"{ do = "look-up", object = "ids", key = "inserted" }"#,
            "this operation has inserted nothing into `ids`",
        ),
        (
            r#"{ do = "read", object = "word", key = "own" }"#,
            "`word` has no `key`; only tables have one",
        ),
        (r#"{ do = "insert", object = "ids", key = "own" }"#, "`insert` steps have no `key`"),
    ] {
        assert_eq!(error(steps), expected, "{steps}");
    }
}

#[test]
fn a_wrong_setting_says_what_is_allowed() {
    let error = |set: &str| error_at(VARIANTS_LINE, &script("", &[set]));
    for (set, expected) in [
        (
            r#"{ object = "ids", with = { varaint = "rcu" } }"#,
            "there is no `id-table` setting `varaint`; did you mean `variant`?",
        ),
        (
            r#"{ object = "ids", with = { variant = "spin" } }"#,
            "there is no `variant` `spin`; allowed: rcu, locked",
        ),
        (
            r#"{ object = "ids", with = { variant = 3 } }"#,
            "`variant` must be a name; allowed: rcu, locked",
        ),
        (
            r#"{ object = "handles", with = { access = "both" } }"#,
            "there is no `access` `both`; allowed: shared, exclusive",
        ),
        (r#"{ object = "ids", with = { entries = 0 } }"#, "`entries` is 0; allowed: 1 to 1048576"),
        (
            r#"{ object = "ids", with = { entries = -1 } }"#,
            "`entries` is -1; allowed: 1 to 1048576",
        ),
        (r#"{ object = "connections", with = { bits = 28 } }"#, "`bits` is 28; allowed: 1 to 27"),
        (
            r#"{ object = "connections", with = { bits = "twelve" } }"#,
            "`bits` is `twelve`; allowed: 1 to 27",
        ),
        (r#"{ object = "ids", lock = "ticket" }"#, "`ids` has no `lock`"),
        (r#"{ object = "word", with = { bits = 4 } }"#, "`word` has no `with`"),
    ] {
        assert_eq!(error(set), expected, "{set}");
    }
    let not =
        script("", &[""]).replace("kind = \"word\"", "kind = \"word\", with = { entries = 3 }");
    assert_eq!(error_at(11, &not), "objects of kind `word` have no `with`");
    let kind = script("", &[""]).replace("\"id-table\"", "\"id-tabel\"");
    let error = error_at(8, &kind);
    assert!(
        error.contains("there is no object kind `id-tabel`; did you mean `id-table`?"),
        "{error}"
    );
}

/// One operation with every kind of step.
const EVERYTHING: &str = r#"
{ do = "look-up", object = "ids" },
{ do = "update", object = "ids", key = "random" },
{ do = "insert", object = "ids" },
{ do = "insert", object = "ids" },
{ do = "update", object = "ids", key = "inserted" },
{ do = "remove", object = "ids" },
{ do = "look-up", object = "ids", key = "inserted" },
{ do = "remove", object = "ids" },
{ do = "update", object = "flows" },
{ do = "update", object = "flows", key = "random" },
{ do = "read", object = "flows" },
{ do = "insert", object = "flows" },
{ do = "update", object = "flows", key = "inserted" },
{ do = "remove", object = "flows" },
{ do = "look-up", object = "connections", key = "random" },
{ do = "insert", object = "connections" },
{ do = "look-up", object = "connections", key = "inserted" },
{ do = "remove", object = "connections" },
{ do = "look-up", object = "handles" },
{ do = "update", object = "handles", key = "random" },
{ do = "insert", object = "handles" },
{ do = "update", object = "handles", key = "inserted" },
{ do = "look-up", object = "handles", key = "inserted" },
{ do = "remove", object = "handles" }"#;

/// The settings of the tables in each variant.
const SETS: &[&str] = &[
    r#"
    { object = "ids", with = { variant = "rcu" } },
    { object = "flows", with = { variant = "per-node" } },
    { object = "connections", with = { variant = "rcu" } }"#,
    r#"
    { object = "ids", with = { variant = "locked" } },
    { object = "flows", with = { variant = "per-cpu", cpus = "16" } },
    { object = "handles", with = { access = "exclusive" } },
    { object = "connections", with = { variant = "locked" } }"#,
    r#"{ object = "flows", with = { variant = "shared" } }"#,
    r#"{ object = "flows", with = { variant = "per-cpu", cpus = "64" } }"#,
    r#"{ object = "flows", with = { variant = "per-cpu", cpus = "256" } }"#,
];

/// Returns a script with all steps, in all variants.
fn everything() -> Script {
    Script::parse("s.toml", &script(EVERYTHING, SETS)).expect("it is valid")
}

#[test]
fn threads_find_what_is_there_and_lose_no_update() {
    // Few tasks, because a run is slow when more threads spin than there are CPUs.
    const TASKS: u64 = 2;
    const EACH: u64 = 100;
    for variant in &everything().variants {
        let prepared = Prepared::<Threads>::new(variant, 128, None, 0.0).expect("there is memory");
        prepared.verify(0).expect("nothing was done");
        std::thread::scope(|scope| {
            for _ in 0..TASKS {
                scope.spawn(|| prepared.run_operations(EACH));
            }
        });
        prepared.verify(TASKS * EACH).unwrap_or_else(|e| panic!("{}: {e}", variant.name));
        let wrong = prepared.verify(TASKS * EACH + 1).expect_err("an operation more").to_string();
        assert_eq!(wrong, "`ids` was updated 200 times, not 201 times");
    }
}

/// Simulates `count` tasks of `operations` operations each, half of them on each of two sockets.
fn simulated(script: &Script, variant: &str, count: usize, operations: u64, seed: u64) -> Run {
    let place = |task| if task < count / 2 { task } else { 10 + task - count / 2 };
    crate::support::simulated(script, variant, Tasks { count, operations }, seed, place)
}

#[test]
fn simulated_tasks_do_the_same_and_memory_does_not_grow() {
    let script = everything();
    for variant in &script.variants {
        // 1,200 flows of 256 records, 64 bytes each, fit into the arena of 16 MiB only if freed
        // memory is reused.
        let each = if variant.name == "v4" { 300 } else { 100 };
        let found = simulated(&script, &variant.name, 4, each, 1);
        assert_eq!(simulated(&script, &variant.name, 4, each, 1), found, "the same run twice");
        assert_ne!(simulated(&script, &variant.name, 4, each, 2).hash, found.hash, "random keys");
    }
}

#[test]
fn look_ups_without_the_tables_lock_do_not_wait_for_each_other() {
    let steps = r#"{ do = "work", ns = 150.0 }, { do = "look-up", object = "ids" }"#;
    let sets = &SETS[..2];
    let script = Script::parse("s.toml", &script(steps, sets)).expect("it is valid");
    let cycles = |variant, tasks| simulated(&script, variant, tasks, 500, 1).cycles as f64;
    let (rcu, locked) = (cycles("v0", 16) / cycles("v0", 1), cycles("v1", 16) / cycles("v1", 1));
    println!(
        "16 tasks take {rcu:.2} times as long as one without the lock, {locked:.1} times with it"
    );
    assert!(rcu < 1.2, "{rcu}");
    assert!(locked > 8.0, "{locked}");
}

/// All tasks look one object up. Readers in place write nothing that others use; an exclusive
/// object's lock is handed from one to the next.
#[test]
fn look_ups_of_one_object_in_place_do_not_wait_for_each_other() {
    let steps = r#"{ do = "work", ns = 150.0 }, { do = "look-up", object = "handles" }"#;
    let sets = [
        r#"{ object = "handles", with = { entries = 1 } }"#,
        r#"{ object = "handles", with = { entries = 1, access = "exclusive" } }"#,
    ];
    let script = Script::parse("s.toml", &script(steps, &sets)).expect("it is valid");
    let cycles = |variant, tasks| simulated(&script, variant, tasks, 500, 1).cycles as f64;
    let (shared, exclusive) =
        (cycles("v0", 16) / cycles("v0", 1), cycles("v1", 16) / cycles("v1", 1));
    println!("16 tasks take {shared:.2} times as long as one in place, {exclusive:.1} exclusively");
    assert!(shared < 1.2, "{shared}");
    assert!(exclusive > 8.0, "{exclusive}");
}

#[test]
fn longer_chains_take_longer_to_walk() {
    let steps = r#"{ do = "look-up", object = "connections", key = "random" }"#;
    let sets = [
        r#"{ object = "connections", with = { bits = 2 } }"#,
        r#"{ object = "connections", with = { bits = 10 } }"#,
    ];
    let script = Script::parse("s.toml", &script(steps, &sets)).expect("it is valid");
    // With this many operations, first uses of lines take only a small part of the time. On this
    // machine, a first use waits for idle sockets.
    let cycles = |variant| simulated(&script, variant, 1, 10_000, 1).cycles;
    let (long, short) = (cycles("v0"), cycles("v1"));
    println!("50 to a chain: {long} cycles, less than one: {short}");
    assert!(long > 2 * short, "{long} {short}");
}
