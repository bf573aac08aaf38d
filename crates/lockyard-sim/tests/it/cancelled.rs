//! Runs that a flag cancels: before they begin, and while they run. A simulated thread sets the
//! flag, so each run is reproducible.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, RunEnd, Simulated, SimulatedU64, Simulation, operation_done};
use std::sync::atomic::AtomicBool;

/// Maximum number of events that a run handles after the flag is set, as `cancel_by` documents.
const SOON: u64 = 1 << 15;

fn simulation() -> Simulation {
    Simulation::new(&Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped"), 1)
}

/// Returns a run of four threads on two sockets, each of which adds to a word `times` times. After
/// `begin` times the first thread sets the flag.
fn additions(times: u64, begin: u64, flag: &'static AtomicBool) -> Simulation {
    let mut simulation = simulation();
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in [0, 1, 24, 25] {
        let word = word.clone();
        simulation.spawn(place, move || {
            for time in 0..times {
                if place == 0 && time == begin {
                    flag.store(true, Ordering::Relaxed);
                }
                word.fetch_add(1, Ordering::Relaxed);
                Simulated::relax();
                operation_done();
            }
        });
    }
    simulation
}

#[test]
fn a_run_that_is_cancelled_before_it_begins_handles_no_event() {
    static FLAG: AtomicBool = AtomicBool::new(true);
    let mut simulation = additions(1_000, u64::MAX, &FLAG);
    simulation.cancel_by(&FLAG);
    assert!(matches!(simulation.run(), RunEnd::Cancelled));
    assert!(matches!(simulation.run_until(1_000), RunEnd::Cancelled));
    assert_eq!((simulation.statistics().events, simulation.now()), (0, 0));
    assert_eq!(simulation.operations(), [0; 4]);
}

#[test]
fn a_run_that_is_cancelled_while_it_runs_ends_soon() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    const BEGIN: u64 = 20_000;
    // The same run up to the addition that sets the flag. This run never checks the flag.
    let mut until_begin = additions(u64::MAX, BEGIN, &FLAG);
    while !FLAG.load(Ordering::Relaxed) {
        let next = until_begin.now() + 1_000;
        assert!(matches!(until_begin.run_until(next), RunEnd::TimeOver));
    }
    let raised = until_begin.statistics().events;
    assert!(raised > SOON, "the run looks at the flag at least once before: {raised}");

    FLAG.store(false, Ordering::Relaxed);
    let mut simulation = additions(u64::MAX, BEGIN, &FLAG);
    simulation.cancel_by(&FLAG);
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Cancelled), "{outcome}");
    assert!(!outcome.is_sound(), "its figures are of a part");
    assert_eq!(outcome.to_string(), "cancelled");
    let events = simulation.statistics().events;
    assert!(events <= raised + SOON, "{events} events; the flag was raised before {raised}");
    assert!(simulation.operations()[0] >= BEGIN);
    // The run stays cancelled while the flag is set.
    assert!(matches!(simulation.run(), RunEnd::Cancelled));
    assert_eq!(simulation.statistics().events, events);
}

#[test]
fn a_run_whose_threads_are_done_has_finished_whatever_the_flag_says() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let mut simulation = additions(10, 9, &FLAG);
    simulation.cancel_by(&FLAG);
    assert!(matches!(simulation.run(), RunEnd::Finished));
    assert!(FLAG.load(Ordering::Relaxed));
    assert_eq!(simulation.operations(), [10; 4]);
}

#[test]
fn a_flag_changes_nothing_of_the_run() {
    static IGNORED: AtomicBool = AtomicBool::new(false);
    static DOWN: AtomicBool = AtomicBool::new(false);
    static RAISED: AtomicBool = AtomicBool::new(false);
    const TIMES: u64 = 30_000;
    let mut plain = additions(TIMES, u64::MAX, &IGNORED);
    assert!(matches!(plain.run(), RunEnd::Finished));

    let mut watched = additions(TIMES, u64::MAX, &DOWN);
    watched.cancel_by(&DOWN);
    assert!(matches!(watched.run(), RunEnd::Finished));
    assert_eq!(watched.hash(), plain.hash());

    // This run is cancelled in the middle, and resumed after the flag is cleared.
    let mut resumed = additions(TIMES, TIMES / 2, &RAISED);
    resumed.cancel_by(&RAISED);
    assert!(matches!(resumed.run(), RunEnd::Cancelled));
    RAISED.store(false, Ordering::Relaxed);
    assert!(matches!(resumed.run(), RunEnd::Finished));
    assert_eq!(resumed.hash(), plain.hash());
    assert_eq!(resumed.operations(), [TIMES; 4]);
}
