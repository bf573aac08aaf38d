//! `lockyard measure --peers`: every peer is measured in addition to the scenario's own variants,
//! and peers can be chosen by name. A request that cannot be measured or simulated is refused in
//! one line. No test here asserts a speed.

use crate::support::lockyard;
use lockyard_measure::peers;
use serde_json::Value;
use std::path::PathBuf;

const SCENARIO: &str = "spin-loop/same-node/embedded";

fn json(arguments: &[&str]) -> Value {
    crate::support::outcomes::json(&lockyard(&[arguments, &["--format", "json"]].concat()))
}

fn refusal(arguments: &[&str]) -> String {
    crate::support::outcomes::refusal(lockyard(arguments))
}

/// Returns the variants of the metric's rows only, because rows of listings name variants again.
fn variants(document: &Value) -> Vec<String> {
    let rows = document["rows"].as_array().expect("there are rows");
    let of_the_metric = rows.iter().filter(|row| row["metric"] == "throughput");
    of_the_metric.map(|row| row["variant"].as_str().expect("it has a variant").to_owned()).collect()
}

const BRIEF: [&str; 4] = ["--seconds", "0.02", "--repeats", "2"];

#[test]
fn every_peer_is_measured_beside_the_scenario_s_variants() {
    let arguments = [
        "measure",
        SCENARIO,
        "--threads",
        "2",
        "--variant",
        "ticket",
        "--peers",
        "--relative-to",
        "bare",
    ];
    let document = json(&[&arguments[..], &BRIEF[..]].concat());
    let all = peers::parse(peers::ALL).expect("they are there");
    // Locks with readers are for scenarios that have some.
    let mutexes = all.iter().map(|peer| peer.name).filter(|name| !name.ends_with("-rwlock"));
    let expected: Vec<&str> = std::iter::once("ticket").chain(mutexes).collect();
    assert_eq!(variants(&document), expected);
    let cpus: usize = document["environment"]["cpus"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a number");
    for row in document["rows"].as_array().expect("rows") {
        let (name, detail) = (row["variant"].as_str().expect("a name"), &row["detail"]["measured"]);
        assert!(detail["fairness"]["jain"].is_number(), "{name}");
        // On a busy host, a thread may not run at all in such a short pass.
        let waits = &detail["waits"];
        if let Some(count) = waits["count"].as_u64() {
            assert!(
                count > 0
                    && waits["p999_ns"].is_u64() == (count >= 10_000)
                    && waits["maximum_ns"].is_u64(),
                "{name}"
            );
        }
        // At most 6 windows are measured, and only if both threads can run in parallel.
        let windows = detail["longest_wait"]["windows"].as_u64().unwrap_or(0);
        assert!(if cpus >= 2 { windows <= 6 } else { windows == 0 }, "{name}: {windows}");
        assert_eq!(detail["longest_wait"]["ns"].is_number(), windows > 0, "{name}");
        match all.iter().find(|peer| peer.name == name) {
            Some(peer) => assert_eq!(detail["peer"], format!("{}: {}", peer.from, peer.what)),
            None => assert!(detail["peer"].is_null(), "{name}"),
        }
    }
}

#[test]
fn peers_can_be_chosen() {
    let arguments = [
        "measure",
        SCENARIO,
        "--threads",
        "1",
        "--variant",
        "ticket",
        "--attribution",
        "--peers=std-mutex, bare",
    ];
    let document = json(&[&arguments[..], &BRIEF[..]].concat());
    assert_eq!(variants(&document), ["ticket", "bare", "std-mutex"], "in the order of the table");
    // Without the option no peer is measured.
    let arguments = ["measure", SCENARIO, "--threads", "1", "--variant", "ticket"];
    assert_eq!(variants(&json(&[&arguments[..], &BRIEF[..]].concat())), ["ticket"]);
}

#[test]
fn the_longest_waits_are_set_beside_those_of_the_fastest_peer() {
    let arguments =
        ["measure", SCENARIO, "--threads", "2", "--variant", "ticket", "--peers=bare,spin"];
    let output = lockyard(&[&arguments[..], &BRIEF[..]].concat());
    let text = String::from_utf8(output.stdout).expect("it is text");
    for expected in [
        "Longest waits on 2 threads, beside those of spin, the peer with the highest throughput",
        "Longest wait of the pass: at most ",
        "spin (spin 0.12.3): test-and-set with a read-only inner loop, spinning",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_misspelt_peer_is_answered_with_the_nearest() {
    let arguments = |list| ["measure", SCENARIO, "--threads", "1", list];
    assert_eq!(
        refusal(&arguments("--peers=bare,std-mutx")),
        "lockyard: --peers: there is no peer `std-mutx`; did you mean `std-mutex`?"
    );
    let all: Vec<&str> =
        peers::parse(peers::ALL).expect("they are there").iter().map(|p| p.name).collect();
    assert_eq!(
        refusal(&arguments("--peers=")),
        format!("lockyard: --peers: there is no peer ``; there are: {}", all.join(", "))
    );
}

#[test]
fn a_scenario_without_a_lock_of_its_own_has_no_place_for_a_peer() {
    for scenario in ["fstat2", "page-ref"] {
        let why = refusal(&["measure", scenario, "--threads", "1", "--peers"]);
        let expected = format!(
            "lockyard: --peers: scenario `{scenario}` has no lock that a peer could replace; \
             allowed: scenarios with an object of kind `lock`, such as \
             spin-loop/same-node/standalone, "
        );
        assert!(why.starts_with(&expected), "{why}");
    }
}

#[test]
fn a_peer_is_not_simulated_and_no_variant() {
    let expected = "lockyard: `std-mutex` is a peer (from std of Rust 1.95), \
                    native code that only a real host can run: \
                    lockyard measure SCENARIO --peers=std-mutex";
    let machine = ["--machine", "cascade-lake-2s24c2t", "--threads", "2", "--variant", "std-mutex"];
    assert_eq!(refusal(&[&["predict", SCENARIO], &machine[..]].concat()), expected);
    let variant = ["measure", SCENARIO, "--threads", "1", "--variant", "std-mutex"];
    assert_eq!(refusal(&variant), expected);
    assert_eq!(refusal(&[&variant[..], &["--peers"]].concat()), expected);
}

#[test]
fn a_script_whose_variant_is_called_as_a_peer_is_told_so() {
    let script = include_str!("../../../../scenarios/spin-loop-same-node-embedded.toml");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers");
    std::fs::create_dir_all(&directory).expect("there is room");
    let path = directory.join("mine.toml");
    std::fs::write(&path, script.replace("name = \"mcs\"", "name = \"spin\""))
        .expect("there is room");
    let path = path.to_str().expect("it is text");
    let why = refusal(&["measure", path, "--threads", "1", "--peers"]);
    assert!(why.contains("has a variant `spin` already; rename it, or name the peers"), "{why}");
    // Under that name the scenario's own lock is measured, not the peer's.
    let arguments = ["measure", path, "--threads", "1", "--variant", "spin", "--peers=bare"];
    let document = json(&[&arguments[..], &BRIEF[..]].concat());
    assert_eq!(variants(&document), ["spin", "bare"]);
    assert!(document["rows"][0]["detail"]["measured"]["peer"].is_null());
}
