use super::*;
use crate::recording::{
    About, Costs, CpuTime, Event, How, Kind, LockAbout, Switches, ThreadAbout, ThreadUse, Window,
};
use crate::script::{self, Change, Changed, HostNumbers, Version};
use lockyard_scenarios::{LockKind, ObjectKind, Step};

mod meetings;
mod reads;

fn lock(name: &str, kind: Kind, line: u64) -> LockAbout {
    LockAbout { name: name.to_owned(), kind, line, ..LockAbout::default() }
}

fn enter(after: u64, lock: u32, site: u32) -> Event {
    Event::Acquired { after, lock, site, how: How::Waits, wait: 0 }
}

fn leave(after: u64, lock: u32) -> Event {
    Event::Released { after, lock }
}

/// Returns a recording with one window a thread, all beginning at 0.
fn recording(locks: Vec<LockAbout>, threads: Vec<Vec<Event>>) -> Recording {
    let window =
        |(thread, events): (u32, Vec<Event>)| Window { thread, events, ..Window::default() };
    let windows: Vec<Window> = (1..).zip(threads).map(window).collect();
    let longest = windows.iter().map(Window::duration).max().unwrap_or(0);
    let about = About {
        command: vec!["/usr/bin/Made Up".to_owned()],
        seconds: longest as f64 / 1e9,
        cpus: 2,
        locks,
        sites: (0..8).map(|site| format!("site {site}")).collect(),
        costs: Costs { hold: 10.0, think: 30.0, counted: 20.0, plain: 25.0, ..Costs::default() },
        ..About::default()
    };
    Recording { about, windows }
}

/// Returns the events of visits to two locks in turn: the second one within every third visit.
fn turns(visits: usize) -> Vec<Event> {
    let visit = |number: usize| match number % 3 {
        0 => vec![enter(1_030, 0, 0), enter(50, 1, 1), leave(210, 1), leave(60, 0)],
        _ => vec![enter(530, 0, 2), leave(110, 0)],
    };
    (0..visits).flat_map(visit).collect()
}

fn two() -> Vec<LockAbout> {
    vec![lock("a", Kind::Mutex, 7), lock("b", Kind::Spin, 7)]
}

#[test]
fn times_orders_and_rates_are_those_of_the_events() {
    let model = Model::of(&recording(two(), vec![turns(3_000), turns(3_000)])).expect("it has all");
    assert_eq!((model.whole_threads(), model.classes.len()), (2, 1));
    let class = &model.classes[0];
    assert_eq!(class.threads, [1, 2]);
    assert_eq!(class.visits.len(), 2);
    let short = &class.visits[0];
    assert_eq!(
        short.segments.iter().map(|times| times[0].busy).sum::<f64>() / 530.0,
        short.count() as f64
    );
    // A short visit is followed by a short one and by a long one, in turn.
    let next: Vec<usize> = short.next.values().copied().collect();
    assert!(next[0].abs_diff(next[1]) <= 2, "{next:?}");
    assert_eq!(class.visits[1].next.keys().copied().collect::<Vec<_>>(), [0]);
    // Four acquisitions in 1,350 + 2 * 640 ns, by two threads.
    let rate = 2.0 * 4.0 / (1_350.0 + 1_280.0) * 1e9;
    assert!((model.rate / rate - 1.0).abs() < 0.01, "{} {rate}", model.rate);
    assert_eq!(model.shares.circular, 0.0);
}

