//! `lockyard predict` and `lockyard machines`: explanations, sensitivity, placement, checks,
//! refusals.

use crate::support::{lockyard, optimised};
use serde_json::Value;

fn text(arguments: &[&str]) -> String {
    let output = optimised(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("it is text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--format", "json"]].concat())).expect("it is JSON")
}

/// Returns the one line with which bad input is refused.
fn refusal(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    errors
}

const FSTAT2: [&str; 6] =
    ["predict", "fstat2", "--machine", "cascade-lake-2s24c2t", "--variant", "lockref-pause"];

#[test]
fn an_explanation_names_the_dominating_cost() {
    let arguments = [&FSTAT2[..], &["--threads", "24", "--explain"]].concat();
    let table = text(&arguments);
    assert!(table.contains("cycles of all threads: working "), "{table}");
    let json = json(&arguments);
    let detail = &json["rows"][0]["detail"]["simulated"];
    let costs = &detail["costs"];
    assert_eq!(costs["dominating_cost"], "failed compare-exchange");
    let explanation = costs["explanation"].as_str().expect("it is a text");
    assert!(table.split_whitespace().collect::<Vec<_>>().join(" ").contains(explanation));
    let shares = costs["share"].as_object().expect("it is an object");
    let names: Vec<&str> = shares.keys().map(String::as_str).collect();
    assert_eq!(names, ["draining_stores", "moving_lines", "waiting", "working"]);
    let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let mut lines = costs["lines"].as_array().expect("it is a list").iter();
    let entry = lines.find(|line| line["line"] == "entry").expect("it is a line");
    assert!(entry["failed_exchanges_per_success"].as_f64().expect("it is a number") > 1.0);
    assert!(detail["waits"]["p50_ns"].is_number(), "{detail}");
    assert!(detail["waits"]["p999_ns"].is_number(), "{detail}");
    assert!(detail["fairness"]["jain"].is_number(), "{detail}");
}

/// Returns the rows of a listing: names, and shares in per cent, of `field`.
fn listing<'j>(json: &'j Value, field: &str) -> Vec<(&'j str, f64)> {
    let rows = json["rows"].as_array().expect("there are rows");
    let of = rows.iter().filter_map(|row| {
        let name = row["metric"].as_str()?.strip_prefix("cpu-share:")?;
        assert_eq!(row["unit"], "%");
        let share = &row[field];
        Some((name, share.as_f64().or_else(|| share["value"].as_f64()).expect("a number")))
    });
    of.collect()
}

