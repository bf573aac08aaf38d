//! Each primitive has only one source.
//!
//! The tests read the sources, without comments, strings and test modules:
//! - `lockyard-sim` and `lockyard-scenarios` contain no lock algorithm. Such an algorithm needs an
//!   operation that decides between threads: a read-modify-write, a store of a part, a wait, an
//!   implementation of `LaneLock`, or an atomic or a lock of the standard library. The sources name
//!   none of these, except in the files below. Each exception has its operations and a reason, and
//!   an unneeded one fails too.
//! - In `lockyard` and `lockyard-tables`, only the platform's modules name a concrete atomic or
//!   `UnsafeCell`.

use lockyard_check::sources::sources;

/// Operations of which every lock algorithm needs at least one.
const DECIDES: [&str; 25] = [
    ".store(",
    ".swap(",
    ".compare_exchange(",
    ".compare_exchange_weak(",
    ".fetch_add(",
    ".fetch_sub(",
    ".fetch_or(",
    ".fetch_and(",
    ".fetch_update(",
    ".swap_part(",
    ".store_part(",
    "store_part_by_rmw",
    "swap_part_by_rmw",
    ".wait_until(",
    "::wait_until",
    "::wait_within",
    ".wait_part_assembly(",
    "::park(",
    "::unpark(",
    "Algorithm for",
    "sync::atomic",
    "Mutex",
    "RwLock",
    "Condvar",
    "UnsafeCell",
];

/// Exceptions: the file, the operations, and the reason.
const ALLOWED: [(&str, &[&str], &str); 16] = [
    (
        "crates/lockyard-sim/src/platform/cell.rs",
        &["UnsafeCell"],
        "the platform itself: its data is in cells",
    ),
    (
        "crates/lockyard-sim/src/platform/plain_words.rs",
        &["UnsafeCell"],
        "the platform itself: its data is in cells",
    ),
    (
        "crates/lockyard-sim/src/platform/words.rs",
        &[".compare_exchange(", "UnsafeCell"],
        "the platform itself: the weak compare-exchange is the strong one, and its words are cells",
    ),
    (
        "crates/lockyard-sim/src/simulation.rs",
        &[".swap(", "sync::atomic"],
        "the order in which threads begin is shuffled, and a thread of this host may cancel a run",
    ),
    (
        "crates/lockyard-sim/src/speed.rs",
        &[".fetch_add(", "sync::atomic"],
        "counts of this host's work, which no simulated operation reads",
    ),
    (
        "crates/lockyard-scenarios/src/perform/meetings.rs",
        &[".fetch_add(", "::unpark(", "Mutex"],
        "a recorded program's own use of conditions: its counts, and whom they wake",
    ),
    (
        "crates/lockyard-scenarios/src/perform/meeting_steps.rs",
        &["::park("],
        "a recorded program's own waits for conditions, by the host's sleep",
    ),
    (
        "crates/lockyard-scenarios/src/perform/interpreter.rs",
        &[".fetch_add(", ".store("],
        "the steps of a script that add to and write a plain word",
    ),
    (
        "crates/lockyard-scenarios/src/perform/drawn.rs",
        &[".store(", "::park("],
        "a word whose value never changes, and a sleep that nobody ends",
    ),
    (
        "crates/lockyard-scenarios/src/perform/inside.rs",
        &[".fetch_add(", ".fetch_sub(", "sync::atomic"],
        "counts of the tasks inside a lock, which no operation reads",
    ),
    (
        "crates/lockyard-scenarios/src/perform/words.rs",
        &[".compare_exchange(", ".fetch_add(", ".store("],
        "the steps of a script on words: one operation each, whose order a script says",
    ),
    (
        "crates/lockyard-scenarios/src/perform/ended.rs",
        &["Mutex"],
        "sums over tasks that have ended, which no operation reads",
    ),
    (
        "crates/lockyard-scenarios/src/perform/task.rs",
        &[".fetch_add(", "sync::atomic"],
        "a number for each task that begins, which is not shared memory of the experiment",
    ),
    (
        "crates/lockyard-scenarios/src/perform/arrivals.rs",
        &[".fetch_add(", "sync::atomic"],
        "times of requests from outside, which are not shared memory of the experiment",
    ),
    (
        "crates/lockyard-scenarios/src/perform/tables/handle_table.rs",
        &[".fetch_add(", ".store("],
        "what a program does with an object that it has found: it counts changes",
    ),
    (
        "crates/lockyard-scenarios/src/perform/tables/tally.rs",
        &[".fetch_add(", "sync::atomic"],
        "what went wrong with a table, written only then",
    ),
];

const CONCRETE: [&str; 10] = [
    "sync::atomic",
    "AtomicU8",
    "AtomicU16",
    "AtomicU32",
    "AtomicU64",
    "AtomicUsize",
    "AtomicBool",
    "AtomicPtr",
    "UnsafeCell",
    "loom::",
];

#[test]
fn neither_the_simulated_machine_nor_the_scenarios_contain_a_lock_algorithm() {
    let mut unexplained = Vec::new();
    let mut used = Vec::new();
    let mut files = 0;
    for folder in ["crates/lockyard-sim/src", "crates/lockyard-scenarios/src"] {
        for source in sources(folder) {
            files += 1;
            for what in DECIDES {
                let lines = source.lines_with(what);
                if lines.is_empty() {
                    continue;
                }
                let allowed = ALLOWED
                    .iter()
                    .find(|(file, allowed, _)| *file == source.path && allowed.contains(&what));
                match allowed {
                    Some((file, _, why)) => {
                        println!("{file}: {what} {lines:?} ({why})");
                        used.push((*file, what));
                    }
                    None => unexplained.push(format!("{}: {what} {lines:?}", source.path)),
                }
            }
        }
    }
    for (file, allowed, _) in ALLOWED {
        for what in allowed {
            assert!(used.contains(&(file, what)), "{file} has no {what}: take it off the list");
        }
    }
    println!("{files} files, {} operations looked for", DECIDES.len());
    assert!(unexplained.is_empty(), "no reason is given for\n{}", unexplained.join("\n"));
}

#[test]
fn only_the_platform_names_a_concrete_atomic_or_cell() {
    let mut found = Vec::new();
    let mut files = 0;
    for source in
        ["crates/lockyard/src", "crates/lockyard-tables/src"].map(sources).iter().flatten()
    {
        if source.path.starts_with("crates/lockyard/src/platform/") {
            continue;
        }
        files += 1;
        for what in CONCRETE {
            let lines = source.lines_with(what);
            if !lines.is_empty() {
                found.push(format!("{}: {what} {lines:?}", source.path));
            }
        }
    }
    println!("{files} files, {} names looked for", CONCRETE.len());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Checks that the test above searches correctly: it must find these names in the platform itself.
#[test]
fn the_platform_names_them() {
    let native = sources("crates/lockyard/src/platform");
    assert!(native.iter().any(|source| !source.lines_with("UnsafeCell").is_empty()));
    assert!(native.iter().any(|source| !source.lines_with("sync::atomic").is_empty()));
}
