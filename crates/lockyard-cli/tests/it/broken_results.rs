//! Result files that are broken by hand, and at random by seed. Each is read, or refused in one
//! line that names the file and a place in it. Nothing panics, hangs, takes unbounded memory, or
//! writes to the terminal.

use crate::support::{Random, lockyard};
use lockyard_results::compare::{Options, compare, load, parse, report};
use lockyard_results::render::Format;
use std::ops::Range;
use std::path::PathBuf;

/// A result file with a measured row, a simulated row, and a row with both.
const FILE: &str = r#"{
  "environment": {
    "cpu": "A Processor",
    "kernel": "6.1",
    "placement": "CPUs 0,1, in this order",
    "seconds": "0.1",
    "warnings": ["one", {"deep": [1, 2]}],
    "warm_up_seconds": 0.02
  },
  "rows": [
    {
      "ci_high": 120.5, "ci_low": 99.0, "detail": {
        "measured": {
          "rounds": [99.0, 101.25, 100.5, 120.5, 100.0],
          "operations_of_each_thread": [10, 11]
        }
      },
      "error": null, "experiment": "e", "machine": "this-host", "measured": 100.5,
      "metric": "throughput",
      "predicted": null, "samples": 5, "status": "measured", "threads": 2, "unit": "op/s",
      "variant": "v"
    },
    {
      "detail": {"simulated": {"machine_hash": "fnv1a-1", "seeds": 5}},
      "experiment": "e", "machine": "m", "measured": null, "metric": "elapsed",
      "predicted": 12.5, "status": "predicted",
      "table": "t", "threads": 24, "unit": "ms", "variant": "w"
    },
    {
      "detail": {"simulated": {"machine_hash": "fnv1a-1", "seeds": 5}, "local_work": {"ns": 3.5},
      "measured": {"rounds": [7, 7, 7, 8, 9]}},
      "experiment": "f", "machine": "m", "measured": 7, "metric": "elapsed", "predicted": 12.5,
      "status": "predicted",
      "table": "t", "threads": 1, "unit": "ms", "variant": "w"
    }
  ],
  "schema": "lockyard-results-2",
  "summary": []
}
"#;

const OPTIONS: Options = Options { threshold: 0.05, anyway: false };

const PIECES: [&str; 28] = [
    "",
    ",",
    ":",
    "\"",
    "\n",
    "[",
    "]",
    "{",
    "}",
    "null",
    "true",
    "0",
    "-1",
    "1e308",
    "1e999",
    "NaN",
    "-0.0",
    "1e-320",
    "99999999999999999999",
    "\\u001b[31m",
    "\u{1b}[31m",
    "\0",
    "\u{feff}",
    "é",
    "\"schema\": \"lockyard-results-3\",",
    "\"rows\": [],",
    "[[[[[[[[[[",
    "{\"detail\":",
];

fn broken(random: &mut Random) -> String {
    let mut text = FILE.to_owned();
    for _ in 0..=random.below(3) {
        let Range { start: begin, end } = random.some_of(&text);
        match random.below(5) {
            0 => text.replace_range(begin..end, ""),
            1 => text.insert_str(begin, PIECES[random.below(PIECES.len())]),
            2 => text.replace_range(begin..end, PIECES[random.below(PIECES.len())]),
            // Copies a piece of the file to another place: a second row, a second field.
            3 => {
                let mut far = (begin + random.below(600)).min(text.len());
                while !text.is_char_boundary(far) {
                    far += 1;
                }
                let piece = text[begin..far].to_owned();
                text.insert_str(far, &piece);
            }
            _ => text.truncate(begin),
        }
    }
    text
}

/// Asserts that an error names the file, and is printable.
fn is_one_line(error: &str, seed: u64) {
    assert!(error.starts_with("r.json:"), "seed {seed}: {error}");
    assert!(!error.contains(char::is_control), "seed {seed}: {error:?}");
    assert!(error.len() < 1000, "seed {seed}: {error}");
}

