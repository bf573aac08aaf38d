//! Conditions, semaphores and barriers, as recordings decide them.

use super::*;
use crate::recording::{MeetingAbout, MeetingKind as Recorded, Met};
use crate::script::RECORDED;
use lockyard_scenarios::{Act, MeetingKind, Step, Visit};

const ROUNDS: usize = 300;

fn met(after: u64, meeting: u32, site: u32, what: Met) -> Event {
    Event::Met { after, meeting, site, what, wait: 0 }
}

/// Returns the events of a wait that lasts: the release of the mutex, and its acquisition.
fn waits(meeting: u32, site: u32, wait: u64) -> [Event; 3] {
    let how = How::Condition;
    [
        leave(20, 0),
        met(5, meeting, site, Met::Waits),
        Event::Acquired { after: wait, lock: 0, site, how, wait },
    ]
}

fn model(kinds: &[Recorded], threads: Vec<Vec<Event>>) -> (Recording, Model) {
    let mut recording = recording(vec![lock("m", Kind::Mutex, 1)], threads);
    let names = ["filled", "emptied"];
    let meeting = |(kind, name): (&Recorded, &str)| MeetingAbout {
        name: name.to_owned(),
        kind: *kind,
        ..MeetingAbout::default()
    };
    recording.about.meetings = kinds.iter().zip(names).map(meeting).collect();
    let model = Model::of(&recording).expect("it has all");
    (recording, model)
}

fn kinds(model: &Model) -> Vec<MeetingKind> {
    model.meetings.iter().map(|meeting| meeting.kind).collect()
}

/// Returns the first steps of each class's visits in the variant of the recorded program.
fn visits(recording: &Recording, model: &Model) -> Vec<Vec<Visit>> {
    let title = String::new();
    let version = Version::default();
    let numbers = HostNumbers::default();
    let variant = script::variant(recording, model, numbers, RECORDED, title, version);
    let Step::Walk { walk, .. } = &variant.expect("it has visits").steps[0] else {
        panic!("no walk")
    };
    walk.classes.clone()
}

/// A producer puts one item every 1,000 ns; a consumer waits for three of four, and finds the
/// fourth.
fn queue(signal: Met) -> Vec<Vec<Event>> {
    let put = [enter(900, 0, 1), met(20, 0, 2, signal), leave(80, 0)];
    let produces = (0..ROUNDS * 4).flat_map(|_| put).collect();
    let round = || {
        let mut all = Vec::new();
        for _ in 0..3 {
            all.extend([enter(40, 0, 3)]);
            all.extend(waits(0, 4, 895));
            all.push(leave(40, 0));
        }
        all.extend([enter(960, 0, 3), leave(40, 0)]);
        all
    };
    vec![produces, (0..ROUNDS).flat_map(|_| round()).collect()]
}

#[test]
fn as_many_signals_as_sections_that_wait_or_pass_are_units() {
    for signal in [Met::Signals, Met::Broadcasts] {
        let (recording, model) = model(&[Recorded::Condition], queue(signal));
        assert!(matches!(kinds(&model)[..], [MeetingKind::Kept { units: 0..=1 }]), "{model:?}");
        assert!((model.meetings[0].units - 1.0).abs() < 1e-9);
        assert_eq!(model.undecided, Vec::<String>::new());
        assert_eq!(model.never_waited, Vec::<String>::new());
        // A wait is no visit of its own, and no sleep.
        let all = visits(&recording, &model);
        let consumer = all
            .iter()
            .flatten()
            .find(|visit| visit.steps.iter().any(|step| matches!(step, Step::LockedWait { .. })));
        let steps = &consumer.expect("it waits").steps;
        assert!(!steps.iter().any(|step| matches!(step, Step::Sleep { .. })), "{steps:?}");
        let gives = |visit: &Visit| {
            let Some(Step::Locked { steps, .. }) = visit.steps.last() else { return false };
            let all = signal == Met::Broadcasts;
            steps.iter().any(|step| {
                matches!(step, Step::Meet { act: Act::Give { all: of, .. }, .. } if *of == all)
            })
        };
        assert!(all.iter().flatten().any(gives), "{all:?}");
        assert!(model.shares.met > 0.2, "{:?}", model.shares);
    }
}