#[test]
fn an_attribution_is_a_listing_by_region_that_adds_up() {
    let loops = ["predict", "spin-loop/same-node/embedded", "--machine", "westmere-ex-4s10c"];
    let arguments = [&loops[..], &["--variant", "qspinlock", "--threads", "8"]].concat();
    assert!(!text(&arguments).contains("share of CPU time"), "it was not asked for");
    let arguments = [&arguments[..], &["--attribution"]].concat();
    assert!(text(&arguments).contains("share of CPU time"));
    let json = json(&arguments);
    let listing = listing(&json, "predicted");
    assert!((listing.iter().map(|(_, share)| share).sum::<f64>() - 100.0).abs() < 1e-9);
    assert_eq!(listing[0].0, "lock-wait", "{listing:?}");
    assert!(listing[0].1 > 80.0 && listing.iter().any(|(name, _)| *name == "lock-hold"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_measured_attribution_is_a_listing_too() {
    let brief = ["--threads", "1", "--seconds", "0.05", "--repeats", "3", "--attribution"];
    let arguments = [&["measure", "fstat2", "--variant", "lockref"][..], &brief].concat();
    let json = json(&arguments);
    let listing = listing(&json, "measured");
    assert!((listing.iter().map(|(_, share)| share).sum::<f64>() - 100.0).abs() < 1e-6);
    // An operation of the script has 300 ns of work, and two changes of a word.
    assert_eq!(listing[0].0, "system", "{listing:?}");
}

#[test]
fn sensitivity_gives_an_interval_around_the_figure_and_names_an_input() {
    let arguments = [&FSTAT2[..], &["--threads", "8", "--sensitivity"]].concat();
    let json = json(&arguments);
    let row = &json["rows"][0];
    let sensitivity = &row["detail"]["simulated"]["sensitivity"];
    let number = |range: &str, end: &str| sensitivity[range][end].as_f64().expect("a number");
    let predicted = row["predicted"].as_f64().expect("it is a number");
    assert!(number("range", "low") < predicted && predicted < number("range", "high"));
    let (low, high) = (number("single", "low"), number("single", "high"));
    assert!(low < predicted && predicted < high);
    let change = (1.0 - low / predicted).max(high / predicted - 1.0);
    let effects = sensitivity["effects"].as_array().expect("it is a list");
    let effect = |input: &str, change: &str| {
        let found = effects.iter().find(|effect| effect["input"] == input);
        found.expect("it is an input")[change].as_f64().expect("it is a number")
    };
    let clock = effect("clock.ghz", "less").abs().max(effect("clock.ghz", "more").abs());
    assert!((change - clock).abs() < 1e-9, "the largest change is that of the first input");
    assert_eq!(sensitivity["most_sensitive_to"], "clock.ghz");
    assert!(effect("family.scale", "more") < -0.1);
    assert_eq!(effect("cycles.socket_leg", "more"), 0.0, "one socket only");
}

#[test]
fn a_prediction_depends_on_where_the_tasks_run() {
    let at = |placement: &str| {
        let arguments = [&FSTAT2[..], &["--threads", "2", "--placement", placement]].concat();
        let json = json(&arguments);
        assert!(json["environment"]["placement"].is_string());
        json["rows"][0]["predicted"].as_f64().expect("it is a number")
    };
    assert_eq!(at("siblings-last"), at("0,1"));
    assert_eq!(at("fill"), at("0,48"));
    assert_eq!(at("spread"), at("0,24"));
    assert!(at("spread") < at("siblings-last"), "another socket is farther");
    assert_eq!(at("unpinned"), at("unpinned"), "the same seeds, the same places");
}

#[test]
fn a_published_figure_stands_beside_a_prediction_for_its_own_places_only() {
    let published = |placement: &[&str], threads: &str| {
        let json = json(&[&FSTAT2[..], &["--threads", threads], placement].concat());
        json["rows"][0]["published"].is_number()
    };
    assert!(published(&[], "2"));
    assert!(published(&["--placement", "siblings-last"], "2"));
    assert!(published(&["--placement", "0,1"], "2"), "the same places, in other words");
    assert!(published(&["--placement", "fill"], "1"), "the first task is where it was");
    assert!(!published(&["--placement", "fill"], "2"));
    assert!(!published(&["--placement", "0,24"], "2"));
    assert!(!published(&["--placement", "unpinned"], "2"));
}

#[test]
fn what_siblings_share_is_an_interval_where_they_run() {
    let note = "how much of a line's ownership SMT siblings share is not settled";
    let arguments = |threads| [&FSTAT2[..], &["--threads", threads]].concat();
    assert!(text(&arguments("96")).contains(note));
    assert!(!text(&arguments("48")).contains(note));
}

#[test]
fn wrong_placements_are_refused_in_one_line() {
    let with = |threads, placement| {
        refusal(&[&FSTAT2[..], &["--threads", threads, "--placement", placement]].concat())
    };
    assert!(with("2", "fil").contains("`fil` is not a placement; did you mean `fill`?"));
    assert!(with("2", "0,96").contains("no hardware thread 96; allowed: 0 to 95"));
    assert!(with("2", "3,3").contains("lists hardware thread 3 twice"));
    assert!(with("3", "0,1").contains("3 threads on hardware threads 0,1; allowed: 1 to 2"));
}

/// Each example script, one variant of it, and that variant's largest cost at 24 threads.
const EXAMPLES: [(&str, &str, &str); 4] = [
    ("memcached-cache-lock.toml", "queued", "critical section"),
    ("objects-by-number.toml", "counted", "hand-over"),
    ("session-references.toml", "queued", "hand-over"),
    ("setting-beside-a-counter.toml", "one-line", "false sharing"),
];

#[test]
fn the_example_scenarios_run() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios");
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .expect("there are examples")
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, ..)| name));
    for (name, variant, expected) in EXAMPLES {
        let path = format!("{directory}/{name}");
        let at = ["--machine", "cascade-lake-2s24c2t", "--threads", "24", "--explain"];
        let json = json(&[&["predict", &path], &at[..]].concat());
        let rows = json["rows"].as_array().expect("there are rows");
        let row = rows.iter().find(|row| row["variant"] == variant).expect("it has the variant");
        assert_eq!(row["detail"]["simulated"]["costs"]["dominating_cost"], expected, "{name}");
    }
}

