//! Counts are exact, and the program works like without the recorder.

use crate::support::{build, json_of, json_with, lock, locks, process};
use serde_json::Value;

fn run(arguments: &[&str]) -> Option<Value> {
    let program = locks()?;
    let (output, profile) = json_of(&program, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    assert_eq!(profile["recording"]["lost"], 0, "{arguments:?}");
    let _ = std::fs::remove_file(program);
    Some(profile)
}

/// Returns the number of locks with exactly these acquisitions.
fn with(profile: &Value, acquisitions: u64) -> usize {
    let locks = process(profile)["locks"].as_array().expect("a list");
    locks.iter().filter(|lock| lock["acquisitions"] == acquisitions).count()
}

#[test]
fn every_acquisition_of_several_locks_by_several_threads_is_counted() {
    let Some(profile) = run(&["counts", "5", "8", "3000"]) else { return };
    assert_eq!(with(&profile, 24_000), 5, "{profile:#}");
    assert_eq!(process(&profile)["acquisitions"], 120_000);
    let first = lock(process(&profile), "locks");
    assert_eq!((&first["kind"], &first["hold"]["count"]), (&"mutex".into(), &24_000.into()));
    let site = &first["sites"][0];
    assert_eq!(site["function"], "times", "{site:#}");
    assert!(site["file"].as_str().is_some_and(|file| file.ends_with("locks.c")), "{site:#}");
    // A mutex has 40 bytes, so the second one begins in the same line.
    assert_eq!(first["same_line"].as_array().map(Vec::len), Some(1), "{first:#}");
    assert!(first["longest_run"].as_u64() >= Some(1));
}

#[test]
fn holds_are_a_sample_and_counts_are_not() {
    let Some(program) = locks() else { return };
    let timed = |every: &str| {
        let (_, profile) =
            json_with(&["--every", every], &program, &["counts", "1", "1", "200000"]);
        let lock = lock(process(&profile), "locks").clone();
        assert_eq!(
            (&lock["acquisitions"], &lock["hold"]["count"]),
            (&200_000.into(), &200_000.into())
        );
        let number = |value: &Value| value.as_u64().expect("a number");
        (number(&lock["hold"]["timed"]), number(&lock["followed"]), number(&lock["longest_run"]))
    };
    // All holds are timed; and after each acquisition except the last, the next acquisition is
    // seen.
    assert_eq!(timed("1"), (200_000, 199_999, 200_000));
    // 1,024 of the first thread, and one in a hundred of the rest: 1,990 with a standard deviation
    // of 26.
    let (holds, followed, run) = timed("100");
    assert!((2_700..3_300).contains(&holds), "{holds}");
    // Those 1,024, and one in eight of the others: 249 with a standard deviation of 15.
    assert!((1_160..1_400).contains(&followed), "{followed}");
    // The run is followed from its first acquisition that is in the sample, to its last one.
    assert!((190_000..=200_000).contains(&run), "{run}");
    let _ = std::fs::remove_file(program);
}

#[test]
fn a_sample_tells_how_long_a_lock_is_held() {
    // Each of 50 holds takes a millisecond; a thread's first holds are all timed.
    let Some(profile) = run(&["contended"]) else { return };
    let hold = &lock(process(&profile), "first_lock")["hold"];
    assert_eq!((&hold["count"], &hold["timed"]), (&100.into(), &100.into()), "{hold:#}");
}

#[test]
fn ten_thousand_locks_are_apart() {
    let Some(profile) = run(&["counts", "10000", "2", "3"]) else { return };
    assert_eq!(with(&profile, 6), 10_000);
}

#[test]
fn a_thousand_threads_are_counted() {
    let Some(profile) = run(&["counts", "2", "1000", "10"]) else { return };
    assert_eq!(with(&profile, 10_000), 2, "{profile:#}");
    assert_eq!(process(&profile)["threads"], 1000);
}

#[test]
fn a_lock_that_is_waited_for_is_contended() {
    let Some(profile) = run(&["contended"]) else { return };
    let lock = lock(process(&profile), "first_lock");
    assert_eq!(lock["acquisitions"], 100);
    let contended = lock["contended"].as_u64().expect("a number");
    assert!(contended > 0 && lock["wait"]["count"] == contended, "{lock:#}");
    // It is held for a millisecond or more, which waiting threads notice.
    let median = lock["hold"]["p50_ns"].as_f64().expect("there are enough");
    assert!((900_000.0..100_000_000.0).contains(&median), "{median}");
    assert!(lock["hold"]["max_ns"].as_f64() >= Some(median), "{lock:#}");
    // The time includes the start of the program and its end, which take long on a loaded host.
    assert!(lock["held_share"].as_f64() > Some(0.05), "{lock:#}");
}

#[test]
fn a_wait_for_a_condition_is_no_hold() {
    let Some(profile) = run(&["condition"]) else { return };
    let lock = lock(process(&profile), "first_lock");
    assert_eq!(lock["acquisitions"], 200);
    let waits = lock["condition_waits"].as_u64().expect("a number");
    assert!(waits > 0, "{lock:#}");
    assert_eq!(lock["hold"]["count"], 200 + waits);
    assert_eq!(process(&profile)["unmatched_releases"], 0);
}

#[test]
fn a_thread_may_be_cancelled_in_a_wait() {
    let Some(profile) = run(&["cancelled"]) else { return };
    assert_eq!(lock(process(&profile), "first_lock")["acquisitions"], 6);
}

#[test]
fn calls_that_give_up_are_no_acquisitions() {
    let Some(profile) = run(&["timed"]) else { return };
    let lock = lock(process(&profile), "first_lock");
    assert_eq!((&lock["acquisitions"], &lock["failed"]), (&2.into(), &3.into()), "{lock:#}");
    assert_eq!(lock["condition_waits"], 2);
    assert_eq!(lock["destroyed"], 0);
}

#[test]
fn recursive_and_checking_mutexes_work_and_are_counted_once() {
    let Some(profile) = run(&["recursive"]) else { return };
    let recursive = lock(process(&profile), "locks");
    assert_eq!((&recursive["acquisitions"], &recursive["nested"]), (&100.into(), &200.into()));
    let checking = lock(process(&profile), "locks+40");
    assert_eq!((&checking["acquisitions"], &checking["failed"]), (&100.into(), &100.into()));
    assert_eq!(checking["destroyed"], 1);
    assert_eq!(process(&profile)["unmatched_releases"], 100);
}

#[test]
fn a_robust_mutex_survives_its_owner() {
    let Some(profile) = run(&["owner-dead"]) else { return };
    assert_eq!(lock(process(&profile), "robust")["acquisitions"], 12);
}

#[test]
fn spinlocks_and_reader_writer_locks_are_counted() {
    let Some(profile) = run(&["other-kinds"]) else { return };
    let spin = lock(process(&profile), "spin");
    assert_eq!((&spin["kind"], &spin["acquisitions"]), (&"spinlock".into(), &100.into()));
    let both = lock(process(&profile), "both");
    assert_eq!((&both["kind"], &both["acquisitions"]), (&"rwlock".into(), &200.into()));
    assert_eq!((&both["reads"], &both["nested"]), (&100.into(), &100.into()));
}

#[test]
fn contradicting_orders_are_found() {
    let Some(profile) = run(&["orders"]) else { return };
    let circles = process(&profile)["contradicting_orders"].as_array().expect("a list");
    assert_eq!(circles.len(), 1, "{circles:#?}");
    let site = circles[0][0]["inner_site"].as_str().expect("it is named");
    assert!(site.starts_with("orders (locks.c:"), "{site}");
}

#[test]
fn a_signal_handler_may_take_a_lock() {
    let Some(profile) = run(&["signals"]) else { return };
    assert_eq!(lock(process(&profile), "first_lock")["acquisitions"], 300_000);
}

#[test]
fn errno_stays() {
    run(&["errno"]);
}

#[test]
fn a_library_that_was_unloaded_has_its_names() {
    let Some(library) = build("cc", "library.c", &["-O1", "-g", "-shared", "-fPIC"]) else {
        return;
    };
    let Some(profile) = run(&["loaded", library.to_str().expect("it is text")]) else { return };
    let lock = lock(process(&profile), "lock_in_library");
    assert_eq!(lock["acquisitions"], 7);
    assert_eq!(lock["sites"][0]["function"], "lock_of_library");
}

/// `RTLD_NEXT` in a library means the objects after it: this is the C library, which comes last.
#[test]
fn functions_that_are_asked_for_by_dlsym_are_found_before_the_c_library() {
    let options = ["-O1", "-g", "-D_GNU_SOURCE", "-shared", "-fPIC"];
    let Some(library) = build("cc", "asking_library.c", &options) else { return };
    let library = library.to_str().expect("it is text");
    let Some(program) = build("cc", "asks.c", &["-O1", "-g", "-D_GNU_SOURCE", library]) else {
        return;
    };
    let (output, profile) = json_of(&program, &[]);
    assert_eq!(output.status.code(), Some(0));
    let locks = process(&profile)["locks"].as_array().expect("a list");
    let mut found: Vec<(&str, u64)> = locks
        .iter()
        .filter_map(|lock| Some((lock["name"].as_str()?, lock["acquisitions"].as_u64()?)))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("by_default", 7), ("by_handle", 7), ("of_program", 5)]);
}

