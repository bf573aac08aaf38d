//! Sections of readers and writers: their steps, and the checks that no writer is beside another
//! task.

use crate::support::scripts::with_steps;
use crate::support::{Tasks, Threads, simulated_by};
use lockyard_scenarios::{Access, LockKind, Prepared, Script, Stage, Step, Variant};
use lockyard_sim::Machine;

/// Steps that write data, and read it twice as a reader.
const STEPS: &str = r#"{ do = "lock", object = "rw" }, { do = "write", object = "data" },
    { do = "unlock", object = "rw" },
    { do = "lock-shared", object = "rw" }, { do = "read", object = "data" },
    { do = "work", ns = 50 }, { do = "read", object = "data" },
    { do = "unlock-shared", object = "rw" }"#;

fn variant(kind: LockKind) -> Variant {
    let text = with_steps(STEPS).replace("\"rwlock\"", &format!("\"{}\"", kind.name()));
    Script::parse("readers.toml", &text).expect("it is valid").variants.remove(0)
}

fn read_write_locks() -> impl Iterator<Item = LockKind> {
    LockKind::ALL.iter().copied().filter(|kind| kind.has_shared() && !kind.is_control())
}

/// Performs operations of two threads, in which the second one's work lasts.
fn performed<S: Stage>(variant: &Variant) -> Result<(), String> {
    const OPERATIONS: u64 = 3_000;
    let prepared = Prepared::<S>::new(variant, 64, None, 0.0).expect("there is memory");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| prepared.run_operations(OPERATIONS));
        }
    });
    prepared.verify(2 * OPERATIONS).map_err(|violation| violation.to_string())
}

fn simulated_with<const COUNTS: bool>(variant: &Variant, tasks: usize) -> Result<u64, String> {
    let machine = Machine::shipped("westmere-ex-4s10c").expect("it is shipped");
    let tasks = Tasks { count: tasks, operations: 40 };
    simulated_by::<COUNTS>(&machine, variant, tasks, 1, |task| task).map(|run| run.cycles)
}

fn simulated(variant: &Variant, tasks: usize) -> Result<u64, String> {
    simulated_with::<true>(variant, tasks)
}

#[test]
fn a_section_is_exclusive_or_shared() {
    let variant = variant(LockKind::ReadWrite);
    let [Step::Locked { access: writes, .. }, Step::Locked { access: reads, steps, .. }] =
        &variant.steps[..]
    else {
        panic!("{:?}", variant.steps)
    };
    assert_eq!((*writes, *reads, steps.len()), (Access::Exclusive, Access::Shared, 3));
    assert!(variant.takes_shared());
    let mutex = Script::parse("m", crate::support::scripts::LEAST).expect("it is valid");
    assert!(!mutex.variants[0].takes_shared());
}

#[test]
fn every_reader_writer_lock_keeps_readers_and_writers_apart() {
    let mut kinds = 0;
    for kind in read_write_locks() {
        let variant = variant(kind);
        assert_eq!(performed::<Threads>(&variant), Ok(()), "{}", kind.name());
        for tasks in [1, 2, 7] {
            simulated(&variant, tasks).unwrap_or_else(|what| panic!("{}: {what}", kind.name()));
        }
        kinds += 1;
    }
    assert_eq!(kinds, 6);
}

/// Readers are inside together: work under shared access takes no longer with more tasks.
#[test]
fn readers_are_inside_together() {
    let long = r#"{ do = "lock-shared", object = "rw" }, { do = "work", ns = 20000 },
        { do = "unlock-shared", object = "rw" }"#;
    for kind in read_write_locks() {
        let text = with_steps(long).replace("\"rwlock\"", &format!("\"{}\"", kind.name()));
        let variant = Script::parse("long.toml", &text).expect("it is valid").variants.remove(0);
        let time = |tasks| simulated(&variant, tasks).expect("it runs") as f64;
        let (one, four) = (time(1), time(4));
        assert!(four < 1.2 * one, "{}: {one} {four}", kind.name());
        let text = text.replace("-shared", "");
        let variant = Script::parse("long.toml", &text).expect("it is valid").variants.remove(0);
        let alone = simulated(&variant, 4).expect("it runs") as f64;
        assert!(alone > 3.8 * one, "{}: writers one after the other: {alone}", kind.name());
    }
}

