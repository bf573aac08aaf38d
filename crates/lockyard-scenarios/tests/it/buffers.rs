//! Buffer caches in scripts. Both back-ends perform the same script, with every combination of
//! switches.

use crate::support::{Run, Tasks, Threads};
use lockyard_scenarios::{Prepared, Script};

const INDICES: [&str; 3] = ["wide-hash", "hash-256", "tree-per-group"];

/// Returns a script with a variant for each combination of the switches.
fn script(buffers: u32, steps: &str) -> Script {
    let mut variants = String::new();
    for index in INDICES {
        for promote in ["referenced-bit", "move-to-front"] {
            for allocate in ["on-miss", "every-call"] {
                let with = format!(
                    r#"{{ index = "{index}", promote = "{promote}", allocate = "{allocate}" }}"#
                );
                let name = format!("{index}.{promote}.{allocate}");
                let set = format!(r#"{{ object = "buffers", with = {with} }}"#);
                variants += &format!(r#"{{ name = "{name}", title = "v", set = [{set}] }}, "#);
            }
        }
    }
    let with = format!("buffers = {buffers}, groups = 4");
    let text = format!(
        r#"name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    {{ name = "buffers", kind = "buffer-cache", with = {{ {with} }}, line = "a" }},
]
steps = [{steps}]
variants = [{variants}]
[placement]
order = "siblings-last"
"#
    );
    Script::parse("s.toml", &text).expect("it is valid")
}

/// One operation with every kind of step.
const EVERYTHING: &str = r#"
{ do = "look-up", object = "buffers", key = "random" },
{ do = "insert", object = "buffers" },
{ do = "look-up", object = "buffers", key = "inserted" },
{ do = "insert", object = "buffers" },
{ do = "remove", object = "buffers" },
{ do = "look-up", object = "buffers" },
{ do = "remove", object = "buffers" }"#;

#[test]
fn threads_find_what_is_there_and_leave_what_was_there() {
    // Few tasks, because a run is slow when more threads spin than there are CPUs.
    const TASKS: u64 = 2;
    const EACH: u64 = 100;
    for variant in &script(300, EVERYTHING).variants {
        let prepared = Prepared::<Threads>::new(variant, 128, None, 0.0).expect("there is memory");
        std::thread::scope(|scope| {
            for _ in 0..TASKS {
                scope.spawn(|| prepared.run_operations(EACH));
            }
        });
        prepared.verify(TASKS * EACH).unwrap_or_else(|e| panic!("{}: {e}", variant.name));
    }
}

/// Simulates `count` tasks of `operations` operations each, on neighbouring cores.
fn simulated(script: &Script, variant: &str, count: usize, operations: u64, seed: u64) -> Run {
    crate::support::simulated(script, variant, Tasks { count, operations }, seed, |task| task)
}

#[test]
fn simulated_tasks_do_the_same() {
    let script = script(300, EVERYTHING);
    for variant in &script.variants {
        let found = simulated(&script, &variant.name, 4, 50, 1);
        assert_eq!(simulated(&script, &variant.name, 4, 50, 1), found, "the same run twice");
        assert_ne!(simulated(&script, &variant.name, 4, 50, 2).hash, found.hash, "random keys");
    }
}

#[test]
fn a_long_chain_takes_longer_than_a_tree_and_a_tree_longer_than_a_wide_hash() {
    let script = script(8_000, r#"{ do = "look-up", object = "buffers", key = "random" }"#);
    let cycles = |index: &str| {
        simulated(&script, &format!("{index}.referenced-bit.on-miss"), 1, 2_000, 1).cycles
    };
    let [wide, chains, tree] = INDICES.map(cycles);
    println!("wide hash {wide} cycles, trees {tree}, 256 chains {chains}");
    assert!(wide < tree && tree < chains, "{wide} {tree} {chains}");
}

#[test]
fn moving_what_was_found_makes_tasks_wait_for_each_other() {
    let script =
        script(1, r#"{ do = "look-up", object = "buffers" }, { do = "work", ns = 2000.0 }"#);
    let slowed = |promote: &str| {
        let variant = format!("wide-hash.{promote}.on-miss");
        let cycles = |tasks| simulated(&script, &variant, tasks, 200, 1).cycles as f64;
        cycles(8) / cycles(1)
    };
    let (bit, moved) = (slowed("referenced-bit"), slowed("move-to-front"));
    println!(
        "8 tasks take {bit:.2} times as long as one with the bit, {moved:.2} when it is moved"
    );
    assert!(bit < moved, "{bit} {moved}");
}
