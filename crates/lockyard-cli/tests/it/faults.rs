//! A host that hinders a measurement: pinning is refused, CPUs are taken away, the disk is full, or
//! the user presses Ctrl-C. Each fault gives a clear message and complete results; no file is left
//! half-written. The tests cause real faults: with a seccomp filter, another affinity, a limit on
//! file sizes, or a signal.

#![cfg(target_os = "linux")]

use crate::support::folders::{directory, names};
use crate::support::{command, complaints, text};
use serde_json::Value;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn lockyard(arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Makes the system refuse `sched_setaffinity` to the command, as a container's profile does.
fn refuse_pinning(command: &mut Command) {
    let filter = || {
        let statement =
            |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let number = libc::SYS_sched_setaffinity as u32;
        let mut program = [
            // The system call's number is the first word of the data that a filter gets.
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            libc::sock_filter {
                code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
                jt: 0,
                jf: 1,
                k: number,
            },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the call sets a flag of the process; the other arguments must be 0, and are.
        let unprivileged = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: `program` points to a live program of the length that it states; the call copies
        // it.
        let set = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if unprivileged != 0 || set != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and touches only its own
    // stack: no allocation, no lock.
    unsafe { command.pre_exec(filter) };
}

#[test]
fn where_pinning_is_refused_the_figures_say_so() {
    let arguments = ["measure", "controls", "--threads", "2", "--variant", "ticket"];
    let brief = ["--seconds", "0.01", "--repeats", "3"];
    let run = |format: &str| {
        let mut command = lockyard(&[&arguments[..], &brief[..], &["--format", format]].concat());
        refuse_pinning(&mut command);
        command.output()
    };
    let Ok(table) = run("table") else {
        return lockyard_testing::skip!("no seccomp filters here");
    };
    assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
    let stdout = text(&table.stdout);
    assert!(
        stdout.contains("ticket on 2 threads: threads could not be pinned: the system refuses it"),
        "{stdout}"
    );
    let json: Value =
        serde_json::from_slice(&run("json").expect("it ran before").stdout).expect("it is JSON");
    let note = &json["rows"][0]["detail"]["measured"]["note"];
    assert_eq!(note, "threads could not be pinned");
}

/// Returns the CPUs that a process may use.
fn affinity(process: i32) -> Vec<usize> {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live set of the size that is passed.
    unsafe { libc::sched_getaffinity(process, size_of::<libc::cpu_set_t>(), &raw mut set) };
    // SAFETY: the index is below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Confines a process to one CPU, as `taskset -p` does.
fn confine(process: i32, cpu: usize) {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the system reported this CPU, so its number is below the set's size.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is a live set of the size that is passed.
    let result =
        unsafe { libc::sched_setaffinity(process, size_of::<libc::cpu_set_t>(), &raw const set) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Waits until a process has more than one thread, which means that it is measuring.
fn until_it_measures(child: &Child) {
    let tasks = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&tasks).map_or(0, Iterator::count) < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the exit code, standard output and standard error.
fn end(mut child: Child) -> (Option<i32>, String, String) {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("it is text");
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("it is text");
    (child.wait().expect("it ends").code(), stdout, stderr)
}

/// A measurement that takes longer than any test.
const LONG: [&str; 10] = [
    "measure",
    "controls",
    "--threads",
    "2",
    "--variant",
    "ticket",
    "--seconds",
    "0.05",
    "--repeats",
    "1000",
];

#[test]
fn cpus_that_are_taken_away_end_the_measurement_with_what_was_found_before() {
    let all = affinity(0);
    if all.len() < 2 {
        return lockyard_testing::skip!("there is one CPU, and it cannot be taken away");
    }
    for placement in [&["--placement", "fill"][..], &["--placement", "unpinned"]] {
        let arguments = [&LONG[..], placement, &["--format", "json"]].concat();
        let child = lockyard(&arguments).spawn().expect("the command runs");
        until_it_measures(&child);
        std::thread::sleep(Duration::from_millis(700));
        confine(child.id() as i32, all[0]);
        let (code, stdout, stderr) = end(child);
        assert_eq!(code, Some(1), "{placement:?}: {stderr}");
        // Warnings about the host and an estimate of the time may precede the error.
        let mut said = complaints(&stderr);
        let line = said.next().expect("it says why");
        assert_eq!(said.next(), None, "{stderr}");
        let what = "lockyard: the CPUs that this process may use changed while it measured, from ";
        assert!(line.starts_with(what), "{placement:?}: {stderr}");
        assert!(line.contains(&format!(" to {}: ", all[0])), "{stderr}");
        let json: Value = serde_json::from_str(&stdout).expect("whole JSON, with what there is");
        assert_eq!(json["environment"]["incomplete"], "the measurement ended with an error");
        for row in json["rows"].as_array().expect("rows") {
            let rounds = row["detail"]["measured"]["rounds"].as_array().expect("rounds").len();
            assert!(rounds > 0 && rounds < 1000, "{rounds}");
            assert_eq!(row["samples"], rounds);
        }
    }
}

#[test]
fn an_interrupted_measurement_prints_whole_results_that_say_so() {
    let mut command = lockyard(&[&LONG[..], &["--format", "json"]].concat());
    let child = command.spawn().expect("the command runs");
    until_it_measures(&child);
    std::thread::sleep(Duration::from_millis(500));
    // SAFETY: the call signals a process that was started here and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let (code, stdout, stderr) = end(child);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("lockyard: interrupted (SIGINT): "), "{stderr}");
    let json: Value = serde_json::from_str(&stdout).expect("whole JSON, with what there is");
    assert_eq!(json["environment"]["incomplete"], "interrupted");
}

/// Runs `reproduce --out` as on a disk with little room.
fn reproduce_with_room(out: &Path, bytes: u64) -> Output {
    let out = out.to_str().expect("the path is text");
    with_room(lockyard(&["reproduce", "access2", "--no-measure", "--out", out]), bytes)
}

/// Runs a command with a limit of `bytes` on each file, as on a disk with only this much room.
fn with_room(mut command: Command, bytes: u64) -> Output {
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: the calls set a limit of the process from a live structure, and ignore a signal,
        // so that the write fails instead.
        let failed = unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN) == libc::SIG_ERR
                || libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) != 0
        };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls: no allocation, no lock.
    unsafe { command.pre_exec(limit) };
    command.output().expect("the command runs")
}

#[test]
fn a_disk_that_fills_up_leaves_the_old_files_or_the_new_ones_and_nothing_else() {
    let out = directory("faults", "full");
    // The limits leave space for all files, for none, for only the first file, or for a part of it.
    let whole = reproduce_with_room(&out, 1 << 30);
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole.stderr));
    assert_eq!(names(&out), ["results.csv", "results.json", "results.md"]);
    let size = |name: &str| std::fs::metadata(out.join(name)).expect("it is there").len();
    let (smallest, largest) = (size("results.csv").min(size("results.md")), size("results.json"));
    assert!(smallest < largest);
    for old in [false, true] {
        for room in [0, smallest / 2, smallest, largest - 1] {
            let out = directory("faults", &format!("full-{old}-{room}"));
            let expected: Vec<&str> =
                if old { vec!["results.csv", "results.json", "results.md"] } else { vec![] };
            for name in &expected {
                std::fs::write(out.join(name), "old").expect("there is room");
            }
            let output = reproduce_with_room(&out, room);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{room}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
            assert!(stderr.contains(" cannot be written: File too large"), "{stderr}");
            assert_eq!(names(&out), expected, "{room}");
            for name in &expected {
                let text = std::fs::read_to_string(out.join(name)).expect("it is there");
                assert_eq!(text, "old", "{room}: {name}");
            }
        }
    }
}

#[test]
fn a_page_for_which_there_is_no_room_costs_no_results() {
    let folder = directory("faults", "page");
    let page = folder.join("a.html");
    let on = ["--machine", "zen4-7840u", "--threads", "1", "--report", "a.html"];
    let predict = [&["predict", "fstat2", "--save", "a", "--baselines", "."][..], &on].concat();
    let out = ["--no-measure", "--out", "out", "--report", "a.html"];
    let reproduce = [&["reproduce", "access2"][..], &out].concat();
    for (arguments, file) in [(reproduce, "out/results.json"), (predict, "a.json")] {
        let file = folder.join(file);
        let with = |room| {
            let mut command = lockyard(&arguments);
            command.current_dir(&folder);
            with_room(command, room)
        };
        let output = with(1 << 30);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let before = std::fs::read(&file).expect("it was written");
        let room = before.len() as u64;
        assert!(std::fs::metadata(&page).expect("it was written").len() > room);
        std::fs::remove_file(&page).and_then(|()| std::fs::remove_file(&file)).expect("ours");
        let output = with(room);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("a.html cannot be written: "), "{said}");
        assert_eq!(std::fs::read(&file).expect("it was written"), before);
    }
}

#[test]
fn a_directory_that_cannot_be_written_to_is_found_before_anything_is_run() {
    let out = directory("faults", "blocked");
    std::fs::create_dir(out.join(".results.csv.partial")).expect("there is room");
    let path = out.to_str().expect("the path is text");
    let output = lockyard(&["reproduce", "--out", path]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "nothing was simulated");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("results.csv cannot be written: "), "{stderr}");
    assert_eq!(names(&out), [".results.csv.partial"]);
}