#[test]
fn the_replay_has_the_times_without_the_cost_of_events() {
    let recording = recording(two(), vec![turns(3_000)]);
    let model = Model::of(&recording).expect("it has all");
    let host = HostNumbers { call: 5.0, line: 100.0, ..HostNumbers::default() };
    let variant = |version| {
        script::variant(&recording, &model, host, "v", "v".to_owned(), version).expect("it has one")
    };
    let plain = variant(Version::default());
    // Time outside: less 30, and 5 for the call. Under the lock: less 10. Two operations that
    // enter, or leave, are half of each: less 17.5.
    let short = 530.0 - 25.0 + 110.0 - 10.0;
    let long = 1_030.0 - 25.0 + 50.0 - 17.5 + 210.0 - 10.0 + 60.0 - 17.5;
    let mean = plain.work_of_operation(0.0);
    assert!((mean / ((2.0 * short + long) / 3.0) - 1.0).abs() < 0.001, "{mean}");
    let recorder = variant(Version { recorder: true, ..Version::default() });
    let more = recorder.work_of_operation(0.0) - mean;
    assert!((more / (20.0 * 4.0 / 3.0) - 1.0).abs() < 0.001, "{more}");
    let kinds = |variant: &lockyard_scenarios::Variant| -> Vec<LockKind> {
        let lock = |object: &lockyard_scenarios::Object| match object.kind {
            ObjectKind::Lock { lock } => Some(lock),
            _ => None,
        };
        variant.objects.iter().filter_map(lock).collect()
    };
    assert_eq!(kinds(&plain), [LockKind::PthreadLike, LockKind::TestAndSet]);
    let script = script::script(&recording, &model, host).expect("it is a script");
    let ticket = script.variants.iter().find(|variant| variant.name == "ticket");
    assert_eq!(ticket.map(kinds), Some(vec![LockKind::Ticket; 2]));
    // Both locks are in one line, unless each gets its own; their data is one line each.
    let lines = |variant: &lockyard_scenarios::Variant| {
        variant.objects.iter().map(|object| object.line).max().map_or(0, |most| most + 1)
    };
    assert_eq!(lines(&plain), 3);
    assert_eq!(lines(&variant(Version { change: Change::OwnLines, ..Version::default() })), 4);
    let first = Changed::of(&[0]);
    let split = variant(Version { change: Change::Split(first, 4), ..Version::default() });
    assert_eq!(kinds(&split).len(), 4 + 1);
    let halved = variant(Version { change: Change::HoldHalved(first), ..Version::default() });
    let outside = (2.0 * 505.0 + 1_005.0) / 3.0;
    let half = (mean - outside) / 2.0;
    assert!((mean - halved.work_of_operation(0.0) - half).abs() < 0.5);
    // A batch has the work of all its visits, and the locks that nobody changed.
    let batched = variant(Version { change: Change::Batched(first), ..Version::default() });
    assert!((mean / batched.work_of_operation(0.0) - 1.0).abs() < 1e-3);
    assert_eq!(kinds(&batched).len(), 2);
    let without = variant(Version { change: Change::Without(first), ..Version::default() });
    assert_eq!(kinds(&without), [LockKind::TestAndSet]);
    assert!((mean / without.work_of_operation(0.0) - 1.0).abs() < 1e-3);
}

#[test]
fn a_cost_of_data_is_the_difference_after_a_hand_over() {
    // Two threads alternate, two acquisitions each. The first hold after a hand-over is longer by
    // 300 ns.
    let thread = |offset: u64| {
        let mut events = vec![enter(2_000 + offset, 0, 0), leave(400, 0)];
        for _ in 0..500 {
            events.extend([enter(100, 0, 0), leave(100, 0), enter(900, 0, 0), leave(400, 0)]);
        }
        events
    };
    let locks = vec![lock("a", Kind::Mutex, 1)];
    let model = Model::of(&recording(locks, vec![thread(0), thread(750)])).expect("it has all");
    let moved = model.groups[0].exclusive;
    let data = moved.data.expect("there are both kinds of holds");
    assert!((data - 300.0).abs() < 1.0, "{data}");
    assert!((moved.share - 0.5).abs() < 0.05);
}