#[test]
fn without_symbols_the_offset_in_the_program_is_named() {
    let Some(program) = build("cc", "locks.c", &["-O1", "-s"]) else { return };
    let (_, profile) = json_of(&program, &["counts", "1", "2", "100"]);
    let lock = &process(&profile)["locks"][0];
    assert_eq!(lock["acquisitions"], 200);
    let name = program.file_name().expect("it has one").to_string_lossy().into_owned();
    for text in [&lock["name"], &lock["sites"][0]["text"]] {
        let text = text.as_str().expect("it is named");
        assert!(text.starts_with(&format!("{name}+0x")), "{text}");
    }
}

#[test]
fn locks_of_the_standard_library_of_c_plus_plus_are_recorded() {
    let Some(program) = build("g++", "queue.cc", &["-O2", "-g"]) else { return };
    let (output, profile) = json_of(&program, &[]);
    assert_eq!(output.status.code(), Some(0));
    let lock = lock(process(&profile), "queue_mutex");
    assert_eq!(lock["acquisitions"], 2000, "{lock:#}");
    let sites = lock["sites"].as_array().expect("a list");
    let is_ours =
        |site: &&Value| site["text"].as_str().is_some_and(|text| text.contains("(queue.cc:"));
    assert!(sites.iter().filter(is_ours).count() >= 2, "{sites:#?}");
}

