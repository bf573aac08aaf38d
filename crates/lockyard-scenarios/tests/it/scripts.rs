//! Scripts: the shipped ones say what the experiments' description says; broken ones get one line that
//! says where, what, and what is allowed.

use lockyard_scenarios::{Gives, Metric, ObjectKind, Order, Region, Script, Step};

/// The section `[run]` of [`GOOD`].
const RUN: &str = "[run]\nmean_over = 5.0";
const GOOD: &str = include_str!("../../../../scenarios/open3.toml");

fn error_of(text: &str) -> String {
    let error = Script::parse("s.toml", text).expect_err("it is broken").to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

/// A script with one object of each kind and these steps.
fn with_steps(steps: &str) -> String {
    format!(
        r#"name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
objects = [
    {{ name = "lock", kind = "lock", lock = "ticket", line = "a" }},
    {{ name = "other", kind = "lock", lock = "test-and-set", line = "a" }},
    {{ name = "ref", kind = "lockref", lock = "ticket", line = "b" }},
    {{ name = "word", kind = "word", line = "c" }},
    {{ name = "data", kind = "data", line = "c" }},
    {{ name = "page", kind = "page", page = "xadd", line = "d" }},
]
steps = [{steps}]
variants = [{{ name = "v", title = "v" }}, {{ name = "w", title = "w", set = [{{ object = "lock", lock = "test-and-set" }}] }}]
[placement]
order = "siblings-last"
"#
    )
}

const STEPS_LINE: usize = 14;

fn step_error(steps: &str) -> String {
    let error = error_of(&with_steps(steps));
    let prefix = format!("s.toml:{STEPS_LINE}: ");
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
}

/// All steps, those under locks too, as words.
fn flat(steps: &[Step]) -> Vec<&'static str> {
    steps
        .iter()
        .flat_map(|step| match step {
            Step::Locked { steps, .. } => flat(steps),
            Step::Work { .. } | Step::CalibratedWork { .. } => vec!["work"],
            Step::Pause => vec!["pause"],
            Step::WaitForOthers { .. } => vec!["wait"],
            Step::Get { .. } => vec!["get"],
            Step::Put { .. } => vec!["put"],
            Step::Read { .. } => vec!["read"],
            Step::Write { .. } => vec!["write"],
            Step::Add { .. } => vec!["add"],
            Step::Table { operation, .. } => vec![operation.name()],
        })
        .collect()
}

/// The shares of the calibrated work, those under locks too.
fn shares(steps: &[Step]) -> f64 {
    let share = |step: &Step| match step {
        Step::CalibratedWork { share, .. } => *share,
        Step::Locked { steps, .. } => shares(steps),
        _ => 0.0,
    };
    steps.iter().map(share).sum()
}

