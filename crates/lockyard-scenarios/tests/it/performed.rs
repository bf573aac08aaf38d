//! Scripts performed on real threads. Afterwards the objects are in the right state, and `verify`
//! detects a wrong one.

use lockyard::Native;
use lockyard_scenarios::{LockKind, Prepared, Script, Stage, Step, Variant};

struct Threads;

impl Stage for Threads {
    type Host = Native;
    const OTHERS: bool = true;

    // The tests here do not depend on answers of other tasks.
    fn wait_for_others() {
        std::thread::yield_now();
    }
    fn work(nanoseconds: f64) {
        for _ in 0..nanoseconds as u64 / 4 {
            std::hint::spin_loop();
        }
    }
    fn stopping() -> bool {
        false
    }
    fn operation_done() {}
}

/// Operations of each thread.
const OPERATIONS: u64 = 2_000;
/// Operations of each of four threads. With more threads than CPUs, each hand-over in a spinning
/// queue may have to wait for a CPU.
const OPERATIONS_OF_FOUR: u64 = 100;

fn operations(threads: u64) -> u64 {
    if threads < 4 { OPERATIONS } else { OPERATIONS_OF_FOUR }
}

fn perform(variant: &Variant, threads: u64) -> Prepared<Threads> {
    let operations = operations(threads);
    let prepared = Prepared::<Threads>::new(variant, 64, None, 40.0).expect("there is memory");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| prepared.run_operations(operations));
        }
    });
    prepared
}

#[test]
fn every_variant_of_every_shipped_script_leaves_its_objects_as_they_ought_to_be() {
    // The controls are wrong on purpose.
    for name in Script::names().filter(|name| *name != "controls") {
        let script = Script::shipped(name).expect("it is shipped");
        for variant in &script.variants {
            for threads in [1, 2, 4] {
                let prepared = perform(variant, threads);
                if let Err(violation) = prepared.verify(threads * operations(threads)) {
                    panic!("{name}, {}, {threads} threads: {violation}", variant.name);
                }
            }
        }
    }
}

/// Returns a variant with a counter that a lock of this kind protects.
fn counter(kind: LockKind) -> Variant {
    let text = format!(
        r#"name = "counter"
title = "a counter behind a lock"
operation = "lock, add one, unlock"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    {{ name = "lock", kind = "lock", lock = "{}", line = "a" }},
    {{ name = "data", kind = "data", line = "a" }},
]
steps = [
    {{ do = "lock", object = "lock" }},
    {{ do = "write", object = "data" }},
    {{ do = "unlock", object = "lock" }},
]
variants = [{{ name = "v", title = "v" }}]
[placement]
order = "siblings-last"
"#,
        kind.name()
    );
    Script::parse("counter.toml", &text).expect("it is valid").variants.remove(0)
}

#[test]
fn every_kind_of_lock_protects_its_data() {
    for &kind in LockKind::ALL.iter().filter(|kind| !kind.is_control()) {
        let prepared = perform(&counter(kind), 2);
        assert_eq!(prepared.lines(), 1, "the lock and its data share a line");
        assert_eq!(prepared.verify(2 * OPERATIONS), Ok(()), "{}", kind.name());
    }
}

#[test]
fn a_run_that_did_less_than_it_says_is_noticed() {
    let prepared = perform(&counter(LockKind::Ticket), 1);
    let violation = prepared.verify(OPERATIONS + 1).expect_err("an update is missing").to_string();
    assert!(violation.contains("updates were lost"), "{violation}");
}

#[test]
fn a_reference_that_is_not_dropped_is_noticed() {
    let script = Script::shipped("fstat2").expect("it is shipped");
    let mut variant = script.variants[0].clone();
    variant.steps.retain(|step| !matches!(step, Step::Put { .. }));
    let prepared = perform(&variant, 1);
    // The expected count follows from the steps. To provoke an error, the test passes one operation
    // fewer than were done.
    assert_eq!(prepared.verify(OPERATIONS), Ok(()));
    let violation = prepared.verify(OPERATIONS - 1).expect_err("a reference too many").to_string();
    assert!(violation.starts_with("`entry` counts"), "{violation}");
}

#[test]
fn objects_of_different_lines_are_in_different_lines() {
    let script = Script::shipped("open3").expect("it is shipped");
    let prepared =
        Prepared::<Threads>::new(&script.variants[0], 64, None, 0.0).expect("there is memory");
    assert_eq!(prepared.lines(), 2);
}
