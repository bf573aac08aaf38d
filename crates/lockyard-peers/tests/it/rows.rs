//! Checks of every row of the table. Its lock excludes, reports whether it is held, and is
//! destroyed. It can be found by its name. Its version and licence are those of the package that is
//! built here.

use lockyard::Native;
use lockyard_peers::{PEERS, Peer, find};
use lockyard_scenarios::{LockKind, ObjectKind, Prepared, Script, Stage, Variant, Violation};
use std::path::Path;
use std::sync::Barrier;

struct Threads;

impl Stage for Threads {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;

    fn work(nanoseconds: f64) {
        for _ in 0..nanoseconds as u64 / 4 {
            std::hint::spin_loop();
        }
    }
    fn stopping() -> bool {
        false
    }
    fn operation_done() {}
}

/// Returns a counter protected by a lock. An operation changes the counter twice under the lock,
/// and gives other threads time to interfere.
fn counter_behind(lock: &str) -> Variant {
    let text = format!(
        r#"name = "counter"
title = "a counter behind a lock"
operation = "lock, add one, work, add one, unlock, work"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    {{ name = "lock", kind = "lock", lock = "{lock}", line = "a" }},
    {{ name = "data", kind = "data", line = "b" }},
]
steps = [
    {{ do = "lock", object = "lock" }},
    {{ do = "write", object = "data" }},
    {{ do = "work", ns = 40.0 }},
    {{ do = "write", object = "data" }},
    {{ do = "unlock", object = "lock" }},
    {{ do = "work", ns = 20.0 }},
]
variants = [{{ name = "v", title = "v" }}]
[placement]
order = "siblings-last"
"#
    );
    Script::parse("counter.toml", &text).expect("it is valid").variants.remove(0)
}

fn counter(peer: &Peer) -> Variant {
    let variant = counter_behind("queued");
    variant.with_foreign_lock(peer.name, peer.what, peer.lock).expect("it has a lock")
}

/// Lets `threads` threads change the counter at the same time. Reports what is wrong with it
/// afterwards.
fn torture(variant: &Variant, threads: usize, operations: u64) -> Result<(), Violation> {
    let prepared = Prepared::<Threads>::new(variant, 128, None, 0.0).expect("there is memory");
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                start.wait();
                prepared.run_operations(operations);
            });
        }
    });
    prepared.verify(threads as u64 * operations)
}

#[test]
fn every_peer_excludes() {
    // With more threads than CPUs, a FIFO lock that spins hands over to threads that do not run.
    // Each hand-over then costs a time slice.
    for (threads, operations) in [(1, 20_000), (2, 50_000), (5, 300)] {
        for peer in PEERS {
            let found = torture(&counter(peer), threads, operations);
            assert_eq!(found, Ok(()), "{}, {threads} threads", peer.name);
        }
    }
}

/// Returns a variant whose operations write twice as the writer, and read twice as a reader.
fn readers_and_writers(peer: &Peer) -> Variant {
    let text = r#"name = "readers"
work_varies = false
objects = [
    { name = "lock", kind = "lock", lock = "rwlock" },
    { name = "data", kind = "data" },
]
steps = [
    { do = "lock", object = "lock" }, { do = "write", object = "data" },
    { do = "work", ns = 20 }, { do = "write", object = "data" },
    { do = "unlock", object = "lock" },
    { do = "lock-shared", object = "lock" }, { do = "read", object = "data" },
    { do = "work", ns = 20 }, { do = "read", object = "data" },
    { do = "unlock-shared", object = "lock" },
]
variants = [{ name = "v" }]
"#;
    let variant = Script::parse("readers.toml", text).expect("it is valid").variants.remove(0);
    variant.with_foreign_lock(peer.name, peer.what, peer.lock).expect("it has a lock")
}

#[test]
fn every_peer_with_a_shared_mode_keeps_readers_and_writers_apart() {
    let peers = PEERS.iter().filter(|peer| peer.lock.has_shared());
    let mut names = Vec::new();
    for peer in peers {
        for (threads, operations) in [(2, 20_000), (5, 300)] {
            let found = torture(&readers_and_writers(peer), threads, operations);
            assert_eq!(found, Ok(()), "{}, {threads} threads", peer.name);
        }
        names.push(peer.name);
    }
    assert!(names.starts_with(&["std-sync-rwlock", "parking-lot-rwlock"]), "{names:?}");
}

/// Readers of a peer meet inside: each waits there for the other.
#[test]
fn readers_of_a_peer_are_inside_together() {
    static MET: Barrier = Barrier::new(2);
    struct Meet;
    impl Stage for Meet {
        type Host = Native;
        const FOREIGN_LOCKS: bool = true;
        fn work(_: f64) {
            MET.wait();
        }
        fn stopping() -> bool {
            false
        }
        fn operation_done() {}
    }
    for peer in PEERS.iter().filter(|peer| peer.lock.has_shared()) {
        let mut variant = readers_and_writers(peer);
        variant.steps.remove(0);
        let prepared = Prepared::<Meet>::new(&variant, 128, None, 0.0).expect("there is memory");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| prepared.run_operations(50));
            }
        });
        assert_eq!(prepared.verify(100), Ok(()), "{}", peer.name);
    }
}

