//! Broken scripts. The error is one line that says where it is, what is wrong, and what is allowed.

use crate::support::scripts::{GOOD, LEAST, RUN, error_of, with_steps};
use lockyard_scenarios::Script;

/// Line number of the steps in [`with_steps`].
const STEPS_LINE: usize = 15;

fn step_error(steps: &str) -> String {
    let error = error_of(&with_steps(steps));
    let prefix = format!("s.toml:{STEPS_LINE}: ");
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn each_step_is_described() {
    let error = step_error("{ do = \"zzz\" }");
    let (_, names) = error.split_once("allowed: ").expect("it lists them");
    let page = include_str!("../../../../docs/model/scenarios.md");
    // The first column of both tables of steps.
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let described: Vec<&str> = rows.flat_map(|names| names.split(", ")).collect();
    let is_described = |name: &&str| described.iter().any(|row| row.trim_matches('`') == *name);
    let missing: Vec<&str> = names.split(", ").filter(|name| !is_described(name)).collect();
    assert!(names.split(", ").count() >= 26 && missing.is_empty(), "{missing:?} of {names}");
}

#[test]
fn wrong_steps_are_named() {
    let cases = [
        ("{ do = \"wrok\", ns = 1.0 }", "there is no step `wrok`; did you mean `work`?"),
        ("{ do = \"zzz\" }", "there is no step `zzz`; allowed: work, pause, wait-for-others, lock"),
        ("{ do = \"work\", ns = -5.0 }", "`ns` is -5; allowed: above 0, at most 10000000"),
        ("{ do = \"work\", ns = nan }", "`ns` is NaN; allowed: above 0, at most 10000000"),
        ("{ do = \"work\", ns = 1e300 }", "allowed: above 0, at most 10000000"),
        ("{ do = \"work\" }", "`work` steps need either `share` (of the calibrated work) or `ns`"),
        (
            "{ do = \"work\", share = 1.0 }",
            "`share` is a share of the calibrated work; it needs a section [calibration] that \
             gives that work",
        ),
        ("{ do = \"get\" }", "`get` steps need `object`"),
        ("{ do = \"get\", object = \"rfe\" }", "there is no object `rfe`; did you mean `ref`?"),
        (
            "{ do = \"put\", object = \"word\" }",
            "`put` steps need a lockref or a page; `word` is not one",
        ),
        (
            "{ do = \"get\", object = \"page\", operation = \"get\" }",
            "pages have no `operation`; their `page` says how references are taken",
        ),
        (
            "{ do = \"lock\", object = \"page\" }",
            "`lock` steps need a lock or a lockref; `page` is not one",
        ),
        ("{ do = \"add\", object = \"data\" }", "`add` steps need a word; `data` is not one"),
        (
            "{ do = \"lock\", object = \"word\" }",
            "`lock` steps need a lock or a lockref; `word` is not one",
        ),
        ("{ do = \"unlock\", object = \"lock\" }", "`lock` is unlocked, but not locked"),
        ("{ do = \"lock\", object = \"lock\" }", "`lock` is locked and never unlocked"),
        (
            "{ do = \"lock\", object = \"lock\" }, { do = \"lock\", object = \"lock\" }",
            "`lock` is locked already",
        ),
        (
            "{ do = \"lock\", object = \"lock\" }, { do = \"lock\", object = \"other\" }, \
             { do = \"unlock\", object = \"lock\" }",
            "`lock` is unlocked, but `other` was locked last; locks nest",
        ),
        (
            "{ do = \"lock-shared\", object = \"lock\" }",
            "`lock-shared` steps need a lock with a shared mode; in variant `v`, `lock` is a lock \
             of kind `ticket`; allowed: rwlock, sharded-rwlock, queued-rwlock, \
             std-rwlock, parking-rwlock, pthread-rwlock",
        ),
        (
            "{ do = \"lock-shared\", object = \"ref\" }",
            "`lock-shared` steps need a lock with a shared mode; `ref` is not one",
        ),
        (
            "{ do = \"lock-shared\", object = \"rw\" }, { do = \"unlock\", object = \"rw\" }",
            "`rw` was taken by `lock-shared`; allowed: release it by `unlock-shared`",
        ),
        (
            "{ do = \"lock\", object = \"rw\" }, { do = \"unlock-shared\", object = \"rw\" }",
            "`rw` was taken by `lock`; allowed: release it by `unlock`",
        ),
        ("{ do = \"unlock-shared\", object = \"rw\" }", "`rw` is unlocked, but not locked"),
        ("{ do = \"lock-shared\", object = \"rw\" }", "`rw` is locked and never unlocked"),
        (
            "{ do = \"lock-shared\", object = \"rw\" }, \
             { do = \"lock-shared\", object = \"rw\" }",
            "`rw` is locked already",
        ),
        (
            "{ do = \"lock-shared\", object = \"rw\" }, { do = \"lock\", object = \"lock\" }, \
             { do = \"unlock-shared\", object = \"rw\" }",
            "`rw` is unlocked, but `lock` was locked last; locks nest",
        ),
        ("{ do = \"either\" }", "`either` needs `percent`, the share of the operations"),
        ("{ do = \"either\", percent = 101 }", "`percent` is 101; allowed: 0 to 100"),
        ("{ do = \"either\", percent = nan }", "`percent` is NaN; allowed: 0 to 100"),
        ("{ do = \"either\", percent = 5 }", "`either` has no `end`"),
        ("{ do = \"end\" }", "`end` without `either`"),
        ("{ do = \"or\" }", "`or` without `either`"),
        ("{ do = \"or\", percent = 5 }", "`or` steps have no `percent`"),
        (
            "{ do = \"either\", percent = 5 }, { do = \"or\" }, { do = \"or\" }, { do = \"end\" }",
            "an `either` has at most one `or`",
        ),
        (
            "{ do = \"either\", percent = 5 }, { do = \"either\", percent = 5 }",
            "an `either` has no `either` steps",
        ),
        (
            "{ do = \"either\", percent = 5 }, { do = \"get\", object = \"ref\" }",
            "an `either` has no `get` steps, because the lab checks how often an operation does \
             them; allowed: work, pause, lock, unlock, lock-shared, unlock-shared, read, write,",
        ),
        (
            "{ do = \"either\", percent = 5 }, { do = \"work\", share = 1.0 }",
            "work in an `either` has no `share`; use `ns`",
        ),
        (
            "{ do = \"either\", percent = 5 }, { do = \"lock\", object = \"rw\" }, \
             { do = \"end\" }",
            "`end` ends a branch, but `rw` was locked last; they nest",
        ),
        (
            "{ do = \"lock\", object = \"rw\" }, { do = \"either\", percent = 5 }, \
             { do = \"unlock\", object = \"rw\" }",
            "`rw` is unlocked in an `either` that began later; they nest",
        ),
        ("{ do = \"repeat\" }, { do = \"either\", percent = 5 }", "a loop has no `either` steps"),
        (
            "{ do = \"either\", percent = 5 }, { do = \"repeat\" }, { do = \"end\" }",
            "a loop has no `end` steps",
        ),
        (
            "{ do = \"unlock-shared\", object = \"rw\", name = \"x\" }",
            "`unlock-shared` steps have no `name`",
        ),
        (
            "{ do = \"lock\", object = \"ref\" }, { do = \"get\", object = \"ref\" }",
            "`ref` is locked: the task would wait for itself",
        ),
        ("{ do = \"pause\", ns = 1.0 }", "`pause` steps have no `ns`"),
        ("{ do = \"read\", object = \"word\", value = 1 }", "`read` steps have no `value`"),
        (
            "{ do = \"get\", object = \"ref\", operation = \"get-not-ded\" }",
            "there is no get operation `get-not-ded`; did you mean `get-not-dead`?",
        ),
        ("{ do = \"pause\", only = [\"u\"] }", "there is no variant `u`; did you mean `v`?"),
        ("{ do = \"pause\", onyl = [] }", "unknown field `onyl`"),
        (
            "{ do = \"add\", object = \"word\", value = 5000000000 }",
            "`value` is 5000000000; allowed: -2147483648 to 2147483647",
        ),
    ];
    for (steps, expected) in cases {
        let error = step_error(steps);
        assert!(error.contains(expected), "{steps}\n  {error}\n  {expected}");
    }
}

#[test]
fn data_is_written_under_a_lock() {
    let write = "{ do = \"write\", object = \"data\" }";
    let error = error_of(&with_steps(write));
    assert!(
        error.contains("the data `data` is written, and not always accessed under one lock"),
        "{error}"
    );
    let locked = format!(
        "{{ do = \"lock\", object = \"lock\" }}, {write}, {{ do = \"unlock\", object = \"lock\" }}"
    );
    assert!(Script::parse("s", &with_steps(&locked)).is_ok());
    let inside = |do_lock: &str, do_unlock: &str, step: &str| {
        format!(
            "{{ do = \"{do_lock}\", object = \"rw\" }}, {step}, \
             {{ do = \"{do_unlock}\", object = \"rw\" }}"
        )
    };
    let written = inside("lock", "unlock", write);
    let read = inside("lock-shared", "unlock-shared", "{ do = \"read\", object = \"data\" }");
    assert!(Script::parse("s", &with_steps(&format!("{written}, {read}"))).is_ok());
    let beside = inside("lock-shared", "unlock-shared", write);
    assert!(error_of(&with_steps(&beside)).contains(
        "in variant `v` the data `data` is written under `lock-shared`, beside other readers; \
         write it under `lock`"
    ));
    let other = format!(
        "{{ do = \"lock\", object = \"other\" }}, {beside}, {{ do = \"unlock\", object = \
         \"other\" }}"
    );
    assert!(Script::parse("s", &with_steps(&other)).is_ok(), "the other lock excludes");
    let then_read = format!("{locked}, {{ do = \"read\", object = \"data\" }}");
    assert!(error_of(&with_steps(&then_read)).contains("not always accessed under one lock"));
}

#[test]
fn limits_are_limits() {
    let many = vec!["{ do = \"pause\" }"; 257].join(", ");
    assert!(step_error(&many).contains("257 steps; at most 256 are allowed"));
    let huge = format!("# {}", "x".repeat(300_000));
    assert!(error_of(&huge).contains("is larger than 262144 bytes"));
    let deep = format!("x = {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(error_of(&deep).starts_with("s.toml:1: "));
}

#[test]
fn what_a_script_must_have_is_named() {
    for (removed, field) in [
        ("name = \"mine\"\n", "name"),
        ("name = \"m\"\n", "name"),
        ("kind = \"lock\"\n", "kind"),
        ("do = \"work\"\n", "do"),
        ("[[variants]]\nname = \"queued\"\n", "variants"),
        ("name = \"queued\"\n", "name"),
    ] {
        assert!(LEAST.contains(removed), "{removed}");
        let error = error_of(&LEAST.replacen(removed, "", 1));
        assert!(error.contains(&format!("missing field `{field}`")), "{removed}: {error}");
    }
    let no_lock = error_of(&LEAST.replacen("lock = \"queued\"\n", "", 1));
    assert!(no_lock.contains("the object `m` lacks `lock`, the kind of its lock"), "{no_lock}");
    let unknown = GOOD.replacen("order = \"siblings-last\"", "order = \"siblings-lsat\"", 1);
    assert!(
        error_of(&unknown).contains("there is no placement order `siblings-lsat`; did you mean")
    );
    let unit = GOOD.replacen("unit = \"op/s\"", "unit = \"ns\"", 1);
    assert!(error_of(&unit).contains("there is no throughput unit `ns`; allowed: op/s"));
    let calibration = GOOD.replacen("threads = 1", "threads = 0", 1);
    assert!(error_of(&calibration).contains("`threads` is 0; allowed: 1 to 100000"));
}

const PAGE: &str = include_str!("../../../../scenarios/page-ref.toml");
const LOOP: &str = include_str!("../../../../scenarios/spin-loop-same-node-embedded.toml");
const EXT4: &str = include_str!("../../../../scenarios/aim7-disk-ext4.toml");

/// A valid script, a part of its text, a replacement that breaks it, and a part of the error.
type Broken = (&'static str, &'static str, &'static str, &'static str);

fn check_errors(cases: &[Broken]) {
    for (text, from, to, expected) in cases {
        assert!(text.contains(from), "{from}");
        let error = error_of(&text.replacen(from, to, 1));
        assert!(error.contains(expected), "{from} -> {to}\n  {error}\n  {expected}");
    }
}

#[test]
fn a_wrong_metric_is_named() {
    check_errors(&[
        (
            PAGE,
            "metric = \"cpu\"",
            "metric = \"cup\"",
            "there is no metric `cup`; did you mean `cpu`?",
        ),
        (PAGE, "unit = \"ns\"", "unit = \"ms\"", "there is no cpu unit `ms`; did you mean `ns`?"),
        (
            PAGE,
            "unit = \"ns\"",
            "unit = \"ns\"\noperations = 5",
            "`operations` is not allowed with the metric `cpu`",
        ),
        (LOOP, "operations = 5000000\n", "", "the metric `elapsed` needs `operations`"),
        (
            LOOP,
            "operations = 5000000",
            "operations = 0",
            "`operations` is 0; allowed: 1 to 1099511627776",
        ),
        (PAGE, "count = 1", "count = 0", "`count` is 0; allowed: 1 to 1048576"),
        (
            PAGE,
            "unit = \"ns\"",
            "unit = \"ns\"\nper_operation = 2.0",
            "`per_operation` is not allowed with",
        ),
        (GOOD, "unit = \"op/s\"", "unit = \"MB/s\"", "`MB/s` needs `per_operation`"),
        (
            GOOD,
            "unit = \"op/s\"",
            "unit = \"op/s\"\nper_operation = 2.0",
            "`per_operation` is not allowed: one operation is one",
        ),
        (
            GOOD,
            "unit = \"op/s\"",
            "unit = \"MB/s\"\nper_operation = -1.0",
            "`per_operation` is -1; allowed: above 0, at most 1e12",
        ),
    ]);
}

#[test]
fn a_wrong_page_or_lock_is_named() {
    check_errors(&[
        (
            PAGE,
            "page = \"xadd\"",
            "page = \"xad\"",
            "there is no page reference count `xad`; did you mean `xadd`?",
        ),
        (
            PAGE,
            "page = \"xadd\"\n",
            "",
            "the object `page` lacks `page`, the way in which references are taken",
        ),
        (PAGE, "count = 1", "lock = \"ticket\"", "objects of kind `page` have no `lock`"),
        (PAGE, "page = \"cmpxchg\"", "lock = \"ticket\"", "`page` has no `lock`"),
        (
            GOOD,
            "lock = \"queued\"",
            "lock = \"rwlock\"",
            "a lockref cannot have the reader-writer lock `rwlock`, which is no part of its word; \
             allowed: a lock without a shared mode",
        ),
        (LOOP, "lock = \"mcs\"", "page = \"xadd\"", "`lock` has no `page`"),
    ]);
}

#[test]
fn a_wrong_calibration_is_named() {
    check_errors(&[
        (
            PAGE,
            "machines = [\"zen4-7840u\", \"broadwell-ex-8s10c2t\"]\n",
            "",
            "either `machine`, or `machines`",
        ),
        (
            PAGE,
            "machines = [\"zen4-7840u\", \"broadwell-ex-8s10c2t\"]",
            "machines = []",
            "either `machine`, or `machines`",
        ),
        (
            GOOD,
            "threads = 1",
            "threads = 1\nmeasured = 0",
            "`measured` is 0; allowed: above 0, at most 1e15",
        ),
        (
            GOOD,
            "threads = 1",
            "threads = 1\nmeasured = 812000",
            "`measured` needs `variant`, of which it is the figure",
        ),
        (
            LOOP,
            "gives = \"latencies\"",
            "gives = \"latencies\"\nmeasured = 5.0",
            "`measured` is for a calibration that gives `local-work`",
        ),
        (
            LOOP,
            "gives = \"latencies\"",
            "gives = \"latency\"",
            "there is no `gives` value `latency`",
        ),
        (
            LOOP,
            "gives = \"latencies\"",
            "gives = \"unit\"",
            "a calibration that gives `unit` is not allowed with the metric `elapsed`",
        ),
        (
            GOOD,
            RUN,
            "[run]\nseconds = 1.0\noperations = 5.0",
            "either `operations`, `amount` or `seconds`; allowed: one of them",
        ),
        (EXT4, "second = \"system-time\"\n", "", "needs `second`, the metric of its second cell"),
        (
            EXT4,
            "\"work-and-unit\"",
            "\"unit\"",
            "`second` is for a calibration that gives `work-and-unit`",
        ),
        (
            EXT4,
            "second = \"system-time\"",
            "second = \"system-tme\"",
            "there is no second calibration cell `system-tme`; did you mean `system-time`?",
        ),
    ]);
}

#[test]
fn a_wrong_section_run_is_named() {
    check_errors(&[
        (GOOD, RUN, "[run]\ntasks_unsaid = 5000", "`tasks_unsaid` is 5000; allowed: 1 to 4096"),
        (GOOD, RUN, "[run]\ntasks = 0", "`tasks` is 0; allowed: 1 to 4096"),
        (
            GOOD,
            RUN,
            "[run]\nuntil_each_is_done = true",
            "`until_each_is_done` is for scripts whose metric is `cpu`, without guests and samples",
        ),
        (GOOD, RUN, "[run]\nmean_over = 0.0", "`mean_over` is 0; allowed: above 0, at most 1e15"),
    ]);
}

#[test]
fn a_wrong_order_region_or_kind_of_work_is_named() {
    check_errors(&[
        (EXT4, "work_varies = true", "work_varies = 1", "s.toml:"),
        (GOOD, "do = \"get\"", "do = \"get\"\nregion = \"user\"", "`get` steps have no `region`"),
        (
            GOOD,
            "share = 1.0",
            "share = 1.0\nregion = \"usre\"",
            "there is no region `usre`; did you mean `user`?",
        ),
        (
            LOOP,
            "order = \"siblings-last\"",
            "order = \"spraed\"",
            "there is no placement order `spraed`; did you mean `spread`?",
        ),
    ]);
}

#[test]
fn no_more_locks_that_keep_a_node_are_held_than_a_thread_has_nodes() {
    let locks: String = (0..5)
        .map(|n| format!("{{ name = \"m{n}\", kind = \"lock\", lock = \"mcs\", line = \"m\" }},\n"))
        .collect();
    let with = |depth: usize| {
        let take = (0..depth).map(|n| format!("{{ do = \"lock\", object = \"m{n}\" }}"));
        let release = (0..depth).rev().map(|n| format!("{{ do = \"unlock\", object = \"m{n}\" }}"));
        let steps: Vec<String> = take.chain(release).collect();
        with_steps(&steps.join(", ")).replace("objects = [\n", &format!("objects = [\n{locks}"))
    };
    assert!(Script::parse("s", &with(4)).is_ok());
    let error = error_of(&with(5));
    assert!(error.contains("`m4` would be the fifth MCS or CLH lock held"), "{error}");
}

#[test]
fn no_change_of_a_few_bytes_makes_the_parser_panic() {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |n: usize| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % n as u64) as usize
    };
    for _ in 0..3000 {
        let mut bytes = GOOD.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => drop(bytes.drain(at..(at + random(40)).min(bytes.len()))),
                _ => bytes.insert(at, b"\"'[]{}=.-_9#\n\0\xff"[random(15)]),
            }
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Err(error) = Script::parse("s.toml", &text)
        {
            let error = error.to_string();
            assert!(error.starts_with("s.toml:") && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn tasks_that_are_timed_until_they_are_done_have_no_other_length() {
    let script = include_str!("../../../../scenarios/page-ref.toml");
    let until = "until_each_is_done = true";
    let with = |more: &str| script.replace(until, &format!("{until}\n{more}"));
    assert!(Script::parse("s.toml", script).expect("it is valid").run.until_each_is_done);
    let not = script.replace(until, "until_each_is_done = false");
    assert!(!Script::parse("s.toml", &not).expect("it is valid").run.until_each_is_done);
    for more in ["mean_over = 5.0", "seconds = 5.0", "operations = 5.0"] {
        let error = error_of(&with(more));
        assert!(
            error.contains("with `until_each_is_done` a run ends when its tasks are done"),
            "{error}"
        );
    }
    let error = error_of(&format!("{script}\n[guests]\ncount = 2\n"));
    assert!(
        error.contains("for scripts whose metric is `cpu`, without guests and samples"),
        "{error}"
    );
}
