//! `lockyard machines detect`: this host and recorded ones in every format, with only the CPUs that
//! the process may use. Also the description of the host in results.

use crate::support::lockyard;
use serde_json::Value;
use std::path::PathBuf;

fn printed(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

#[test]
fn this_host_is_described_in_every_format() {
    let document = json(&["machines", "detect"]);
    assert_eq!(document["schema"], "lockyard-host-1");
    let allowed = document["host"]["topology"]["allowed"].as_str().expect("a list of CPUs");
    for (format, expected) in [
        ("table", format!("┆ {allowed} ")),
        ("markdown", format!("| {allowed} ")),
        ("csv", "CPUs,that the process may use,".to_owned()),
    ] {
        let text = printed(&["machines", "detect", "--format", format]);
        assert!(text.contains(&expected), "{format}: {text}");
    }
    for warning in document["warnings"].as_array().expect("a list") {
        let table = printed(&["machines", "detect"]);
        assert!(warning["what"].is_string() && warning["to_do"].is_string(), "{warning}");
        // The load may have changed in between.
        if !["load", "steal"].iter().any(|changing| warning["name"] == *changing) {
            assert!(table.contains(warning["to_do"].as_str().expect("a text")), "{table}");
        }
    }
}

#[test]
fn only_cpus_that_the_process_may_use_are_counted() {
    let all = lockyard_measure::cpus::Cpus::allowed();
    let last = all.cpu(all.len() - 1);
    // A child process inherits the affinity of the thread that starts it.
    let document = std::thread::spawn(move || {
        lockyard_measure::cpus::pin(last).then(|| json(&["machines", "detect"]))
    })
    .join()
    .expect("the thread ends");
    let Some(document) = document else {
        return lockyard_testing::skip!("threads cannot be pinned here");
    };
    assert_eq!(document["host"]["topology"]["allowed"], last.to_string());
    let warnings = document["warnings"].as_array().expect("a list");
    let named = |name: &str| warnings.iter().any(|warning| warning["name"] == name);
    assert!(named("few-cpus"), "{warnings:?}");
    if all.len() > 1 && document["host"]["topology"]["online"].is_string() {
        assert!(named("affinity"), "{warnings:?}");
    }
}

#[test]
fn a_recorded_host_is_described_from_its_directory() {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded-host");
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("there is room");
        std::fs::write(path, text).expect("there is room");
    };
    put("sys/devices/system/cpu/online", "0-63\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("proc/self/status", "Cpus_allowed_list:\t0-63\n");
    let root = root.to_str().expect("the path is text");
    let text = printed(&["machines", "detect", "--root", root]);
    assert!(text.contains("┆ 0-63 ") && text.contains("not available here"), "{text}");
    assert!(text.contains("governor: The frequency governor is powersave"), "{text}");
    assert_eq!(
        text,
        printed(&["machines", "detect", "--root", root]),
        "nothing of this host in it"
    );
}

#[test]
fn a_directory_that_is_no_recorded_host_is_refused() {
    for root in [env!("CARGO_TARGET_TMPDIR"), "no-such-directory"] {
        let output = lockyard(&["machines", "detect", "--root", root]);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).expect("it is text");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains("has no directory `sys` or `proc`"), "{stderr}");
    }
}

#[test]
fn measured_results_name_the_warnings_that_were_printed_and_simulated_ones_have_none() {
    let brief = ["--threads", "1", "--variant", "ticket", "--seconds", "0.01", "--repeats", "1"];
    let output = lockyard(&[&["measure", "controls", "--format", "json"][..], &brief[..]].concat());
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    let named = document["environment"]["warnings"].as_str().expect("a text");
    for name in named.split(',').filter(|name| !["none", "clock"].contains(name)) {
        assert!(stderr.contains(&format!(" [{name}]\n")), "{name} in {stderr}");
    }
    for line in stderr.lines() {
        assert!(line.starts_with("warning: "), "{line}");
    }
    let predicted = json(&[
        "predict",
        "fstat2",
        "--machine",
        "cascade-lake-2s24c2t",
        "--threads",
        "1",
        "--variant",
        "lockref",
    ]);
    let environment = predicted["environment"].as_object().expect("an object");
    for name in ["cpu", "cpus", "kernel", "governor", "load_at_start", "warnings"] {
        assert!(!environment.contains_key(name), "{name}: a simulation has no host");
    }
}
