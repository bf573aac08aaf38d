//! Algorithms without locks, in scripts: they run on real threads and on a simulated machine, cost
//! there what the machine file says, and are found wrong when they are.

use crate::support::{Tasks, Threads, simulated_on};
use lockyard_scenarios::{Exchanges, Prepared, Script, Variant};
use lockyard_sim::Machine;

const COUNTER: &str = include_str!("../../../../examples/lock-free/counter.toml");
const STACK: &str = include_str!("../../../../examples/lock-free/treiber-stack.toml");
const QUEUE: &str = include_str!("../../../../examples/lock-free/queue-ends.toml");

fn script(text: &str) -> Script {
    Script::parse("s.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns a variant whose operations do not work outside of the algorithm.
fn without_work(text: &str, variant: &str) -> Variant {
    let text = text.replace("do = \"work\"\nns = 200", "do = \"pause\"");
    let text = text.replace("do = \"work\"\nns = 100", "do = \"pause\"");
    script(&text).variant(variant).expect("it has it").clone()
}

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Simulates a variant on neighbouring cores.
fn simulate(variant: &Variant, count: usize, operations: u64) -> Result<Exchanges, String> {
    let tasks = Tasks { count, operations };
    simulated_on(&machine(), variant, tasks, 1, |task| task).map(|run| run.exchanges)
}

/// Performs a variant on threads of this host.
fn perform(variant: &Variant, threads: u64, operations: u64) -> Result<Exchanges, String> {
    let prepared = Prepared::<Threads>::new(variant, 64, None, 0.0).expect("there is memory");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| prepared.run_operations(operations));
        }
    });
    prepared.verify(threads * operations).map_err(|violation| violation.to_string())?;
    Ok(prepared.exchanges())
}

#[test]
fn the_examples_keep_what_they_have_on_threads_and_on_a_machine() {
    for (text, exchanges) in [(COUNTER, 1), (STACK, 2), (QUEUE, 3)] {
        for variant in &script(text).variants {
            let name = &variant.name;
            let expected = if variant.compares_and_exchanges() { exchanges } else { 0 };
            for threads in [1, 2, 4] {
                let operations = if threads < 4 { 5_000 } else { 200 };
                let found = perform(variant, threads, operations);
                let found = found.unwrap_or_else(|e| panic!("{name}, {threads} threads: {e}"));
                assert_eq!(found.succeeded, expected * threads * operations, "{name}");
            }
            for tasks in [1, 7, 24] {
                let variant = without_work(text, name);
                let found = simulate(&variant, tasks, 200);
                let found = found.unwrap_or_else(|e| panic!("{name}, {tasks} tasks: {e}"));
                assert_eq!(found.succeeded, expected * tasks as u64 * 200, "{name}");
                assert_eq!(found.failed > 0, expected > 0 && tasks > 1, "{name}: {found:?}");
            }
        }
    }
}

#[test]
fn an_uncontended_loop_costs_a_load_and_a_locked_operation() {
    let machine = machine();
    let cycles = |name: &str| {
        let parameter = machine.parameter(&format!("cycles.{name}")).expect("it has it");
        parameter.value.number().expect("it is a number") as u64
    };
    let variant = script(
        &COUNTER.replace("do = \"work\"\nns = 200", "do = \"set\"\ninto = \"x\"\nvalue = 0"),
    );
    let variant = variant.variant("compare-exchange").expect("it has it");
    let run = |operations| {
        let tasks = Tasks { count: 1, operations };
        simulated_on(&machine, variant, tasks, 1, |_| 0).expect("it is right").cycles
    };
    // The load is behind the locked operation of the turn before.
    let load = machine.parameter("protocol.load_behind_lock").expect("it has it");
    let load = load.value.number().expect("it is a number") as u64;
    let expected = load + cycles("rmw_before_lock") + cycles("rmw_lock");
    assert_eq!(run(1_100) - run(100), 1_000 * expected);
}

#[test]
fn a_simulated_run_is_the_same_every_time() {
    for (text, variant, tasks) in [(COUNTER, "compare-exchange", 8), (QUEUE, "michael-scott", 6)] {
        let variant = without_work(text, variant);
        let tasks = Tasks { count: tasks, operations: 100 };
        let run = |seed| simulated_on(&machine(), &variant, tasks, seed, |task| 3 * task);
        let first = run(1).expect("it is right");
        assert_eq!(run(1).expect("it is right"), first);
        assert_ne!(run(2).expect("it is right").hash, first.hash);
    }
}

/// Returns a script with one step replaced.
fn broken(text: &str, step: &str, other: &str) -> String {
    assert!(text.contains(step), "{step}");
    text.replace(step, other)
}

#[test]
fn a_pop_without_a_compare_exchange_loses_nodes() {
    let text = broken(
        STACK,
        "do = \"compare-exchange\"\nobject = \"head\"\nexpect = \"mine\"\nnew = { index = \
         \"second\", tag = \"mine.tag + 1\" }",
        "do = \"store\"\nobject = \"head\"\nvalue = { index = \"second\", tag = \"mine.tag + 1\" }",
    );
    let text = text.replace("when = \"succeeded\"", "when = \"1 = 1\"");
    let variant = without_work(&text, "treiber");
    assert_eq!(simulate(&variant, 1, 100).map(|_| ()), Ok(()), "alone it is right");
    let error = simulate(&variant, 8, 100).expect_err("nodes are lost");
    assert!(error.starts_with("the chain from `head` "), "{error}");
}