#[test]
fn a_reader_beside_a_writer_is_found() {
    let variant = variant(LockKind::BrokenReadWrite);
    let what = simulated(&variant, 4).expect_err("readers are beside writers");
    assert!(what.contains("beside a") && what.contains("its lock did not exclude"), "{what}");
    // One task is beside no thread.
    simulated(&variant, 1).expect("it is alone");
}

/// On a host the lab does not count who is inside. A reader sees data change.
#[test]
fn a_reader_that_sees_data_change_is_found() {
    let variant = variant(LockKind::BrokenReadWrite);
    // Threads of the host may run one after the other. Simulated ones do not.
    let what = simulated_with::<false>(&variant, 3).expect_err("it changed");
    assert!(what.contains("`data`: changed while a reader was inside its lock"), "{what}");
}

/// Steps of which some percent read and the others write.
fn either(percent: f64) -> String {
    format!(
        r#"{{ do = "either", percent = {percent} }},
        {{ do = "lock-shared", object = "rw" }}, {{ do = "work", ns = 300 }},
        {{ do = "read", object = "data" }}, {{ do = "unlock-shared", object = "rw" }},
        {{ do = "or" }},
        {{ do = "lock", object = "rw" }}, {{ do = "work", ns = 100 }},
        {{ do = "write", object = "data" }}, {{ do = "unlock", object = "rw" }},
        {{ do = "end" }}"#
    )
}

fn parsed(steps: &str) -> Variant {
    Script::parse("either.toml", &with_steps(steps)).expect("it is valid").variants.remove(0)
}

#[test]
fn each_operation_draws_its_branch() {
    let variant = parsed(&either(75.0));
    let [
        Step::Branch { draws: true, range: first, .. },
        Step::Branch { draws: false, range: then, .. },
    ] = &variant.steps[..]
    else {
        panic!("{:?}", variant.steps)
    };
    assert_eq!((*first, *then), ((0.0, 0.75), (0.75, 1.0)));
    assert_eq!(variant.work_of_operation(0.0), 0.75 * 300.0 + 0.25 * 100.0);
    assert!(variant.takes_shared() && variant.takes_a_lock());
    assert_eq!(performed::<Threads>(&variant), Ok(()), "tasks count the writes of their branches");
    simulated(&variant, 5).expect("it excludes");
    // One task takes as long as its branches do: the shares are those of the draws.
    let time = |percent| simulated(&parsed(&either(percent)), 1).expect("it runs") as f64;
    let (writes, most, reads) = (time(0.0), time(75.0), time(100.0));
    let share = (most - writes) / (reads - writes);
    assert!((0.55..0.95).contains(&share), "{writes} {most} {reads}: {share}");
    assert_eq!(time(75.0), most, "the same seed gives the same draws");
}

#[test]
fn a_branch_may_be_left_out() {
    let steps = r#"{ do = "either", percent = 20 }, { do = "pause" }, { do = "end" }"#;
    let variant = parsed(steps);
    assert!(matches!(&variant.steps[..], [Step::Branch { range: (0.0, 0.2), .. }]));
    simulated(&variant, 2).expect("it runs");
}

/// A lock without a shared mode is held alone by its readers too. (A script that says so is
/// refused, but a recorded program may have another lock in place of its own.)
#[test]
fn a_lock_without_a_shared_mode_is_taken_alone() {
    let mut variant = variant(LockKind::ReadWrite);
    for object in &mut variant.objects {
        if object.name == "rw" {
            object.kind = lockyard_scenarios::ObjectKind::Lock { lock: LockKind::Ticket };
        }
    }
    assert_eq!(performed::<Threads>(&variant), Ok(()));
    simulated(&variant, 4).expect("it excludes");
}