#[test]
fn a_broken_result_file_is_read_or_refused_with_its_place() {
    let (mut read, mut refused, mut compared) = (0, 0, 0);
    let whole = parse("whole.json", FILE).expect("it is whole");
    for seed in 0..20_000 {
        let text = broken(&mut Random(seed));
        match parse("r.json", &text) {
            Ok(results) => {
                read += 1;
                assert!(!results.figures.is_empty(), "seed {seed}");
                for figure in &results.figures {
                    let fine = |value: f64| (0.0..=1e18).contains(&value);
                    assert!(fine(figure.value), "seed {seed}: {figure:?}");
                    assert!(figure.rounds.iter().all(|&r| r > 0.0 && fine(r)), "seed {seed}");
                    assert!(figure.key.cell.threads != Some(0), "seed {seed}: {figure:?}");
                }
                // A file that was read is also compared, or refused in one line. Only some files
                // are compared, because a comparison takes a while.
                if seed % 16 == 0 {
                    match compare(&whole, &results, OPTIONS) {
                        Ok(comparison) => {
                            compared += 1;
                            let json = report::render(&comparison, Format::Json);
                            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
                        }
                        Err(error) => {
                            let error = error.to_string();
                            assert!(error.starts_with("whole.json and r.json: "), "{error}");
                            assert!(!error.contains(char::is_control), "seed {seed}: {error:?}");
                        }
                    }
                }
            }
            Err(error) => {
                refused += 1;
                is_one_line(&error.to_string(), seed);
            }
        }
    }
    // Both outcomes must occur. A harness that breaks no file, or every file, proves nothing.
    assert!(read > 1000 && refused > 10_000 && compared > 20, "{read} {refused} {compared}");
}

#[test]
fn every_beginning_of_a_result_file_is_refused_as_cut_off() {
    for end in 0..FILE.trim_end().len() {
        let Some(text) = FILE.get(..end) else { continue };
        let error = parse("r.json", text).expect_err("it is not whole").to_string();
        is_one_line(&error, end as u64);
        assert!(error.contains("it is empty or cut off"), "{end}: {error}");
    }
}

