//! Programs in C and C++, and wrong choices.

use crate::support::{KINDS, command, run, said};
use lockyard_testing::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program, if there is a compiler.
pub(crate) fn compile(compiler: &str, name: &str, options: &[&str]) -> Option<PathBuf> {
    if !Command::new(compiler).arg("--version").output().is_ok_and(|out| out.status.success()) {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutex-{name}.program"));
    let mut command = Command::new(compiler);
    command.args(options).args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
    let output = run(command.arg(&program).arg(source));
    assert!(output.status.success(), "{}", said(&output));
    Some(program)
}

/// Runs a program with the C library and with each kind.
pub(crate) fn prints(program: &Path, text: &str) {
    for kind in [None].into_iter().chain(KINDS.map(Some)) {
        let output = run(&mut command(program, kind));
        assert!(output.status.success() && said(&output) == text, "{kind:?}: {}", said(&output));
    }
}

#[test]
fn cleanup_handlers_of_c_find_the_mutex_locked() {
    let Some(program) = compile("cc", "cancel.c", &["-std=gnu11"]) else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "cancelled\n");
}

#[test]
fn the_cxx_standard_library_works() {
    let Some(program) = compile("c++", "standard.cc", &["-std=c++17"]) else {
        return skip!("there is no C++ compiler (c++)");
    };
    prints(&program, "37492500 1 0 1\n");
}

#[test]
fn an_allocator_and_a_constructor_may_lock() {
    let Some(program) = compile("cc", "allocator.c", &["-std=gnu11", "-fno-builtin"]) else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "4001 1\n");
}

#[test]
fn an_allocator_may_initialise_a_mutex_during_the_search() {
    let options = ["-std=gnu11", "-fno-builtin", "-foptimize-sibling-calls"];
    let Some(program) = compile("cc", "search.c", &options) else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "0 1\n");
}

#[test]
fn handlers_of_a_fork_that_were_registered_first_may_unlock() {
    let Some(program) = compile("cc", "fork_handlers.c", &["-std=gnu11"]) else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "0 of 5 children failed\n");
}

#[test]
fn a_real_time_thread_waits_for_one_of_a_lower_priority() {
    let Some(program) = compile("cc", "real_time.c", &["-std=gnu11"]) else {
        return skip!("there is no C compiler (cc)");
    };
    if said(&run(&mut command(&program, None))) == "refused\n" {
        return skip!("this user may not have threads with real-time priorities");
    }
    prints(&program, "done\n");
}

#[test]
fn a_deadline_passes_when_the_clock_is_set() {
    let Some(program) = compile("cc", "clock.c", &["-std=gnu11"]) else {
        return skip!("there is no C compiler (cc)");
    };
    for kind in KINDS {
        if kind == "pv-queued" {
            // The thread sleeps until then. The kernel uses its own clock: an absolute time on the
            // real-time clock (FUTEX_WAIT_BITSET, FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME).
            let output = run(command(&program, Some(kind)).arg("action"));
            assert_eq!(said(&output), "0x189\n");
        } else {
            let output = run(&mut command(&program, Some(kind)));
            assert_eq!(said(&output), "110\n", "{kind}");
        }
    }
}

#[test]
fn an_unknown_kind_is_one_line_and_exit_code_2() {
    let output = run(&mut command(Path::new("/bin/true"), Some("futex")));
    let text = "lockyard: LOCKYARD_LOCK=futex: there is no such lock (mutex, queued, ticket, \
                pv-queued)\n";
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(2), text));
    let output = run(&mut command(Path::new("/bin/true"), Some("")));
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
}