#[test]
fn a_stack_without_tags_has_the_aba_problem() {
    // Each stays between its two loads and its compare-exchange for a while. Meanwhile the others
    // pop the node, another one, and push the first again.
    let text = STACK.replace(", tag = \"old.tag + 1\"", ", tag = 0");
    let text = text.replace(", tag = \"mine.tag + 1\"", ", tag = 0");
    let slow = "into = \"second\"\nonly = [\"treiber\"]\n";
    let work = format!("{slow}\n[[steps]]\ndo = \"work\"\nns = 300\nonly = [\"treiber\"]\n");
    let text = broken(&text, slow, &work);
    let error = simulate(&without_work(&text, "treiber"), 8, 500).expect_err("it is wrong");
    assert!(error.starts_with("the chain from `head` "), "{error}");
    // With its tags, the same slow stack is right.
    assert!(simulate(&without_work(&broken(STACK, slow, &work), "treiber"), 8, 500).is_ok());
}

#[test]
fn a_counter_without_atomicity_loses_additions() {
    let text = broken(
        COUNTER,
        "do = \"compare-exchange\"\nobject = \"counter\"\nexpect = \"old\"\nnew = \"old + 1\"",
        "do = \"store\"\nobject = \"counter\"\nvalue = \"old + 1\"",
    );
    let text = text.replace("when = \"succeeded\"", "when = \"1 = 1\"");
    let variant = without_work(&text, "compare-exchange");
    let error = simulate(&variant, 4, 100).expect_err("additions are lost");
    assert!(
        error.starts_with("`counter` is ")
            && error.ends_with(" after 400 operations that add 1 each, not 400"),
        "{error}"
    );
    // The same with a lock that does not exclude.
    let text = COUNTER.replace("lock = \"ticket\"", "lock = \"broken\"");
    let error = simulate(&without_work(&text, "ticket"), 4, 200).expect_err("it is wrong");
    assert!(error.contains("`counter` is "), "{error}");
}

#[test]
fn a_queue_that_leaves_its_tail_behind_is_noticed() {
    let text = broken(
        QUEUE,
        "do = \"store\"\nobject = \"tail\"\nvalue = \"mine.index\"",
        "do = \"load\"\nobject = \"tail\"\ninto = \"again\"",
    );
    let error = simulate(&without_work(&text, "one-lock"), 2, 50).expect_err("it is wrong");
    assert!(error.starts_with("the chain from `head` "), "{error}");
}

#[test]
fn an_index_outside_of_an_array_and_a_loop_without_end_are_errors() {
    let few = STACK.replace("count = 256", "count = 4");
    for tasks in [3, 4] {
        let variant = without_work(&few, "treiber");
        let error = "s.toml:54: `value` has 4 words, and a step used word 4; allowed: 0 to 3";
        let expected = if tasks < 4 { Ok(()) } else { Err(error.to_owned()) };
        assert_eq!(simulate(&variant, tasks, 50).map(|_| ()), expected);
        assert_eq!(perform(&variant, tasks as u64, 50).map(|_| ()), expected);
    }
    let endless = COUNTER.replace("when = \"succeeded\"", "when = \"0 = 1\"");
    let error = simulate(&without_work(&endless, "compare-exchange"), 2, 5);
    let error = error.expect_err("it does not end");
    let expected = "s.toml:52: a loop did not end after 10000 turns of one operation: no step \
                    made its `until` true";
    assert_eq!(error, expected);
}

#[test]
fn atomic_changes_of_words_are_summed() {
    let text = r#"name = "x"
objects = [
    { name = "word", kind = "word", initial = 5 },
    { name = "slots", kind = "words", count = 4, initial = 2 },
]
steps = [
    { do = "fetch-add", object = "word", value = 3, into = "old" },
    { do = "fetch-add", object = "slots", at = "task", value = "old + 1", into = "found" },
    { do = "compare-exchange", object = "slots", at = 0, expect = 2, new = 9, into = "found",
      when = "task = 1" },
]
variants = [{ name = "v" }]
"#;
    let text = text.replace(",\n      when", ", when");
    let variant = &script(&text).variants[0];
    let alone = Exchanges { succeeded: 1, failed: 9 };
    assert_eq!(perform(variant, 1, 10), Ok(alone));
    assert_eq!(simulate(variant, 3, 10), Ok(alone));
}

#[test]
fn arrays_that_do_not_fit_into_one_line_do_not_overlap() {
    // The ninth word of 8 bytes begins the second line of 64.
    let array = |n: usize| {
        format!("{{ name = \"a{n}\", kind = \"words\", count = 3, initial = {n}, line = \"all\" }}")
    };
    let arrays: Vec<String> = (0..9).map(array).collect();
    let text = format!(
        "name = \"x\"\nobjects = [{}]\nsteps = [{{ do = \"pause\" }}]\n\
         variants = [{{ name = \"v\" }}]\n",
        arrays.join(", ")
    );
    let variant = &script(&text).variants[0];
    assert_eq!(perform(variant, 1, 1), Ok(Exchanges::default()));
    assert_eq!(simulate(variant, 1, 1), Ok(Exchanges::default()));
}
