//! Faults while system calls are measured. Each gives one line of error, and no task is left
//! behind.

#![cfg(target_os = "linux")]

use lockyard_measure::cpus::{Cpus, Placement};
use lockyard_measure::syscalls::{
    Directory, Experiment, Launcher, Plan, Stopped, TASK, TaskKind, Times, sample,
};
use std::time::Duration;

const TIMES: Times = Times {
    warm_up: Duration::from_millis(1),
    window: Duration::from_millis(10),
    stalled_after: Duration::from_secs(60),
};

fn tasks() -> Launcher {
    Launcher { program: env!("CARGO_BIN_EXE_lockyard").into(), arguments: vec![TASK.into()] }
}

/// Returns the reason why one sample of two tasks failed.
fn failure(kind: TaskKind, placement: &Placement, launcher: &Launcher, times: Times) -> String {
    let directory = Directory::new(None).expect("there is a temporary directory");
    let experiment = Experiment::Open3;
    let plan = Plan { experiment, kind, tasks: 2, placement, directory: &directory, launcher };
    match sample(&plan, times) {
        Err(Stopped::Failed(message)) => message,
        other => panic!("it fails: {other:?}"),
    }
}

fn allowed() -> Placement {
    Placement::Pinned(Cpus::allowed().all().to_vec())
}

#[test]
fn a_cpu_that_was_taken_away_is_named() {
    for kind in [TaskKind::Processes, TaskKind::Threads] {
        let message = failure(kind, &Placement::Pinned(vec![1023]), &tasks(), TIMES);
        let begins = format!("open3, 2 {}: task ", kind.name());
        assert!(message.starts_with(&begins), "{message}");
        assert!(message.contains("cannot be pinned to CPU 1023: Invalid argument"), "{message}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let launcher = Launcher { program: "/nowhere/lockyard".into(), arguments: Vec::new() };
    let message = failure(TaskKind::Processes, &allowed(), &launcher, TIMES);
    assert!(message.starts_with("open3, 2 processes: task 0 cannot be started: "), "{message}");
}

#[test]
fn a_program_that_is_no_task_is_not_waited_for() {
    let launcher = Launcher { program: "/bin/true".into(), arguments: Vec::new() };
    let message = failure(TaskKind::Processes, &allowed(), &launcher, TIMES);
    assert_eq!(message, "open3, 2 processes: a task ended before it began: exit status: 0");
}

#[test]
fn tasks_that_never_become_ready_are_given_up() {
    let launcher = Launcher {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), "exec sleep 600".into()],
    };
    let times = Times { stalled_after: Duration::from_millis(200), ..TIMES };
    let message = failure(TaskKind::Processes, &allowed(), &launcher, times);
    assert_eq!(
        message,
        "open3, 2 processes: only 0 tasks were ready, and no other became ready for 0.2 s"
    );
}

#[test]
fn a_file_that_goes_away_is_reported_with_the_task_and_the_systems_word() {
    let directory = Directory::new(None).expect("there is a temporary directory");
    let (placement, launcher, file) = (allowed(), tasks(), directory.file());
    let plan = Plan {
        experiment: Experiment::Stat2,
        kind: TaskKind::Threads,
        tasks: 2,
        placement: &placement,
        directory: &directory,
        launcher: &launcher,
    };
    let times = Times { window: Duration::from_secs(600), ..TIMES };
    let taken = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        std::fs::remove_file(file)
    });
    let Err(Stopped::Failed(message)) = sample(&plan, times) else { panic!("it fails") };
    taken.join().expect("it ends").expect("it was there");
    assert!(message.ends_with("No such file or directory (os error 2)"), "{message}");
}

#[test]
fn each_task_counts_its_own_operations() {
    let directory = Directory::new(None).expect("there is a temporary directory");
    let (placement, launcher) = (Placement::Unpinned, tasks());
    for kind in [TaskKind::Processes, TaskKind::Threads] {
        for experiment in Experiment::ALL {
            let (directory, tasks) = (&directory, 5);
            let plan = Plan {
                experiment,
                kind,
                tasks,
                placement: &placement,
                directory,
                launcher: &launcher,
            };
            // The window is long enough for every task to run, even on a loaded host.
            let times = Times { window: Duration::from_millis(500), ..TIMES };
            let sample = sample(&plan, times).expect("nothing is wrong");
            assert_eq!(sample.counts.len(), 5);
            assert!(sample.counts.iter().sum::<u64>() > 0, "{experiment:?}, {kind:?}");
            assert!(sample.window >= times.window);
        }
    }
}
