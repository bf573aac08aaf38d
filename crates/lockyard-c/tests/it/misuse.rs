//! Misuse that a debug build detects ends the program with a message.

use crate::compilers::{Language, Library, compilers, source};
use crate::programs::run_bounded;
use crate::support::{folder, said};
use std::os::unix::process::ExitStatusExt;

/// The argument of `misuse.c`, and a part of the message. The last ones end every build.
const MISUSE: [(&str, &str); 31] = [
    ("mutex-unlock", "ly_mutex_unlock: it is not locked"),
    ("mutex-unlock-fair", "ly_mutex_unlock_fair: it is not locked"),
    ("qspin-unlock", "ly_qspin_unlock: it is not locked"),
    ("ticket-unlock", "ly_ticket_unlock: it is not locked"),
    ("tas-unlock", "ly_tas_unlock: it is not locked"),
    ("pvqspin-unlock", "ly_pvqspin_unlock: it is not locked"),
    ("pvqspin-unlock-fair", "ly_pvqspin_unlock_fair: it is not locked"),
    ("pvticket-unlock", "ly_pvticket_unlock: it is not locked"),
    ("lockref-unlock", "ly_lockref_unlock: it is not locked"),
    ("lockref-mark-dead", "ly_lockref_mark_dead: it is not locked"),
    ("lockref-set-count", "ly_lockref_set_count: it is not locked"),
    ("mutex-destroy", "ly_mutex_destroy: it is locked"),
    ("qspin-destroy", "ly_qspin_destroy: it is locked"),
    ("pvqspin-destroy", "ly_pvqspin_destroy: it is locked"),
    ("lockref-destroy", "ly_lockref_destroy: it is locked"),
    ("cond-destroy", "ly_cond_destroy: threads wait"),
    ("cond-free-mutex", "ly_cond_wait: the mutex is not locked"),
    ("null", "ly_mutex_lock: a pointer is null"),
    ("misaligned", "ly_mutex_lock: a pointer is not aligned"),
    ("retire-null", "ly_reclaim_retire: a pointer is null"),
    ("guard-twice", "ly_reclaim_leave: the handle is not in use"),
    ("entry-twice", "ly_ids_release: the handle is not in use"),
    ("lockref-get-dead", "a reference to a dead lockref was taken"),
    ("pageref-put", "a reference was dropped when there was none"),
    // In every build.
    ("cond-second-mutex", "attempted to use a condition variable with more than one mutex"),
    ("lockref-revive", "a dead lockref cannot be revived"),
    ("pageref-zero", "a page has 1 to 2^30 references"),
    ("synchronize-inside", "waits for a grace period while it has a guard"),
    ("family", "ly_conns_find: the family of an endpoint is not"),
    ("pageref-freeze-zero", "a page has 1 to 2^30 references"),
    ("lockref-init", "a lockref counts to 2^30"),
];

/// Index of the first that ends every build.
const IN_EVERY_BUILD: usize = 24;

#[test]
fn misuse_ends_the_program_with_a_message() {
    let compiler = compilers(Language::C11)[0];
    let folder = folder("misuse");
    let program = compiler.build(&source("misuse.c"), &folder, Library::Shared, &[]);
    let program = program.unwrap_or_else(|said| panic!("{said}"));
    // An unknown argument is no misuse.
    assert!(said(&run_bounded(&program, &["none"])).contains("survived"));
    let first = if cfg!(debug_assertions) { 0 } else { IN_EVERY_BUILD };
    for (argument, message) in &MISUSE[first..] {
        let output = run_bounded(&program, &[argument]);
        let said = said(&output);
        // `timeout` ends by the signal that ended its program.
        let aborted = output.status.signal() == Some(6) || output.status.code() == Some(128 + 6);
        assert!(aborted && said.contains(message), "{argument}: {:?}: {said}", output.status);
        assert!(!said.contains("survived"), "{argument}");
    }
}
