//! Replays of threads that wait for each other: queues that fill and empty, signals that are kept
//! or lost, barriers, semaphores, and threads that all wait.

use super::*;
use lockyard_scenarios::{
    Act, Choice, Meeting, MeetingKind, Region, Rounds, Script, Step, Times, Variant, Visit, Walk,
};
use std::sync::Arc;

const GIVE: Act = Act::Give { units: 1.0, all: false };

fn meet(meeting: usize, act: Act) -> Step {
    Step::Meet { meeting, act }
}

fn work(microseconds: f64) -> Step {
    let times = Arc::new(Times::of(vec![microseconds * 1000.0]));
    Step::Drawn { times, factor: 1.0, activity: Region::System.into() }
}

/// Returns the operations in a millisecond of threads of these classes in turn, each with one
/// kind of visit.
fn rate(kinds: &[MeetingKind], classes: Vec<Vec<Step>>, threads: usize) -> Result<f64, String> {
    let visit = |steps| vec![Visit { steps, next: Choice::default(), operations: 1 }];
    let tasks = (0..classes.len()).collect();
    let classes = classes.into_iter().map(visit).collect();
    rate_of(Walk { classes, tasks, meetings: meetings(kinds), ..Walk::default() }, threads)
}

fn meetings(kinds: &[MeetingKind]) -> Vec<Meeting> {
    kinds.iter().map(|&kind| Meeting { name: "m".to_owned(), kind }).collect()
}

fn rate_of(walk: Walk, threads: usize) -> Result<f64, String> {
    let text = "name = \"made\"\nwork_varies = false\n[[objects]]\nname = \"lock\"\nkind = \
                \"lock\"\nlock = \"pthread-like-mutex\"\n[[steps]]\ndo = \"pause\"\n[[variants]]\n\
                name = \"v\"\n";
    let script = Script::parse("made", text).expect("it is one");
    let walk = Step::Walk { walk: Arc::new(walk), factor: 1.0 };
    let variant = Variant { steps: vec![walk], ..script.variants[0].clone() };
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    throughput(&machine, &variant, threads).map(|rate| rate / 1e3).map_err(|why| why.to_string())
}

fn is_near(rate: Result<f64, String>, expected: f64) {
    let rate = rate.expect("it runs");
    assert!((rate / expected - 1.0).abs() < 0.06, "{rate}, expected {expected}");
}

const FILLED: usize = 0;
const EMPTIED: usize = 1;

/// A queue of eight places between a producer and a consumer with these times.
fn queue(producer: f64, consumer: f64, threads: usize) -> Result<f64, String> {
    let kinds = [MeetingKind::Kept { units: 0 }, MeetingKind::Kept { units: 8 }];
    let section = |meeting| Step::LockedWait {
        object: 0,
        wait: Region::LockWait.into(),
        meeting,
        steps: [vec![], vec![work(0.05)]],
    };
    let produces = vec![work(producer), section(EMPTIED), meet(FILLED, GIVE)];
    let consumes = vec![section(FILLED), meet(EMPTIED, GIVE), work(consumer)];
    rate(&kinds, vec![produces, consumes], threads)
}

#[test]
fn a_queue_empties_and_fills_and_the_slower_side_decides() {
    is_near(queue(200.0, 20.0, 2), 10.0);
    is_near(queue(20.0, 200.0, 2), 10.0);
    // Two of each do twice as much.
    is_near(queue(200.0, 20.0, 4), 20.0);
    is_near(queue(20.0, 200.0, 4), 20.0);
}

#[test]
fn a_signal_without_a_waiter_is_kept_or_lost() {
    let ticks = || vec![work(200.0), meet(0, GIVE)];
    let listens = || vec![work(300.0), meet(0, Act::Wait)];
    let of = |kind| rate(&[kind], vec![ticks(), listens()], 2);
    // In 300 us there has always been a tick, and there is the next one after 400.
    is_near(of(MeetingKind::Kept { units: 0 }), 5.0 + 1.0 / 0.3);
    is_near(of(MeetingKind::Lost), 5.0 + 1.0 / 0.4);
}

#[test]
fn a_broadcast_ends_all_waits() {
    let all = Act::Give { units: 1.0, all: true };
    let ticks = vec![work(200.0), meet(0, all)];
    let listens = || vec![meet(0, Act::Wait), work(10.0)];
    let classes = || vec![ticks.clone(), listens(), listens(), listens()];
    is_near(rate(&[MeetingKind::Lost], classes(), 4), 20.0);
    // A unit is one thread's, whoever is woken.
    is_near(rate(&[MeetingKind::Kept { units: 0 }], classes(), 4), 10.0);
}

#[test]
fn a_barrier_waits_for_the_slowest_thread_that_comes_to_it() {
    let comes = |us| vec![work(us), meet(0, Act::Wait)];
    let kinds = [MeetingKind::Barrier];
    is_near(rate(&kinds, vec![comes(100.0), comes(300.0)], 2), 2.0 / 0.3);
    is_near(rate(&kinds, vec![comes(100.0), comes(300.0)], 4), 4.0 / 0.3);
    // Another class does not come.
    let other = vec![work(100.0)];
    is_near(rate(&kinds, vec![comes(100.0), comes(300.0), other], 3), 2.0 / 0.3 + 10.0);
}

