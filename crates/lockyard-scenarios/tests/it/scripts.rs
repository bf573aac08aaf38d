//! Reading of scripts. The shipped ones match the descriptions of their experiments.

use crate::support::scripts::{GOOD, LEAST, error_of, with_steps};
use lockyard_scenarios::{Gives, Metric, ObjectKind, Order, Region, Script, Step};

/// Returns all steps as words, including steps under locks.
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
            step => unreachable!("no shipped script has {step:?}"),
        })
        .collect()
}

/// Returns the sum of the shares of calibrated work, including those under locks.
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
        for pair in &script.variant_pairs {
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
fn the_example_of_the_documentation_is_valid() {
    let documentation = include_str!("../../../../docs/model/scenarios.md");
    let example = documentation.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let script = Script::parse("docs", example.expect("there is one")).expect("it is valid");
    assert_eq!(script.variants.len(), 2);
}

#[test]
fn a_script_needs_a_name_and_variants_and_all_else_has_a_default() {
    let script = Script::parse("least.toml", LEAST).expect("it is a script");
    assert_eq!((script.title.as_str(), script.operation.as_str()), ("mine", "lock, work, unlock"));
    assert_eq!((script.metric, script.metric.unit()), (Metric::OPERATIONS, "op/s"));
    assert_eq!((script.order, script.home), (Order::SiblingsLast, 0));
    let variant = &script.variants[0];
    assert_eq!((variant.title.as_str(), variant.work_varies), ("queued", true));
    // By default, each object has a separate line.
    let word = "[[objects]]\nname = \"w\"\nkind = \"word\"\n[[steps]]\n";
    let two =
        Script::parse("two.toml", &LEAST.replacen("[[steps]]\n", word, 1)).expect("it is one");
    let lines: Vec<usize> = two.variants[0].objects.iter().map(|object| object.line).collect();
    assert_eq!(lines, [0, 1]);
    // The metric determines the unit.
    let cpu = Script::parse("cpu.toml", &format!("metric = \"cpu\"{LEAST}")).expect("it is one");
    assert_eq!((cpu.metric, cpu.metric.unit()), (Metric::Cpu, "ns"));
    let elapsed = error_of(&format!("metric = \"elapsed\"{LEAST}"));
    assert!(elapsed.contains("the metric `elapsed` needs `operations`"), "{elapsed}");
    // A script can name a socket without an order.
    let home = Script::parse("home.toml", &format!("{LEAST}[placement]\nhome = 1\n"));
    let home = home.expect("it is one");
    assert_eq!((home.order, home.home), (Order::SiblingsLast, 1));
    let equal = format!("work_varies = false{LEAST}");
    assert!(!Script::parse("e.toml", &equal).expect("it is one").variants[0].work_varies);
}

#[test]
fn the_text_of_a_long_operation_is_cut() {
    let pauses = "[[steps]]\ndo = \"pause\"\n".repeat(20);
    let long = Script::parse(
        "long.toml",
        &LEAST.replacen("[[variants]]", &format!("{pauses}[[variants]]"), 1),
    );
    let operation = long.expect("it is a script").operation;
    assert!(operation.starts_with("lock, work, unlock, pause, "), "{operation}");
    assert!(operation.ends_with(", ...") && operation.len() < 100, "{operation}");
}

#[test]
fn every_shipped_script_says_whether_its_work_varies() {
    // The default has changed once. A published row must not change with it.
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut found = 0;
    for entry in std::fs::read_dir(scenarios).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let says = text.lines().filter(|line| line.starts_with("work_varies = ")).count();
        assert_eq!(says, 1, "{}", path.display());
        found += 1;
    }
    assert_eq!(found, Script::names().count());
}
