//! Native host whose threads account for their activity. Each thread stores its phase and its
//! activity as one number in its own line.

use super::line::enter;
use super::tally::Tally;
use lockyard::Native;
use lockyard::platform::{Activity, Host, HostWithSlots, Region};
use lockyard_results::phase::Phase;
use std::cell::Cell;

/// Number of phases.
const PHASES: usize = Phase::NAMES.len();

/// Returns the number of distinct states (phase and activity) of a thread. The thread runs a
/// program with this many [parts](Activity::part) of regions.
pub fn numbers(parts: usize) -> usize {
    (Region::COUNT + parts) * PHASES
}

/// Groups a tally of these [`numbers`] by phase.
pub fn by_phase(tally: &Tally) -> Tally {
    tally.grouped(PHASES, |number| number % PHASES)
}

/// Groups a tally of these [`numbers`] by [activity](Activity::index).
pub fn by_activity(tally: &Tally, parts: usize) -> Tally {
    tally.grouped(Region::COUNT + parts, |number| number / PHASES)
}

/// Native host whose threads record their activity. Each beginning and end of a region costs a
/// store.
#[derive(Debug)]
pub struct Accounted(());

std::thread_local! {
    static IN: Cell<(Phase, Activity)> = const {
        Cell::new((Phase::Between, Activity { region: Region::System, part: 0 }))
    };
}

#[inline(always)]
fn say(phase: Phase, doing: Activity) {
    IN.set((phase, doing));
    enter((doing.index() * PHASES + phase as usize) as u32);
}

/// Records that the calling thread is now in `phase`.
#[inline(always)]
pub(super) fn in_phase(phase: Phase) {
    say(phase, IN.get().1);
}

// SAFETY: every method is taken from `Native`. The additional accounting touches only the thread's
// own data.
unsafe impl Host for Accounted {
    type Atomics = <Native as Host>::Atomics;
    const SLOTS: u32 = <Native as Host>::SLOTS;

    #[inline(always)]
    fn begin_activity(activity: Activity) -> Activity {
        let (phase, before) = IN.get();
        say(phase, before.then(activity));
        before
    }
    #[inline(always)]
    fn resume_activity(before: Activity) {
        say(IN.get().0, before);
    }
    lockyard::forward_to_host!(Native: slots, memory, rest);
}

impl HostWithSlots for Accounted {}

#[cfg(test)]
mod tests {
    use super::super::line::Registered;
    use super::*;
    use lockyard::RawSpinLock;
    use lockyard::platform::during;

    #[test]
    fn regions_nest_and_phases_stay() {
        let (_registered, watched) = Registered::new().expect("there is a clock");
        let seen = || {
            let number = watched.phase() as usize;
            (Phase::NAMES[number % PHASES], number / PHASES)
        };
        in_phase(Phase::Holding);
        assert_eq!(seen(), ("holding", 0));
        let copy = Activity::part_of(Region::Copy, 2);
        during::<Accounted, _>(Region::LookUp, || {
            assert_eq!(seen(), ("holding", Region::LookUp as usize));
            during::<Accounted, _>(copy, || assert_eq!(seen(), ("holding", copy.index())));
            assert_eq!(seen(), ("holding", Region::LookUp as usize));
            in_phase(Phase::Releasing);
        });
        assert_eq!(seen(), ("releasing", 0));
        in_phase(Phase::Between);
    }

    #[test]
    fn the_library_s_locks_say_that_they_wait() {
        struct Spy;
        std::thread_local! {
            static SEEN: Cell<Option<Activity>> = const { Cell::new(None) };
        }
        // SAFETY: every method is taken from `Native`.
        unsafe impl Host for Spy {
            type Atomics = <Native as Host>::Atomics;
            const SLOTS: u32 = <Native as Host>::SLOTS;
            fn begin_activity(activity: Activity) -> Activity {
                SEEN.set(Some(activity));
                Accounted::begin_activity(activity)
            }
            fn resume_activity(before: Activity) {
                Accounted::resume_activity(before);
            }
            lockyard::forward_to_host!(Native: slots, memory, rest);
        }
        impl HostWithSlots for Spy {}
        let lock = RawSpinLock::<lockyard::lock::Queued, Spy>::new();
        let held = lock.acquire();
        assert_eq!(SEEN.get(), Some(Region::LockWait.into()));
        assert_eq!(IN.get().1, Region::System.into(), "and that the wait is over");
        // SAFETY: acquired above.
        unsafe { lock.release(held) };
    }
}