#[test]
fn visits_at_a_barrier_come_in_regular_distances() {
    let next = |place| Choice::of([(place, 1.0)]);
    let visit = |steps| Visit { steps, next: next(0), operations: 1 };
    let visits = vec![visit(vec![work(10.0)]), visit(vec![meet(0, Act::Wait), work(10.0)])];
    let walk = |rounds| Walk {
        classes: vec![visits.clone()],
        tasks: vec![0],
        meetings: meetings(&[MeetingKind::Barrier]),
        rounds,
        ..Walk::default()
    };
    let lengths = Choice::of([(16, 1.0)]);
    let rounds = vec![Some(Rounds { lengths, meets: next(1) })];
    // All threads come after the same time, so that they hardly wait.
    let regular = rate_of(walk(rounds), 4).expect("it runs");
    assert!(regular > 0.9 * 400.0 && regular < 400.0, "{regular}");
    // Without rounds, nobody ever comes.
    is_near(rate_of(walk(Vec::new()), 4), 400.0);
}

#[test]
fn a_semaphore_lets_in_as_many_threads_as_it_has_units() {
    for units in [1, 2, 3] {
        let uses = vec![meet(0, Act::Wait), work(200.0), meet(0, GIVE)];
        let kind = MeetingKind::Kept { units };
        let found = rate(&[kind], vec![uses], 4).expect("it runs");
        let most = units as f64 / 0.2;
        assert!(found > 0.8 * most && found <= 1.001 * most, "{units}: {found}");
    }
}

#[test]
fn threads_of_which_some_wait_for_ever_are_refused() {
    let kinds = [MeetingKind::Kept { units: 0 }, MeetingKind::Kept { units: 0 }];
    // Each of the two gives what the other one waits for, after its own wait.
    let waits = |of: usize| vec![work(10.0), meet(of, Act::Wait), meet(1 - of, GIVE)];
    let why = rate(&kinds, vec![waits(0), waits(1), vec![work(10.0)]], 3);
    let why = why.expect_err("two of three wait for each other");
    assert!(why.contains("2 of 3 threads of the replay wait for each other"), "{why}");
    // At a barrier, one that waits elsewhere is missing.
    let kinds = [MeetingKind::Barrier, MeetingKind::Kept { units: 0 }];
    let comes = vec![work(10.0), meet(0, Act::Wait)];
    let late = vec![meet(1, Act::Wait), meet(0, Act::Wait)];
    let why = rate(&kinds, vec![comes, late, vec![work(10.0)]], 3).expect_err("one is missing");
    assert!(why.contains("2 of 3 threads"), "{why}");
    // A rare signal comes in the end.
    let rare = vec![work(50_000.0), meet(0, GIVE)];
    let listens = vec![meet(0, Act::Wait), work(1.0)];
    let kinds = [MeetingKind::Kept { units: 0 }];
    is_near(rate(&kinds, vec![rare, listens, vec![work(10.0)]], 3), 100.0);
}

#[test]
fn waits_that_would_never_end_in_the_recorded_run_stay_sleep() {
    use lockyard_recording::recording::{MeetingAbout, MeetingKind, Met};
    let mut recording = recording(1_145.0, skylake());
    let name = "units".to_owned();
    let kind = MeetingKind::Semaphore;
    recording.about.meetings = vec![MeetingAbout { name, kind, ..MeetingAbout::default() }];
    let met = |after, what| Event::Met { after, meeting: 0, site: 0, what, wait: 0 };
    for window in &mut recording.windows {
        let each = window.events.iter().flat_map(|event| match *event {
            Event::Acquired { after, lock, site, how, wait } => {
                let takes = met(after, Met::Takes { left: 0 });
                vec![takes, Event::Acquired { after: 0, lock, site, how, wait }]
            }
            event => vec![event],
        });
        window.events = each.collect();
    }
    // The thread that gives the units takes a lock once only, so that it is not replayed.
    let mut gives = recording.windows[0].events[1..3].to_vec();
    gives.extend((0..2 * WITHIN).map(|_| met(500, Met::Gives)));
    recording.windows.push(Window { thread: 2, events: gives, ..Window::default() });
    let model = Model::of(&recording).expect("it has all");
    assert_eq!((model.meetings.len(), model.threads.round()), (1, 1.0), "{model:?}");
    let recorded = Recorded::new(recording).expect("it is replayed");
    let why = "`units` (its waits would never end in the replay of the recorded run)";
    assert_eq!(
        (recorded.model.meetings.len(), recorded.model.undecided),
        (0, vec![why.to_owned()])
    );
}

#[test]
fn threads_that_all_wait_are_refused_with_the_reason() {
    let kind = MeetingKind::Kept { units: 3 };
    let takes = vec![work(10.0), meet(0, Act::Wait)];
    let why = rate(&[kind], vec![takes.clone()], 2).expect_err("three units are not enough");
    assert!(why.contains("all 2 threads of the replay wait for each other"), "{why}");
    assert!(why.contains("`m`"), "{why}");
    // With a thread that gives, nobody is stuck.
    is_near(rate(&[kind], vec![takes, vec![work(100.0), meet(0, GIVE)]], 2), 20.0);
}
