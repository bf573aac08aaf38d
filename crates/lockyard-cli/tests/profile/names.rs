//! Names of locks, functions and programs: from the sources, and from the program's command line.

use crate::support::{build, fresh, json_of, lock, process};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

#[test]
fn locks_and_functions_of_one_letter_have_their_names() {
    // Without lines, the symbol names the function; with them, the debug information. It may be
    // compressed, or in separate files.
    for options in
        [&["-O2"][..], &["-O2", "-g"], &["-O2", "-g", "-gz"], &["-O2", "-g", "-gsplit-dwarf"]]
    {
        let Some(program) = build("cc", "letters.c", options) else { return };
        let (_, profile) = json_of(&program, &[]);
        for name in ["m", "a", "b", "l", "c", "St"] {
            let lock = lock(process(&profile), name);
            assert_eq!(lock["acquisitions"], 100, "{name}");
            let site = &lock["sites"][0];
            assert_eq!(site["function"], "w", "{name}: {lock:#}");
            let text = site["text"].as_str().expect("a text");
            let has_line = text.starts_with("w (letters.c:");
            assert_eq!(has_line, options.len() > 1, "{options:?}: {site:#}");
        }
    }
}

/// Returns the names of the processes that took locks.
fn names(profile: &Value) -> Vec<&str> {
    let processes = profile["processes"].as_array().expect("a list");
    processes.iter().map(|process| process["name"].as_str().expect("a text")).collect()
}

#[test]
fn a_program_has_the_name_by_which_it_was_called() {
    let Some(program) = build("cc", "called.c", &["-O1"]) else { return };
    let file = program.file_name().expect("a name").to_str().expect("it is text");
    let (_, profile) = json_of(&program, &[]);
    assert_eq!(names(&profile), [file]);
    // A link, as for programs whose name selects their function.
    let link = fresh("redis-server");
    symlink(&program, &link).expect("there is room");
    let called = link.file_name().expect("a name").to_str().expect("it is text");
    let (_, profile) = json_of(&link, &[]);
    assert_eq!(names(&profile), [called]);
    assert_eq!(process(&profile)["program"], program.to_str().expect("it is text"));
    // A name of the caller's choice, with and without a path.
    for (given, expected) in [("other-name", "other-name"), ("/no/such/other", "other")] {
        let (_, profile) = json_of(&program, &["as", given]);
        assert_eq!(names(&profile), [expected]);
    }
    // Without any name, the file's name is used.
    let (_, profile) = json_of(&program, &["as", ""]);
    assert_eq!(names(&profile), ["exe"]);
}

#[test]
fn a_script_has_its_own_name() {
    let Some(program) = build("cc", "called.c", &["-O1"]) else { return };
    for option in ["", " an-option"] {
        let script = fresh("script.sh");
        std::fs::write(&script, format!("#!{}{option}\n", program.display())).expect("room");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let (_, profile) = json_of(&script, &[]);
        assert_eq!(names(&profile), [script.file_name().expect("a name").to_str().expect("text")]);
    }
}

#[test]
fn a_child_has_the_name_of_its_thread() {
    let Some(program) = build("cc", "called.c", &["-O1"]) else { return };
    let (_, profile) = json_of(&program, &["child", "worker-7"]);
    assert_eq!(names(&profile), ["worker-7"]);
    // A child without its own name has the program's name, however long.
    let Some(program) = build("cc", "mapped.c", &["-O1"]) else { return };
    let long = fresh("a-program-with-a-long-name");
    std::fs::rename(&program, &long).expect("it is ours");
    let (_, profile) = json_of(&long, &["zero"]);
    assert_eq!(names(&profile), [long.file_name().expect("a name").to_str().expect("text")]);
}

/// Returns the only lock of a profile.
fn only_lock(profile: &Value) -> &Value {
    let locks = process(profile)["locks"].as_array().expect("a list");
    assert_eq!(locks.len(), 1, "{profile:#}");
    &locks[0]
}

/// Returns a library whose lock has this name.
fn module(name: &str) -> Option<std::path::PathBuf> {
    build("cc", "module.c", &["-O1", "-shared", "-fPIC", &format!("-DNAME={name}")])
}

#[test]
fn the_names_of_a_file_are_those_of_the_file_that_was_mapped() {
    let (Some(program), Some(first), Some(other)) =
        (build("cc", "mapped.c", &["-O1"]), module("first_name"), module("other_name"))
    else {
        return;
    };
    let of = |path: &Path, then: &str| {
        let path = path.to_str().expect("it is text");
        json_of(&program, &["library", path, &then.replace("PATH", path)]).1
    };
    let kept = fresh("line\nend（1）.so");
    std::fs::copy(&first, &kept).expect("there is room");
    let profile = of(&kept, "true");
    assert_eq!(only_lock(&profile)["name"], "first_name");
    assert_eq!(only_lock(&profile)["sites"][0]["function"], "w");
    // Another file has the library's path: its names would be wrong.
    for then in ["rm PATH", &format!("rm PATH && cp {} PATH", other.display())] {
        let copy = fresh("copy.so");
        std::fs::copy(&first, &copy).expect("there is room");
        let profile = of(&copy, then);
        let name = only_lock(&profile)["name"].as_str().expect("a text").to_owned();
        let begin = copy.file_name().expect("a name").to_str().expect("text");
        assert!(name.starts_with(&format!("{begin}+0x")), "{then}: {name}");
    }
}

#[test]
fn memory_of_no_file_and_of_any_file_is_named_at_once() {
    let Some(program) = build("cc", "mapped.c", &["-O1"]) else { return };
    let of = |arguments: &[&str]| json_of(&program, arguments).1;
    for (kind, name) in [("zero", Value::Null), ("memfd", "memfd:shared+0x80".into())] {
        let profile = of(&[kind]);
        assert_eq!(only_lock(&profile)["acquisitions"], 100, "{kind}");
        assert_eq!(only_lock(&profile)["name"], name, "{kind}");
    }
    for then in [
        "true",
        "truncate -s 3G PATH",
        "rm PATH",
        "rm PATH; mkfifo PATH",
        "rm PATH; ln -s /dev/zero PATH",
        "rm PATH; mkdir PATH",
        "truncate -s 0 PATH",
    ] {
        let file = fresh("mapped");
        // The file begins like a program, so it is read further.
        std::fs::copy(&program, &file).expect("there is room");
        let path = file.to_str().expect("it is text");
        let profile = of(&["file", path, &then.replace("PATH", path)]);
        assert_eq!(only_lock(&profile)["acquisitions"], 100, "{then}");
        let _ = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file));
    }
}
