//! However a program ends, its records are there, and its exit code is the command's.

use crate::support::{build, fresh, json_of, lock, locks, process, profile};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn records_survive_a_crash_a_kill_and_an_exit_at_once() {
    let Some(program) = locks() else { return };
    for (name, code, end) in [
        ("abort", 134, "killed by signal 6 (SIGABRT)"),
        ("kill", 137, "killed by signal 9 (SIGKILL)"),
        ("exit", 3, "exit code 3"),
    ] {
        let (output, profile) = json_of(&program, &[name]);
        assert_eq!(output.status.code(), Some(code), "{name}");
        assert_eq!(profile["end"], end, "{name}");
        let process = process(&profile);
        assert_eq!(lock(process, "first_lock")["acquisitions"], 1000, "{name}");
        assert_eq!(process["held_at_the_end"].as_array().map(Vec::len), Some(1), "{name}");
    }
}

#[test]
fn a_fork_has_records_of_its_own() {
    let Some(program) = locks() else { return };
    let (_, profile) = json_of(&program, &["forked"]);
    let processes = profile["processes"].as_array().expect("a list");
    let counts: Vec<_> = processes
        .iter()
        .map(|process| {
            (process["forked"].clone(), lock(process, "first_lock")["acquisitions"].clone())
        })
        .collect();
    assert_eq!(counts, [(true.into(), 20.into()), (false.into(), 15.into())]);
}

#[test]
fn a_handler_of_a_fork_writes_nothing_to_the_records_of_the_parent() {
    let Some(program) = locks() else { return };
    let (_, profile) = json_of(&program, &["early-handler"]);
    let processes = profile["processes"].as_array().expect("a list");
    let parent = processes.iter().find(|process| process["forked"] == false).expect("it is there");
    assert_eq!(lock(parent, "second_lock")["acquisitions"], 10, "{parent:#}");
}

/// The child ends the operation that the fork interrupted, without a trace in the parent's records.
/// Then it has its own records.
#[test]
fn a_signal_handler_may_fork_at_any_place_of_the_recorder() {
    const FORKS: usize = 200;
    let Some(program) = build("cc", "fork_in_handler.c", &["-O1", "-g"]) else { return };
    let (output, profile) = json_of(&program, &[&FORKS.to_string()]);
    assert_eq!(output.status.code(), Some(0), "each child ends well");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let processes = profile["processes"].as_array().expect("a list");
    let (children, parents): (Vec<_>, Vec<_>) =
        processes.iter().partition(|process| process["forked"] == true);
    let [parent] = parents[..] else { panic!("{} parents", parents.len()) };
    assert_eq!(format!("{}\n", parent["acquisitions"]), printed);
    assert_eq!((&parent["lost"], &parent["unmatched_releases"]), (&0.into(), &0.into()));
    assert_eq!(parent["held_at_the_end"].as_array().map(Vec::len), Some(0), "{parent:#}");
    assert_eq!(children.len(), FORKS);
    for child in children {
        // One more acquisition if the fork came between the lock and its record.
        let count = child["acquisitions"].as_u64().expect("a number");
        assert!(matches!(count, 100 | 101), "{child:#}");
    }
}

/// A signal may come within the C library's function that the recorder calls, and its handler may
/// fork: without fork handlers, and where no file can be opened for a copy of the records.
#[test]
fn a_child_of_a_fork_within_a_call_leaves_the_records_of_the_parent() {
    let options = ["-O1", "-g", "-shared", "-fPIC", "-DLIBRARY", "-ldl"];
    let Some(library) = build("cc", "fork_in_try.c", &options) else { return };
    let path = library.to_str().expect("it is text");
    let program = build("cc", "fork_in_try.c", &["-O1", "-g", path]).expect("as above");
    for (place, how) in [("try", "bare"), ("unlock", "bare"), ("try", "limited")] {
        let out = fresh("within.json");
        let options = ["--format", "json", "--out", out.to_str().expect("it is text")];
        let mut command = profile(&options, &program, &[]);
        command.env("FORK_IN", place).env("FORK_HOW", how).env("LD_PRELOAD", &library);
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{place}, {how}: each child ends well: {said}");
        assert_eq!(output.stdout, b"200\n", "{place}, {how}: {said}");
        let text = std::fs::read_to_string(&out).expect("it is there");
        let profile: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let processes = profile["processes"].as_array().expect("a list");
        let [parent] = &processes[..] else { panic!("{place}, {how}: {profile:#}") };
        let of = |name: &str| &parent[name];
        assert_eq!(of("acquisitions"), 200, "{place}, {how}: {parent:#}");
        assert_eq!(of("unmatched_releases"), 0, "{place}, {how}: {parent:#}");
        assert_eq!(of("held_at_the_end").as_array().map(Vec::len), Some(0), "{place}, {how}");
        let children = profile["warnings"].to_string();
        let is_named = children.contains("a child of a fork, could not make its file");
        assert_eq!(is_named, how == "limited", "{place}, {how}: {children}");
    }
}