#[test]
fn machines_are_shown_with_a_picture_and_checked_on_figures_that_are_no_inputs() {
    let shown = text(&["machines", "show", "cascade-lake-2s24c2t"]);
    assert!(shown.contains("| socket 1: NUMA node 1"), "{shown}");
    assert!(shown.contains("hardware threads 24-47 and 72-95"), "{shown}");
    assert!(shown.contains("Family: intel-mesh"), "{shown}");
    let json = json(&["machines", "check", "cascade-lake-2s24c2t"]);
    let rows = json["rows"].as_array().expect("there are rows");
    let find = |name: &str| rows.iter().find(|row| row["figure"] == name).expect("it is there");
    assert_eq!(find("ping_pong_same_socket")["input"], true);
    for (name, is_input, most) in
        [("load_modified_remote_homed_writer", true, 0.02), ("load_memory_remote", false, 0.1)]
    {
        let load = find(name);
        assert_eq!(load["input"], is_input, "{load}");
        assert!(load["error"].as_f64().expect("it is simulated").abs() < most, "{load}");
    }
    let all = text(&["machines", "check"]);
    assert!(all.contains("figures that are not inputs: median |error|"), "{all}");
    assert!(refusal(&["machines", "check", "casacde"]).contains("there is no machine `casacde`"));
}

#[test]
fn what_a_machine_file_notes_every_command_that_uses_it_repeats() {
    let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("noted");
    std::fs::create_dir_all(&directory).expect("there is room");
    let file = directory.join("noted.toml");
    let shipped = include_str!("../../../../machines/skylake-client-4c.toml");
    let noted = shipped.replacen("title = ", "notes = [\"its hand-overs change\"]\ntitle = ", 1);
    std::fs::write(&file, noted).expect("there is room");
    let file = file.to_str().expect("it is text");
    let predict = ["predict", "fstat2", "--machine", file, "--threads", "1"];
    assert!(text(&predict).contains("Note on skylake-client-4c: its hand-overs change."));
    assert_eq!(json(&predict)["environment"]["machine_notes"], "its hand-overs change");
    let show = ["machines", "show", file];
    assert!(text(&show).contains("Notes\n  its hand-overs change\n"), "{}", text(&show));
    assert_eq!(json(&show)["environment"]["notes"][0], "its hand-overs change");
    let check = ["machines", "check", file];
    assert!(text(&check).contains("Note: its hand-overs change"));
    let notes = &json(&check)["environment"]["machine_notes"]["skylake-client-4c"];
    assert_eq!(notes[0], "its hand-overs change");
}

#[test]
fn a_figure_has_an_interval_and_the_errors_of_its_kind_beside_it() {
    let arguments = [&FSTAT2[..], &["--threads", "2,96"]].concat();
    let document = json(&arguments);
    let rows = document["rows"].as_array().expect("there are rows");
    for row in rows {
        let simulated = &row["detail"]["simulated"];
        let end = |name: &str| simulated["interval"][name].as_f64().expect("it is a number");
        let figure = row["predicted"].as_f64().expect("it is predicted");
        assert!(end("low") < figure && figure < end("high"), "{simulated}");
        assert!(end("high") - end("low") > 0.1 * figure, "the inputs matter: {simulated}");
        let evidence = &simulated["evidence"];
        let siblings = evidence["kind"].as_str().expect("it is text").ends_with("siblings in use");
        assert_eq!(siblings, row["threads"] == 96);
        let error = |name: &str| evidence[name].as_f64().expect("it is a number");
        assert!(error("median_abs_error") < error("p90_abs_error") && evidence["cells"].is_u64());
    }
    let text = text(&arguments);
    let stated = text.matches("this model's median error is ").count();
    assert_eq!((rows.len(), stated), (2, 2), "one sentence for each kind: {text}");
    assert!(text.contains("They do not bound the error."), "{text}");
    // Cells with published figures have their own errors instead.
    let reproduced = json(&["reproduce", "fstat2", "--no-measure"]);
    let simulated = &reproduced["rows"][0]["detail"]["simulated"];
    assert!(simulated["range"].is_object() && simulated["interval"].is_null(), "{simulated}");
    assert!(simulated["evidence"].is_null());
}
