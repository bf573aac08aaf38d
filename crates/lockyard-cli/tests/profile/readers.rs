//! Readers and writers are told apart: their calls, waits and times, by both commands.

use crate::support::{build, fresh, json_with, lock, process, profile};
use lockyard_recording::model::Model;
use lockyard_recording::recording::{Event, How, Kind, Recording};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn readers() -> Option<PathBuf> {
    build("cc", "readers.c", &["-O1", "-g"])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// Profiles the program with all holds timed. Returns what it printed, and the profile.
fn profiled(arguments: &[&str]) -> Option<(String, Value)> {
    let program = readers()?;
    let (output, profile) = json_with(&["--every", "1"], &program, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    let _ = std::fs::remove_file(program);
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), profile))
}

/// Records the program. Returns what it printed, and the recording.
fn recorded(arguments: &[&str]) -> Option<(String, Recording)> {
    let (program, file) = (readers()?, fresh("readers.recording"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(["record", "--no-host", "--out"]).arg(&file).arg("--").arg(&program);
    let output = command.args(arguments).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let recording = lockyard_recording::file::load(&file).expect("it is one");
    let _ = std::fs::remove_file(program);
    let _ = std::fs::remove_file(file);
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), recording))
}

/// Returns the mean times of reads and writes that the program printed.
fn known(printed: &str) -> [f64; 2] {
    let mut numbers = printed.split_whitespace().map(|word| word.parse().expect("a number"));
    [(); 2].map(|()| numbers.next().expect("two numbers"))
}

#[test]
fn each_function_counts_for_readers_or_for_writers() {
    let Some((_, profile)) = profiled(&["calls", "50"]) else { return };
    let both = lock(process(&profile), "both");
    assert_eq!((&both["kind"], &both["acquisitions"]), (&"rwlock".into(), &400.into()));
    assert_eq!((&both["reads"], &both["nested"]), (&200.into(), &50.into()), "{both:#}");
    assert_eq!((&both["failed"], &both["contended"]), (&200.into(), &0.into()), "{both:#}");
    assert_eq!(process(&profile)["unmatched_releases"], 0);
    for access in ["reads", "writes"] {
        let of = &both["accesses"][access];
        assert_eq!((&of["acquisitions"], &of["contended"]), (&200.into(), &0.into()), "{of:#}");
        assert_eq!(of["hold"]["count"], 200, "{of:#}");
    }
}

#[test]
fn times_under_a_lock_are_those_of_readers_and_of_writers() {
    let Some((printed, profile)) = profiled(&["holds", "2000"]) else { return };
    let accesses = &lock(process(&profile), "both")["accesses"];
    for (access, known) in ["reads", "writes"].into_iter().zip(known(&printed)) {
        let hold = &accesses[access]["hold"];
        let mean = number(&hold["total_ns"]) / number(&hold["count"]);
        assert!((mean / known - 1.0).abs() < 0.05, "{access}: {known} {mean} {hold:#}");
    }
    let seconds = number(&process(&profile)["seconds"]);
    let writes = &accesses["writes"];
    let share = number(&writes["hold"]["total_ns"]) / seconds / 1e9;
    assert!((number(&writes["mean_holders"]) / share - 1.0).abs() < 0.01, "{share} {writes:#}");
}

#[test]
fn waits_are_those_of_readers_and_of_writers() {
    let Some((_, profile)) = profiled(&["waits", "10"]) else { return };
    let accesses = &lock(process(&profile), "both")["accesses"];
    for access in ["reads", "writes"] {
        let of = &accesses[access];
        assert_eq!(of["acquisitions"], 20, "{of:#}");
        // A thread that comes late finds the lock free.
        let contended = number(&of["contended"]);
        assert!((8.0..=10.0).contains(&contended), "{of:#}");
        let wait = &of["wait"];
        assert_eq!(number(&wait["count"]), contended, "{wait:#}");
        assert!(number(&wait["total_ns"]) > contended * 4e6, "{wait:#}");
    }
}

