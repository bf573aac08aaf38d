//! The checks by the text of POSIX, of the C library and of each kind that replaces its locks.

use crate::support::{KINDS, command, example, run, said};

#[test]
fn the_c_library_passes_all_that_posix_says() {
    let program = example("conformance");
    let list = run(command(&program, None).arg("--list"));
    let list = said(&list);
    let names = list.lines().filter_map(|line| line.split(": ").next());
    let names: Vec<&str> = names.filter(|name| !name.starts_with("beyond-")).collect();
    assert!(names.len() > 40, "{list}");
    let output = run(command(&program, None).args(names));
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn each_kind_passes_all_checks() {
    for kind in KINDS {
        let output = run(&mut command(&example("conformance"), Some(kind)));
        assert!(output.status.success(), "{kind}: {}", said(&output));
    }
}
