//! Recordings of programs, and predictions of them.

use crate::support::{fresh, locks};
use lockyard_recording::recording::{Event, Window};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

fn lockyard(arguments: &[&str]) -> Output {
    let lockyard = env!("CARGO_BIN_EXE_lockyard");
    Command::new(lockyard).args(arguments).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_recorded_program_is_predicted_and_says_that_it_is_not_gated() {
    let Some(program) = locks() else { return };
    let file = fresh("counts.recording");
    let (file, program) = (file.to_string_lossy(), program.to_string_lossy());
    let recorded = lockyard(&[
        "record",
        "--no-host",
        "--out",
        &file,
        "--",
        &program,
        "counts",
        "2",
        "2",
        "200000",
    ]);
    let text = said(&recorded);
    assert_eq!(recorded.status.code(), Some(0), "{text}");
    assert!(text.contains(" acquisitions of ") && text.contains("not be gated"), "{text}");
    assert!(text.contains(" recorded in detail"), "{text}");
    // The recorder's calls at the beginning of a window come before its first acquisition.
    let windows = lockyard_recording::file::load(Path::new(&*file)).expect("it is one").windows;
    let beginnings = windows.iter().filter(|window| !window.continues && window.events.len() > 2);
    for window in beginnings {
        let is_off = |event: &Event| matches!(event, Event::OffCpu { .. });
        let hold = &window.events[..3];
        assert!(matches!(hold[0], Event::Acquired { .. }), "{hold:?}");
        assert!(matches!(hold[1], Event::Released { .. }) || is_off(&hold[1]), "{hold:?}");
    }
    let machine = ["-m", "skylake-client-4c", "-t", "2"];
    let refused = lockyard(&[&["predict", &file], &machine[..]].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("the gate refuses"), "{}", said(&refused));
    // The facts of the run need no model. They come first, then the reason and the remedy.
    let screen = String::from_utf8_lossy(&refused.stdout).into_owned();
    let place = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}: {screen}"));
    let first = screen.lines().next().unwrap_or_default();
    assert!(first.contains("counts: ") || first.contains("locks"), "{screen}");
    assert!(place("its threads' time") < place("No prediction: "), "{screen}");
    assert!(place("No prediction: ") < place("Where the time goes today: "), "{screen}");
    // The remedy depends on the reason: on a busy host, the load comes first.
    assert!(place("No prediction: ") < place("--ungated prints"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let facts = lockyard(&[&["predict", &file, "--format", "json"], &machine[..]].concat());
    assert_eq!(facts.status.code(), Some(1), "{}", said(&facts));
    let json: serde_json::Value = serde_json::from_slice(&facts.stdout).expect("it is JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(0), "{json:#}");
    assert!(json["recorded"]["refused"].as_str().is_some_and(|why| !why.is_empty()), "{json:#}");
    assert!(json["recorded"]["advice"][0].is_string(), "{json:#}");
    assert!(json["recorded"]["today"]["locks"][0]["lock"].is_string(), "{json:#}");
    // A host's machine file that is given later is also accepted.
    let given = ["--host-machine", "skylake-client-4c", "--format", "json"];
    let given = lockyard(&[&["predict", &file], &machine[..], &given].concat());
    let json: serde_json::Value = serde_json::from_slice(&given.stdout).expect("it is JSON");
    let gate = json["environment"]["gate"].as_str().unwrap_or_default();
    let busy =
        json["recorded"]["refused"].as_str().is_some_and(|why| why.contains("this host gave"));
    assert!(gate.contains("On the recording's host") || busy, "{json:#}");
    let none = lockyard(&["predict", &file, "--ungated", "-m", "host", "-t", "2"]);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
    let why = "the host was not measured (--no-host)";
    let allowed = "allowed: a name of `lockyard machines`, or a file";
    assert_eq!(said(&none), format!("lockyard: --machine: `host`: {why}; {allowed}\n"));
    let all = [&["predict", &file, "--ungated", "--format", "json"], &machine[..]].concat();
    let predicted = lockyard(&all);
    assert_eq!(predicted.status.code(), Some(0), "{}", said(&predicted));
    let json: serde_json::Value = serde_json::from_slice(&predicted.stdout).expect("it is JSON");
    let row = &json["rows"][0];
    assert_eq!(row["variant"], "recorded/not-gated", "{json:#}");
    if row["reason"].is_string() {
        lockyard_testing::skip!("the host is too busy for a figure: {}", row["reason"]);
        return;
    }
    assert!(row["predicted"].as_f64().is_some_and(|figure| figure > 1e5), "{row:#}");
    let today = &json["recorded"]["today"];
    let parts = ["outside", "asleep", "without_cpu", "held", "waited"];
    let sum: f64 = parts.iter().filter_map(|part| today[format!("share_{part}")].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{today:#}");
    assert_eq!(json["recorded"]["saturation"][0]["machine"], "skylake-client-4c", "{json:#}");
    assert_eq!(json["recorded"]["best_changes"].as_array().map(Vec::len), Some(0));
    // A page also says which change gives most. It marks what is not gated.
    let page = fresh("counts.html");
    let path = page.to_string_lossy();
    let shown =
        lockyard(&[&["predict", &file, "--ungated", "--report", &path], &machine[..]].concat());
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    let screen = String::from_utf8_lossy(&shown.stdout).into_owned();
    for title in
        ["Where the time goes today: ", "Which lock saturates on skylake-client-4c (not gated)"]
    {
        assert!(screen.contains(title), "{screen}");
    }
    let html = std::fs::read_to_string(&page).expect("there is a page");
    assert!(html.contains("The best change (not gated)") && html.contains("in 4 shards"), "{html}");
    assert!(std::fs::remove_file(&page).is_ok(), "there is a page");
    // Fewer and more threads than the machine has: it is one machine, and has one trace.
    let trace = fresh("counts.pftrace");
    let path = trace.to_string_lossy();
    let traced = ["--ungated", "--format", "json", "-m", "skylake-client-4c", "-t", "2,16"];
    let traced = [&["predict", &file, "--trace", &path], &traced[..]].concat();
    let traced = lockyard(&traced);
    assert_eq!(traced.status.code(), Some(0), "{}", said(&traced));
    let json: serde_json::Value = serde_json::from_slice(&traced.stdout).expect("it is JSON");
    assert_eq!(json["environment"]["machine"], "skylake-client-4c", "{json:#}");
    assert!(std::fs::remove_file(&trace).is_ok(), "there is a trace");
    let again = lockyard(&["record", "--no-host", "--out", &file, "--", &program, "counts"]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("exists already"), "{}", said(&again));
    let _ = std::fs::remove_file(&*file);
    let _ = std::fs::remove_file(&*program);
}

#[test]
fn a_program_without_locks_and_a_failing_one_are_told_apart() {
    let file = fresh("none.recording");
    let file = file.to_string_lossy();
    let none = lockyard(&["record", "--no-host", "--out", &file, "--", "true"]);
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    assert!(said(&none).contains("took no lock"), "{}", said(&none));
    assert!(!Path::new(&*file).exists(), "nothing is half-written");
    let missing = lockyard(&["record", "--no-host", "--out", &file, "--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(2), "{}", said(&missing));
}

#[test]
fn bad_recordings_get_one_line() {
    let wrong = |name: &str, bytes: &[u8]| {
        let file = fresh(name);
        std::fs::write(&file, bytes).expect("it can be written");
        let shown = file.to_string_lossy();
        let output = lockyard(&["predict", &shown, "-m", "zen4-7840u", "-t", "2"]);
        let text = said(&output);
        let _ = std::fs::remove_file(&file);
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert_eq!(text.lines().count(), 1, "{name}: {text}");
        text
    };
    let about = "{\"writer\":\"w\",\"command\":[],\"seconds\":1,\"cpus\":2,\"locks\":[{\"name\":\"a\",\
                 \"kind\":\"mutex\",\"line\":1}],\"sites\":[\"s\"]}";
    let begun = format!("lockyard-recording 1\n{about}\n");
    let with = |bytes: &[u8]| [begun.as_bytes(), bytes].concat();
    assert!(wrong("empty.recording", b"").contains("empty"));
    assert!(wrong("other.recording", b"\x7fELF").contains("not a recording"));
    assert!(wrong("late.recording", b"lockyard-recording 9\n{}\n").contains("version `9`"));
    assert!(wrong("short.recording", &with(&[])).contains("truncated"));
    assert!(wrong("nothing.recording", &with(&[0, 0])).contains("take no lock"));
    // Two windows of thread 1: at 9 ns, and at 5 ns.
    let back = with(&[1, 1, 9, 0, 0, 1, 1, 5, 0, 0, 0, 0]);
    assert!(wrong("back.recording", &back).contains("the clock went back"));
    // A device has no end.
    let device = fresh("device.recording");
    std::os::unix::fs::symlink("/dev/zero", &device).expect("it can be made");
    let shown = device.to_string_lossy();
    let endless = lockyard(&["predict", &shown, "-m", "zen4-7840u", "-t", "2"]);
    let _ = std::fs::remove_file(&device);
    assert_eq!(endless.status.code(), Some(2), "{}", said(&endless));
    assert!(said(&endless).contains("is not a file"), "{}", said(&endless));
    let scenario = lockyard(&["predict", "fstat2", "-m", "zen4-7840u", "-t", "2", "--what-if"]);
    assert_eq!(scenario.status.code(), Some(2));
    assert!(said(&scenario).contains("no recording"), "{}", said(&scenario));
}

/// Adds the locks that a window leaves held to the locks of its thread.
fn left_held(window: &Window, held: &mut Vec<u32>) {
    for event in &window.events {
        match *event {
            Event::Acquired { lock, .. } => held.push(lock),
            Event::Released { lock, .. } => held.retain(|other| *other != lock),
            _ => {}
        }
    }
}

#[test]
fn events_have_a_budget_for_all_threads_together_and_visits_are_whole() {
    let Some(program) = locks() else { return };
    let file = fresh("budget.recording");
    let (file, program) = (file.to_string_lossy(), program.to_string_lossy());
    // Eight threads take one lock again and again.
    let arguments = ["counts", "1", "8", "1000000"];
    let record = ["record", "--no-host", "--out", &file, "--", &program];
    let recorded = lockyard(&[&record[..], &arguments].concat());
    assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
    let recording = lockyard_recording::file::load(Path::new(&*file)).expect("it is one");
    let in_windows: u64 = recording.windows.iter().map(Window::acquired).sum();
    // One percent of the time, at 80 ns each; a millisecond at the beginning, and the last burst.
    let most = recording.about.seconds * 125_000.0 + 12_500.0 + 2_048.0;
    assert!(in_windows > 500 && (in_windows as f64) < most, "{in_windows} of at most {most}");
    let is_of_the_clock = |note: &String| note.contains("clock went back");
    assert!(!recording.about.notes.iter().any(is_of_the_clock), "{:?}", recording.about.notes);
    // The rest is counted exactly, between the windows.
    let outside = recording.outside().expect("it is nearly all");
    assert!(outside.acquisitions > 4_000_000, "{outside:?}");
    // A window ends where its thread holds nothing, unless the next one continues it.
    let mut held: HashMap<u32, Vec<u32>> = HashMap::new();
    for window in &recording.windows {
        let held = held.entry(window.thread).or_default();
        assert!(window.continues || held.is_empty(), "{window:?}");
        left_held(window, held);
    }
    assert!(held.values().all(Vec::is_empty), "{held:?}");
    let _ = std::fs::remove_file(&*file);
}

/// Returns the command with a separate cache directory, or with none.
fn with_cache(cache: Option<&Path>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(arguments).env_remove("XDG_CACHE_HOME").env_remove("HOME");
    command.envs(cache.map(|cache| ("XDG_CACHE_HOME", cache)));
    command.output().expect("it runs")
}

/// Returns a recording's description of its host: the text of the machine file.
fn host_of(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).expect("there is a recording");
    let line = bytes.split(|byte| *byte == b'\n').nth(1).expect("a second line");
    let about: serde_json::Value = serde_json::from_slice(line).expect("it is JSON");
    about["host"].as_str().map(str::to_owned)
}

#[test]
fn a_host_is_measured_once_and_only_for_programs_with_locks() {
    let Some(program) = locks() else { return };
    let program = program.to_string_lossy().into_owned();
    let (cache, file) = (fresh("cache"), fresh("host.recording"));
    let out = file.to_string_lossy().into_owned();
    let record = |cache: Option<&Path>, seconds: &[&str], program: &[&str]| {
        let options = ["record", "--force", "--out", &out];
        with_cache(cache, &[&options[..], seconds, &["--"], program].concat())
    };
    let counts = [program.as_str(), "counts", "2", "2", "20000"];
    let none = record(Some(&cache), &[], &["true"]);
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    assert!(!cache.exists(), "nothing was measured for a program without locks");
    let first = record(Some(&cache), &["--host-seconds", "1"], &counts);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    let Some(host) = host_of(&file) else {
        lockyard_testing::skip!("this host cannot be measured now: {}", said(&first));
        return;
    };
    let kept = std::fs::read_dir(cache.join("lockyard")).expect("it was made").count();
    assert_eq!(kept, 1);
    let second = record(Some(&cache), &[], &counts);
    assert!(said(&second).contains("the host was measured "), "{}", said(&second));
    assert_eq!(host_of(&file), Some(host.clone()));
    // The user asks for a new measurement. It also works without a cache, and with a cache that
    // cannot be written.
    let device = Path::new("/dev/null");
    for cache in [Some(cache.as_path()), Some(device), None] {
        let again = record(cache, &["--host-seconds", "1"], &counts);
        assert_eq!(again.status.code(), Some(0), "{}", said(&again));
        assert!(!said(&again).contains("the host was measured "), "{}", said(&again));
        assert!(host_of(&file).is_none_or(|found| found != host), "it was measured again");
    }
    let _ = std::fs::remove_dir_all(&cache);
    let _ = std::fs::remove_file(&file);
}

/// Each thread reads its own CPU time and switches, so threads that take no locks are not included.
/// It reads them with its windows, and at its end if it ends before the program.
#[test]
fn each_thread_has_its_own_cpu_time_and_switches() {
    let Some(program) = crate::support::build("cc", "beside.c", &["-O2"]) else { return };
    for how in ["ends", "stays"] {
        let file = fresh("beside.recording");
        let (out, program) = (file.to_string_lossy(), program.to_string_lossy());
        let record = ["record", "--no-host", "--out", &out, "--", &program, how, "0.8"];
        let recorded = lockyard(&record);
        assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
        let printed = String::from_utf8_lossy(&recorded.stdout).into_owned();
        let naps: u64 = printed.trim().parse().expect("a number");
        let about = lockyard_recording::file::load(&file).expect("it is one").about;
        let [first, second] = about.threads[..] else { panic!("{:?}", about.threads) };
        for thread in [first, second] {
            let used = thread.used.expect("each thread reads its own");
            let voluntary = used.switches.voluntary;
            assert!(voluntary <= 10 + naps / 4, "{how}: {used:?}, {naps} naps");
            // Time that a hypervisor takes between the two clock reads may count as CPU time.
            assert!(used.cpu_ns <= used.lived_ns + 50_000_000, "{how}: {used:?}");
            assert!((used.lived_ns as f64 / 1e9) < about.seconds, "{how}: {used:?}");
            if how == "ends" {
                assert_eq!(used.acquired, thread.acquired, "the end is the last reading");
            }
            // A thread that had no window in the second half was not read there.
            assert!(how == "stays" || used.acquired * 2 >= thread.acquired, "{how}: {thread:?}");
            assert!(used.acquired <= thread.acquired, "{how}: {thread:?}");
        }
        let _ = std::fs::remove_file(&file);
    }
    let _ = std::fs::remove_file(&program);
}

/// A thread that spins while it waits is on its CPU. Its sleep afterwards is seen as a whole.
#[test]
fn a_sleep_after_spinning_waits_is_as_long_as_it_was() {
    const SLEEP: u64 = 300_000;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        lockyard_testing::skip!("with one CPU nobody spins while another thread holds the lock");
        return;
    }
    let Some(program) = crate::support::build("cc", "spins.c", &["-O2"]) else { return };
    let file = fresh("spins.recording");
    let (out, path) = (file.to_string_lossy(), program.to_string_lossy());
    let recorded = lockyard(&["record", "--no-host", "--out", &out, "--", &path, "1.5"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
    let windows = lockyard_recording::file::load(&file).expect("it is one").windows;
    let (mut sleeps, mut whole, mut off, mut waits) = (0, 0, 0, 0);
    for event in windows.iter().flat_map(|window| &window.events) {
        match *event {
            Event::OffCpu { time, .. } => off = time,
            Event::Recorder { .. } | Event::Met { .. } => {}
            Event::Released { .. } => off = 0,
            Event::Acquired { after, wait, .. } => {
                waits += u64::from(wait > 10_000);
                if after.saturating_sub(wait) >= SLEEP {
                    sleeps += 1;
                    whole += u64::from(off >= wait + SLEEP * 8 / 10);
                }
                off = 0;
            }
        }
    }
    if sleeps < 5 || waits < 5 * sleeps {
        lockyard_testing::skip!("{sleeps} sleeps and {waits} waits are in windows");
        return;
    }
    // Without the time that waits spin for, a quarter is whole.
    assert!(whole * 10 >= sleeps * 6, "{whole} of {sleeps} sleeps, {waits} waits");
    let _ = std::fs::remove_file(&file);
    let _ = std::fs::remove_file(&program);
}

#[test]
fn a_busy_host_is_said_and_its_time_is_no_lock_s() {
    let Some(program) = crate::support::build("cc", "crowded.c", &["-O2"]) else { return };
    let (file, program) = (fresh("busy.recording"), program.to_string_lossy().into_owned());
    let out = file.to_string_lossy().into_owned();
    let record = ["record", "--no-host", "--out", &out, "--", &program, "9", "3"];
    let recorded = lockyard(&record);
    assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
    if std::fs::read_to_string("/proc/self/schedstat").is_err() {
        lockyard_testing::skip!("the system does not count the waits for a CPU");
        return;
    }
    assert!(said(&recorded).contains("record it again on a quieter"), "{}", said(&recorded));
    let predict = ["predict", &out, "-m", "zen4-7840u", "-t", "1", "--format", "json"];
    let refused = lockyard(&predict);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let json: serde_json::Value = serde_json::from_slice(&refused.stdout).expect("it is JSON");
    let recorded = &json["recorded"];
    let why = recorded["refused"].as_str().expect("it is refused");
    assert!(why.contains("this host gave the program") && why.contains("% of a CPU"), "{why}");
    let share = |name: &str| recorded["today"][name].as_f64().expect("a number");
    // One of ten has the CPU; the section is a tenth of the work, or less.
    assert!(share("share_without_cpu") > 0.7, "{json:#}");
    assert!(share("share_held") < 0.1, "{json:#}");
    let _ = std::fs::remove_file(&file);
}