#[test]
fn the_text_has_readers_and_writers_and_fits_a_screen() {
    let Some(program) = readers() else { return };
    let output = profile(&[], &program, &["reads", "200000", "2"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let _ = std::fs::remove_file(program);
    assert!(text.contains("Readers: 380,000 acquisitions"), "{text}");
    assert!(text.contains("Writers: 20,000 acquisitions"), "{text}");
    assert!(text.contains(", reads"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_page_has_a_table_of_readers_and_writers() {
    let Some(program) = readers() else { return };
    let page = fresh("readers.html");
    let options = ["--report", page.to_str().expect("it is text")];
    let output = profile(&options, &program, &["calls", "50"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&page).expect("there is a page");
    let _ = std::fs::remove_file(program);
    let _ = std::fs::remove_file(page);
    assert!(html.contains("Readers and writers of reader-writer locks"), "no table");
    assert!(html.contains("/groups/0/accesses/writes"), "no place in the document");
}

#[test]
fn a_recording_has_the_mode_of_each_acquisition() {
    let Some((_, recording)) = recorded(&["reads", "100000", "2"]) else { return };
    let lock = recording.about.locks.iter().find(|lock| lock.name == "both").expect("it is there");
    assert_eq!(lock.kind, Kind::RwLock);
    assert_eq!((lock.acquired, lock.shared), (200_000, 190_000));
    let events = || recording.windows.iter().flat_map(|window| &window.events);
    let count = |wanted: How| {
        let is_one =
            |event: &&Event| matches!(event, Event::Acquired { how, .. } if *how == wanted);
        events().filter(is_one).count() as f64
    };
    let share = count(How::Reads) / (count(How::Reads) + count(How::Waits));
    assert!((share - 0.95).abs() < 0.02, "{share}");
    let model = Model::of(&recording).expect("it can be replayed");
    assert!((model.groups[0].shared - 0.95).abs() < 0.02, "{:?}", model.groups);
}

#[test]
fn a_call_that_does_not_wait_is_recorded_with_its_mode() {
    let Some((_, recording)) = recorded(&["calls", "2000"]) else { return };
    let lock = &recording.about.locks[0];
    assert_eq!((lock.acquired, lock.shared), (16_000, 8_000));
    // Call sites by manner: four reads, three writes that wait, and one write that does not.
    let mut sites = [(); 3].map(|()| HashSet::new());
    for event in recording.windows.iter().flat_map(|window| &window.events) {
        let Event::Acquired { site, how, .. } = *event else { continue };
        let place = [How::Reads, How::Waits, How::Tries].iter().position(|other| *other == how);
        sites[place.expect("no condition")].insert(site);
    }
    assert_eq!(sites.map(|sites| sites.len()), [4, 3, 1], "{:?}", recording.about.sites);
}

#[test]
fn a_known_time_under_a_shared_lock_is_found_in_a_recording() {
    let Some((printed, recording)) = recorded(&["holds", "2000"]) else { return };
    let model = Model::of(&recording).expect("it can be replayed");
    let group = model.today.groups[0];
    let [read, written] = known(&printed);
    let each = |held: f64, acquired: f64| {
        held * model.threads * 1e9 / (model.undisturbed_rate() * acquired)
    };
    let reads = each(group.shared.held, group.shared.acquired);
    let writes = each(group.held - group.shared.held, group.acquired - group.shared.acquired);
    assert!((reads / read - 1.0).abs() < 0.05, "{reads} {read} {group:?}");
    assert!((writes / written - 1.0).abs() < 0.05, "{writes} {written} {group:?}");
}

#[test]
fn reader_writer_locks_of_a_table_are_a_group() {
    let Some((_, recording)) = recorded(&["shards", "40000"]) else { return };
    let model = Model::of(&recording).expect("it can be replayed");
    assert_eq!((model.groups.len(), model.groups[0].locks.len()), (1, 8));
    assert_eq!(model.groups[0].kind, Kind::RwLock);
    assert!((model.groups[0].shared - 0.875).abs() < 0.03, "{:?}", model.groups[0].shared);
}

/// From the recording of two threads to the prediction of more, and to other locks.
#[test]
fn a_program_that_reads_is_predicted_with_what_ifs() {
    let Some(program) = readers() else { return };
    let file = fresh("reads.recording");
    let (shown, named) = (file.to_string_lossy(), program.to_string_lossy());
    let lockyard = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
        command.args(arguments).output().expect("it runs")
    };
    let host = "skylake-client-4c";
    let record = ["record", "--no-host", "--out", &shown, "--", &named, "reads"];
    let output = lockyard(&[&record[..], &["400000", "2"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let predict = ["predict", &shown, "--ungated", "--what-if", "-m", host, "-t", "1,4"];
    let predict = [&predict[..], &["--host-machine", host]].concat();
    let output = lockyard(&[&predict[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let figure = |variant: &str, threads: u64| {
        let rows = json["rows"].as_array().expect("a list").iter();
        let name =
            |row: &Value| row["variant"].as_str().unwrap_or_default().replace("/not-gated", "");
        let mut found = rows.filter(|row| name(row) == variant && row["threads"] == threads);
        let row = found.next().unwrap_or_else(|| panic!("{variant} {threads}: {json:#}"));
        assert!(row["predicted"].is_number() || row["reason"].is_string(), "{row:#}");
    };
    for variant in ["recorded", "std-rwlock", "parking-rwlock", "rwlock", "rwlock-as-mutex"] {
        figure(variant, 1);
        figure(variant, 4);
    }
    let lock = &json["recorded"]["today"]["locks"][0];
    let part = |access: &str| number(&lock[access]["acquisitions_per_s"]);
    let reads = part("reads") / (part("reads") + part("writes"));
    assert!((reads - 0.95).abs() < 0.02, "{lock:#}");
    let saturation = &json["recorded"]["saturation"][0]["lock"];
    assert_eq!(saturation, "both", "{json:#}");
    let text = lockyard(&predict);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("- its reads") && text.contains("- its writes"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let _ = std::fs::remove_file(Path::new(&*named));
    let _ = std::fs::remove_file(&file);
}