#[test]
fn circles_and_other_orders_are_replayed_without_a_deadlock() {
    let mut events = Vec::new();
    for number in 0..900u64 {
        let (outer, inner) = if number % 3 == 0 { (1, 0) } else { (0, 1) };
        events.extend([
            enter(500, outer, 0),
            enter(50, inner, 1),
            leave(70, inner),
            leave(80, outer),
        ]);
        // Released in the order of the acquisitions.
        events.extend([enter(500, 2, 2), enter(50, 3, 3), leave(70, 2), leave(80, 3)]);
    }
    let locks = ["a", "b", "c", "d"].map(|name| lock(name, Kind::Mutex, 1)).to_vec();
    let recording = recording(locks, vec![events]);
    let model = Model::of(&recording).expect("it has all");
    // A third of the pairs of two of four acquisitions.
    assert!((model.shares.circular - 1.0 / 12.0).abs() < 0.01, "{:?}", model.shares);
    assert!((model.shares.unordered - 0.25).abs() < 0.01, "{:?}", model.shares);
    let script = script::script(&recording, &model, HostNumbers::default()).expect("it is one");
    assert_eq!(script.name, "made-up");
    assert!(matches!(script.variants[0].steps[..], [Step::Walk { .. }]));
}

#[test]
fn many_locks_of_one_site_are_a_group() {
    let visit = |number: u32| vec![enter(500, number % 9, 0), leave(100, number % 9)];
    let events: Vec<Event> = (0..900).flat_map(visit).collect();
    let locks = (0..9).map(|number| lock("l", Kind::Mutex, number)).collect();
    let model = Model::of(&recording(locks, vec![events])).expect("it has all");
    assert_eq!((model.groups.len(), model.groups[0].locks.len()), (1, 9));
    assert_eq!(model.classes[0].visits.len(), 1);
}

#[test]
fn sleep_is_apart_and_waits_are_no_time_of_the_program() {
    let visit = |_| {
        vec![
            Event::OffCpu { time: 5_000, slept: true },
            enter(6_000, 0, 0),
            leave(100, 0),
            Event::OffCpu { time: 3_000, slept: true },
            Event::Acquired { after: 4_500, lock: 0, site: 0, how: How::Waits, wait: 4_000 },
            leave(100, 0),
            Event::OffCpu { time: 7_000, slept: false },
            Event::Acquired { after: 8_000, lock: 0, site: 1, how: How::Condition, wait: 500 },
            leave(100, 0),
        ]
    };
    let events: Vec<Event> = (0..400).flat_map(visit).collect();
    let model =
        Model::of(&recording(vec![lock("a", Kind::Mutex, 1)], vec![events])).expect("it has all");
    let mut means: Vec<(f64, f64)> = Vec::new();
    for visit in &model.classes[0].visits {
        let mean = |of: fn(&Segment) -> f64| {
            visit.segments.iter().map(|times| of(&times[0])).sum::<f64>() / visit.count() as f64
        };
        means.push((mean(|times| times.busy), mean(|times| times.slept)));
    }
    // At site 0: 1,000 busy and 5,000 asleep, or 500 after a wait. At site 1: 1,000 busy, and the
    // wait for a condition.
    let (busy, slept) = means[0];
    assert!((busy - 750.0).abs() < 3.0 && (slept - 2_500.0).abs() < 10.0, "{means:?}");
    let (busy, slept) = means[1];
    assert!((busy - 1_000.0).abs() < 1.0 && (slept - 500.0).abs() < 1.0, "{means:?}");
}

#[test]
fn too_little_is_refused_in_words() {
    let none = Model::of(&recording(two(), vec![vec![]])).expect_err("it has nothing");
    assert!(none.contains("take no lock"), "{none}");
    let few = Model::of(&recording(two(), vec![turns(20)])).expect_err("it has little");
    assert!(few.contains("allowed: 200"), "{few}");
    let once = vec![vec![enter(100, 0, 0), leave(50, 0)]; 2_000];
    let short = Model::of(&recording(two(), once)).expect_err("each thread is too short");
    assert!(short.starts_with("threads come and go: 2000 threads took locks 2000"), "{short}");
}

