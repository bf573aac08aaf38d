//! `lockyard predict` of several recordings of one program. The recordings are a committed
//! recording with one thread, and recordings with copies of that thread.

use crate::support::folders::directory;
use crate::support::{optimised, text};
use lockyard_recording::recording::{Recording, Window};
use lockyard_recording::runs::{Run, Runs};
use lockyard_recording::{file, runs};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Rates of the program, without the recorder.
const RATES: &str =
    "threads,operations_per_second\n1,172463\n1,172690\n1,173319\n2,323171\n4,573632\n";

/// Predicted rate with 8 threads, and the error of the gate.
const EIGHT: u64 = 995_314;
const ERROR: &str = "+0.094";

fn hosts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts/emerald-rapids-16-programs")
}

/// Returns a recording of `stream` with this many threads.
fn recording(threads: u32) -> Recording {
    let mut of = file::load(&hosts().join("stream-1.recording")).expect("it is committed");
    let machine = std::fs::read_to_string(hosts().join("machine.toml"));
    of.about.host = Some(machine.expect("it is committed"));
    // The thread that begins and ends the program takes few locks.
    let one = of.windows.clone();
    let copy = |number: u32| {
        one.iter()
            .map(move |window| Window { thread: number << 16 | window.thread, ..window.clone() })
    };
    of.windows = (0..threads).flat_map(copy).collect();
    of
}

/// Writes recordings with 1, 2 and 4 threads, all of them in one file, and the rates.
fn folder(test: &str) -> PathBuf {
    let folder = directory("several", test);
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("there is room");
    };
    let mut all = Vec::new();
    for (threads, rates) in
        [(1, vec![172463.0, 172690.0, 173319.0]), (2, vec![323171.0]), (4, vec![573632.0])]
    {
        let recording = recording(threads);
        write(&format!("s-{threads}.rec"), &file::write(&recording));
        all.push(Run { threads: threads as usize, rates, recording });
    }
    let command = ["./kinds", "stream", "{threads}"].map(str::to_owned);
    let all = Runs::of(command.to_vec(), all).expect("they are one program's");
    write("all.recording", &runs::write(&all));
    write("rates.csv", RATES.as_bytes());
    folder
}

