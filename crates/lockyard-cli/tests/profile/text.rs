//! Names from outside in every output: of programs, files, locks, functions and recordings. No
//! output has a character of theirs that a terminal obeys, or that changes the direction of what
//! stands beside it, and none of them is markup.

use crate::support::{build, fresh, locks, profile};
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

/// Returns a recording of `locks.c` whose names are somebody else's.
fn evil_recording() -> Option<PathBuf> {
    let program = locks()?;
    let plain = fresh("plain.recording");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(["record", "--no-host", "--out"]).arg(&plain).arg("--").arg(&program);
    let output = command.args(["counts", "2", "2", "20000"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&plain).expect("it is there");
    let lines: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let (first, second) = (lines[0] + 1, lines[1]);
    let mut about: Value = serde_json::from_slice(&bytes[first..second]).expect("it is JSON");
    for (index, lock) in about["locks"].as_array_mut().expect("a list").iter_mut().enumerate() {
        lock["name"] = format!("{index}{EVIL}\n# heading{GOOD}").into();
    }
    for site in about["sites"].as_array_mut().expect("a list") {
        *site = format!("site{EVIL}\n").into();
    }
    about["command"] = vec![format!("/bin/evil{EVIL}{GOOD}\n"), EVIL.to_owned()].into();
    about["notes"] = vec![format!("note{EVIL}\nnext")].into();
    about["writer"] = EVIL.into();
    let evil = fresh(&format!("evil{GOOD}.recording"));
    let about = about.to_string().into_bytes();
    std::fs::write(&evil, [&bytes[..first], &about, &bytes[second..]].concat()).expect("room");
    Some(evil)
}

#[test]
fn a_recording_of_somebody_else_is_text_in_each_format() {
    let Some(recording) = evil_recording() else { return };
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