#[test]
fn the_output_of_the_program_is_its_own() {
    let Some(program) = locks() else { return };
    let output = profile(&[], &program, &["output"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "of the program\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error of the program\n\n"), "{said}");
    assert!(said.contains("#1 mutex first_lock, 0x") && said.contains("times (locks.c:"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let out = fresh("out.txt");
    let options = ["--out", out.to_str().expect("it is text")];
    let output = profile(&options, &program, &["output"]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error of the program\n");
    assert!(std::fs::read_to_string(&out).expect("it is there").contains("first_lock"));
    // An existing file stays, and then the program does not run.
    let output = profile(&options, &program, &["output"]).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn a_page_has_the_locks() {
    let Some(program) = locks() else { return };
    let page = fresh("page.html");
    let options = ["--report", page.to_str().expect("it is text")];
    let output =
        profile(&options, &program, &["counts", "3", "2", "100"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(&page).expect("it is there");
    assert!(text.contains("locks+80") && text.contains("times (locks.c:"), "{text}");
}

#[test]
fn a_signal_to_the_command_reaches_the_program() {
    let Some(program) = locks() else { return };
    for (signal, name) in [
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGXCPU, "SIGXCPU"),
    ] {
        let mut command = profile(&[], &program, &["wait"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A shell starts background commands with SIGQUIT ignored.
        let heed = move || {
            // SAFETY: the call has no preconditions, and may be made after a fork.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: the function only calls the system, and allocates nothing.
        unsafe { command.pre_exec(heed) };
        let mut child = command.spawn().expect("it runs");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("it prints");
        assert_eq!(line, "ready\n");
        // SAFETY: the call has no preconditions, and the process has not been reaped.
        unsafe { libc::kill(child.id() as i32, signal) };
        let done = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(128 + signal), "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("killed by signal {signal} ({name})")), "{said}");
        assert!(said.contains("first_lock"), "{said}");
    }
}

#[test]
fn a_signal_before_the_program_starts_is_not_lost() {
    let mark = fresh("mark");
    let mut command = profile(&[], Path::new("/bin/touch"), &[mark.to_str().expect("it is text")]);
    let child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    // The first child measures the cost.
    let begun = Instant::now();
    while std::fs::read_to_string(&children).unwrap_or_default().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no child");
        std::thread::sleep(Duration::from_micros(200));
    }
    // SAFETY: the call has no preconditions, and the process has not been reaped.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let done = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(143), "{said}");
    assert!(said.contains("the program was not started") && !mark.exists(), "{said}");
}

#[test]
fn without_room_records_are_lost_and_the_program_goes_on() {
    let Some(program) = locks() else { return };
    let script = format!("ulimit -f 700; exec {} counts 10000 1 1", program.display());
    let (output, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(output.status.code(), Some(0));
    let lost = profile["recording"]["lost"].as_u64().expect("a number");
    let kept = process(&profile)["acquisitions"].as_u64().expect("a number");
    assert!(lost > 0 && kept > 0 && lost + kept == 10_000, "{lost} lost, {kept} kept");
    let warnings = profile["warnings"].to_string();
    assert!(warnings.contains("ulimit -f"), "{warnings}");
}

#[test]
fn few_locks_need_little_room_in_memory() {
    let Some(program) = locks() else { return };
    // While the program runs: the bytes of its records.
    let script = format!(
        "{} wait & while ! du -B1 $LOCKYARD_RECORDS/$!-0.records 2> /dev/null; do :; done; \
         sleep 0.3; du -B1 $LOCKYARD_RECORDS/$!-0.records; kill $!",
        program.display()
    );
    let output = profile(&[], Path::new("/bin/sh"), &["-c", &script]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().rfind(|line| line.ends_with(".records")).expect("it was there");
    let bytes: u64 = last.split_whitespace().next().expect("a number").parse().expect("a number");
    assert!((1..=128 << 10).contains(&bytes), "{said}");
}

#[test]
fn a_full_file_system_is_named() {
    let Some(program) = locks() else { return };
    // A separate file system in a separate namespace: 512 KiB for ten thousand locks.
    let script = format!(
        "mount -t tmpfs -o size=512k none /dev/shm && TMPDIR=/dev/shm exec {} profile -- {} counts \
         10000 1 1",
        env!("CARGO_BIN_EXE_lockyard"),
        program.display()
    );
    let mut command = std::process::Command::new("unshare");
    let output = command.args(["--mount", "sh", "-c", &script]).env("COLUMNS", "400").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let said = said.unwrap_or_else(|error| error.to_string());
    if !said.contains("exit code") {
        lockyard_testing::skip!("no file system can be mounted: {said}");
        return;
    }
    assert!(said.contains("the file system of /dev/shm was full"), "{said}");
    assert!(said.contains("exit code 0"), "{said}");
}

#[test]
fn without_room_for_any_record_the_limit_is_named() {
    let Some(program) = locks() else { return };
    let script = format!("ulimit -f 100; exec {} counts 1 1 1", program.display());
    let (output, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(output.status.code(), Some(0));
    let warnings = profile["warnings"].to_string();
    assert!(
        warnings.contains("a process had no room") && warnings.contains("ulimit -f"),
        "{warnings}"
    );
}

#[test]
fn a_limited_address_space_is_left_to_the_program() {
    let Some(program) = locks() else { return };
    // The program has 512 MiB: most of this memory is its own, and not the recorder's.
    let script = format!(
        "ulimit -v 524288; exec {} counts 100 2 100; grep -c . /proc/self/maps",
        program.display()
    );
    let (output, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(output.status.code(), Some(0), "{profile:#}");
    assert_eq!(process(&profile)["acquisitions"], 20_000);
}

#[test]
fn nothing_is_left_behind() {
    let Some(program) = locks() else { return };
    let folder = fresh("tmp");
    std::fs::create_dir(&folder).expect("there is room");
    let mut command = profile(&[], &program, &["output"]);
    command.env("TMPDIR", &folder).output().expect("it runs");
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0);
}