#[test]
fn where_some_sections_do_not_signal_each_gives_one_unit() {
    let mut threads = queue(Met::Signals);
    let puts = threads[0].chunks(3).enumerate().flat_map(|(index, put)| {
        let [enters, signals, leaves] = [put[0], put[1], put[2]];
        let signals = index.is_multiple_of(2).then_some(signals);
        std::iter::once(enters).chain(signals).chain([leaves])
    });
    threads[0] = puts.collect();
    let (recording, model) = model(&[Recorded::Condition], threads);
    assert!(matches!(kinds(&model)[..], [MeetingKind::Kept { .. }]), "{model:?}");
    let all = visits(&recording, &model);
    let is_put = |visit: &&Visit| {
        !visit.steps.iter().any(|step| matches!(step, Step::LockedWait { .. }))
            && matches!(visit.steps.last(), Some(Step::Locked { .. }))
    };
    let puts: Vec<&Visit> = all.iter().flatten().filter(is_put).collect();
    assert_eq!(puts.len(), 2, "{all:?}");
    for put in puts {
        let Some(Step::Locked { steps, .. }) = put.steps.last() else { panic!("{put:?}") };
        let given = steps.iter().map(|step| match step {
            Step::Meet { act: Act::Give { units, .. }, .. } => *units,
            _ => 0.0,
        });
        assert_eq!(given.sum::<f64>(), 1.0, "{put:?}");
    }
}

#[test]
fn waits_that_end_by_time_stay_sleep() {
    let (mut recording, model) = model(&[Recorded::Condition], queue(Met::Signals));
    assert_eq!(model.undecided, Vec::<String>::new());
    let with = |recording: &mut Recording, timeouts| {
        let of = &mut recording.about.meetings[0];
        (of.waits, of.timeouts) = (1000, timeouts);
        Model::of(recording).expect("it has all").undecided
    };
    assert_eq!(with(&mut recording, 100), ["`filled` (waits end by time)"]);
    assert_eq!(with(&mut recording, 10), Vec::<String>::new());
}

#[test]
fn signals_that_match_roughly_give_as_many_units_as_sections_follow() {
    for (left_out, expected) in [(5, 1.25), (50, 1.0)] {
        let mut threads = queue(Met::Broadcasts);
        let (mut number, mut kept) = (0, Vec::new());
        for event in &threads[0] {
            let is_signal = matches!(event, Event::Met { .. });
            number += usize::from(is_signal);
            if !is_signal || !number.is_multiple_of(left_out) {
                kept.push(*event);
            }
        }
        threads[0] = kept;
        let (_, model) = model(&[Recorded::Condition], threads);
        let found = model.meetings[0].units;
        assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    }
}

#[test]
fn signals_without_a_waiter_that_nobody_takes_later_are_lost() {
    let ticks = [met(500, 0, 2, Met::Signals), enter(400, 0, 1), leave(100, 0)];
    let ticks = (0..ROUNDS * 4).flat_map(|_| ticks).collect();
    let listen = || {
        let mut all = vec![enter(3_090, 0, 3)];
        all.extend(waits(0, 4, 845));
        all.push(leave(40, 0));
        all
    };
    let (_, model) =
        model(&[Recorded::Condition], vec![ticks, (0..ROUNDS).flat_map(|_| listen()).collect()]);
    assert_eq!(kinds(&model), [MeetingKind::Lost]);
}

#[test]
fn a_section_that_does_not_wait_and_wakes_all_others_is_a_barrier() {
    let last = |after| vec![enter(after, 0, 3), met(10, 0, 5, Met::Broadcasts), leave(30, 0)];
    let first = |after, wait| {
        let mut all = vec![enter(after, 0, 3)];
        all.extend(waits(0, 4, wait));
        all.push(leave(30, 0));
        all
    };
    // The two threads are the last ones in turn.
    let slow = |round: usize| if round.is_multiple_of(2) { last(960) } else { first(460, 485) };
    let one = (0..ROUNDS).flat_map(slow).collect();
    let other = (0..ROUNDS).flat_map(|round| slow(round + 1)).collect();
    let (_, model) = model(&[Recorded::Condition], vec![one, other]);
    assert_eq!(kinds(&model), [MeetingKind::Barrier]);
}

#[test]
fn turns_and_few_waits_are_not_decided_and_stay_sleep() {
    // Each thread signals the other one, and never passes after its own signal.
    let turn = || {
        let mut all = vec![enter(100, 0, 3)];
        all.extend(waits(0, 4, 845));
        all.extend([met(10, 0, 5, Met::Signals), leave(20, 0)]);
        all
    };
    let thread = |shift: u64| {
        let mut all = vec![enter(100 + shift, 0, 3), met(10, 0, 5, Met::Signals), leave(20, 0)];
        all.extend((0..ROUNDS).flat_map(|_| turn()));
        all
    };
    let (recording, turns) = model(&[Recorded::Condition], vec![thread(0), thread(500)]);
    assert_eq!(kinds(&turns), []);
    assert_eq!(turns.undecided, ["`filled` (threads take turns)"]);
    let steps = visits(&recording, &turns);
    let sleeps = |visit: &Visit| visit.steps.iter().any(|of| matches!(of, Step::Sleep { .. }));
    assert!(steps.iter().flatten().any(sleeps));
    let mut few = queue(Met::Signals);
    few[1].truncate(60);
    let (_, few) = model(&[Recorded::Condition], few);
    assert_eq!(few.undecided, ["`filled` (too few waits are recorded)"]);
}

