//! `lockyard lock-call-path`, and its published table. For each way of calling the lock, each
//! figure has a row, which is measured or has a reason. No test here asserts a speed.

use crate::support::{command as lockyard, text};
use serde_json::Value;
use std::process::Output;

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

const BRIEF: [&str; 7] =
    ["lock-call-path", "--seconds", "0.0005", "--repeats", "6", "--format", "json"];
const WAYS: [&str; 5] = ["inlined", "direct", "indirect", "patched", "nested"];

/// Returns the only row of a variant and a metric.
fn row<'r>(rows: &'r [Value], variant: &str, metric: &str) -> &'r Value {
    let mut found = rows.iter().filter(|row| row["variant"] == variant && row["metric"] == metric);
    let row = found.next().unwrap_or_else(|| panic!("no row of {variant}, {metric}"));
    assert!(found.next().is_none(), "two rows of {variant}, {metric}");
    row
}

/// Asserts that a row is measured, or that its reason begins with one of these texts.
fn measured_or(row: &Value, begins: &[&str]) -> bool {
    match row["status"].as_str().expect("a status") {
        "measured" => {
            assert!(row["measured"].as_f64().expect("a figure") > 0.0, "{row}");
            assert!(row["reason"].is_null(), "{row}");
            true
        }
        "not-modelled" => {
            let reason = row["reason"].as_str().expect("a reason");
            assert!(begins.iter().any(|begin| reason.starts_with(begin)), "{row}");
            assert!(row["measured"].is_null(), "{row}");
            false
        }
        other => panic!("a row of this host is not {other}"),
    }
}

const HERE: [&str; 2] = ["refused here: ", "not available here: "];

#[test]
fn each_way_and_figure_has_a_row_that_is_measured_or_says_why_not() {
    for lock in ["ticket", "queued", "pv-ticket", "pv-queued", "test-and-set"] {
        let document = json(&lockyard(&BRIEF).args(["--lock", lock]).output().expect("it runs"));
        let rows = rows(&document);
        assert_eq!(rows.len(), WAYS.len() * 11);
        for way in WAYS {
            let time = row(rows, way, "wallclock");
            let measured = measured_or(time, &HERE);
            assert!(measured || ["patched", "nested"].contains(&way), "{time}");
            assert_eq!(time["detail"]["measured"]["call_path"]["lock"], lock);
            let nanoseconds = row(rows, way, "time");
            assert_eq!(
                (measured_or(nanoseconds, &HERE), &nanoseconds["unit"]),
                (measured, &"ns".into())
            );
            for metric in ["cpu-cycles", "cpi", "cache-miss-rate", "branch-misses"] {
                measured_or(row(rows, way, metric), &HERE);
            }
        }
        assert_eq!(row(rows, "direct", "wallclock")["measured"], 100.0);
    }
}

/// The table of times comes first. Counters that this host lacks take one sentence.
#[test]
fn the_screen_begins_with_nanoseconds() {
    let arguments = ["lock-call-path", "--seconds", "0.0005", "--repeats", "6"];
    let output = lockyard(&arguments).output().expect("it runs");
    let screen = text(&output.stdout);
    assert!(screen.starts_with("lock-call-path on this-host: time, ns"), "{screen}");
    let sentences = screen.matches("rows have no figure").count();
    assert!(sentences <= 2, "{screen}");
}

/// A hardened process asks the kernel not to make memory executable for it. The call paths that
/// need such memory then have a reason instead of a figure.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn where_code_may_not_be_made_the_other_ways_are_measured() {
    use std::os::unix::process::CommandExt;
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    let mut command = lockyard(&BRIEF);
    let refuse = || {
        // SAFETY: the call sets a flag of the process; the other arguments must be 0, and are.
        match unsafe { libc::prctl(libc::PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call, and nothing else.
    unsafe { command.pre_exec(refuse) };
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return lockyard_testing::skip!("this kernel cannot refuse it: {error}"),
    };
    let document = json(&output);
    let rows = rows(&document);
    for way in WAYS {
        let row = row(rows, way, "wallclock");
        let refused = ["patched", "nested"].contains(&way);
        assert_eq!(measured_or(row, &["refused here: "]), !refused, "{row}");
        if refused {
            assert!(row["reason"].as_str().expect("a reason").contains("mprotect"), "{row}");
        }
    }
}

/// Returns the ten figures that are 100 by definition, and the figures of the other two builds.
fn published(document: &Value) -> (Vec<&Value>, Vec<&Value>) {
    let rows = rows(document);
    assert_eq!(rows.len(), 30);
    let (native, others): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row["variant"] == "native");
    assert_eq!((native.len(), others.len()), (10, 20));
    for row in native {
        assert_eq!(
            (row["status"].as_str(), row["published"].as_f64()),
            (Some("calibration"), Some(100.0))
        );
    }
    (rows.iter().filter(|row| row["variant"] == "native").collect(), others)
}

#[test]
fn the_published_table_has_one_status_for_each_row_also_without_a_measurement() {
    let what = ["reproduce", "lock-call-path", "--no-measure", "--format", "json"];
    let document = json(&lockyard(&what).output().expect("it runs"));
    for row in published(&document).1 {
        assert_eq!(row["status"], "not-modelled");
        assert!(row["reason"].as_str().expect("a reason").contains("not modelled"), "{row}");
    }
}

#[test]
fn the_published_table_is_measured_where_this_host_can() {
    let what = ["reproduce", "lock-call-path", "--format", "json"];
    let document = json(&lockyard(&what).output().expect("it runs"));
    for row in published(&document).1 {
        let measured = measured_or(row, &HERE);
        let here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
        assert!(measured || row["metric"] != "wallclock" || !here, "{row}");
        assert!(row["predicted"].is_null() && row["error"].is_null());
    }
}

#[test]
fn bad_input_is_refused_with_what_is_allowed() {
    for (arguments, expected) in [
        (
            &["lock-call-path", "--lock", "tiket"][..],
            "lockyard: --lock: `tiket`: no such kind of lock; there are ticket, queued, \
             pv-ticket, pv-queued, test-and-set",
        ),
        (
            &["lock-call-path", "--seconds", "-1"][..],
            "lockyard: --seconds is -1; allowed: 0.0001 to 60 seconds",
        ),
        (
            &["measure", "lock-call-path", "--threads", "1"][..],
            "lockyard: `lock-call-path` is not a scenario, because it cannot be simulated; \
             it has a command of its own: `lockyard lock-call-path`",
        ),
        (
            &["predict", "lock-call-path", "--machine", "zen4-7840u", "--threads", "1"][..],
            "lockyard: `lock-call-path` is not a scenario, because it cannot be simulated; \
             it has a command of its own: `lockyard lock-call-path`",
        ),
    ] {
        let output = lockyard(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).starts_with(expected), "{}", text(&output.stderr));
    }
}