/// Returns the error for the file after one replacement.
fn error(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    let error = parse("r.json", &FILE.replacen(from, to, 1)).expect_err("it is broken").to_string();
    is_one_line(&error, 0);
    error.strip_prefix("r.json:").expect("the file").trim_start().to_owned()
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_is_allowed() {
    let line = |text: &str| 1 + FILE.lines().position(|l| l.contains(text)).expect("it is there");
    let rounds = line("rounds");
    let (threads, variant) = (line("\"threads\": 2,"), line("\"variant\": \"v\""));
    let of = |text: &str| format!("{text}: column");
    for (from, to, line, expected) in [
        ("99.0, 101.25", "\"99\", 101.25", rounds, "string \"99\", expected a number, 0 to 1e18"),
        ("99.0, 101.25", "-99, 101.25", rounds, "integer `-99`, expected a number, 0 to 1e18"),
        ("99.0, 101.25", "1e19, 101.25", rounds, "expected a number, 0 to 1e18"),
        ("99.0, 101.25", "1e999, 101.25", rounds, "not JSON: number out of range"),
        ("99.0, 101.25", "NaN, 101.25", rounds, "not JSON: expected value"),
        ("\"threads\": 2,", "\"threads\": 0,", threads, "expected a whole number, 1 to 100000"),
        ("\"threads\": 2,", "\"threads\": 2.5,", threads, "expected a whole number"),
        ("\"variant\": \"v\"", "\"variant\": 7", variant, "expected a text of at most 200 bytes"),
        (
            "\"variant\": \"v\"",
            "\"variant\": \"v\", \"variant\": \"w\"",
            variant,
            "duplicate field `variant`",
        ),
    ] {
        let error = error(from, to);
        assert!(error.starts_with(&of(&line.to_string())), "{line}: {error}");
        assert!(error.contains(expected), "{error}");
    }
    let escape = error("\"variant\": \"v\"", "\"variant\": \"\\u001b[31m\"");
    assert!(escape.contains("without control characters"), "{escape}");
    let missing = error("\"metric\": \"throughput\",", "");
    assert!(missing.contains("missing field `metric`"), "{missing}");
    assert!(error("\"rows\"", "\"lines\"").contains("missing field `rows`"));
    let long = error("\"variant\": \"v\"", &format!("\"variant\": \"{}\"", "x".repeat(100_000)));
    assert!(long.contains("expected a text of at most 200 bytes"), "{long}");
    assert_eq!(
        error("\"measured\": 100.5", "\"measured\": 200.5"),
        "row 1: `measured` is 200.5, and its `rounds` are 99 to 120.5; it must be their \
         median"
    );
}

#[test]
fn schemas_of_other_versions_are_told_from_what_is_no_result_file() {
    let of = |schema: &str| error("\"schema\": \"lockyard-results-2\"", schema);
    assert_eq!(
        of("\"schema\": \"lockyard-results-1\""),
        "its schema is `lockyard-results-1`, which is older than this lockyard's \
         `lockyard-results-2`: run it again, or compare with the lockyard that wrote it"
    );
    assert_eq!(
        of("\"schema\": \"lockyard-results-3\""),
        "its schema is `lockyard-results-3`, which is newer than this lockyard's \
         `lockyard-results-2`: compare with the lockyard that wrote it, or a later one"
    );
    assert_eq!(
        of("\"schema\": \"lockyard-machines-1\""),
        "its schema is `lockyard-machines-1`; allowed: `lockyard-results-2`, what measure, \
         predict and reproduce write"
    );
    assert!(of("\"format\": \"x\"").starts_with("has no `schema`; a result file has `lockyard-"));
    assert!(of("\"schema\": 1").contains("expected a text"));
    // In a file of a newer schema, the rest of the file does not matter.
    let newer = "{\"schema\": \"lockyard-results-9\", \"rows\": {\"not\": \"a list\"}}";
    assert!(parse("r.json", newer).expect_err("newer").to_string().contains("is newer than"));
    for text in ["[]", "7", "\"x\"", "null", "{}", "[{}]"] {
        is_one_line(&parse("r.json", text).expect_err("no result file").to_string(), 0);
    }
}

#[test]
fn hostile_files_are_refused_or_skipped_without_harm() {
    // The nesting is deeper than any stack, once in a part that is read and once in a part that is
    // skipped.
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    is_one_line(&parse("r.json", &deep).expect_err("no object").to_string(), 0);
    let unknown = FILE.replacen("\"summary\": []", &format!("\"summary\": {deep}"), 1);
    assert_eq!(parse("r.json", &unknown).expect("a summary is not read").figures.len(), 4);
    let in_environment = FILE.replacen("\"A Processor\"", &deep, 1);
    match parse("r.json", &in_environment) {
        Ok(results) => assert!(!results.environment.contains_key("cpu")),
        Err(error) => is_one_line(&error.to_string(), 0),
    }
    let in_rows = FILE.replacen("\"rows\": [", &format!("\"rows\": [{deep},"), 1);
    is_one_line(&parse("r.json", &in_rows).expect_err("no row").to_string(), 0);
    // Rounds, environment entries and rows exceed their maximum numbers.
    let rounds = vec!["1"; 1001].join(",");
    let many = FILE.replacen("99.0, 101.25", &rounds, 1);
    let error = parse("r.json", &many).expect_err("too many").to_string();
    assert!(error.contains("a list of more than 1000; no more are allowed"), "{error}");
    let entries: Vec<String> = (0..600).map(|i| format!("\"n{i}\": 1")).collect();
    let many = FILE.replacen("\"cpu\": \"A Processor\"", &entries.join(","), 1);
    let error = parse("r.json", &many).expect_err("too many").to_string();
    assert!(error.contains("an environment of more than 500 entries"), "{error}");
    let row = |i: usize| {
        format!(
            "{{\"experiment\":\"e{i}\",\"machine\":\"m\",\"variant\":\"v\",\"threads\":1,\
             \"metric\":\"t\",\"unit\":\"s\",\"predicted\":1}}"
        )
    };
    let rows: Vec<String> = (0..20_001).map(row).collect();
    let file = |rows: &[String]| {
        format!("{{\"schema\":\"lockyard-results-2\",\"rows\":[{}]}}", rows.join(","))
    };
    assert_eq!(
        parse("r.json", &file(&rows[1..])).expect("as many as allowed").figures.len(),
        20_000
    );
    let error = parse("r.json", &file(&rows)).expect_err("too many").to_string();
    assert!(error.contains("a list of more than 20000"), "{error}");
    let twice = parse("r.json", &file(&[row(1), row(2), row(1)])).expect_err("twice").to_string();
    assert_eq!(
        twice,
        "r.json: row 3: a second simulated figure of e1 on m, v, 1 thread in s; the first is in \
         row 1, one is allowed"
    );
}

/// Writes a file of the test. Returns its path.
fn path(name: &str, bytes: &[u8]) -> String {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("broken-results");
    std::fs::create_dir_all(&directory).expect("there is room");
    let path = directory.join(name);
    std::fs::write(&path, bytes).expect("there is room");
    path.to_str().expect("the path is text").to_owned()
}

/// Returns the error line of a command that refuses its input.
fn refusal(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.trim_end().to_owned()
}

#[test]
fn the_command_refuses_what_is_no_result_file_in_a_line() {
    let good = path("good.json", FILE.as_bytes());
    let bad = |name: &str, bytes: &[u8]| {
        let bad = path(name, bytes);
        let refusals = [refusal(&["compare", &good, &bad]), refusal(&["compare", &bad, &good])];
        assert_eq!(refusals[0], refusals[1], "whichever it is");
        refusals[0].strip_prefix(&format!("lockyard: {bad}:")).expect("the file").to_owned()
    };
    assert!(bad("cut.json", &FILE.as_bytes()[..700]).contains("it is empty or cut off"));
    assert!(bad("empty.json", b"").starts_with("1: ends in the middle"));
    assert_eq!(bad("binary.json", b"{\n\xff\xfe"), "2: not UTF-8 text; a result file is JSON");
    assert!(bad("csv.json", b"experiment,machine\n").starts_with("1: column 1: not JSON: "));
    assert!(bad("older.json", FILE.replace("results-2", "results-1").as_bytes()).contains("older"));
    assert!(bad("newer.json", FILE.replace("results-2", "results-3").as_bytes()).contains("newer"));
    assert!(refusal(&["compare", &good, "none.json"]).contains("there is no file `none.json`"));
    assert!(refusal(&["compare", env!("CARGO_TARGET_TMPDIR"), &good]).ends_with(": is not a file"));
    // The file is sparse: it has this size, but takes no disk space.
    let huge = path("huge.json", b"");
    let file = std::fs::OpenOptions::new().write(true).open(&huge).expect("it was made above");
    file.set_len(1 << 40).expect("a sparse file");
    let refused = refusal(&["compare", &good, &huge]);
    std::fs::remove_file(&huge).expect("it was made above");
    assert!(refused.ends_with("huge.json: is larger than 33554432 bytes"), "{refused}");
    #[cfg(unix)]
    for endless in ["/dev/zero", "/dev/stdin"] {
        assert!(refusal(&["compare", &good, endless]).ends_with(": is not a file"), "{endless}");
    }
}

#[test]
fn a_file_that_is_read_is_compared_with_itself() {
    let good = path("itself.json", FILE.as_bytes());
    assert_eq!(load(good.as_ref()).expect("it is whole").figures.len(), 4);
    let output = lockyard(&["compare", &good, &good]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