#[test]
fn the_torture_notices_a_lock_that_does_not_exclude() {
    // Threads that happen to run one after another do not interfere.
    let broken = counter_behind("broken");
    let noticed = (0..1_000).any(|_| torture(&broken, 2, 200_000).is_err());
    assert!(noticed, "the counter was right a thousand times");
}

/// Synchronises two threads: the holder waits twice, so that the other thread can look in between.
struct Held;

static GATE: Barrier = Barrier::new(2);

impl Stage for Held {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;

    fn work(_: f64) {}
    fn stopping() -> bool {
        false
    }
    fn operation_done() {}
    fn hold_begins(_: usize) {
        GATE.wait();
        GATE.wait();
    }
}

#[test]
fn every_peer_says_whether_it_is_held() {
    for peer in PEERS {
        let prepared =
            Prepared::<Held>::new(&counter(peer), 128, None, 0.0).expect("there is memory");
        std::thread::scope(|scope| {
            scope.spawn(|| prepared.run_operations(1));
            GATE.wait();
            let within = prepared.verify(1).map_err(|violation| violation.to_string());
            GATE.wait();
            assert_eq!(within, Err("`lock` is still held".to_owned()), "{}", peer.name);
        });
        assert_eq!(prepared.verify(1), Ok(()), "{}", peer.name);
    }
}

#[test]
fn every_peer_is_found_by_its_name_and_by_no_other() {
    for peer in PEERS {
        assert_eq!(find(peer.name).map(|found| found.what), Some(peer.what));
        assert_eq!(peer.lock.name(), peer.name);
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(peer.name.bytes().all(plain), "{}", peer.name);
    }
    assert!(find("").is_none() && find("Spin").is_none());
    for (index, peer) in PEERS.iter().enumerate() {
        assert!(PEERS[..index].iter().all(|other| other.name != peer.name), "two `{}`", peer.name);
    }
    let controls: Vec<&str> = PEERS.iter().filter(|p| p.control).map(|p| p.name).collect();
    assert_eq!(controls, ["bare"]);
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).expect("it is committed")
}

#[test]
fn the_versions_are_those_that_are_built() {
    let (locked, toolchain) = (file("Cargo.lock"), file("rust-toolchain.toml"));
    for peer in PEERS {
        match peer.from.split_once(' ') {
            None => assert_eq!((peer.from, peer.control), ("lockyard", true)),
            Some(("the", "C library")) => {}
            Some(("std", of)) => {
                let version = of.strip_prefix("of Rust ").expect("it says of which Rust");
                assert!(toolchain.contains(&format!("\"{version}.")), "{}", peer.name);
            }
            Some((package, version)) => {
                let entry = format!("name = \"{package}\"\nversion = \"{version}\"");
                assert!(
                    locked.contains(&entry),
                    "{}: {package} {version} is not in Cargo.lock",
                    peer.name
                );
            }
        }
    }
}

#[test]
fn every_peer_that_is_built_in_may_be() {
    for peer in PEERS.iter().filter(|peer| peer.licence != "the system's") {
        let permissive = peer.licence.split(" OR ").any(|licence| licence == "MIT");
        assert!(permissive, "{}: {}", peer.name, peer.licence);
    }
}

#[test]
fn the_document_has_a_row_for_every_peer() {
    let document = file("docs/measure/peers.md");
    for peer in PEERS {
        let row = format!("| `{}` | ", peer.name);
        let found = document.lines().find(|line| line.starts_with(&row)).unwrap_or_default();
        let from = match peer.from.split_once(' ') {
            Some((package, version)) if package != "the" => format!("`{package}` {version}"),
            Some(_) => peer.from.to_owned(),
            None => "here".to_owned(),
        };
        assert!(found.starts_with(&format!("{row}{from} |")), "{}: `{found}`", peer.name);
    }
}

#[test]
fn the_scenario_beside_which_peers_are_shown_has_every_lock_of_the_library() {
    let script = Script::parse("every-lock.toml", &file("examples/every-lock.toml"));
    let script = script.expect("it is valid");
    for &kind in LockKind::ALL.iter().filter(|kind| !kind.is_control()) {
        let variant = script.variant(kind.name()).expect("each kind is a variant of its name");
        assert_eq!(variant.objects[0].kind, ObjectKind::Lock { lock: kind });
    }
    assert!(PEERS.iter().all(|peer| script.variant(peer.name).is_none()));
}
