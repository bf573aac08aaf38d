//! `lockyard sweep` and `lockyard merge`: counts, shards, ends by signals, errors, and the page.

use crate::support::folders::directory;
use crate::support::{command, lockyard, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const SCENARIO: &str = "name = \"s\"\n[[objects]]\nname = \"m\"\nkind = \"lock\"\nlock = \"queued\"\n\
                        [[steps]]\ndo = \"lock\"\nobject = \"m\"\n[[steps]]\ndo = \"work\"\n\
                        ns = 100\n[[steps]]\ndo = \"unlock\"\nobject = \"m\"\n[[variants]]\n\
                        name = \"queued\"\n[[variants]]\nname = \"ticket\"\n\
                        set = [{ object = \"m\", lock = \"ticket\" }]\n";

const PLAN: &str = "scenarios = \"s.toml\"\nmachines = \"zen4-7840u\"\nthreads = [1, 2, 4]\n\
                    seeds = \"1-4\"\nruns = \"quick\"\n[parameters]\nsteps.work.ns = [50, 100]\n";

/// Number of cells of the plan.
const CELLS: usize = 2 * 3 * 4 * 2;

/// Makes a directory with the plan. Returns it, and the path of the plan.
fn plan(name: &str) -> (PathBuf, String) {
    let directory = directory("sweep", name);
    fs::write(directory.join("s.toml"), SCENARIO).expect("there is room");
    fs::write(directory.join("p.toml"), PLAN).expect("there is room");
    let plan = directory.join("p.toml").to_str().expect("it is text").to_owned();
    (directory, plan)
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().expect("it is text").to_owned()
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn shards_merge_to_the_file_of_one_process() {
    let (directory, plan) = plan("shards");
    assert_eq!(succeeds(&lockyard(&["sweep", &plan, "--count"])), format!("{CELLS}\n"));
    let count = lockyard(&["sweep", &plan, "--count", "--shard", "5/5"]);
    assert_eq!(succeeds(&count), "9\n");
    let (whole, parts) = (path(&directory, "whole"), path(&directory, "parts"));
    let done = succeeds(&lockyard(&["sweep", &plan, "--out", &whole, "-j", "2"]));
    assert_eq!(done, format!("{CELLS} cells: {CELLS} computed, 0 were there\n"));
    for shard in ["3/4", "1/4", "4/4", "2/4"] {
        succeeds(&lockyard(&["sweep", &plan, "--out", &parts, "--shard", shard]));
    }
    for name in ["a.json", "a.csv"] {
        let [a, b] = [&whole, &parts].map(|from| {
            let out = path(&directory, &format!("{}-{name}", from.rsplit('/').next().unwrap()));
            succeeds(&lockyard(&["merge", from, "--out", &out]));
            fs::read(out).expect("it is there")
        });
        assert_eq!(a, b, "{name}");
    }
}

#[test]
fn a_killed_sweep_goes_on_without_a_loss() {
    let (directory, plan) = plan("killed");
    let (whole, out) = (path(&directory, "whole"), path(&directory, "out"));
    succeeds(&lockyard(&["sweep", &plan, "--out", &whole]));
    let mut kills = 0;
    let begin = Instant::now();
    loop {
        let mut child = command(&["sweep", &plan, "--out", &out, "-j", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        std::thread::sleep(Duration::from_millis(8 + 3 * kills));
        if child.try_wait().expect("it is a child").is_some() {
            break;
        }
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        kills += 1;
        assert!(begin.elapsed() < Duration::from_secs(120), "it never ends");
    }
    succeeds(&lockyard(&["sweep", &plan, "--out", &out]));
    for name in ["whole", "out"] {
        let to = path(&directory, &format!("{name}.json"));
        succeeds(&lockyard(&["merge", &path(&directory, name), "--out", &to]));
    }
    let read = |name: &str| fs::read(directory.join(name)).expect("it is there");
    assert_eq!(read("whole.json"), read("out.json"), "after {kills} kills");
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_says_what_is_done() {
    let (directory, plan) = plan("interrupted");
    let many = PLAN.replace("1-4", "1-2000");
    fs::write(&plan, many).expect("there is room");
    let out = path(&directory, "out");
    let child = command(&["sweep", &plan, "--out", &out, "-j", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let cells = directory.join("out/cells");
    let begin = Instant::now();
    while fs::read_dir(&cells).map_or(0, Iterator::count) < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never begins");
        std::thread::sleep(Duration::from_millis(2));
    }
    // SAFETY: the call signals a process that was started here and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!(output.status.code(), Some(130));
    let why = text(&output.stderr);
    assert!(why.contains("of 24000 cells are done; the same command goes on"), "{why}");
    let left = fs::read_dir(&cells).expect("it is there");
    let left = left
        .filter(|e| e.as_ref().expect("an entry").file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "no temporary file is left");
}

#[test]
fn a_merge_of_a_part_names_what_is_missing() {
    let (directory, plan) = plan("missing");
    let (out, to) = (path(&directory, "out"), path(&directory, "a.csv"));
    succeeds(&lockyard(&["sweep", &plan, "--out", &out, "--shard", "1/2"]));
    let output = lockyard(&["merge", &out, "--out", &to]);
    assert_eq!(output.status.code(), Some(1));
    let why = text(&output.stderr);
    let missing =
        format!("{} of {CELLS} cells are missing: cell 1 (s on zen4-7840u, queued, ", CELLS / 2);
    assert!(why.contains(&missing), "{why}");
    assert!(why.contains("; `lockyard sweep` computes them"), "{why}");
    let file = fs::read_to_string(&to).expect("it is there");
    assert_eq!(file.lines().count(), 1 + CELLS / 2, "the file has the others");
}

#[test]
fn wrong_input_is_one_line_and_code_2() {
    let (directory, plan) = plan("wrong");
    let out = path(&directory, "out");
    let wrong_plan = path(&directory, "q.toml");
    fs::write(&wrong_plan, PLAN.replace("zen4", "zen9")).expect("there is room");
    let html = path(&directory, "a.html");
    let wrong: [(&[&str], &str); 7] = [
        (&["sweep", &wrong_plan, "--count"], "q.toml:2:12: there is no machine `zen9-7840u`"),
        (&["sweep", "none.toml", "--count"], "none.toml: there is no such file"),
        (&["sweep", &plan], "--out"),
        (&["sweep", &plan, "--count", "--shard", "3/2"], "--shard is `3/2`; allowed: I/N"),
        (
            &["sweep", &plan, "--out", &out, "--shard", "1/2", "--report", &html],
            "--report: a shard has a part of the cells",
        ),
        (&["merge", &out, "--out", "a.csv"], "is not the directory of a sweep"),
        (
            &["merge", &path(&directory, "none"), "--out", "a.csv"],
            "is not the directory of a sweep",
        ),
    ];
    for (arguments, expected) in wrong {
        let output = lockyard(arguments);
        let why = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {why}");
        assert!(why.contains(expected) && why.lines().count() == 1, "{arguments:?}: {why}");
    }
    succeeds(&lockyard(&["sweep", &plan, "--out", &out]));
    let output = lockyard(&["merge", &out, "--out", &path(&directory, "a.txt")]);
    assert!(text(&output.stderr).contains("the name of the file gives no format; allowed: *.json"));
    // Rows from another version of the program are not accepted.
    let bundle = directory.join("out/plan.json");
    let text_of = fs::read_to_string(&bundle).expect("it is there");
    let program = text_of.split("\"program\": \"").nth(1).and_then(|rest| rest.split('"').next());
    let other = text_of.replace(program.expect("it has one"), "0.0.1");
    fs::write(&bundle, other).expect("there is room");
    let output = lockyard(&["merge", &out, "--out", &path(&directory, "b.csv")]);
    assert_eq!(output.status.code(), Some(2));
    let why = text(&output.stderr);
    assert!(why.contains("the rows were computed by lockyard 0.0.1, and this is"), "{why}");
}

#[test]
fn the_page_has_maps_and_lines() {
    let (directory, plan) = plan("page");
    let (out, html) = (path(&directory, "out"), path(&directory, "a.html"));
    succeeds(&lockyard(&["sweep", &plan, "--out", &out, "--report", &html]));
    let page = fs::read_to_string(&html).expect("it is there");
    for part in ["best variant", "by threads", "by steps.work.ns", "lockyard-sweep-1"] {
        assert!(page.contains(part), "{part}");
    }
    let to = path(&directory, "a.json");
    let again = path(&directory, "b.html");
    succeeds(&lockyard(&["merge", &out, "--out", &to, "--report", &again]));
    assert_eq!(page, fs::read_to_string(&again).expect("it is there"));
}
