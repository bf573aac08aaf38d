//! Names from outside in every output: of programs, files, locks, functions and recordings. No
//! output has a character from such a name that a terminal obeys, or that changes the direction of
//! the text beside it, and no name is markup.

use crate::support::{build, fresh, profile};
use lockyard_recording::file;
use lockyard_recording::recording::{About, Event, How, LockAbout, Recording, Window};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Letters of a name that a terminal or a document must not obey.
const EVIL: &str = "\u{1b}]0;x\u{7}|<script>alert(1)</script>`\u{202e}\u{9b}\u{200b}\r";

/// Letters that stay as they are: brackets and letters of other scripts.
const GOOD: &str = "（1）【ключ】";

/// Asserts that an output has the name as text.
fn assert_text(output: &[u8], what: &str) -> String {
    let text = String::from_utf8(output.to_vec()).expect("it is text");
    let turns = ['\u{200b}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    let is_evil = |letter: char| {
        letter.is_control() && letter != '\n' && letter != '\t'
            || turns.iter().any(|range| range.contains(&letter))
    };
    let evil = text.char_indices().find(|(_, letter)| is_evil(*letter));
    assert_eq!(evil, None, "{what}: {text}");
    text
}

/// Returns `called.c` under a name, with a lock of that name.
fn evil_program() -> Option<PathBuf> {
    let program = build("cc", "called.c", &["-O1"])?;
    let evil = program.with_file_name(format!("evil{EVIL}{GOOD}").replace("</", "<"));
    let renamed = format!("first_lock=lock{EVIL}{GOOD}");
    let mut command = Command::new("objcopy");
    command.args(["--redefine-sym", &renamed]).arg(&program).arg(&evil);
    match command.output() {
        Ok(output) if output.status.success() => Some(evil),
        other => {
            lockyard_testing::skip!("objcopy cannot rename a symbol: {other:?}");
            None
        }
    }
}

fn lockyard(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("COLUMNS", "1000").env_remove("TERM");
    command.output().expect("it runs")
}

#[test]
fn a_profile_has_names_as_text() {
    let Some(program) = evil_program() else { return };
    let (json, page) = (fresh("evil.json"), fresh("evil.html"));
    let path = |path: &Path| path.to_str().expect("it is text").to_owned();
    let options = ["--report", &path(&page)];
    let output =
        profile(&options, &program, &[EVIL]).env("COLUMNS", "1000").output().expect("runs");
    let text = assert_text(&output.stderr, "the table");
    assert!(text.contains("#1 mutex lock\\u{1b}]0;x\\u{7}|<script>"), "{text}");
    assert!(text.contains("evil\\u{1b}]0;x") && text.contains(GOOD), "{text}");
    let page = assert_text(&std::fs::read(&page).expect("it is there"), "the page");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains(GOOD) && page.contains("\\u{202e}"), "{page}");
    let options = ["--format", "json", "--out", &path(&json)];
    profile(&options, &program, &[EVIL]).output().expect("it runs");
    let text = assert_text(&std::fs::read(&json).expect("it is there"), "JSON");
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    // In JSON an escape means the same.
    assert_eq!(value["command"][1], EVIL);
    assert_eq!(value["processes"][0]["locks"][0]["name"], format!("lock{EVIL}{GOOD}"));
}

/// Returns a recording whose names are somebody else's. Its times are invented: with times of a
/// program that runs beside other tests, each figure might be refused.
fn evil_recording() -> PathBuf {
    let visit = |number: u32| {
        let lock = number % 3;
        let (how, wait) = (How::Waits, 0);
        let acquired = Event::Acquired { after: 900, lock, site: lock % 2, how, wait };
        [acquired, Event::Released { after: 100, lock }]
    };
    let events: Vec<Event> = (0..600).flat_map(visit).collect();
    let window = |thread| Window { thread, events: events.clone(), ..Window::default() };
    let windows: Vec<Window> = (1..3).map(window).collect();
    let lock = |line: u32| LockAbout {
        name: format!("{line}{EVIL}\n# heading{GOOD}"),
        line: line.into(),
        ..LockAbout::default()
    };
    let about = About {
        writer: EVIL.to_owned(),
        command: vec![format!("/bin/evil{EVIL}{GOOD}\n"), EVIL.to_owned()],
        seconds: windows[0].duration() as f64 / 1e9,
        cpus: 2,
        locks: (0..3).map(lock).collect(),
        sites: (0..2).map(|site| format!("site{site}{EVIL}\n")).collect(),
        no_host: Some(format!("none{EVIL}\n")),
        notes: vec![format!("note{EVIL}\nnext")],
        ..About::default()
    };
    let evil = fresh(&format!("evil{GOOD}.recording"));
    std::fs::write(&evil, file::write(&Recording { about, windows })).expect("room");
    evil
}