#[test]
fn two_barriers_of_the_same_threads_are_one_and_of_others_none() {
    let passes = |after, meeting, serial| met(after, meeting, 2, Met::Passes { serial });
    let round = |serial: bool| {
        let begins = [passes(10, 0, serial), enter(900, 0, 3), leave(50, 0)];
        begins.into_iter().chain([passes(10, 1, serial), enter(900, 0, 4), leave(50, 0)])
    };
    let thread = |serial| (0..ROUNDS).flat_map(|_| round(serial)).collect::<Vec<_>>();
    let both = [Recorded::Barrier, Recorded::Barrier];
    let (recording, same) = model(&both, vec![thread(true), thread(false)]);
    assert_eq!(kinds(&same), [MeetingKind::Barrier]);
    assert_eq!(
        (same.meetings[0].name.as_str(), &same.meetings[0].places[..]),
        ("filled, emptied", &[0, 1][..])
    );
    let all = visits(&recording, &same);
    let waits = |visit: &Visit| {
        visit.steps.iter().any(|of| matches!(of, Step::Meet { meeting: 0, act: Act::Wait }))
    };
    assert_eq!(all[0].iter().filter(|visit| waits(visit)).count(), 2, "{}", all[0].len());
    // The third thread comes to the second barrier only.
    let third = (0..ROUNDS).flat_map(|_| [passes(960, 1, false), enter(900, 0, 3), leave(50, 0)]);
    let (_, apart) = model(&both, vec![thread(true), thread(false), third.collect()]);
    assert_eq!(kinds(&apart), [MeetingKind::Barrier]);
    let why = "`emptied` (some of its threads come to another barrier, too)";
    assert_eq!(apart.undecided, [why]);
}

#[test]
fn waits_with_a_lock_held_are_not_decided() {
    let visit = |inside: bool| {
        let mut all = vec![enter(900, 0, 3), leave(50, 0)];
        all.insert(usize::from(inside), met(40, 0, 1, Met::Takes { left: 1 }));
        all.push(met(10, 0, 1, Met::Gives));
        all
    };
    let thread = |inside| (0..ROUNDS).flat_map(|_| visit(inside)).collect();
    let (_, outside) = model(&[Recorded::Semaphore], vec![thread(false)]);
    assert_eq!(kinds(&outside), [MeetingKind::Kept { units: 2 }]);
    let (_, inside) = model(&[Recorded::Semaphore], vec![thread(true)]);
    assert_eq!(inside.undecided, ["`filled` (threads wait there with a lock held)"]);
}

#[test]
fn conditions_of_locks_that_a_site_takes_in_turn_stay_sleep() {
    // Four queues with a lock and a condition each, used in turn by the same code.
    let of = |event: Event, queue: u32| match event {
        Event::Acquired { after, site, how, wait, .. } => {
            Event::Acquired { after, lock: queue, site, how, wait }
        }
        Event::Released { after, .. } => Event::Released { after, lock: queue },
        Event::Met { after, site, what, wait, .. } => {
            Event::Met { after, meeting: queue, site, what, wait }
        }
        event => event,
    };
    let in_turn = |events: Vec<Event>| {
        let mut number = 0;
        let mut all = Vec::new();
        for event in events {
            let begins = matches!(event, Event::Acquired { how, .. } if how != How::Condition);
            number += u32::from(begins);
            all.push(of(event, number % 4));
        }
        all
    };
    let threads: Vec<Vec<Event>> = queue(Met::Signals).into_iter().map(in_turn).collect();
    let names = ["a", "b", "c", "d"];
    let locks = names.iter().zip(1..).map(|(name, line)| lock(name, Kind::Mutex, line));
    let mut recording = recording(locks.collect(), threads);
    let kind = Recorded::Condition;
    let about =
        |name: &str| MeetingAbout { name: name.to_owned(), kind, ..MeetingAbout::default() };
    recording.about.meetings = names.map(about).to_vec();
    let model = Model::of(&recording).expect("it has all");
    assert_eq!(model.groups.len(), 1, "{:?}", model.groups);
    let why =
        |name| format!("`{name}` (its lock is one of several that a call site takes in turn)");
    assert_eq!((model.meetings, model.undecided), (vec![], names[1..].iter().map(why).collect()));
}