#[test]
fn the_time_of_today_is_of_locks_waits_sleep_and_the_rest_without_the_cost_of_events() {
    let waits = Event::Acquired { after: 700, lock: 0, site: 0, how: How::Waits, wait: 400 };
    let condition =
        Event::Acquired { after: 450, lock: 0, site: 3, how: How::Condition, wait: 400 };
    let visit = [
        // 300 ns outside, 400 waited, 100 under the lock; 50 before the inner one, 200 under it.
        [waits, enter(67, 1, 1), leave(210, 1), leave(67, 0)].to_vec(),
        // Asleep for 150 of 1,005, then preempted for 95.
        vec![
            Event::OffCpu { time: 150, slept: true },
            enter(1_005, 0, 2),
            Event::OffCpu { time: 95, slept: false },
            leave(110, 0),
        ],
        // Asleep in the wait for the condition.
        vec![condition, leave(110, 0)],
    ];
    let events: Vec<Event> = (0..3_000).flat_map(|number| visit[number % 3].clone()).collect();
    let model = Model::of(&recording(two(), vec![events])).expect("it has all");
    let today = &model.today;
    // The costs of events: 5 before an outer acquisition, 10 before a release, 7.5 between two
    // acquisitions or two releases.
    let outside = (700.0 - 400.0 - 5.0) + (1_005.0 - 150.0 - 5.0) + (450.0 - 400.0 - 5.0);
    let slept = 150.0 + 400.0;
    // The time without a CPU is not the lock's, which was held then.
    let (preempted, held) = (95.0, [2.0 * (67.0 - 7.5) + 5.0 + 100.0, 200.0]);
    let all = outside + slept + preempted + held[0] + held[1] + 400.0;
    let near = |share: f64, time: f64| (share - time / all).abs() < 0.001;
    assert!(near(today.outside, outside) && near(today.slept, slept), "{today:?}");
    assert!(near(today.preempted, preempted), "{today:?}");
    let on_cpu = outside + held[0] + held[1];
    assert!((model.shares.cpu - on_cpu / (on_cpu + preempted)).abs() < 0.001, "{model:?}");
    let of = |name: &str| {
        let index = model.groups.iter().position(|group| group.name == name).expect("it is there");
        today.groups[index]
    };
    assert!(near(of("a").held, held[0]) && near(of("b").held, held[1]), "{today:?}");
    assert!(near(of("a").waited, 400.0) && of("b").waited == 0.0, "{today:?}");
    assert!((of("a").acquired - 0.75).abs() < 0.001, "{today:?}");
    let locks = today.groups.iter().map(|group| group.held + group.waited).sum::<f64>();
    let sum = today.outside + today.slept + today.preempted + locks;
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

/// Returns a thread's windows of 100 visits: 300 ns outside of the lock and 30 under it, with the
/// cost of events. The first hold of each window takes `first` nanoseconds.
fn windows(first: u64) -> Vec<Window> {
    let visits = |number: u64| {
        let hold = if number == 0 { first } else { 40 };
        [enter(if number == 0 { 0 } else { 305 }, 0, 0), leave(hold, 0)]
    };
    let window = |number: u64| Window {
        thread: 1,
        begin: number * 100_000_000,
        acquisitions: number * 200_000,
        continues: false,
        events: (0..100).flat_map(visits).collect(),
    };
    (0..10).map(window).collect()
}

#[test]
fn a_hold_in_which_a_window_begins_is_no_time_of_the_program() {
    // A thread often loses its CPU at the system calls with which a window begins.
    let mut recording = recording(vec![lock("a", Kind::Mutex, 1)], Vec::new());
    recording.windows = windows(40_000_000);
    recording.about.seconds = 1.0;
    let model = Model::of(&recording).expect("it has all");
    assert!((model.today.groups[0].held - 30.0 / 330.0).abs() < 1e-3, "{:?}", model.today);
    assert_eq!((model.today.preempted, model.shares.cpu), (0.0, 1.0));
}

#[test]
fn a_cost_above_the_time_that_there_was_leaves_some() {
    let mut recording = recording(vec![lock("a", Kind::Mutex, 1)], Vec::new());
    recording.windows = windows(40);
    recording.about.seconds = 1.0;
    recording.about.costs = Costs { hold: 400.0, think: 900.0, plain: 20.0, ..Costs::default() };
    let today = Model::of(&recording).expect("it has all").today;
    let held = today.groups[0].held;
    assert!(today.outside > 0.0 || held > 0.0, "{today:?}");
    assert!((today.outside + held + today.slept + today.waited() - 1.0).abs() < 1e-9, "{today:?}");
}

#[test]
fn the_rate_outside_of_windows_is_that_of_all_locks() {
    let locks = vec![lock("a", Kind::Mutex, 1), lock("b", Kind::RwLock, 2)];
    let mut recording = recording(locks, Vec::new());
    recording.windows = windows(40);
    recording.about.seconds = 1.0;
    // 200,000 acquisitions every 100 ms, of which 100 are in a window of 35 us.
    let rate = |recording: &Recording| {
        Model::of(recording).expect("it has all").rate_outside.expect("windows are rare")
    };
    assert!((rate(&recording) / 2e6 - 1.0).abs() < 1e-3, "{}", rate(&recording));
    // In each window, a fifth of the acquisitions are of the other lock.
    for window in &mut recording.windows {
        for event in &mut window.events[..40] {
            let (Event::Acquired { lock, .. } | Event::Released { lock, .. }) = event else {
                continue;
            };
            *lock = 1;
        }
    }
    assert!((rate(&recording) / 2e6 - 1.0).abs() < 1e-3, "{}", rate(&recording));
    recording.windows.truncate(1);
    assert_eq!(recording.outside(), None);
}

#[test]
fn the_system_s_times_say_how_much_of_a_cpu_the_program_had() {
    let mut recording = recording(vec![lock("a", Kind::Mutex, 1)], Vec::new());
    recording.windows = windows(40);
    recording.about.seconds = 1.0;
    let mut with = |ran, waited| {
        recording.about.cpu_time = Some(CpuTime { ran, waited });
        Model::of(&recording).expect("it has all")
    };
    // One thread had a CPU for 9 % of the time.
    let model = with(0.09, 0.91);
    assert!((model.shares.cpu - 0.09).abs() < 1e-9, "{:?}", model.shares);
    assert!((model.today.preempted - 0.91).abs() < 1e-9, "{:?}", model.today);
    assert!((model.today.groups[0].held - 0.09 * 30.0 / 330.0).abs() < 1e-3, "{:?}", model.today);
    // Eight threads on two CPUs that were all theirs: they cannot have more.
    let model = with(2.0, 6.0);
    assert_eq!(model.shares.cpu, 1.0);
    assert!((model.today.preempted - 0.75).abs() < 1e-9, "{:?}", model.today);
    assert_eq!(with(0.0, 0.0).shares.cpu, 1.0, "it slept");
    // The windows show no sleep: they are from its busy times.
    let model = with(0.09, 0.0);
    assert!((model.today.slept - 0.9).abs() < 0.01, "{:?}", model.today);
    assert!((model.today.outside - 0.1 * 300.0 / 330.0).abs() < 0.01, "{:?}", model.today);
    assert_eq!((model.today.preempted, model.shares.cpu), (0.0, 1.0));
}

#[test]
fn the_threads_own_times_are_not_those_of_the_program_s_other_threads() {
    let mut recording = recording(vec![lock("a", Kind::Mutex, 1)], Vec::new());
    recording.windows = windows(40);
    (recording.about.seconds, recording.about.cpus) = (1.0, 4);
    let acquired = Model::acquisitions(&recording)[&1];
    let mut with = |acquired: u64, cpu_ns: u64, waited_ns: Option<u64>, program: CpuTime| {
        let switches = Switches { voluntary: 5, involuntary: 0 };
        let used = ThreadUse { acquired, lived_ns: 900_000_000, cpu_ns, waited_ns, switches };
        let other = ThreadAbout { number: 9, acquired: 1, used: Some(ThreadUse::default()) };
        let one = ThreadAbout { number: 1, acquired, used: Some(used) };
        recording.about.threads = vec![one, other];
        recording.about.cpu_time = Some(program);
        Model::of(&recording).expect("it has all")
    };
    // It had a CPU all the time, and three others of the program waited for one.
    let starved = CpuTime { ran: 1.0, waited: 2.0 };
    let model = with(acquired, 900_000_000, Some(0), starved);
    assert_eq!((model.shares.cpu, model.today.preempted), (1.0, 0.0));
    assert!(model.shares.cpu_of_program < 0.4, "{:?}", model.shares);
    assert_eq!(model.used.expect("it was read").switches.voluntary, 5);
    // It waited, and the others did not.
    let busy = CpuTime { ran: 3.3, waited: 0.6 };
    let model = with(acquired, 300_000_000, Some(600_000_000), busy);
    assert!((model.shares.cpu - 1.0 / 3.0).abs() < 1e-6, "{:?}", model.shares);
    assert!((model.today.preempted - 2.0 / 3.0).abs() < 0.01, "{:?}", model.today);
    assert!(model.shares.cpu_of_program > 0.8, "{:?}", model.shares);
    // Nobody saw for how long it waited: as the program did.
    let model = with(acquired, 300_000_000, None, CpuTime { ran: 1.0, waited: 2.0 });
    assert!((model.shares.cpu - 1.0 / 3.0).abs() < 1e-6, "{:?}", model.shares);
    // It was read after half of its acquisitions only: the program's times are left.
    let model = with(acquired / 2, 900_000_000, Some(0), starved);
    assert_eq!(model.used, None);
    assert_eq!(model.shares.cpu, model.shares.cpu_of_program);
}

#[test]
fn what_bursts_do_not_see_is_shared_as_what_they_saw() {
    // 300 ns outside, a wait of 600, 30 under the lock. The costs of events are as in `windows`.
    let of = |wait: u64, asleep: u64, on_cpu: f64| {
        let mut recording = recording(vec![lock("a", Kind::Mutex, 1)], Vec::new());
        recording.windows = windows(40);
        for event in recording.windows.iter_mut().flat_map(|window| &mut window.events) {
            if let Event::Acquired { after, wait: waited, .. } = event {
                *after += wait + asleep;
                *waited = wait;
            }
        }
        for window in &mut recording.windows {
            let events = std::mem::take(&mut window.events);
            let off = Event::OffCpu { time: wait + asleep, slept: true };
            let with = |event: Event| match event {
                Event::Acquired { .. } => vec![off, event],
                _ => vec![event],
            };
            window.events = events.into_iter().flat_map(with).collect();
        }
        recording.about.seconds = 1.0;
        // The windows are in 0.9 s.
        recording.about.cpu_time = Some(CpuTime { ran: 0.9 * on_cpu, waited: 0.0 });
        Model::of(&recording).expect("it has all").today
    };
    let near = |share: f64, right: f64| (share - right).abs() < 0.01;
    // A thread that never sleeps: the rest is the lock's, as long as it is no more than was seen.
    let today = of(660, 0, 0.25);
    assert!(near(today.groups[0].waited, 0.75) && today.slept < 1e-9, "{today:?}");
    // Waits and sleep, half each.
    let today = of(330, 330, 0.25);
    assert!(near(today.groups[0].waited, 0.375) && near(today.slept, 0.375), "{today:?}");
    // Much more than was seen: the long sleeps are between bursts.
    let today = of(33, 0, 0.1);
    assert!(near(today.groups[0].waited, 0.02) && near(today.slept, 0.88), "{today:?}");
    assert!(near(today.outside + today.slept + today.waited() + 0.1 * 30.0 / 330.0, 1.0));
}
