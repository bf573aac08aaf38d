//! Locks of a user's crate: scripts name them, both back-ends run them, and wrong names are
//! refused.

use crate::support::{Run, Tasks, Threads, simulated};
use lockyard::Native;
use lockyard::lock::{Queued, Ticket};
use lockyard_scenarios::{LockKind, LockKinds, OnHost, OwnLock, Prepared, Script, Variant};
use lockyard_sim::Simulated;

/// An algorithm of the library stands for one of a user's crate.
const TICKET: &[OnHost] = &[OnHost::of::<Ticket, Native>(), OnHost::of::<Ticket, Simulated>()];
const QUEUED: &[OnHost] = &[OnHost::of::<Queued, Native>()];

fn mine() -> LockKinds {
    let own = [OwnLock::new("mine", TICKET).fifo(), OwnLock::new("other", QUEUED)];
    LockKinds::with_own(&own).expect("the names are right")
}

fn text(lock: &str) -> String {
    format!(
        r#"name = "mine"
objects = [
    {{ name = "m", kind = "lock", lock = "{lock}" }},
    {{ name = "data", kind = "data" }},
    {{ name = "r", kind = "lockref", lock = "{lock}" }},
]
steps = [
    {{ do = "lock", object = "m" }},
    {{ do = "write", object = "data" }},
    {{ do = "unlock", object = "m" }},
    {{ do = "get", object = "r" }},
    {{ do = "put", object = "r" }},
    {{ do = "lock", object = "r" }},
    {{ do = "unlock", object = "r" }},
]
variants = [{{ name = "v" }}]
"#
    )
}

fn script(lock: &str) -> Script {
    Script::parse_with("mine.toml", &text(lock), &mine()).expect("it is valid")
}

fn variant(lock: &str) -> Variant {
    script(lock).variants.remove(0)
}

fn on_a_machine(lock: &str) -> Run {
    simulated(&script(lock), "v", Tasks { count: 4, operations: 50 }, 1, |task| task)
}

#[test]
fn an_own_lock_runs_on_both_back_ends() {
    let variant = variant("mine");
    let prepared = Prepared::<Threads>::new(&variant, 64, None, 0.0).expect("there is memory");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| prepared.run_operations(2_000));
        }
    });
    assert_eq!(prepared.verify(2 * 2_000), Ok(()));
    assert_eq!(on_a_machine("mine"), on_a_machine("ticket"), "it is the same algorithm");
}

#[test]
fn the_order_of_an_own_lock_is_what_its_crate_says() {
    assert!(variant("mine").is_fifo());
    assert!(!variant("other").is_fifo());
    let names: Vec<&str> = mine().all().map(LockKind::name).collect();
    assert_eq!(names.len(), LockKind::ALL.len() + 2);
    assert!(names.ends_with(&["mine", "other"]), "{names:?}");
}

#[test]
#[should_panic(expected = "the lock `other` was made without")]
fn an_own_lock_does_not_run_on_a_host_that_its_crate_left_out() {
    on_a_machine("other");
}

#[test]
fn an_unknown_lock_is_answered_with_own_names_too() {
    let error = |name: &str| {
        Script::parse_with("s.toml", &text(name), &mine()).expect_err("unknown").to_string()
    };
    assert_eq!(error("mime"), "s.toml:3: there is no lock `mime`; did you mean `mine`?");
    let all = error("zzzzzzzz");
    assert!(all.contains("allowed: queued, ") && all.contains(", mine, other"), "{all}");
    // A program without own locks does not know them.
    let error = Script::parse("s.toml", &text("mine")).expect_err("unknown").to_string();
    assert!(!error.contains("other"), "{error}");
}

#[test]
fn wrong_names_are_refused_in_one_line() {
    let refused = |names: &[&'static str]| {
        let own: Vec<OwnLock> = names.iter().map(|name| OwnLock::new(name, TICKET)).collect();
        LockKinds::with_own(&own).expect_err("a wrong name").to_string()
    };
    let rule = "its name must be 1 to 64 characters of a-z A-Z 0-9 - _ . + / @";
    assert_eq!(refused(&[""]), format!("your own lock ``: {rule}"));
    assert_eq!(refused(&["my lock"]), format!("your own lock `my lock`: {rule}"));
    assert_eq!(refused(&["a\nb"]), format!("your own lock `a\\nb`: {rule}"));
    assert_eq!(
        refused(&["mine", "ticket"]),
        "your own lock `ticket`: the library has a lock of this name; choose another"
    );
    assert_eq!(
        refused(&["pthread-mutex"]),
        "your own lock `pthread-mutex`: the library has a lock of this name; choose another"
    );
    assert_eq!(
        refused(&["mine", "mine"]),
        "your own lock `mine`: two of your locks have this name; choose another"
    );
    assert_eq!(refused(&["a"; 33]), "33 locks of your own; at most 32 are allowed");
}
