//! Phases of scenarios: a stage on this host whose threads record whether they work, wait, hold or
//! release.

use super::accounted::{Accounted, in_phase};
use crate::scenario::stage::OnHost;
use lockyard_results::phase::Phase;
use lockyard_scenarios::Stage;
use std::cell::Cell;

std::thread_local! {
    /// Number of locks held by the thread.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

#[inline(always)]
fn say(phase: Phase) {
    in_phase(phase);
}

/// Records the phase `Holding` if the thread holds a lock, and `outside` otherwise.
#[inline(always)]
fn say_unless_held(outside: Phase) {
    say(if HELD.get() > 0 { Phase::Holding } else { outside });
}

/// Stage on this host whose threads record their phase. Each step costs an extra store or two.
/// Operations on this stage are therefore not counted.
#[derive(Debug)]
pub struct OnHostAttributed(());

impl Stage for OnHostAttributed {
    type Host = Accounted;
    const FOREIGN_LOCKS: bool = true;
    const OTHERS: bool = true;

    fn wait_for_others() {
        say_unless_held(Phase::Waiting);
        OnHost::wait_for_others();
        say_unless_held(Phase::Between);
    }

    #[inline]
    fn work(nanoseconds: f64) {
        say_unless_held(Phase::Working);
        OnHost::work(nanoseconds);
        say_unless_held(Phase::Between);
    }
    #[inline]
    fn stopping() -> bool {
        OnHost::stopping()
    }
    #[inline]
    fn operation_done() {
        say(Phase::Between);
    }
    #[inline]
    fn wait_begins() {
        say(Phase::Waiting);
    }
    #[inline]
    fn wait_ends() {
        say_unless_held(Phase::Between);
    }
    #[inline]
    fn hold_begins(_object: usize) {
        HELD.set(HELD.get() + 1);
        say(Phase::Holding);
    }
    #[inline]
    fn hold_ends() {
        HELD.set(HELD.get() - 1);
        say(Phase::Releasing);
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Registered;
    use super::*;

    #[test]
    fn what_happens_under_a_lock_is_holding_it_but_for_waits() {
        let (_registered, watched) = Registered::new().expect("there is a clock");
        let mut seen = Vec::new();
        let mut after = |step: fn()| {
            step();
            seen.push(Phase::NAMES[watched.phase() as usize % Phase::NAMES.len()]);
        };
        after(OnHostAttributed::operation_done);
        after(OnHostAttributed::wait_begins);
        after(|| OnHostAttributed::hold_begins(0));
        after(|| OnHostAttributed::work(1.0));
        after(OnHostAttributed::wait_begins);
        after(|| OnHostAttributed::hold_begins(0));
        after(OnHostAttributed::hold_ends);
        after(|| OnHostAttributed::work(1.0));
        after(OnHostAttributed::hold_ends);
        after(|| OnHostAttributed::work(1.0));
        assert_eq!(
            seen,
            [
                "between",
                "waiting",
                "holding",
                "holding",
                "waiting",
                "holding",
                "releasing",
                "holding",
                "releasing",
                "between"
            ]
        );
    }
}
