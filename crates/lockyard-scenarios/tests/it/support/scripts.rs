//! Texts of scripts, and the errors of broken ones.

use lockyard_scenarios::Script;

/// The section `[run]` of [`GOOD`].
pub(crate) const RUN: &str = "[run]\nmean_over = 5.0";
/// A shipped script.
pub(crate) const GOOD: &str = include_str!("../../../../../scenarios/open3.toml");

/// A script with as few fields as possible.
pub(crate) const LEAST: &str = r#"
name = "mine"
[[objects]]
name = "m"
kind = "lock"
lock = "queued"
[[steps]]
do = "lock"
object = "m"
[[steps]]
do = "work"
ns = 300
[[steps]]
do = "unlock"
object = "m"
[[variants]]
name = "queued"
"#;

/// Returns the error of a broken script. It is one line.
pub(crate) fn error_of(text: &str) -> String {
    let error = Script::parse("s.toml", text).expect_err("it is broken").to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

/// Returns a script with objects of each kind except tables, and with these steps.
pub(crate) fn with_steps(steps: &str) -> String {
    format!(
        r#"name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
objects = [
    {{ name = "lock", kind = "lock", lock = "ticket", line = "a" }},
    {{ name = "other", kind = "lock", lock = "test-and-set", line = "a" }},
    {{ name = "rw", kind = "lock", lock = "rwlock", line = "a" }},
    {{ name = "ref", kind = "lockref", lock = "ticket", line = "b" }},
    {{ name = "word", kind = "word", line = "c" }},
    {{ name = "data", kind = "data", line = "c" }},
    {{ name = "page", kind = "page", page = "xadd", line = "d" }},
]
steps = [{steps}]
variants = [
    {{ name = "v", title = "v" }},
    {{ name = "w", title = "w", set = [{{ object = "lock", lock = "test-and-set" }}] }},
]
[placement]
order = "siblings-last"
"#
    )
}
