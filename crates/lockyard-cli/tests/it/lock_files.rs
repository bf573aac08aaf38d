//! `lockyard measure --lock FILE`: a lock from a shared object that a C compiler made is measured
//! beside the scenario's own variants. A lock that does not exclude is found wrong. A file without
//! a lock is refused in one line.

use crate::support::{command, lockyard};
use std::path::{Path, PathBuf};
use std::process::Command;

const SCENARIO: &str = "spin-loop/same-node/embedded";
const BRIEF: [&str; 4] = ["--seconds", "0.02", "--repeats", "2"];
const SOURCE: &str = include_str!("../../../../examples/own-lock-c/mine.c");

/// Compiles a source file to a shared object. Returns `None` if there is no C compiler.
fn compile(name: &str, source: &str) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lock-files");
    std::fs::create_dir_all(&directory).expect("there is room");
    let (file, object) =
        (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    std::fs::write(&file, source).expect("there is room");
    let flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
    let output = Command::new("cc").args(flags).arg(&object).arg(&file).output();
    let Ok(output) = output else {
        lockyard_testing::skip!("there is no C compiler `cc`");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(object)
}

fn measure(threads: &str, effort: [&str; 4], files: &[&Path]) -> Command {
    let mut command = command(&["measure", SCENARIO, "--variant", "ticket", "--threads", threads]);
    command.args(effort);
    for file in files {
        command.arg("--lock").arg(file);
    }
    command
}

fn refusal(files: &[&Path]) -> String {
    let output = measure("1", BRIEF, files).output().expect("it runs");
    crate::support::outcomes::refusal(output)
}

#[test]
fn a_lock_written_in_c_is_measured_beside_the_scenario_s_variants() {
    let Some(mine) = compile("mine", SOURCE) else { return };
    let other = SOURCE.replace("\"c-ticket\"", "\"other\"");
    let other = compile("other", &other).expect("it compiled before");
    let mut command = measure("1,2", BRIEF, &[&mine, &other]);
    command.args(["--format", "json"]);
    let document = crate::support::outcomes::json(&command.output().expect("it runs"));
    let rows = document["rows"].as_array().expect("there are rows");
    let variants: Vec<&str> = rows.iter().filter_map(|row| row["variant"].as_str()).collect();
    assert_eq!(variants, ["ticket", "ticket", "c-ticket", "c-ticket", "other", "other"]);
    for row in &rows[2..] {
        assert!(row["measured"].as_f64().is_some_and(|figure| figure > 0.0), "{row}");
        let peer = row["detail"]["measured"]["peer"].as_str().expect("it says where it is from");
        assert!(peer.ends_with(".so: a shared object's lock of 8 bytes, aligned to 4"), "{peer}");
    }
}

#[test]
fn a_lock_without_a_name_has_that_of_its_file_and_may_be_made_and_destroyed() {
    let source = SOURCE.replace("const char lockyard_lock_name[] = \"c-ticket\";", "");
    let source = source.replace("const size_t lockyard_lock_align = _Alignof(struct lock);", "");
    // The lock is free only after `init`, and the program ends if a lock is destroyed in use.
    let source = source.replace("!= ticket)", "!= ticket + 7)");
    let source = format!(
        "{source}\n#include <stdlib.h>\n\
         void lockyard_lock_init(void *memory) {{ ((struct lock *)memory)->owner = 7; }}\n\
         void lockyard_lock_destroy(void *memory) {{\n\
             struct lock *lock = memory;\n\
             if (lock->owner != lock->next + 7) abort();\n}}\n"
    );
    let Some(file) = compile("unnamed", &source) else { return };
    let output = measure("2", BRIEF, &[&file]).output().expect("it runs");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    // A paragraph is wrapped to the terminal.
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("unnamed.so): a shared object's lock of 8 bytes, aligned to 16"),
        "{stdout}"
    );
}

#[test]
fn a_lock_in_c_that_does_not_exclude_is_found_wrong() {
    let source = SOURCE.replace("!= ticket)", "== ~ticket)");
    let Some(file) = compile("broken", &source) else { return };
    // The run ends at the first lost update. If two threads run in parallel, that happens
    // immediately.
    let long = ["--seconds", "1", "--repeats", "30"];
    let output = measure("2", long, &[&file]).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("updates were lost, so its lock did not exclude"), "{stderr}");
}

#[test]
fn a_file_without_a_lock_is_refused_in_one_line() {
    let missing = refusal(&[Path::new("/nowhere/mine.so")]);
    assert!(missing.contains("--lock: /nowhere/mine.so: No such file or directory"), "{missing}");
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let why = refusal(&[&text]);
    assert!(why.contains("Cargo.toml: is not a shared object that can be loaded ("), "{why}");
    let directory = refusal(&[Path::new(env!("CARGO_MANIFEST_DIR"))]);
    assert!(directory.contains("is not a file; allowed: a shared object"), "{directory}");
    for (name, old, new, expected) in [
        (
            "no-unlock",
            "void lockyard_unlock(",
            "void lockyard_unlokc(",
            "has no `lockyard_unlock`; needed are the functions `lockyard_lock` and \
             `lockyard_unlock`, and `const size_t lockyard_lock_size`",
        ),
        (
            "no-size",
            "const size_t lockyard_lock_size",
            "const size_t size",
            "has no `lockyard_lock_size`",
        ),
        ("empty", "= sizeof(struct lock)", "= 0", "`lockyard_lock_size` is 0; allowed: 1 to 4096"),
        ("huge", "= sizeof(struct lock)", "= 1 << 20", "`lockyard_lock_size` is 1048576; allowed"),
        (
            "odd",
            "= _Alignof(struct lock)",
            "= 12",
            "`lockyard_lock_align` is 12; allowed: a power of two, at most 128",
        ),
        ("wide", "= _Alignof(struct lock)", "= 4096", "`lockyard_lock_align` is 4096; allowed"),
        (
            "name",
            "\"c-ticket\"",
            "\"c ticket\"",
            "`c ticket` is no name for a lock; allowed: 1 to 64",
        ),
        (
            "peer",
            "\"c-ticket\"",
            "\"std-mutex\"",
            "a peer has the name `std-mutex`; give the lock another one",
        ),
        (
            "taken",
            "\"c-ticket\"",
            "\"ticket\"",
            "has a variant `ticket` already; give the lock another name by `const char \
             lockyard_lock_name[]`",
        ),
    ] {
        assert!(SOURCE.contains(old), "{old}");
        let Some(file) = compile(name, &SOURCE.replace(old, new)) else { return };
        let why = refusal(&[&file]);
        assert!(why.contains("--lock: ") && why.contains(expected), "{name}: {why}");
    }
    let Some(mine) = compile("twice", SOURCE) else { return };
    assert!(refusal(&[&mine, &mine]).contains("has a variant `c-ticket` already"));
    let no_lock =
        lockyard(&["measure", "fstat2", "-t", "1", "--lock", mine.to_str().expect("text")]);
    let no_lock = crate::support::outcomes::refusal(no_lock);
    assert!(no_lock.contains("`fstat2` has no lock that a peer could replace"), "{no_lock}");
}
