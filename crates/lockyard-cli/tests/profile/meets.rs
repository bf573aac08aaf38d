//! Conditions, semaphores, barriers and yields of a program, in its recording.

use crate::support::{build, fresh, profile};
use lockyard_recording::recording::{Event, How, MeetingKind, Met, Recording};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

const ROUNDS: u64 = 20_000;

/// Waits whose time is over at once.
const WAITS: u64 = 50_000;

/// Units of a semaphore that a thread gives, nearly without locks.
const UNITS: u64 = 2_000_000;

/// Returns the recording of a program with these arguments, and what the program printed.
fn recorded(name: &str, program: &Path, arguments: &[u64]) -> (Recording, String) {
    let file = fresh(name);
    let mut record = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    record.args(["record", "--no-host", "--out"]).arg(&file).arg("--").arg(program);
    let arguments = arguments.iter().map(u64::to_string);
    let output = record.args(arguments).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let recording = lockyard_recording::file::load(&file).expect("it is one");
    let _ = std::fs::remove_file(&file);
    (recording, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn signals_semaphores_barriers_and_yields_are_counted_and_are_events() {
    let Some(program) = build("cc", "meets.c", &["-O2", "-pthread"]) else { return };
    let (recording, _) = recorded("meets.recording", &program, &[ROUNDS]);
    let about = &recording.about;
    let of = |name: &str| about.meetings.iter().find(|of| of.name.contains(name)).expect(name);
    let counts = |name: &str| {
        let of = of(name);
        (of.kind, of.signals, of.broadcasts, of.passes)
    };
    assert_eq!(counts("filled"), (MeetingKind::Condition, ROUNDS + 1, 1, 0), "{about:?}");
    assert_eq!(counts("emptied"), (MeetingKind::Condition, ROUNDS, 0, 0));
    // The consumer's first call comes before its first lock.
    assert_eq!(counts("units"), (MeetingKind::Semaphore, ROUNDS, 0, ROUNDS - 1));
    assert_eq!(counts("barrier"), (MeetingKind::Barrier, 0, 0, 2 * ROUNDS / 100));
    let yields: u64 = about.user_waits.iter().map(|wait| wait.yields).sum();
    assert_eq!(yields, 2 * ROUNDS / 100);
    assert!(about.sites[about.user_waits[0].site as usize].contains("meet"), "{:?}", about.sites);
    // In windows, a thread takes at least one unit that was given there.
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for event in recording.windows.iter().flat_map(|window| &window.events) {
        let Event::Met { meeting, what, .. } = *event else { continue };
        let name = match what {
            Met::Signals => "signals",
            Met::Broadcasts => "broadcasts",
            Met::Waits => "waits",
            Met::Takes { left } => {
                assert!(left <= ROUNDS, "{left}");
                "takes"
            }
            Met::Gives => "gives",
            Met::Passes { serial: true } => "serial",
            Met::Passes { serial: false } => "passes",
        };
        let is_signal = matches!(what, Met::Signals | Met::Broadcasts | Met::Waits);
        let kind = about.meetings[meeting as usize].kind;
        assert_eq!(kind == MeetingKind::Condition, is_signal, "{event:?}");
        *seen.entry(name).or_default() += 1;
    }
    for what in ["signals", "takes", "gives", "passes", "serial"] {
        assert!(seen.get(what).is_some_and(|count| *count > 0), "{what}: {seen:?}");
    }
    // `profile` does not report these objects as locks.
    let output = profile(&[], &program, &["1000"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("mutex") && !text.contains("emptied"), "{text}");
    let _ = std::fs::remove_file(&program);
}

#[test]
fn waits_that_end_by_time_are_counted_apart_and_are_no_signals() {
    let Some(program) = build("cc", "timed.c", &["-O2", "-pthread"]) else { return };
    let (recording, printed) = recorded("timed.recording", &program, &[WAITS, 0]);
    let of = &recording.about.meetings[0];
    assert!(of.name.contains("never"), "{of:?}");
    let over: u64 = printed.trim().parse().expect("it is a number");
    assert!(over > 0, "{printed}");
    assert_eq!((of.waits, of.timeouts, of.signals, of.passes), (WAITS, over, 0, 0), "{of:?}");
    // A window does not end between a release and the wait: the section would seem to pass.
    let mut ends = 0;
    for window in &recording.windows {
        let count = |is_one: fn(&&Event) -> bool| window.events.iter().filter(is_one).count();
        let waits = count(|of| matches!(of, Event::Met { what: Met::Waits, .. }));
        let releases = count(|of| matches!(of, Event::Released { .. }));
        // A window may begin at the end of a wait.
        let first = window.events.iter().find(|of| !matches!(of, Event::OffCpu { .. }));
        let after_wait =
            !window.continues && matches!(first, Some(Event::Acquired { how: How::Condition, .. }));
        ends += releases as i64 - 2 * waits as i64 - i64::from(after_wait);
    }
    assert_eq!(ends, 0, "releases without a wait, of {} windows", recording.windows.len());
    let output = profile(&[], &program, &["200", "0"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("mutex") && !text.contains("never"), "{text}");
    let _ = std::fs::remove_file(&program);
}

#[test]
fn signals_without_locks_end_a_window_as_releases_do() {
    let Some(program) = build("cc", "timed.c", &["-O2", "-pthread"]) else { return };
    let (recording, _) = recorded("gives.recording", &program, &[0, UNITS]);
    assert_eq!(recording.about.meetings[0].signals, UNITS, "{:?}", recording.about.meetings);
    let events: usize = recording.windows.iter().map(|window| window.events.len()).sum();
    assert!(events > 0 && (events as u64) < UNITS / 10, "{events}");
    let _ = std::fs::remove_file(&program);
}