#[test]
fn the_shipped_scripts_do_what_the_experiments_do() {
    let shared = |script: &str, variant: &str| -> Vec<&'static str> {
        let script = Script::shipped(script).expect("it is shipped");
        let variant = script.variant(variant).expect("it has the variant");
        flat(&variant.steps).into_iter().filter(|s| *s != "work").collect()
    };
    assert_eq!(shared("fstat2", "lockref"), ["get", "put"]);
    assert_eq!(shared("open3", "lockref"), ["read", "get", "add", "get", "put", "add", "put"]);
    assert_eq!(shared("access2", "lockref-pause"), ["add", "read", "get", "put", "add"]);
    assert_eq!(shared("stat-degradation", "lockref"), ["read", "get", "put"]);
    assert_eq!(shared("stat-degradation", "lockref-no-trywait"), ["read", "get", "put"]);
    assert_eq!(shared("access2", "access-patch+lockref"), ["read", "get", "put"]);
    for name in Script::names().filter(|name| name.starts_with("spin-loop/")) {
        let expected: &[&str] = if name.ends_with("/embedded") { &["write"] } else { &[] };
        for variant in ["qspinlock", "qspinlock-cmpxchg-grab", "ticket", "test-and-set"] {
            assert_eq!(shared(name, variant), expected, "{name} {variant}");
        }
        let script = Script::shipped(name).expect("it is shipped");
        let spread = script.order == Order::Spread;
        assert_eq!(spread, name.contains("/different-nodes/"), "{name}");
        assert_eq!(script.metric, Metric::Elapsed { operations: 5_000_000 });
    }
    for variant in ["xadd", "cmpxchg", "optimistic-cmpxchg", "locked-bit"] {
        assert_eq!(shared("page-ref", variant), ["get", "put"]);
    }
    for times in 1..=4 {
        for variant in ["ticket", "pv-ticket"] {
            let name = format!("dbench/overcommit-{times}x");
            assert_eq!(shared(&name, variant), ["write", "wait"], "{name} {variant}");
            let script = Script::shipped(&name).expect("it is shipped");
            let variant = script.variant(variant).expect("it has the variant");
            let one = Script::shipped("dbench/overcommit-1x").expect("it is shipped");
            let same = one.variant(&variant.name).expect("it has the variant");
            assert_eq!((variant.guests, &variant.steps), (Some(times), &same.steps), "{name}");
        }
    }
    for name in ["aim7-disk/xfs", "aim7-disk/ext4", "ebizzy-m"] {
        for variant in ["ticket", "qspinlock"] {
            assert_eq!(shared(name, variant), ["write", "write"], "{name} {variant}");
        }
        let script = Script::shipped(name).expect("it is shipped");
        assert!(script.variants.iter().all(|variant| variant.work_varies), "{name}");
        assert_eq!(script.tasks(Some(3000)), Some(40), "{name}");
        let calibration = script.calibration.expect("it has one");
        assert_eq!(calibration.gives, Gives::WorkAndUnit { region: Region::System });
        assert_eq!(calibration.variant.as_deref(), Some("ticket"), "never the queued lock's row");
    }
    for name in Script::names() {
        let script = Script::shipped(name).expect("it is shipped");
        assert_eq!(script.name, name);
        for variant in &script.variants {
            if let ObjectKind::LockRef { pause, trywait, .. } = variant.objects[0].kind {
                assert_eq!(pause, variant.name.ends_with("-pause"), "{name} {}", variant.name);
                let newer = name == "stat-degradation" && variant.name == "lockref";
                assert_eq!(trywait, newer, "the kernels of the other variants are older");
            }
            let total = shares(&variant.steps);
            let calibrated = script.calibration.as_ref().is_some_and(|c| c.gives_local_work());
            let has_cell = calibrated && variant.name != "locked-bit";
            assert!(
                (total - f64::from(u8::from(has_cell))).abs() < 1e-9,
                "{name}: shares add up to 1"
            );
        }
    }
}

#[test]
fn the_end_of_the_name_shares_the_lockrefs_line_and_the_write_count_does_not() {
    let script = Script::shipped("open3").expect("it is shipped");
    let line = |name: &str| {
        let objects = &script.variants[0].objects;
        objects.iter().find(|o| o.name == name).expect("it is there").line
    };
    assert_eq!(line("entry"), line("name-end"));
    assert_ne!(line("entry"), line("write-count"));
}

#[test]
fn of_the_run_with_the_patch_the_end_of_the_name_has_a_line_of_its_own() {
    let script = Script::shipped("stat-degradation").expect("it is shipped");
    for variant in &script.variants {
        let line =
            |name: &str| variant.objects.iter().find(|o| o.name == name).expect("it is there").line;
        assert_ne!(line("entry"), line("name-end"), "{}", variant.name);
    }
}

#[test]
fn a_variant_changes_what_it_says_and_nothing_else() {
    let script =
        Script::parse("s", &with_steps("{ do = \"pause\", only = [\"w\"] }")).expect("valid");
    let (v, w) = (&script.variants[0], &script.variants[1]);
    assert_ne!(v.objects[0], w.objects[0]);
    assert_eq!(v.objects[1..], w.objects[1..]);
    assert_eq!((v.steps.len(), w.steps.len()), (0, 1));
}

