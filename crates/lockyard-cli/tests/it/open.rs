//! `predict --open`: requests that come from outside, beside the closed loop.

use crate::support::{lockyard, optimised, text};
use serde_json::Value;

/// Runs `predict` of a program of `hosts/emerald-rapids-16-programs` on its host.
fn predict(program: &str, more: &[&str]) -> std::process::Output {
    let hosts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hosts/emerald-rapids-16-programs");
    let (file, machine) =
        (format!("{hosts}/{program}-1.recording"), format!("{hosts}/machine.toml"));
    let of = ["predict", &file, "-m", "host", "--host-machine", &machine, "--ungated"];
    optimised(&[&of[..], more].concat())
}

#[test]
fn a_server_says_what_it_reaches_and_how_long_requests_wait() {
    let found = predict("server", &["-t", "4", "--open", "40000", "-f", "json"]);
    let document: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let open = &document["recorded"]["open"][0];
    assert_eq!((&open["threads"], &open["saturated"]), (&4.into(), &false.into()), "{open:#}");
    let begun = open["begun_per_s"].as_f64().expect("a rate");
    assert!((begun / 40_000.0 - 1.0).abs() < 0.05, "{open:#}");
    assert!(open["share_busy"].as_f64() < Some(0.5), "{open:#}");
    assert!(open["waits"]["p99_ns"].as_u64() > open["waits"]["p50_ns"].as_u64(), "{open:#}");
    // The closed loop's figure is beside it.
    let rows = document["rows"].as_array().expect("a list");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["variant"].as_str()).collect();
    assert_eq!(names, ["recorded", "open"]);
}

#[test]
fn more_than_it_can_do_is_said_plainly() {
    let found = predict("server", &["-t", "2", "--open", "5e6"]);
    let screen = text(&found.stdout);
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("saturated. 5,000,000 requests/s come, and at most"), "{screen}");
}

#[test]
fn wrong_rates_are_refused_in_a_line() {
    let wrong = |program: &str, rate: &str| {
        let output = predict(program, &["-t", "1", "--open", rate]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    for rate in ["0", "-5", "many", "NaN", "inf", "2e9", ""] {
        let allowed = format!("--open: `{rate}`; allowed: requests a second, from 1 to 1000000000");
        assert!(wrong("server", rate).contains(&allowed), "{rate}");
    }
    let busy = wrong("stream", "1000");
    assert!(busy.contains("--open: the threads of kinds sleep for input for"), "{busy}");
    let scenario = lockyard(&["predict", "open3", "-m", "zen4-7840u", "-t", "1", "--open", "10"]);
    assert_eq!(scenario.status.code(), Some(2));
    assert!(text(&scenario.stderr).contains("--open: `open3` is no recording"));
}
