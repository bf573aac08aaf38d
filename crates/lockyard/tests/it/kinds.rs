//! A kind that is chosen at run time: once, before the first use, for all locks of the choice.

use lockyard::kind::{Choice, ChoiceError, FixedBy, Kind, RawChosenLock, StaticChoice};
use lockyard::{ChosenLock, Native};

/// Makes a choice for one test, and the type that names it.
macro_rules! choice {
    ($name:ident) => {
        static CHOICE: Choice = Choice::new(Kind::Ticket);
        struct $name;
        impl StaticChoice for $name {
            const CHOICE: &'static Choice = &CHOICE;
        }
    };
}

fn refused(result: Result<(), ChoiceError>) -> ChoiceError {
    result.expect_err("it is too late")
}

#[test]
fn a_lock_is_of_the_kind_that_was_chosen_before_its_first_use() {
    choice!(Chosen);
    static NUMBER: ChosenLock<u32, Chosen> = ChosenLock::new(0);
    assert_eq!(CHOICE.in_force(), None);
    assert_eq!(CHOICE.choose(Kind::Queued), Ok(()));
    *NUMBER.lock() += 1;
    let other = RawChosenLock::<Chosen>::new();
    let held = other.acquire();
    assert_eq!(held.kind(), Kind::Queued, "all locks of the choice have it");
    // SAFETY: acquired above.
    unsafe { other.release(held) };
    assert_eq!(CHOICE.in_force(), Some((Kind::Queued, FixedBy::Choice)));
}

#[test]
fn a_second_choice_is_refused_even_of_the_same_kind() {
    choice!(Twice);
    assert_eq!(CHOICE.choose(Kind::Queued), Ok(()));
    for kind in [Kind::TestAndSet, Kind::Queued] {
        let error = refused(CHOICE.choose(kind));
        assert_eq!((error.in_force(), error.wanted()), (Kind::Queued, kind));
        assert_eq!(error.fixed_by(), FixedBy::Choice);
    }
    let lock = RawChosenLock::<Twice>::new();
    let held = lock.try_acquire().expect("it is free");
    assert_eq!(held.kind(), Kind::Queued);
    // SAFETY: acquired above.
    unsafe { lock.release(held) };
}

#[test]
fn a_choice_after_the_first_use_is_refused_and_says_which_kind_is_in_force() {
    choice!(Used);
    static NUMBER: ChosenLock<u32, Used> = ChosenLock::new(0);
    *NUMBER.lock() += 1;
    let error = refused(CHOICE.choose(Kind::Queued));
    assert_eq!((error.in_force(), error.fixed_by()), (Kind::Ticket, FixedBy::FirstUse));
    assert_eq!(
        error.to_string(),
        "`queued` cannot be chosen: `ticket` is in force, \
         because a lock was used before a kind was chosen"
    );
    *NUMBER.lock() += 1;
    assert_eq!(*NUMBER.lock(), 2);
}

#[test]
fn a_try_counts_as_a_use() {
    choice!(Tried);
    static NUMBER: ChosenLock<u32, Tried> = ChosenLock::new(0);
    drop(NUMBER.try_lock().expect("it is free"));
    assert_eq!(refused(CHOICE.choose(Kind::Queued)).fixed_by(), FixedBy::FirstUse);
}

#[test]
fn a_choice_after_call_sites_were_patched_is_refused() {
    choice!(Patched);
    assert_eq!(CHOICE.fix_for_patching(), Kind::Ticket);
    let error = refused(CHOICE.choose(Kind::Queued));
    assert_eq!((error.in_force(), error.fixed_by()), (Kind::Ticket, FixedBy::Patched));
    assert!(
        error.to_string().ends_with("because call sites were patched before a kind was chosen")
    );
    let lock = RawChosenLock::<Patched>::new();
    let held = lock.acquire();
    assert_eq!(held.kind(), Kind::Ticket, "the kind for which they were patched");
    // SAFETY: acquired above.
    unsafe { lock.release(held) };
}

#[test]
fn call_sites_are_patched_for_the_kind_that_was_chosen() {
    choice!(Both);
    let _lock = RawChosenLock::<Both>::new();
    assert_eq!(CHOICE.choose(Kind::Queued), Ok(()));
    assert_eq!(CHOICE.fix_for_patching(), Kind::Queued);
    assert_eq!(CHOICE.in_force(), Some((Kind::Queued, FixedBy::Choice)));
}

#[test]
fn looking_at_a_lock_does_not_count_as_a_use() {
    choice!(Seen);
    static NUMBER: ChosenLock<u32, Seen> = ChosenLock::new(0);
    assert!(!NUMBER.is_locked());
    let raw = RawChosenLock::<Seen>::new();
    assert!(format!("{raw:?} {CHOICE:?}").contains("kind: None"));
    assert_eq!(CHOICE.choose(Kind::TestAndSet), Ok(()));
    let guard = NUMBER.lock();
    assert!(NUMBER.is_locked());
    drop(guard);
    assert!(!NUMBER.is_locked());
}

/// Several threads count under a lock of the choice `S`, for which `kind` is chosen.
fn excludes<S: StaticChoice<Native>>(kind: Kind) {
    const ROUNDS: u32 = 2_000;
    S::CHOICE.choose(kind).expect("nobody has used it");
    let number = ChosenLock::<u32, S>::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *number.lock() += 1;
                }
            });
        }
    });
    assert_eq!(*number.lock(), 3 * ROUNDS, "{kind}");
    assert!(!number.is_locked(), "{kind}");
}

#[test]
fn a_chosen_lock_of_any_kind_excludes() {
    let mut of: Vec<(Kind, fn(Kind))> = Vec::new();
    macro_rules! each {
        ($($kind:ident)*) => {
            $({
                choice!(Of);
                of.push((Kind::$kind, excludes::<Of>));
            })*
        };
    }
    each!(Ticket Queued PvTicket PvQueued TestAndSet);
    let kinds: Vec<Kind> = of.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, Kind::ALL, "every kind is tried");
    for (kind, excludes) in of {
        excludes(kind);
    }
}

#[test]
fn a_kind_is_parsed_from_its_name_and_an_unknown_name_is_answered_with_all_names() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
    }
    let error = "tiket".parse::<Kind>().unwrap_err().to_string();
    assert!(error.starts_with("no such kind of lock; there are ticket, queued, "), "{error}");
}