#[test]
fn wrong_steps_are_named() {
    let cases = [
        ("{ do = \"wrok\", ns = 1.0 }", "there is no step `wrok`; did you mean `work`?"),
        (
            "{ do = \"zzz\" }",
            "there is no step `zzz`; allowed: work, pause, wait-for-others, lock, unlock, get, put, read, write, add",
        ),
        ("{ do = \"work\", ns = -5.0 }", "`ns` is -5; allowed: above 0, at most 10000000"),
        ("{ do = \"work\", ns = nan }", "`ns` is NaN; allowed: above 0, at most 10000000"),
        ("{ do = \"work\", ns = 1e300 }", "allowed: above 0, at most 10000000"),
        (
            "{ do = \"work\" }",
            "a `work` step needs either `share` (of the calibrated work) or `ns`",
        ),
        (
            "{ do = \"work\", share = 1.0 }",
            "`share` is a share of the calibrated work; it needs a section [calibration] that gives it",
        ),
        ("{ do = \"get\" }", "a `get` step needs `object`"),
        ("{ do = \"get\", object = \"rfe\" }", "there is no object `rfe`; did you mean `ref`?"),
        (
            "{ do = \"put\", object = \"word\" }",
            "a `put` step needs a lockref or a page, and `word` is none",
        ),
        (
            "{ do = \"get\", object = \"page\", operation = \"get\" }",
            "`operation` is not for a page; its `page` says how",
        ),
        (
            "{ do = \"lock\", object = \"page\" }",
            "a `lock` step needs a lock or a lockref, and `page` is none",
        ),
        ("{ do = \"add\", object = \"data\" }", "a `add` step needs a word, and `data` is none"),
        (
            "{ do = \"lock\", object = \"word\" }",
            "a `lock` step needs a lock or a lockref, and `word` is none",
        ),
        ("{ do = \"unlock\", object = \"lock\" }", "`lock` is unlocked, but not locked"),
        ("{ do = \"lock\", object = \"lock\" }", "`lock` is locked and never unlocked"),
        (
            "{ do = \"lock\", object = \"lock\" }, { do = \"lock\", object = \"lock\" }",
            "`lock` is locked already",
        ),
        (
            "{ do = \"lock\", object = \"lock\" }, { do = \"lock\", object = \"other\" }, { do = \"unlock\", object = \"lock\" }",
            "`lock` is unlocked, but `other` was locked last; locks nest",
        ),
        (
            "{ do = \"lock\", object = \"ref\" }, { do = \"get\", object = \"ref\" }",
            "`ref` is locked: it would wait for itself",
        ),
        ("{ do = \"pause\", ns = 1.0 }", "`ns` is not for a `pause` step"),
        ("{ do = \"read\", object = \"word\", value = 1 }", "`value` is not for a `read` step"),
        (
            "{ do = \"get\", object = \"ref\", operation = \"get-not-ded\" }",
            "there is no get operation `get-not-ded`; did you mean `get-not-dead`?",
        ),
        ("{ do = \"pause\", only = [\"u\"] }", "there is no variant `u`; did you mean `v`?"),
        ("{ do = \"pause\", onyl = [] }", "unknown field `onyl`"),
        (
            "{ do = \"add\", object = \"word\", value = 5000000000 }",
            "invalid value: integer `5000000000`",
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
    for field in ["name", "title", "operation", "metric", "unit"] {
        let line =
            GOOD.lines().find(|l| l.starts_with(&format!("{field} = "))).expect("it is there");
        let error = error_of(&GOOD.replacen(&format!("{line}\n"), "", 1));
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
    }
    let unknown = GOOD.replacen("order = \"siblings-last\"", "order = \"siblings-lsat\"", 1);
    assert!(
        error_of(&unknown).contains("there is no order of placement `siblings-lsat`; did you mean")
    );
    let unit = GOOD.replacen("unit = \"op/s\"", "unit = \"ns\"", 1);
    assert!(error_of(&unit).contains("there is no unit of throughput `ns`; allowed: op/s"));
    let calibration = GOOD.replacen("threads = 1", "threads = 0", 1);
    assert!(error_of(&calibration).contains("`threads` is 0; allowed: 1 to 100000"));
}

#[test]
fn figures_beside_the_metric_are_found_by_name_where_the_script_says_what_they_need() {
    use lockyard_scenarios::{Figure, Length, Region};
    let script = Script::parse("s.toml", GOOD).expect("it is a script");
    let of = |script: &Script, metric: &str, unit: &str| {
        script.figure("cascade-lake-2s24c2t", "lockref", metric, unit)
    };
    assert_eq!(of(&script, "throughput", "op/s"), Ok(Figure::Own));
    assert_eq!(of(&script, "stdev", "%"), Ok(Figure::Deviation));
    let refused = [
        ("throughput", "ms", "the scenario gives throughput in op/s"),
        ("beauty", "op/s", "the scenario gives throughput in op/s"),
        ("stdev", "s", "the scenario gives stdev in %"),
        ("real-time", "s", "the scenario does not say how long the run was whose real-time it is"),
        ("gap-to-ticket", "ratio", "the scenario has no variant `ticket`"),
        ("system-cpu-saved", "%", "the scenario pairs no variant with `lockref`"),
    ];
    for (metric, unit, why) in refused {
        assert_eq!(of(&script, metric, unit), Err(why.to_owned()), "{metric} in {unit}");
    }
    let pages = Script::shipped("page-ref").expect("it is shipped");
    for (machine, divided) in [("zen4-7840u", false), ("broadwell-ex-8s10c2t", true)] {
        assert_eq!(pages.figure(machine, "xadd", "time", "ns"), Ok(Figure::Time { divided }));
    }
    assert!(of(&script, "time", "ns").is_err(), "the metric is no time of an operation");
    let head = "unit = \"op/s\"\npairs = [{ first = \"lockref-pause\", second = \"lockref\" }]";
    let text = GOOD.replacen("unit = \"op/s\"", head, 1);
    let text = text.replacen(RUN, "[run]\noperations = 6e6\ntasks = 40", 1);
    let script = Script::parse("s.toml", &text).expect("valid");
    assert_eq!((script.tasks(Some(3000)), script.tasks(None)), (Some(40), Some(40)));
    let length = Length::Operations(6e6);
    let reference = || "lockref-pause".to_owned();
    let gap = |per_cent| Figure::Gap { reference: reference(), per_cent };
    for (metric, unit, figure) in [
        ("real-time", "s", Figure::RealTime(length)),
        ("user-time", "s", Figure::CpuTime(Region::User, length)),
        ("system-time", "s", Figure::CpuTime(Region::System, length)),
        ("gap-to-lockref-pause", "%", gap(true)),
        ("gap-to-lockref-pause", "direction: closed", gap(false)),
        (
            "system-cpu-saved",
            "%",
            Figure::CpuSaved { region: Region::System, reference: reference() },
        ),
    ] {
        assert_eq!(of(&script, metric, unit), Ok(figure), "{metric} in {unit}");
    }
    let run = "[run]\noperations = 6e6\ntimes_of = \"one-task\"";
    let script = Script::parse("s.toml", &GOOD.replacen(RUN, run, 1)).expect("valid");
    assert_eq!(of(&script, "user-time", "s"), Ok(Figure::TaskTime(Region::User, length)));
}

#[test]
fn doubtful_cells_are_named_with_their_reason() {
    let script = Script::shipped("page-ref").expect("it is shipped");
    assert!(script.doubt("broadwell-ex-8s10c2t", 64).expect("it is doubted").contains("author"));
    assert_eq!(script.doubt("broadwell-ex-8s10c2t", 16), None);
    let entry = "[[doubtful]]\nmachine = \"m\"\nthreads = []\nreason = \"r\"\n[[objects]]";
    let error = error_of(&GOOD.replacen("[[objects]]", entry, 1));
    assert!(error.contains("`threads` of [[doubtful]] is an empty list"), "{error}");
}

#[test]
fn pairs_are_of_two_of_the_scripts_variants() {
    let mut pairs = 0;
    for script in Script::names().filter_map(Script::shipped) {
        for pair in &script.pairs {
            assert!(
                script.variant(&pair.first).is_some() && script.variant(&pair.second).is_some()
            );
            pairs += 1;
        }
    }
    assert_eq!(pairs, 9, "one in each script that compares locks, ways of waiting or statistics");
    let with = |first: &str, second: &str| {
        let entry = format!("[[pairs]]\nfirst = \"{first}\"\nsecond = \"{second}\"\n[[objects]]");
        error_of(&GOOD.replacen("[[objects]]", &entry, 1))
    };
    let name = &Script::parse("s.toml", GOOD).expect("it is a script").variants[0].name;
    assert!(with(name, "another").contains("there is no variant `another`"));
    assert!(with(name, name).contains("a pair has two different variants"));
}

#[test]
fn the_home_of_the_objects_is_a_socket() {
    let with = |home: &str| {
        let order = "order = \"siblings-last\"";
        GOOD.replacen(order, &format!("{order}\nhome = {home}"), 1)
    };
    assert_eq!(Script::parse("s.toml", GOOD).expect("it is a script").home, 0);
    assert_eq!(Script::parse("s.toml", &with("3")).expect("it is a script").home, 3);
    assert!(error_of(&with("64")).contains("`home` is 64; allowed: 0 to 63"));
    assert!(Script::parse("s.toml", &with("-1")).is_err());
}

#[test]
fn a_wrong_metric_page_or_calibration_is_named() {
    const PAGE: &str = include_str!("../../../../scenarios/page-ref.toml");
    const LOOP: &str = include_str!("../../../../scenarios/spin-loop-same-node-embedded.toml");
    const EXT4: &str = include_str!("../../../../scenarios/aim7-disk-ext4.toml");
    for (text, from, to, expected) in [
        (
            PAGE,
            "metric = \"cpu\"",
            "metric = \"cup\"",
            "there is no metric `cup`; did you mean `cpu`?",
        ),
        (
            PAGE,
            "unit = \"ns\"",
            "unit = \"ms\"",
            "there is no unit of cpu `ms`; did you mean `ns`?",
        ),
        (
            PAGE,
            "unit = \"ns\"",
            "unit = \"ns\"\noperations = 5",
            "`operations` is not for the metric `cpu`",
        ),
        (LOOP, "operations = 5000000\n", "", "the metric `elapsed` needs `operations`"),
        (
            LOOP,
            "operations = 5000000",
            "operations = 0",
            "`operations` is 0; allowed: 1 to 1099511627776",
        ),
        (
            PAGE,
            "page = \"xadd\"",
            "page = \"xad\"",
            "there is no page reference count `xad`; did you mean `xadd`?",
        ),
        (PAGE, "page = \"xadd\"\n", "", "the object `page` lacks `page`, how references are taken"),
        (PAGE, "count = 1", "count = 0", "`count` is 0; allowed: 1 to 1048576"),
        (PAGE, "count = 1", "lock = \"ticket\"", "`lock` is not for an object of kind `page`"),
        (PAGE, "page = \"cmpxchg\"", "lock = \"ticket\"", "`lock` is not for `page`"),
        (LOOP, "lock = \"mcs\"", "page = \"xadd\"", "`page` is not for `lock`"),
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
            LOOP,
            "gives = \"latencies\"",
            "gives = \"latency\"",
            "there is no thing that a calibration gives `latency`",
        ),
        (
            LOOP,
            "gives = \"latencies\"",
            "gives = \"unit\"",
            "a calibration that gives `unit` is not for the metric `elapsed`",
        ),
        (PAGE, "unit = \"ns\"", "unit = \"ns\"\nper_operation = 2.0", "`per_operation` is not for"),
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
        (
            GOOD,
            RUN,
            "[run]\nseconds = 1.0\noperations = 5.0",
            "so large an `amount` or so many `seconds`, not after two of them",
        ),
        (GOOD, RUN, "[run]\ntasks_unsaid = 5000", "`tasks_unsaid` is 5000; allowed: 1 to 4096"),
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
            "there is no second cell of a calibration `system-tme`; did you mean `system-time`?",
        ),
        (EXT4, "work_varies = true", "work_varies = 1", "s.toml:"),
        (GOOD, RUN, "[run]\ntasks = 0", "`tasks` is 0; allowed: 1 to 4096"),
        (
            GOOD,
            RUN,
            "[run]\nuntil_each_is_done = true",
            "`until_each_is_done` is for scripts whose metric is `cpu`, without guests and samples",
        ),
        (GOOD, RUN, "[run]\nmean_over = 0.0", "`mean_over` is 0; allowed: above 0, at most 1e15"),
        (GOOD, "do = \"get\"", "do = \"get\"\nregion = \"user\"", "`region` is not for a `get`"),
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
            "there is no order of placement `spraed`; did you mean `spread`?",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = error_of(&text.replacen(from, to, 1));
        assert!(error.contains(expected), "{from} -> {to}\n  {error}\n  {expected}");
    }
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
fn the_example_of_the_documentation_is_valid() {
    let documentation = include_str!("../../../../docs/model/scenarios.md");
    let example = documentation.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let script = Script::parse("docs", example.expect("there is one")).expect("it is valid");
    assert_eq!(script.variants.len(), 2);
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
            error.contains("with `until_each_is_done` a run is as long as its tasks"),
            "{error}"
        );
    }
    let error = error_of(&format!("{script}\n[guests]\ncount = 2\n"));
    assert!(
        error.contains("for scripts whose metric is `cpu`, without guests and samples"),
        "{error}"
    );
}
