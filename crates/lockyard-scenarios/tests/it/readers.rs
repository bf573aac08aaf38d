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
    assert!(kinds > 0);
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
    // One task is beside nobody.
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
