//! Locks that bypass the recorder: the program works as usual, missing data is named, and counts
//! are called exact only if nothing is missing.

use crate::support::{build, fresh, json_of, json_with, lock, process, profile};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn unseen() -> Option<PathBuf> {
    build("cc", "unseen.c", &["-O1", "-g", "-ldl"])
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

/// Returns the warnings as one text, and whether the report claims to be complete.
fn said(profile: &Value) -> (String, bool) {
    let all = profile["recording"]["saw_all"].as_bool().expect("it says so");
    (profile["warnings"].to_string(), all)
}

/// Returns the output of `lockyard record` for a program.
fn recorded(program: &Path, arguments: &[&str]) -> (Output, String) {
    let out = fresh("unseen.recording");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(["record", "--no-host", "--out", text(&out), "--"]).arg(program).args(arguments);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn a_program_that_waits_by_an_old_version_signals_by_it_too() {
    let options = ["-O1", "-g", "-shared", "-fPIC"];
    for (name, more) in [("without a version", "-nostdlib"), ("by an old one", "-DOLD")] {
        let Some(library) = build("cc", "turns.c", &[&options[..], &[more]].concat()) else {
            return;
        };
        let program = build("cc", "takes_turns.c", &["-O1", text(&library)]).expect("as above");
        let (output, profile) = json_of(&program, &[]);
        assert_eq!(output.stdout, b"done\n", "{name}: {profile:#}");
        let turns = lock(process(&profile), "turn_lock");
        assert_eq!(turns["acquisitions"], 4000, "{name}");
        assert!(turns["condition_waits"].as_u64().is_some_and(|waits| waits > 0), "{name}");
        let (output, said) = recorded(&program, &[]);
        assert_eq!(output.stdout, b"done\n", "{name}: {said}");
    }
}

/// Mutexes and conditions come from one library, also in the child of a fork.
#[test]
fn another_library_in_the_place_of_the_c_library_is_profiled() {
    let Some(turns) = build("cc", "turns.c", &["-O1", "-g", "-shared", "-fPIC"]) else { return };
    let program = build("cc", "takes_turns.c", &["-O1", text(&turns)]).expect("as above");
    let options = ["-O1", "-g", "-shared", "-fPIC", "-w", "-ldl"];
    let other = build("cc", "replacement.c", &options).expect("as above");
    let wrapper = [&options[..], &["-DWRAPPER"]].concat();
    let wrapper = build("cc", "replacement.c", &wrapper).expect("as above");
    for library in [&other, &wrapper] {
        let out = fresh("behind.json");
        let options = ["--format", "json", "--out", text(&out)];
        let mut command = profile(&options, &program, &["fork"]);
        let output = command.env("LD_PRELOAD", library).output().expect("it runs");
        assert_eq!(output.stdout, b"done\n", "{}", library.display());
        let profile = std::fs::read_to_string(&out).expect("it is there");
        let profile: Value = serde_json::from_str(&profile).expect("it is JSON");
        let processes = profile["processes"].as_array().expect("a list");
        let counts: Vec<&Value> =
            processes.iter().map(|of| &lock(of, "turn_lock")["acquisitions"]).collect();
        assert_eq!(counts, [4000, 1], "{profile:#}");
        assert!(said(&profile).1, "{profile:#}");
    }
    // Loaded before the recorder, the library serves all calls itself.
    let script = format!("LD_PRELOAD={}:$LD_PRELOAD {} fork", other.display(), program.display());
    let (output, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(output.stdout, b"done\n", "{profile:#}");
    let (warnings, all) = said(&profile);
    let name = text(&other);
    assert!(warnings.contains(&format!("{name} defines pthread_mutex_lock")) && !all, "{warnings}");
}

#[test]
fn a_library_that_is_bound_otherwise_is_named() {
    let Some(program) = unseen() else { return };
    let library = build("cc", "library.c", &["-O1", "-g", "-shared", "-fPIC"]).expect("as above");
    let library = text(&library);
    for (how, count, named) in [
        ("plain", 15, None),
        ("default", 15, None),
        ("deep", 5, Some(format!("{library} was opened with RTLD_DEEPBIND"))),
        ("namespace", 5, Some(format!("{library} was opened in a namespace of its own"))),
        ("handle", 5, Some("found pthread_mutex_lock behind the recorder".to_owned())),
    ] {
        let (output, profile) = json_of(&program, &[how, library]);
        assert_eq!(output.status.code(), Some(0), "{how}");
        assert_eq!(process(&profile)["acquisitions"], count, "{how}");
        let (warnings, all) = said(&profile);
        assert_eq!(all, named.is_none(), "{how}: {warnings}");
        let named = named.unwrap_or_default();
        assert!(warnings.contains(&named), "{how}: {warnings}");
    }
    let output = crate::support::profile(&[], &program, &["deep", library]).output();
    let text = String::from_utf8(output.expect("it runs").stderr).expect("it is text");
    assert!(text.contains("of all acquisitions that the recorder saw;"), "{text}");
}

#[test]
fn the_reason_for_which_no_lock_was_recorded_is_named() {
    let Some(program) = unseen() else { return };
    let name = text(&program);
    let fixed = build("cc", "unseen.c", &["-O1", "-static", "-w"]).expect("as above");
    let by_script = format!("{}; true", fixed.display());
    let sh = Path::new("/bin/sh");
    let env = Path::new("/usr/bin/env");
    let not_loaded = "did not load the recorder";
    let cases: [(&Path, &[&str], &str); 7] = [
        (&program, &["semaphore"], "semaphores (sem_wait), which are not recorded"),
        (&program, &["standard"], "mutexes of standard C (mtx_lock), which are not recorded"),
        (&program, &["daemon"], "still runs"),
        (env, &["LD_PRELOAD=libm.so.6", name, "take"], not_loaded),
        (env, &["-i", name, "take"], not_loaded),
        (sh, &["-c", &by_script], "is statically linked"),
        (Path::new("true"), &[], "took no lock of POSIX threads"),
    ];
    for (program, arguments, reason) in cases {
        let (_, profile) = json_of(program, arguments);
        let (warnings, _) = said(&profile);
        assert!(warnings.contains(reason), "{arguments:?}: {warnings}");
        let took = warnings.contains("took no lock");
        assert_eq!(took, reason.starts_with("took"), "{arguments:?}: {warnings}");
        let (output, said) = recorded(program, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(reason) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
}

/// A failed attempt to execute a program is no reason, nor is a program that loads the recorder.
#[test]
fn programs_that_load_the_recorder_leave_nothing_out() {
    let Some(program) = unseen() else { return };
    let script = format!("{0} take; /no/such; {0} take & wait; exec {0} take", program.display());
    let (_, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    let (warnings, all) = said(&profile);
    assert!(all, "{warnings}");
    assert_eq!(profile["processes"].as_array().map(Vec::len), Some(3), "{profile:#}");
}

#[test]
fn without_room_the_program_is_not_a_hundred_times_as_slow() {
    let Some(program) = unseen() else { return };
    let seconds = |how| {
        let (_, profile) = json_with(&[], &program, &[how]);
        let (warnings, _) = said(&profile);
        assert_eq!(warnings.contains("ulimit -f"), how == "limit", "{warnings}");
        profile["cpu_seconds"].as_f64().expect("a number")
    };
    // The least of several: other programs run too.
    let least = |how| (0..3).map(|_| seconds(how)).fold(f64::INFINITY, f64::min);
    let (with, without) = (least("limit"), least("no-limit"));
    assert!(with < without * 10.0 + 0.1, "{with} s with a limit, {without} s without");
}

#[test]
fn the_recorder_keeps_no_descriptor() {
    let Some(program) = unseen() else { return };
    let plain = Command::new(&program).arg("descriptors").output().expect("it runs");
    let (output, _) = json_of(&program, &["descriptors"]);
    assert_eq!(output.stdout, plain.stdout);
    let (_, profile) = json_of(&program, &["closed"]);
    assert_eq!(process(&profile)["acquisitions"], 100_005);
    assert_eq!(profile["recording"]["lost"], 0);
}

#[test]
fn a_go_program_is_refused_with_cgo_too() {
    let folder = fresh("go");
    std::fs::create_dir(&folder).expect("there is room");
    std::fs::write(folder.join("go.mod"), "module cgo\ngo 1.18\n").expect("there is room");
    let source = "package main\n\nimport \"C\"\n\nfunc main() {}\n";
    std::fs::write(folder.join("main.go"), source).expect("there is room");
    let mut go = Command::new("go");
    go.args(["build", "-o", "program", "."]).current_dir(&folder);
    go.env("CGO_ENABLED", "1").env("GOCACHE", folder.join("cache")).env("GOFLAGS", "");
    match go.output() {
        Ok(output) if output.status.success() => {
            let program = folder.join("program");
            let output = profile(&[], &program, &[]).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("is a Go program") && said.lines().count() == 1, "{said}");
            let script = format!("{}; true", program.display());
            let (_, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
            assert!(profile["warnings"].to_string().contains("is a Go program"), "{profile:#}");
        }
        _ => lockyard_testing::skip!("Go with cgo cannot be built"),
    }
    let _ = std::fs::remove_dir_all(folder);
}
