//! C programs that do things that POSIX leaves open and glibc tolerates, or that common programs
//! do. They end in the same way with each kind.

use crate::programs::{compile, prints};
use crate::support::{KINDS, built, command, run, said};
use lockyard_testing::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

fn program(name: &str) -> Option<PathBuf> {
    compile("cc", name, &["-std=gnu11"])
}

#[test]
fn a_cancelled_thread_leaves_each_wait() {
    let Some(program) = program("cancelled_anywhere.c") else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "400 0 0 0\n");
}

#[test]
fn a_handler_that_waits_leaves_the_wait_that_it_interrupts_as_it_was() {
    let Some(program) = program("handlers_that_wait.c") else {
        return skip!("there is no C compiler (cc)");
    };
    // With the spinlocks, 2,000 threads that contend for one mutex take too long.
    for kind in [None, Some("mutex"), Some("pv-queued")] {
        assert_eq!(said(&run(&mut command(&program, kind))), "1 1 1 2000\n", "{kind:?}");
    }
}

/// Only this processor's library can return from a handler.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_that_a_handler_ends_while_it_returns_from_a_wait_has_the_mutex() {
    let Some(program) = program("exits_while_returning.c") else {
        return skip!("there is no C compiler (cc)");
    };
    // Threads cannot leave the queues of `queued` and `ticket`, whose waiters do not sleep. The C
    // library has not acquired the mutex there.
    for kind in ["mutex", "pv-queued"] {
        assert_eq!(said(&run(&mut command(&program, Some(kind)))), "40 40 1 1\n", "{kind}");
    }
}

/// As above.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_that_a_handler_ends_leaves_its_wait() {
    let Some(program) = program("exits_in_handler.c") else {
        return skip!("there is no C compiler (cc)");
    };
    for kind in [None, Some("mutex")] {
        assert_eq!(said(&run(&mut command(&program, kind))), "90 30 0 0\n", "{kind:?}");
    }
    // Threads cannot leave the queues of these kinds.
    for kind in ["queued", "ticket", "pv-queued"] {
        let output = run(command(&program, Some(kind)).arg("conditions"));
        assert_eq!(said(&output), "30 30 0 0\n", "{kind}");
    }
}

#[test]
fn a_thread_whose_handler_jumps_out_of_a_wait_may_end() {
    let Some(program) = program("jumps_out.c") else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "20\n");
}

#[test]
fn the_child_of_a_fork_without_handlers_has_no_waiters() {
    let Some(program) = program("bare_fork.c") else {
        return skip!("there is no C compiler (cc)");
    };
    // The C library's error-checking mutexes do not know the child, nor do its recursive ones.
    for kind in KINDS {
        let output = run(&mut command(&program, Some(kind)));
        assert_eq!(said(&output), "3\n", "{kind}");
    }
}

#[test]
fn a_filter_of_system_calls_finds_those_of_the_c_library_only() {
    let Some(program) = program("filter.c") else {
        return skip!("there is no C compiler (cc)");
    };
    for way in ["here", "there", "before"] {
        if said(&run(command(&program, None).arg(way))) == "refused\n" {
            return skip!("this kernel has no filters of system calls");
        }
        for kind in KINDS {
            let output = run(command(&program, Some(kind)).arg(way));
            assert_eq!(said(&output), "done\n", "{kind}, {way}: {:?}", output.status);
        }
    }
}

#[test]
fn threads_that_end_give_back_what_they_had_and_no_key_is_taken() {
    let Some(program) = program("threads_end.c") else {
        return skip!("there is no C compiler (cc)");
    };
    for kind in [None, Some("mutex"), Some("pv-queued")] {
        let output = run(&mut command(&program, kind));
        assert_eq!(said(&output), "1024 keys, sleeps\n", "{kind:?}");
    }
    // Waiters of these kinds do not sleep.
    for kind in ["queued", "ticket"] {
        let output = run(&mut command(&program, Some(kind)));
        assert_eq!(said(&output), "1024 keys, does not sleep\n", "{kind}");
    }
}

#[test]
fn results_that_posix_leaves_open_are_those_of_the_c_library() {
    let Some(program) = program("corners.c") else {
        return skip!("there is no C compiler (cc)");
    };
    let expected = said(&run(&mut command(&program, None)));
    assert!(expected.lines().count() > 60 && expected.contains("EBUSY"), "{expected}");
    prints(&program, &expected);
}

#[test]
fn real_time_threads_are_served_by_priority() {
    let Some(program) = program("priorities.c") else {
        return skip!("there is no C compiler (cc)");
    };
    if said(&run(&mut command(&program, None))) == "refused\n" {
        return skip!("this user may not have threads with real-time priorities");
    }
    let order = ["m", "t", "s", "b", "m", "b"].map(|mode| format!("{mode}: 5 3 2 4 1 0\n"));
    prints(&program, &(order.concat() + "i: 5 3 2 4 1\n"));
}

#[test]
fn real_time_threads_of_all_sorts_lose_nothing() {
    let Some(program) = program("priority_storm.c") else {
        return skip!("there is no C compiler (cc)");
    };
    if said(&run(&mut command(&program, None))) == "refused\n" {
        return skip!("this user may not have threads with real-time priorities");
    }
    prints(&program, "done\n");
}

#[test]
fn a_thread_that_waits_for_its_own_mutex_harms_no_other() {
    let Some(program) = program("own_mutex.c") else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "15000\n");
}

#[test]
fn a_shared_condition_works_with_a_mutex_that_is_replaced() {
    let Some(program) = program("shared_condition.c") else {
        return skip!("there is no C compiler (cc)");
    };
    prints(&program, "1 1 1 0 0 1 1 0 0\n");
}

#[test]
fn the_library_needs_the_c_library_only() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let Some(loader) = loader.into_iter().find(|file| Path::new(file).is_file()) else {
        return skip!("the loader is not where it is expected");
    };
    let list = run(Command::new(loader).arg("--list").arg(built("liblockyard_mutex.so")));
    let list = said(&list);
    assert!(list.contains("libc.so.6") && !list.contains("libgcc_s"), "{list}");
}