/// Runs `predict` with files of a directory.
fn predict(folder: &Path, files: &[&str], more: &[&str]) -> Output {
    let path = |name: &&str| folder.join(name).to_string_lossy().into_owned();
    let files: Vec<String> = files.iter().map(path).collect();
    let mut arguments = vec!["predict"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(["-m", "host"]);
    arguments.extend(more);
    optimised(&arguments)
}

fn json(output: &Output) -> Value {
    let error = || panic!("{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| error())
}

/// Returns the predicted figures, rounded.
fn figures(document: &Value) -> Vec<(u64, String, u64)> {
    let rows = document["rows"].as_array().expect("a list").iter();
    let is_figure = |row: &&Value| row["metric"] == "throughput";
    let figure = |row: &Value| {
        let variant = row["variant"].as_str().expect("a name").to_owned();
        let predicted = row["predicted"].as_f64().expect("a figure").round();
        (row["threads"].as_u64().expect("a number"), variant, predicted as u64)
    };
    rows.filter(is_figure).map(figure).collect()
}

#[test]
fn a_file_of_several_and_several_files_are_one_prediction() {
    let folder = folder("same");
    let rates = folder.join("rates.csv").to_string_lossy().into_owned();
    let more = ["-t", "1,4,8", "--format", "json"];
    let files = ["s-4.rec", "s-1.rec", "s-2.rec"];
    let joined = json(&predict(&folder, &files, &[&more[..], &["--rates", &rates]].concat()));
    let one = json(&predict(&folder, &["all.recording"], &more));
    assert_eq!(figures(&joined), figures(&one));
    assert_eq!(joined["gate"], one["gate"]);
    // The measured rates, and the growth beyond them. The program did 985,732 with 8 threads.
    let name = || "recorded".to_owned();
    assert_eq!(figures(&one), [(1, name(), 172_690), (4, name(), 573_632), (8, name(), EIGHT)]);
    let (gate, growth) = (&one["gate"], &one["growth"]);
    assert_eq!((gate["from"].to_string(), gate["to"].as_u64()), ("[1,2]".to_owned(), Some(4)));
    let error = gate["error"].as_f64().expect("a number");
    assert_eq!(format!("{error:+.3}"), ERROR, "{gate:#}");
    assert_eq!((&growth["law"], &growth["unit"]), (&"threads".into(), &"operations/s".into()));
    let outside = &growth["parts"][0];
    assert!(outside["lock"].is_null() && outside["not_explained_ns"].as_f64() > Some(100.0));
    assert_eq!(growth["parts"][1]["sites"][0].as_str().map(|site| &site[..9]), Some("do_stream"));
    assert_eq!(one["recorded"]["growth"], *growth);
}

#[test]
fn the_error_of_the_gate_and_what_grows_come_first() {
    let folder = folder("screen");
    let shown = text(&predict(&folder, &["all.recording"], &["-t", "8"]).stdout);
    let place = |what: &str| shown.find(what).unwrap_or_else(|| panic!("{what}: {shown}"));
    let parts = [
        "kinds: locks do not hold it back today",
        "How far to believe it: 4 threads from 1 and 2: +",
        "Gate: passed. 4 threads from 1 and 2: +",
        "outside of locks: +",
        "Where the time goes today",
    ];
    assert!(parts.map(place).is_sorted(), "{shown}");
    assert!(shown.contains("from 1 to 4 threads, not explained by locks: caches"), "{shown}");
    let one = text(&predict(&folder, &["s-1.rec"], &["-t", "8"]).stdout);
    assert!(one.contains("What grows with threads was not measured"), "{one}");
}

#[test]
fn a_refused_prediction_has_the_growth_and_names_of_its_own() {
    let folder = folder("refused");
    // Four threads do the same as one thread.
    let rates = RATES.replace("573632", "172463");
    std::fs::write(folder.join("rates.csv"), rates).expect("there is room");
    let rates = folder.join("rates.csv").to_string_lossy().into_owned();
    let more = ["-t", "8", "--format", "json", "--rates", &rates];
    let files = ["s-1.rec", "s-2.rec", "s-4.rec"];
    let refused = predict(&folder, &files, &more);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(said.contains("the prediction of 4 threads from 1 and 2: +"), "{said}");
    assert_eq!(json(&refused)["gate"]["passed"], false);
    let ungated = predict(&folder, &files, &[&more[..], &["--ungated", "--what-if"]].concat());
    let names: Vec<String> = figures(&json(&ungated)).into_iter().map(|of| of.1).collect();
    assert_eq!(names[..2], ["recorded/not-gated", "hold-halved/not-gated"]);
    assert!(names[1..].iter().all(|name| !name.starts_with("recorded")), "{names:?}");
}

#[test]
fn recordings_and_rates_that_do_not_belong_together_are_refused() {
    let folder = folder("wrong");
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let wrong = |files: &[&str], more: &[&str]| {
        let found = predict(&folder, files, &[&["-t", "8"], more].concat());
        assert_eq!(found.status.code(), Some(2), "{}", text(&found.stderr));
        text(&found.stderr).trim_end().to_owned()
    };
    std::fs::copy(file("s-2.rec"), file("again.rec")).expect("there is room");
    let said = wrong(&["s-1.rec", "s-2.rec", "again.rec"], &[]);
    assert!(
        said.ends_with(
            "s-2.rec: two recordings with 2 threads; allowed: one for each number of threads"
        ),
        "{said}"
    );
    let mut other = recording(4);
    other.about.command = vec!["other".to_owned()];
    std::fs::write(file("other.rec"), file::write(&other)).expect("there is room");
    let said = wrong(&["s-1.rec", "other.rec"], &[]);
    assert!(
        said.contains("other.rec: records `other`, and ") && said.contains("`kinds`"),
        "{said}"
    );
    let said = wrong(&["s-1.rec", "all.recording"], &[]);
    assert!(said.contains("all.recording: has 3 recordings; allowed: alone"), "{said}");
    let write = |text: &str| std::fs::write(folder.join("r.csv"), text).expect("there is room");
    let rates = file("r.csv");
    for (rows, right) in [
        ("threads,rate\n", "r.csv:1: `threads,rate`; the header must be"),
        ("threads,operations_per_second\n1,5\n0,5\n", "r.csv:3: `threads` is `0`; allowed"),
        ("threads,operations_per_second\n3,5\n", "r.csv: no rate of a recorded number of threads"),
    ] {
        write(rows);
        let said = wrong(&["s-1.rec", "s-2.rec"], &["--rates", &rates]);
        assert!(said.contains(right), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let said = wrong(&["s-1.rec"], &["--rates", &rates]);
    assert!(said.contains("is one recording; allowed: with recordings of several"), "{said}");
    let scenario = optimised(&["predict", "open3", "-m", "zen4-7840u", "--rates", &rates]);
    assert!(text(&scenario.stderr).contains("--rates: `open3` is no recording"));
}