#[test]
fn a_recording_of_somebody_else_is_text_in_each_format() {
    let recording = evil_recording();
    let (page, svg, trace) = (fresh("evil.html"), fresh("evil.svg"), fresh("evil-trace.json"));
    let path = |path: &Path| path.to_str().expect("it is text").to_owned();
    let (file, page_path, svg_path, trace_path) =
        (path(&recording), path(&page), path(&svg), path(&trace));
    let all = ["predict", &file, "--ungated", "-m", "skylake-client-4c", "-t", "1,2"];
    let refused = lockyard(&[&all[..2], &all[3..]].concat());
    let text = assert_text(&refused.stderr, "the refusal");
    assert!(text.contains(GOOD), "{text}");
    for more in [
        &["--explain"][..],
        &["--locks", "--what-if"],
        &["--explain", "--format", "markdown"],
        &["--what-if", "--format", "markdown"],
        &["--locks", "--what-if", "--format", "csv"],
        &["--what-if", "--format", "json"],
        &["--report", &page_path],
        &["--picture", &svg_path],
        &["--trace", &trace_path],
    ] {
        let output = lockyard(&[&all, more].concat());
        let said = assert_text(&output.stderr, &format!("errors of {more:?}"));
        assert_eq!(output.status.code(), Some(0), "{more:?}: {said}");
        let text = assert_text(&output.stdout, &format!("{more:?}"));
        if more.contains(&"json") {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        } else if !more.contains(&"csv") {
            assert!(text.contains("\\u{1b}") && text.contains("ключ"), "{more:?}: {text}");
        }
        if more.contains(&"markdown") {
            assert_markdown(&text);
        }
    }
    for (file, what) in [(page, "the page"), (svg, "the picture"), (trace, "the trace")] {
        let text = assert_text(&std::fs::read(&file).expect("it is there"), what);
        let is_json = what == "the trace";
        assert!(is_json || !text.contains("<script>alert"), "{what}: {text}");
    }
}

/// Asserts that the tables of a Markdown text are whole, and that no name is HTML or a heading.
fn assert_markdown(text: &str) {
    let mut is_code = false;
    let mut cells = None;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        assert!(!line.contains("<script") && !line.starts_with("# "), "{line}: {text}");
        let bars = line.replace("\\|", "").matches('|').count();
        match (line.starts_with('|'), cells) {
            (true, Some(cells)) => assert_eq!(bars, cells, "{line}"),
            (true, None) => cells = Some(bars),
            (false, _) => cells = None,
        }
    }
    assert!(!is_code, "{text}");
}

#[test]
fn an_error_has_the_name_of_a_file_as_text() {
    let evil = format!("{}/no{EVIL}{GOOD}", fresh("none").display());
    let (name, file) = (format!("mine{GOOD}{EVIL}"), fresh(&format!("bad{GOOD}.toml")));
    std::fs::write(&file, "name = 3\n\u{7f}").expect("there is room");
    let file = file.to_str().expect("it is text");
    let machine = ["-m", "skylake-client-4c", "-t", "1"];
    for arguments in [
        &[&["predict", &evil], &machine[..]].concat()[..],
        &[&["predict", &name], &machine[..]].concat(),
        &[&["predict", file], &machine[..]].concat(),
        &["predict", "open3", "-m", &evil, "-t", "1"],
        &["predict", "open3", "-m", file, "-t", "1"],
        &["predict", "open3", "-m", "skylake-client-4c", "-t", &name],
        &["compare", &evil, &evil],
        &["profile", "--", &evil],
        &["profile", "--out", &evil, "--", "/bin/true"],
        &["record", "--out", &evil, "--", "/bin/true"],
        &["record", "--out", "/dev/null", "--", &evil],
        &["sweep", &evil, "--out", &evil],
        &["merge", &evil],
        &["fit", &evil],
        &["reproduce", "--out", &format!("/dev/null/{evil}")],
        &["scenarios", &name],
        &["machines", &name],
        &[&name],
        &["predict", &format!("--{name}")],
    ] {
        let output = lockyard(arguments);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let said = assert_text(&output.stderr, &format!("{arguments:?}"));
        assert_text(&output.stdout, &format!("{arguments:?}"));
        assert!(said.contains("（1）【ключ】") || !said.contains('（'), "{said}");
    }
    let said = lockyard(&[&["predict", file], &machine[..]].concat());
    assert!(String::from_utf8_lossy(&said.stderr).contains(&format!("{file}:2")), "{said:?}");
}
