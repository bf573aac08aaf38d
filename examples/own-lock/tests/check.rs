//! The lock holds on threads, on a simulated machine, and under weak memory. Each of its orderings
//! is needed. A wrong version of it is caught.

use lockyard::lane::{Lane, lower, upper};
use lockyard::lock::{Algorithm, LaneLock};
use lockyard::platform::{Host, Int, Ordering};
use lockyard_check::finding::Finding;
use lockyard_check::{own, source};
use mine::Mine;

#[test]
fn the_lock_holds_on_threads_and_on_a_simulated_machine() {
    for checks in [own::check_threads::<Mine>(), own::check_simulated::<Mine>()] {
        println!("{checks}");
        assert!(checks.are_clean(), "{checks}");
    }
}

#[test]
fn the_lock_holds_under_weak_memory() {
    let checks = own::check_model::<Mine>();
    println!("{checks}");
    assert!(checks.are_clean(), "{checks}");
}

#[test]
fn every_ordering_of_the_lock_is_needed() {
    let report = own::mutate::<Mine>(&[source!("src/lib.rs")]).expect("the lock is right");
    println!("{report}");
    assert!(report.is_clean(), "{report}");
    // Those of `lock` (free, and after a wait), of `try_lock`, and of `unlock`.
    assert_eq!(report.totals().line(), "ordering sites killed 4 of 4, explained 0");
}

/// The lock with a mistake: a waiter enters when the thread before it is served.
struct Hasty;

impl Algorithm for Hasty {
    type Token = u16;
    type Width = <Mine as Algorithm>::Width;

    fn is_held<B: Int>(bits: B) -> bool {
        Mine::is_held(bits)
    }
}

// SAFETY: none. Only the checks run this lock, and their data are atomic or in cells of the checks.
unsafe impl<H: Host> LaneLock<H> for Hasty {
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        let ticket = upper(lane.fetch_increment_upper(Ordering::Acquire)).to_u64() as u16;
        let ahead = |bits| ticket.wrapping_sub(lower::<L::Bits>(bits).to_u64() as u16);
        lane.wait_until::<H>(Ordering::Acquire, |bits| ahead(bits) <= 1);
        ticket
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u16> {
        // SAFETY: the caller upholds the contract of `try_lock`.
        unsafe { <Mine as LaneLock<H>>::try_lock(lane) }
    }

    unsafe fn unlock<L: Lane>(lane: L, ticket: u16) {
        // SAFETY: the caller upholds the contract of `unlock`.
        unsafe { <Mine as LaneLock<H>>::unlock(lane, ticket) }
    }
}

#[test]
fn a_lock_that_lets_two_threads_in_is_caught() {
    for checks in [own::check_model::<Hasty>(), own::check_simulated::<Hasty>()] {
        println!("{checks}");
        let found = checks.rows.iter().find_map(|(_, verdict)| verdict.finding());
        let found = found.expect("two threads are inside");
        let expected = [Finding::Exclusion, Finding::Race, Finding::Count];
        assert!(expected.contains(&found), "{found:?}");
    }
    let refused = own::mutate::<Hasty>(&[source!("tests/check.rs")]).expect_err("it is wrong");
    assert!(refused.contains("fails as it stands"), "{refused}");
}
