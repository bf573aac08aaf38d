//! The cells of plans, and errors in plan files.

use crate::support::Directory;
use std::collections::HashSet;

const HEAD: &str = "scenarios = \"small.toml\"\nvariants = [\"queued\", \"ticket\"]\n\
                    machines = [\"zen4-7840u\"]\nthreads = [1, 2]\n";

#[test]
fn the_cells_are_the_product_of_the_lists_and_have_different_ids() {
    let directory = Directory::new("product");
    let text = format!(
        "{HEAD}seeds = [1, 2]\n[parameters]\nsteps.held.ns = [10, 20, 30]\n\
         machine.cycles.leg = {{ times = [0.8, 1.2] }}\n"
    );
    let plan = directory.plan(&text).expect("it is right");
    assert_eq!(plan.count(), 2 * 2 * 2 * 3 * 2);
    let ids: HashSet<String> = (0..plan.count()).map(|number| plan.cell(number).id()).collect();
    assert_eq!(ids.len() as u64, plan.count());
    let cell = plan.cell(0);
    assert_eq!((cell.variant.as_str(), cell.threads, cell.seed), ("queued", 1, Some(1)));
    let expected = [("steps.held.ns", 10.0), ("machine.cycles.leg (times)", 0.8)];
    assert!(cell.parameters.iter().map(|(name, value)| (name.as_str(), *value)).eq(expected));
    assert_eq!(
        plan.to_string(),
        "2 variants x 1 machine x 3 values of steps.held.ns x 2 values of machine.cycles.leg \
         (times) x 2 thread counts x 2 seeds"
    );
}

#[test]
fn one_at_a_time_changes_one_parameter_or_none() {
    let directory = Directory::new("one-at-a-time");
    let text = format!(
        "{HEAD}combine = \"one-at-a-time\"\n[parameters]\nsteps.held.ns = [10, 20, 30]\n\
         machine.cycles.leg = [15, 25]\n"
    );
    let plan = directory.plan(&text).expect("it is right");
    assert_eq!(plan.count(), 2 * 2 * (1 + 3 + 2));
    let changed = |number| plan.cell(number).parameters.len();
    assert!((0..plan.count()).all(|number| changed(number) <= 1));
    assert_eq!((0..plan.count()).filter(|&number| changed(number) == 0).count(), 4);
}

#[test]
fn cells_without_room_are_refused_or_skipped() {
    let directory = Directory::new("room");
    let text = "scenarios = \"small.toml\"\nvariants = \"queued\"\nmachines = \"all\"\n\
                threads = [1, 48]\n";
    let error = directory.plan(text).expect_err("some machines are smaller");
    assert!(error.starts_with("plan.toml:4:11: "), "{error}");
    assert!(error.contains("(or `too_many_threads = \"skip\"` in the plan)"), "{error}");
    let plan =
        directory.plan(&format!("{text}too_many_threads = \"skip\"\n")).expect("it is right");
    let machines = lockyard_sim::Machine::names().count() as u64;
    assert!(plan.count() > machines && plan.count() < 2 * machines, "{}", plan.count());
    assert!(plan.to_string().contains("whose machine has too few hardware threads"));
    assert!(
        (0..plan.count())
            .all(|n| plan.cell(n).machine() != "skylake-client-4c" || plan.cell(n).threads == 1)
    );
    // A number of cores is a parameter, too.
    let text = "scenarios = \"small.toml\"\nvariants = \"queued\"\nmachines = \"zen4-7840u\"\n\
                threads = [4, 12]\ntoo_many_threads = \"skip\"\n[parameters]\n\
                machine.topology.cores = [2, 8]\n";
    assert_eq!(directory.plan(text).expect("it is right").count(), 3);
}

#[test]
fn an_error_says_where_it_is_and_what_is_allowed() {
    let directory = Directory::new("errors");
    let change = |from: &str, to: &str| HEAD.replace(from, to);
    let wrong = [
        (change("small.toml", "smal.toml"), "plan.toml:1:13: smal.toml: cannot be read"),
        (
            change("\"small.toml\"", "\"fsatt2\""),
            "plan.toml:1:13: there is no scenario `fsatt2`; did you mean `fstat2`?",
        ),
        (
            change("ticket", "tiket"),
            "plan.toml:2:23: no scenario has a variant `tiket`; did you mean `ticket`?",
        ),
        (change("zen4-7840u", "zen5"), "plan.toml:3:13: there is no machine `zen5`;"),
        (
            change("[1, 2]", "[1, 0]"),
            "plan.toml:4:15: `threads` is 0; allowed: whole numbers from 1",
        ),
        (change("[1, 2]", "17"), "plan.toml:4:11: 17 threads"),
        (
            format!("{HEAD}seed = [1]\n"),
            "plan.toml:5:1: a plan has no `seed`; did you mean `seeds`?",
        ),
        (
            format!("{HEAD}runs = \"fast\"\n"),
            "plan.toml:5:8: `runs` is `fast`; allowed: \"full\", \"quick\"",
        ),
        (
            format!("{HEAD}intervals = 1\n"),
            "plan.toml:5:13: `intervals` is 1; allowed: true or false",
        ),
        (
            format!("{HEAD}seeds = [1]\nintervals = true\n"),
            "plan.toml:5:9: `seeds` makes single runs",
        ),
        (format!("{HEAD}placement = \"up\"\n"), "`up` is not a placement"),
        (
            format!("{HEAD}[parameters]\nsteps.hold.ns = [1]\n"),
            "plan.toml:6:17: no step `hold` has a number `ns`; did you mean `held`?",
        ),
        (
            format!("{HEAD}[parameters]\nsteps.held.ns = [0]\n"),
            "plan.toml:6:17: with the value 0: ",
        ),
        (format!("{HEAD}[parameters]\nmachine.cycles.lag = [1]\n"), "did you mean `cycles.leg`?"),
        (
            format!("{HEAD}[parameters]\nmachine.cycles.leg = [1.5]\n"),
            "plan.toml:6:22: `cycles.leg` of machine `zen4-7840u` would be 1.5; allowed: 1 to 1000 cycles, whole numbers",
        ),
        (
            format!("{HEAD}[parameters]\nlocks.m = [1]\n"),
            "plan.toml:6:1: [parameters] has no `locks`",
        ),
        (
            format!("{HEAD}[parameters]\nsteps.held.ns = {{ times = [2] }}\n"),
            "`times` is for numbers of machines",
        ),
        (HEAD.replace("threads = [1, 2]\n", ""), "plan.toml: lacks `threads`, such as"),
        ("scenarios = [".to_owned(), "plan.toml:1:14: not TOML: "),
    ];
    for (text, expected) in wrong {
        let found = directory.plan(&text).expect_err(&text);
        assert!(found.contains(expected), "{text}\n{found}\n{expected}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn too_many_cells_are_refused() {
    let directory = Directory::new("many");
    let text = format!(
        "{HEAD}seeds = \"1-5000\"\n[parameters]\n\
         steps.held.ns = {{ from = 1, to = 5000, step = 1 }}\n"
    );
    let error = directory.plan(&text).expect_err("it is too large");
    assert!(error.contains("the plan has 100000000 cells; at most 10000000"), "{error}");
}
