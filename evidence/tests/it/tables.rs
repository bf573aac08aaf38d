//! Checks of every row of the tables of subjects. Each performs its operations on one thread and on
//! several, and reports losses. Its name, version and licence are right. No test here asserts a
//! speed.

use lockyard_evidence::tables::{
    Done, GROUPS, Load, Stop, Subject, SubjectRole, SubjectRow, Worker,
};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lets `threads` threads each perform at least `operations` operations at the same time.
fn run(subject: &dyn Subject, load: Load, operations: u64) -> Vec<Done> {
    let stop = Stop::default();
    let progress: Vec<AtomicU64> = (0..load.threads).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..load.threads)
            .map(|thread| {
                let (stop, progress) = (&stop, &progress[thread]);
                scope.spawn(move || subject.work(&Worker { thread, load, stop, progress }))
            })
            .collect();
        while progress.iter().any(|done| done.load(Ordering::Relaxed) < operations) {
            if workers.iter().any(|worker| worker.is_finished()) {
                break;
            }
            std::thread::yield_now();
        }
        stop.stop();
        workers.into_iter().map(|worker| worker.join().expect("it does not panic")).collect()
    })
}

fn each(mut what: impl FnMut(&str, &SubjectRow, &[u32])) {
    for group in GROUPS {
        for row in group.rows {
            what(group.name, row, group.reads);
        }
    }
}

#[test]
fn every_row_does_what_is_asked_of_it() {
    each(|group, row, reads| {
        for (index, &reads) in reads.iter().enumerate() {
            // With more threads than CPUs, a FIFO lock that spins hands over to threads that do not
            // run. Each hand-over then costs a time slice.
            for (threads, operations) in [(1, 5_000), (2, 1_000), (3, 64)] {
                if threads == 3 && index > 0 {
                    continue;
                }
                let load = Load { objects: 300, reads, threads };
                let subject = (row.make)(&load).expect("there is memory");
                let done = run(&*subject, load, operations);
                let what = format!("{group}: {}, {reads} % reads, {threads} threads", row.name);
                assert_eq!(subject.verify(&done), Ok(()), "{what}");
                let sum = Done::sum(&done);
                assert!(sum.reads + sum.changes >= operations * threads as u64, "{what}: {sum:?}");
                assert!(sum.changes == 0 || reads < 100, "{what}: {sum:?}");
                assert!(sum.reads > 0 || reads < 50, "{what}: {sum:?}");
            }
        }
    });
}

#[test]
fn one_object_serves_several_threads() {
    each(|group, row, _| {
        let load = Load { objects: 1, reads: 50, threads: 2 };
        let subject = (row.make)(&load).expect("there is memory");
        let done = run(&*subject, load, 1_000);
        assert_eq!(subject.verify(&done), Ok(()), "{group}: {}", row.name);
    });
}

#[test]
fn what_threads_say_and_what_is_there_are_compared() {
    each(|group, row, _| {
        let load = Load { objects: 50, reads: 90, threads: 1 };
        let subject = (row.make)(&load).expect("there is memory");
        let done = run(&*subject, load, 2_000)[0];
        assert_eq!(subject.verify(&[done]), Ok(()), "{group}: {}", row.name);
        if group != "counter" {
            let wrong = Done { wrong: 1, ..done };
            assert!(subject.verify(&[wrong]).is_err(), "{group}: {}", row.name);
        }
        let counts = ["id-lock", "counter"].contains(&group);
        if counts {
            let more = Done { reads: done.reads + 1, changes: done.changes + 1, ..done };
            assert!(subject.verify(&[more]).is_err(), "{group}: {}", row.name);
        }
    });
}

#[test]
fn what_is_held_back_is_counted_and_ours_is_bounded() {
    for group in GROUPS.iter().filter(|group| group.name == "reclaim") {
        for row in group.rows {
            let load = Load { objects: 1, reads: 0, threads: 1 };
            let subject = (row.make)(&load).expect("there is memory");
            assert_eq!(subject.held_back(), Some(0), "{}: nothing was taken out", row.name);
            let done = run(&*subject, load, 100_000);
            let held = subject.held_back().expect("it is counted");
            // For our rows the bound is the number of objects that a slot retires in three epochs,
            // as documented.
            let bound = if row.role == SubjectRole::Ours { 192 } else { done[0].changes };
            assert!(held <= bound, "{}: {held} of {}", row.name, done[0].changes);
        }
    }
}

#[test]
fn names_are_plain_and_ours_is_beside_others_in_every_group() {
    let plain = |name: &str| {
        name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    for (index, group) in GROUPS.iter().enumerate() {
        assert!(plain(group.name));
        assert!(GROUPS[..index].iter().all(|other| other.name != group.name));
        assert!(group.reads.iter().all(|&reads| reads <= 100));
        let has = |ours| group.rows.iter().any(|row| (row.role == SubjectRole::Ours) == ours);
        assert!(has(true) && has(false), "{}", group.name);
        for (index, row) in group.rows.iter().enumerate() {
            assert!(plain(row.name), "{}", row.name);
            let before = &group.rows[..index];
            assert!(before.iter().all(|other| other.name != row.name), "two `{}`", row.name);
            assert_eq!(row.from == "lockyard", row.role == SubjectRole::Ours, "{}", row.name);
            assert_eq!(row.from == "here", row.role == SubjectRole::Yardstick, "{}", row.name);
        }
    }
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    std::fs::read_to_string(path).expect("it is committed")
}

#[test]
fn the_versions_are_those_that_are_built_and_the_licences_permit_it() {
    let locked = file("evidence/Cargo.lock");
    each(|_, row, _| {
        // All the licences must be permissive, so the difference between `AND` and `OR` does not
        // matter.
        let permissive = |word: &str| ["MIT", "Apache-2.0", "OR", "AND"].contains(&word);
        let mut words = row.licence.split([' ', '(', ')']).filter(|word| !word.is_empty());
        assert!(words.all(permissive), "{}: {}", row.name, row.licence);
        if let Some((package, version)) = row.from.split_once(' ') {
            let entry = format!("name = \"{package}\"\nversion = \"{version}\"");
            assert!(locked.contains(&entry), "{}: {} is not in Cargo.lock", row.name, row.from);
        }
    });
}

#[test]
fn the_documents_have_every_group_and_the_figures_of_every_row() {
    let document = file("docs/measure/measure-tables.md");
    let all_figures = file("docs/evidence/figures/tables.txt");
    for group in GROUPS {
        let heading = format!("### `{}`", group.name);
        let (_, figures) = all_figures.split_once(&heading).expect(group.name);
        let figures = figures.split("###").next().unwrap_or_default();
        assert!(document.contains(&format!("| `{}` | ", group.name)), "{}", group.name);
        for row in group.rows {
            let what = format!("| `{}` | ", row.name);
            assert!(figures.lines().any(|line| line.starts_with(&what)), "{heading} {}", row.name);
        }
    }
    each(|_, row, _| {
        if let Some((package, version)) = row.from.split_once(' ') {
            assert!(document.contains(&format!("`{package}` {version}")), "{}", row.from);
        }
    });
}