#[test]
fn a_rust_program_records_its_own_locks() {
    // `cargo test --workspace` builds the example beside the command.
    let command = std::path::Path::new(env!("CARGO_BIN_EXE_lockyard"));
    let program = command.with_file_name("examples").join("recorded");
    if !program.exists() {
        lockyard_testing::skip!("the example `recorded` of lockyard-recorded is not built");
        return;
    }
    let (output, profile) = json_of(&program, &[]);
    assert_eq!(output.status.code(), Some(0));
    let locks = process(&profile)["locks"].as_array().expect("a list");
    let is_sum = |lock: &&Value| lock["name"].as_str().is_some_and(|name| name.contains("SUM"));
    let lock = locks.iter().find(is_sum).expect("the static is named");
    assert_eq!((&lock["kind"], &lock["acquisitions"]), (&"own".into(), &20_001.into()));
    assert_eq!(lock["hold"]["count"], 20_001);
    let is_step = |lock: &&Value| lock["name"].as_str().is_some_and(|name| name.contains("STEP"));
    let accesses = &locks.iter().find(is_step).expect("the static is named")["accesses"];
    assert_eq!(accesses["reads"]["acquisitions"], 20_000, "{accesses:#}");
    assert_eq!(accesses["writes"]["acquisitions"], 1, "{accesses:#}");
}