#[test]
fn windows_that_are_not_like_the_run_decide_nothing() {
    let (mut recording, model) = model(&[Recorded::Condition], queue(Met::Signals));
    assert_eq!(kinds(&model).len(), 1);
    let acquired: u64 = recording.windows.iter().map(|window| window.acquired()).sum();
    let mut with = |signals| {
        // The windows have a tenth of the run, and 1,200 signals.
        recording.about.locks[0].acquired = acquired * 10;
        recording.about.meetings[0].signals = signals;
        Model::of(&recording).expect("it has all").undecided
    };
    assert_eq!(with(9_000), Vec::<String>::new());
    let why = ["`filled` (windows have another share of its events than the run)"];
    assert_eq!(with(2_000), why);
    assert_eq!(with(40_000), why);
}

#[test]
fn conditions_that_are_signalled_and_for_which_nobody_waits_are_named() {
    let produces = queue(Met::Signals).remove(0);
    let (_, model) = model(&[Recorded::Condition], vec![produces]);
    assert_eq!((kinds(&model), model.undecided), (vec![], Vec::<String>::new()));
    assert_eq!(model.never_waited, ["filled"]);
}

#[test]
fn units_in_hand_when_windows_begin_are_units_of_the_beginning() {
    // Both threads have a unit of two when their windows begin: the value is never more than 0.
    let visit = [
        enter(900, 0, 3),
        leave(50, 0),
        met(10, 0, 1, Met::Gives),
        met(40, 0, 1, Met::Takes { left: 0 }),
    ];
    let thread = || (0..ROUNDS).flat_map(|_| visit).collect();
    let (recording, limited) = model(&[Recorded::Semaphore], vec![thread(), thread()]);
    assert_eq!(kinds(&limited), [MeetingKind::Kept { units: 2 }]);
    // A thread begins before it takes, and gives at the end.
    for visit in visits(&recording, &limited).iter().flatten() {
        let acts = visit.steps.iter().filter_map(|step| match step {
            Step::Meet { act, .. } => Some(*act),
            _ => None,
        });
        let given = Act::Give { units: 1.0, all: false };
        assert_eq!(acts.collect::<Vec<_>>(), [Act::Wait, given], "{:?}", visit.steps.len());
    }
    let few = |count| visit.into_iter().cycle().take(count).collect::<Vec<_>>();
    let rest = (0..ROUNDS).flat_map(|_| [enter(900, 0, 3), leave(50, 0)]);
    let begins_late = few(40).into_iter().chain(rest).collect();
    let (_, few) = model(&[Recorded::Semaphore], vec![begins_late]);
    assert_eq!(few.undecided, ["`filled` (too few takes are recorded)"]);
    let only_takes = || {
        let visit = [met(10, 0, 1, Met::Takes { left: 3 }), enter(900, 0, 3), leave(50, 0)];
        (0..ROUNDS).flat_map(|_| visit).collect()
    };
    let (_, never) = model(&[Recorded::Semaphore], vec![only_takes()]);
    assert_eq!(never.undecided, ["`filled` (units that are given and taken do not match)"]);
}

#[test]
fn a_semaphore_has_its_recorded_units_and_a_barrier_those_who_come() {
    let visit = [
        met(10, 0, 1, Met::Takes { left: 2 }),
        enter(900, 0, 3),
        leave(50, 0),
        met(10, 0, 1, Met::Gives),
    ];
    let round = |number: usize| {
        let mut all = visit.to_vec();
        if number.is_multiple_of(16) {
            let serial = number.is_multiple_of(32);
            all.push(met(10, 1, 2, Met::Passes { serial }));
        }
        all
    };
    let one = (0..ROUNDS * 4).flat_map(round).collect();
    let other = (0..ROUNDS * 4).flat_map(|number| round(number + 16)).collect();
    let (recording, model) = model(&[Recorded::Semaphore, Recorded::Barrier], vec![one, other]);
    assert_eq!(kinds(&model), [MeetingKind::Kept { units: 3 }, MeetingKind::Barrier]);
    assert_eq!(model.classes[0].rounds.keys().collect::<Vec<_>>(), [&16]);
    let all = visits(&recording, &model);
    let waits = |visit: &Visit, of: usize| {
        visit
            .steps
            .iter()
            .any(|step| matches!(step, Step::Meet { meeting, act: Act::Wait } if *meeting == of))
    };
    assert!(all[0].iter().all(|visit| waits(visit, 0)), "{all:?}");
    assert_eq!(all[0].iter().filter(|visit| waits(visit, 1)).count(), 1);
}
