//! Untrusted programs: whatever they leave behind, and however they or the command end, the
//! profiler does not hang, run out of memory, or leave its directories behind.

use crate::support::{fresh, json_of, locks, profile};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Prints the directory of the records, and the directory of the library.
const PLACES: &str = "echo $LOCKYARD_RECORDS; dirname ${LD_PRELOAD%%:*}; ";

/// Returns the directories that a script printed.
fn places(output: &[u8]) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(output).into_owned();
    let places: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
    assert!(places.len() >= 2 && places[..2].iter().all(|path| path.is_absolute()), "{text}");
    places[..2].to_vec()
}

/// Runs a script under `lockyard profile`, and checks that nothing is left.
fn script(script: &str) -> (Output, String) {
    let begun = Instant::now();
    let script = format!("{PLACES}{script}");
    let mut command = profile(&[], Path::new("/bin/sh"), &["-c", &script]);
    let output = command.env("COLUMNS", "400").output().expect("it runs");
    assert!(begun.elapsed() < Duration::from_secs(100), "{script}");
    for place in places(&output.stdout) {
        assert!(!place.exists(), "{script}: {}", place.display());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn files_that_the_library_did_not_write_are_left_out() {
    let Some(program) = locks() else { return };
    let work = format!("{} counts 1 1 100; ", program.display());
    let header = "printf 'lockyard\\004\\0\\0\\0' | dd of=$f conv=notrunc status=none; ";
    for (what, why) in [
        ("mkfifo x.records", "and no file"),
        ("ln -s /dev/zero x.records", "and no file"),
        ("ln -s /etc/passwd x.records", "and no file"),
        ("mkdir x.records", "and no file"),
        ("ln $(ls *-0.records | head -n 1) x.records", "has 2 names"),
        (&format!("f=x.records; truncate -s 3G $f; {header}"), "bytes, and no file more"),
        ("cp /etc/passwd x.records", "a process had no room"),
    ] {
        let (output, said) = script(&format!("{work} cd $LOCKYARD_RECORDS; {what}"));
        assert_eq!(output.status.code(), Some(0), "{what}: {said}");
        assert!(said.contains(why), "{what}: {said}");
        if !what.starts_with("ln $(") {
            assert!(said.contains("100 acquisitions"), "{what}: {said}");
        }
    }
}

#[test]
fn sparse_files_and_many_files_are_read_at_once() {
    let Some(program) = locks() else { return };
    let work = format!("{} counts 1 1 100; ", program.display());
    // Each file is as large as a file may be, and nearly empty.
    let sparse = "cd $LOCKYARD_RECORDS; r=$(ls *-0.records | head -n 1); for i in 1 2 3 4 5 6 7 8; \
                  do cp $r $i-7.records; truncate -s 1G $i-7.records; done";
    let (output, said) = script(&format!("{work}{sparse}"));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("100 acquisitions"), "{said}");
    let many = "cd $LOCKYARD_RECORDS; seq 1 12000 | sed 's/$/-9.records/' | xargs mkfifo";
    let (_, said) = script(&format!("{work}{many}"));
    assert!(said.contains("more files of records were left out"), "{said}");
    assert!(said.contains("100 acquisitions") && said.lines().count() < 60, "{said}");
}

#[test]
fn a_directory_is_removed_whatever_the_program_made_of_it() {
    let deep = "cd $LOCKYARD_RECORDS; for i in $(seq 1500); do mkdir d; cd d; done 2> /dev/null";
    for what in [
        "mkdir -p $LOCKYARD_RECORDS/a/b; chmod 0 $LOCKYARD_RECORDS/a/b $LOCKYARD_RECORDS/a",
        "chmod 0 $LOCKYARD_RECORDS",
        deep,
        "touch \"$LOCKYARD_RECORDS/$(printf '\\033[2J')\"",
    ] {
        let (output, said) = script(what);
        assert_eq!(output.status.code(), Some(0), "{what}: {said}");
    }
    // It is found under another name.
    let (output, _) = script("mv $LOCKYARD_RECORDS $LOCKYARD_RECORDS-moved");
    let moved = format!("{}-moved", places(&output.stdout)[0].display());
    assert!(!Path::new(&moved).exists(), "{moved}");
    // A different directory in its place does not belong to the profiler, and is kept.
    let outside = fresh("outside");
    std::fs::create_dir(&outside).expect("there is room");
    std::fs::write(outside.join("file"), "x").expect("there is room");
    let link =
        format!("rm -r $LOCKYARD_RECORDS; ln -s {} $LOCKYARD_RECORDS; echo", outside.display());
    let output = profile(&[], Path::new("/bin/sh"), &["-c", &format!("{PLACES}{link}")]).output();
    let output = output.expect("it runs");
    assert!(outside.join("file").exists());
    let _ = std::fs::remove_file(&places(&output.stdout)[0]);
}

#[test]
fn without_memory_the_directories_are_removed() {
    let large = "cd $LOCKYARD_RECORDS; printf lockyard > 1-0.records; \
                 truncate -s 1073741823 1-0.records; printf x >> 1-0.records";
    let script = format!("{PLACES}{large}");
    let lockyard = env!("CARGO_BIN_EXE_lockyard");
    let limited = format!("ulimit -v 900000; exec {lockyard} profile -- sh -c '{script}'");
    let output = Command::new("sh").args(["-c", &limited]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("out of memory"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    for place in places(&output.stdout) {
        assert!(!place.exists(), "{}", place.display());
    }
}

/// Starts a program that ignores signals, and returns it with its directories and its process ID.
fn stubborn() -> (std::process::Child, Vec<PathBuf>, i32) {
    let script = format!(
        "trap '' INT TERM HUP USR1 QUIT ALRM XCPU; {PLACES}echo $$; exec sleep 100 > /dev/null"
    );
    let mut command = profile(&[], Path::new("/bin/sh"), &["-c", &script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let lines: Vec<String> = output.lines().take(3).map(|line| line.expect("text")).collect();
    let number = lines[2].parse().expect("a number");
    (child, lines[..2].iter().map(PathBuf::from).collect(), number)
}

fn send(number: i32, signal: i32) {
    // SAFETY: the call has no preconditions. The tests have not reaped the process.
    unsafe { libc::kill(number, signal) };
}

#[test]
fn a_second_signal_ends_the_command_and_removes_the_directories() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
        let (mut child, places, program) = stubborn();
        send(child.id() as i32, signal);
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        errors.read_line(&mut said).expect("it says that it waits");
        assert!(said.contains("waiting for the program to end"), "{said}");
        assert!(said.contains("a second signal kills it"), "{said}");
        assert!(places.iter().all(|place| place.exists()), "{signal}");
        send(child.id() as i32, signal);
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(128 + signal));
        // The process was killed: it is at most a zombie, until its new parent reaps it.
        let begun = std::time::Instant::now();
        let about = format!("/proc/{program}/stat");
        let is_alive = || std::fs::read_to_string(&about).is_ok_and(|text| !text.contains(") Z "));
        while is_alive() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the program goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!places.iter().any(|place| place.exists()), "{signal}: {places:?}");
    }
}

/// Without descriptors a directory cannot be opened, and its boot cannot be read.
#[test]
fn without_descriptors_no_directory_is_left() {
    let home = fresh("few-descriptors");
    std::fs::create_dir(&home).expect("there is room");
    for limit in 4..12 {
        let script =
            format!("ulimit -n {limit}; exec {} profile true", env!("CARGO_BIN_EXE_lockyard"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).env("HOME", &home).env("TMPDIR", &home);
        command.env_remove("XDG_RUNTIME_DIR").env("XDG_CACHE_HOME", &home);
        command.output().expect("the shell runs");
        let left: Vec<_> = std::fs::read_dir(&home).expect("it is there").collect();
        assert!(left.is_empty(), "{limit}: {left:?}");
    }
    let _ = std::fs::remove_dir(home);
}

/// The write fails, and the command says so.
#[test]
fn a_limit_of_file_sizes_is_an_error_and_not_the_end() {
    let script = format!("ulimit -f 1; exec {} profile true", env!("CARGO_BIN_EXE_lockyard"));
    let output = Command::new("/bin/sh").args(["-c", &script]).output().expect("the shell runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn what_a_killed_command_leaves_is_removed_by_the_next_one() {
    let (mut running, kept, still) = stubborn();
    let (mut child, places, program) = stubborn();
    send(child.id() as i32, libc::SIGKILL);
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    send(program, libc::SIGKILL);
    // Until then another command may have removed them.
    script("true");
    assert!(!places.iter().any(|place| place.exists()), "{places:?}");
    assert!(kept.iter().all(|place| place.exists()), "they are those of a command that runs");
    send(still, libc::SIGKILL);
    let status = running.wait().expect("it ends");
    assert_eq!(status.code(), Some(137));
    assert!(!kept.iter().any(|place| place.exists()), "{kept:?}");
}

#[test]
fn the_exit_code_is_the_program_s_also_if_nothing_was_recorded() {
    let Some(program) = locks() else { return };
    let program = program.to_str().expect("it is text");
    let run = |what: &str, arguments: &[&str]| {
        let out = fresh("ended.recording");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
        command.arg(what);
        if what == "record" {
            command.args(["--no-host", "--out"]).arg(&out);
        }
        let output = command.arg("--").args(arguments).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for what in ["profile", "record"] {
        for (script, code) in
            [("kill -SEGV $$", 139), ("kill -KILL $$", 137), ("exit 3", 3), ("kill -34 $$", 162)]
        {
            let (found, said) = run(what, &["/bin/sh", "-c", script]);
            assert_eq!(found, Some(code), "{what} {script}: {said}");
        }
        for (name, code) in [("abort", 134), ("kill", 137), ("exit", 3)] {
            let (found, said) = run(what, &[program, name]);
            assert_eq!(found, Some(code), "{what} {name}: {said}");
        }
    }
    let (found, said) = run("record", &["/bin/true"]);
    assert_eq!(found, Some(1), "{said}");
}

#[test]
fn a_pipe_as_a_program_is_refused_at_once() {
    let pipe = fresh("pipe");
    let made = Command::new("mkfifo").args(["-m", "755"]).arg(&pipe).status().expect("it runs");
    assert!(made.success());
    let output = profile(&[], &pipe, &[]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not a file"), "{said}");
    let _ = std::fs::remove_file(&pipe);
}

#[test]
fn a_recording_survives_files_that_the_library_did_not_write() {
    let Some(program) = locks() else { return };
    let work =
        format!("{} counts 1 1 20000; mkfifo $LOCKYARD_RECORDS/x.records", program.display());
    let out = fresh("left.recording");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(["record", "--no-host", "--out"]).arg(&out).args(["--", "/bin/sh", "-c", &work]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("x.records was left out"), "{said}");
    assert!(out.exists());
}

#[test]
fn records_of_many_processes_are_all_there() {
    let Some(program) = locks() else { return };
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {} counts 1 1 10; done", program.display());
    let (_, profile) = json_of(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(profile["processes"].as_array().map(Vec::len), Some(8));
}
