//! Checks of the ordering mutation itself. It notices the mutants that it should, reports unnoticed
//! weakenings, and rejects unneeded entries of its tables. (`cargo mutation` runs it on all
//! suites.)

use lockyard::platform::Ordering;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{model, verdict};
use lockyard_check::controls::TooStrong;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::mutation::survivors::Survivor;
use lockyard_check::mutation::{Check, Report, Suite, Totals, run, suites};
use lockyard_check::program::{LockOp, LockProgram};
use lockyard_check::{own, source};

fn suite(name: &str) -> Vec<Suite> {
    let suites: Vec<Suite> = suites::all().into_iter().filter(|suite| suite.name == name).collect();
    assert_eq!(suites.len(), 1, "{name}");
    suites
}

/// Returns a suite of the control lock, whose `lock` has an unneeded release.
fn too_strong() -> Vec<Suite> {
    type Program = LockProgram<TooStrong, Hooked<Checked, Scripted>>;
    let run = || verdict(model::<Program>(&[LockOp::Lock, LockOp::TryLock], Bounds::ALL));
    let checks = vec![Check { name: "two threads".to_owned(), run: Box::new(run) }];
    vec![Suite { name: "too strong", files: &["src/controls.rs"], checks }]
}

/// Removes the complaints about orderings that only other suites reach.
fn alone(report: Report) -> Report {
    Report { unreached: Vec::new(), ..report }
}

#[test]
fn every_ordering_of_the_test_and_set_lock_is_missed() {
    let report = run(&suite("test-and-set"), &[], 2, |_| {}).unwrap();
    assert!(report.mutants.iter().all(|mutant| mutant.killed.is_some()), "{:?}", report.mutants);
    // The sites are the first try, the try after a wait, the try of `try_lock`, and the release.
    assert_eq!(report.totals(), Totals { sites: 4, killed: 4, explained: 0 });
    assert!(alone(report).is_clean());
}

#[test]
fn an_ordering_that_is_stronger_than_it_need_be_is_reported() {
    let report = run(&too_strong(), &[], 2, |_| {}).unwrap();
    let survivors: Vec<_> = report.mutants.iter().filter(|m| m.killed.is_none()).collect();
    assert_eq!(survivors.len(), 1, "{survivors:?}");
    assert_eq!((survivors[0].order, survivors[0].weakened), ("AcqRel", Ordering::Acquire));
    assert_eq!(report.totals().line(), "ordering sites killed 2 of 3, explained 0");
    assert!(!alone(report).is_clean());
}

const NOT_NEEDED: Survivor = Survivor {
    suite: "too strong",
    file: "src/controls.rs",
    function: "lock",
    line: "lane.fetch_or(bits::<L>(HELD), Ordering::AcqRel)",
    weakened: Ordering::Acquire,
    reason: "a control",
};

#[test]
fn a_survivor_with_a_reason_is_explained() {
    static TABLE: [Survivor; 1] = [NOT_NEEDED];
    let report = run(&too_strong(), &TABLE, 1, |_| {}).unwrap();
    assert_eq!(report.totals().line(), "ordering sites killed 2 of 3, explained 1");
    assert!(alone(report).is_clean());
}

#[test]
fn a_reason_that_is_not_needed_is_an_error() {
    // The weakening to relaxed is noticed.
    static NOTICED: [Survivor; 2] =
        [NOT_NEEDED, Survivor { weakened: Ordering::Relaxed, ..NOT_NEEDED }];
    let report = run(&too_strong(), &NOTICED, 1, |_| {}).unwrap();
    assert!(!alone(report.clone()).is_clean());
    let stale = |c: &String| c.contains("a killed mutant is explained") && c.contains("Relaxed");
    assert!(report.complaints.iter().any(stale), "{:?}", report.complaints);
    // The source has no such line, and the line is not in that function.
    for gone in [
        Survivor { line: "nowhere", ..NOT_NEEDED },
        Survivor { function: "try_lock", ..NOT_NEEDED },
    ] {
        let table = Vec::leak(vec![NOT_NEEDED, gone]);
        let report = run(&too_strong(), table, 1, |_| {}).unwrap();
        let missing = |c: &String| {
            c.contains("does not exist") && c.contains(gone.line) && c.contains(gone.function)
        };
        assert!(report.complaints.iter().any(missing), "{:?}", report.complaints);
    }
}

/// The crate of these tests stands for a user's crate.
#[test]
fn the_orderings_of_a_users_lock_are_weakened_too() {
    let report = own::mutate::<TooStrong>(&[source!("src/controls.rs")]).unwrap();
    let survivors: Vec<_> = report.survivors().collect();
    assert_eq!(survivors.len(), 1, "{report}");
    assert_eq!((survivors[0].order, survivors[0].weakened), ("AcqRel", Ordering::Acquire));
    assert_eq!(report.totals(), Totals { sites: 3, killed: 2, explained: 0 });
    // The file has another control, whose orderings a lock's programs do not reach.
    let unreached = |complaint: &String| complaint.contains("controls.rs, `get_not_zero`: ");
    assert!(report.unreached.iter().any(unreached), "{report}");
    let missing = own::mutate::<TooStrong>(&["/nowhere.rs"]).unwrap_err();
    assert!(missing.starts_with("/nowhere.rs: "), "{missing}");
}

#[test]
fn an_ordering_that_no_suite_reaches_is_an_error() {
    let report = run(&suite("test-and-set"), &[], 2, |_| {}).unwrap();
    let left_out = |file: &str| report.unreached.iter().any(|message| message.contains(file));
    assert!(left_out("lock/queued.rs") && left_out("lockref/mod.rs"), "{:?}", report.unreached);
    assert!(!left_out("lock/test_and_set.rs"), "{:?}", report.unreached);
}
