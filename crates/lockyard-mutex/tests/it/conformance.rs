//! The checks against the text of POSIX, for the C library and for each kind that replaces its
//! locks. Each check makes a tenth of the repetitions that were made for
//! `docs/evidence/figures/posix.txt`.

use crate::support::{command, example, run, said};

fn passes_all(kind: &str) {
    let output = run(command(&example("conformance"), Some(kind)).arg("--quick"));
    assert!(output.status.success(), "{kind}: {}", said(&output));
}

#[test]
fn the_c_library_passes_all_that_posix_says() {
    let program = example("conformance");
    let list = run(command(&program, None).arg("--list"));
    let list = said(&list);
    let names = list.lines().filter_map(|line| line.split(": ").next());
    let names: Vec<&str> = names.filter(|name| !name.starts_with("beyond-")).collect();
    assert!(names.len() > 40, "{list}");
    let output = run(command(&program, None).arg("--quick").args(names));
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_mutex_passes_all_checks() {
    passes_all("mutex");
}

#[test]
fn the_queued_lock_passes_all_checks() {
    passes_all("queued");
}

#[test]
fn the_ticket_lock_passes_all_checks() {
    passes_all("ticket");
}

#[test]
fn the_parking_queued_lock_passes_all_checks() {
    passes_all("pv-queued");
}

#[test]
fn an_unknown_check_or_library_is_one_line_and_exit_code_2() {
    for (arguments, text) in [
        (&["mutex-x"][..], "conformance: mutex-x: no such check (--list lists them)\n"),
        (&["--table", "no.so"], "conformance: no.so: no such file (the library to preload)\n"),
    ] {
        let output = run(command(&example("conformance"), None).args(arguments));
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(2), text));
    }
}
