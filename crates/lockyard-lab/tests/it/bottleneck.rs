//! Locks whose throughput is known in closed form. The explanation must name the bottleneck, and
//! the throughput with an ideal lock.
//!
//! Think time *Z* and critical section *D* are local work in the script. So with *N* threads an
//! ideal lock gives `min(N / (Z + D), 1 / D)` operations per second. The simulated times differ
//! from the script's by a few nanoseconds: the time that a thread spends on acquiring and releasing
//! the lock.

use lockyard_predict::explain::{Bound, Cause, Costs, LITTLE};
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_scenarios::{Order, Script};
use lockyard_sim::Machine;

/// Maximum relative error of a simulated figure, compared with the closed form.
const NEAR: f64 = 0.03;

/// First line of a script whose operations differ.
const VARIES: &str = "work_varies = true";

/// Returns the cycles by cause for threads that run `steps` on a Cascade Lake. Up to 24 threads fit
/// on one socket.
fn costs(head: &str, objects: &[(&str, &str)], steps: &[Step], threads: usize) -> Costs {
    let (head, varies) = (head.trim_start_matches(VARIES), head.starts_with(VARIES));
    let mut text = format!(
        "name = \"fixture\"\ntitle = \"t\"\noperation = \"o\"\nmetric = \"throughput\"\n\
         unit = \"op/s\"\nwork_varies = {varies}\n{head}\n"
    );
    for (name, kind) in objects {
        text += &format!("[[objects]]\nname = \"{name}\"\nline = \"{name}\"\n{kind}\n");
    }
    for step in steps {
        text += &match step {
            Step::Work(ns) => format!("[[steps]]\ndo = \"work\"\nns = {ns}\n"),
            Step::Do(what, object) => {
                format!("[[steps]]\ndo = \"{what}\"\nobject = \"{object}\"\n")
            }
        };
    }
    text += "[[variants]]\nname = \"v\"\ntitle = \"v\"\n[placement]\norder = \"siblings-last\"\n";
    let script = Script::parse("fixture.toml", &text).expect("it is a script");
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let placement = MachinePlacement::Order(Order::SiblingsLast);
    let cell = CellSpec {
        machine: &machine,
        variant: &script.variants[0],
        placement: &placement,
        home: 0,
        threads,
        local_work: 0.0,
    };
    let found = simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH));
    let costs = found.expect("it runs").costs;
    println!("{}", costs.table(&format!("{threads} threads")));
    costs
}

#[derive(Clone, Copy)]
enum Step {
    Work(u32),
    Do(&'static str, &'static str),
}
use Step::{Do, Work};

const QUEUED: &str = "kind = \"lock\"\nlock = \"queued\"";
const TICKET: &str = "kind = \"lock\"\nlock = \"ticket\"";

/// Returns the cycles by cause for threads that think for `think` ns, and hold the only lock for
/// `section` ns.
fn one_lock(kind: &str, think: u32, section: u32, threads: usize) -> Costs {
    let steps = [Work(think), Do("lock", "m"), Work(section), Do("unlock", "m")];
    costs("", &[("m", kind)], &steps, threads)
}

/// Returns the operations per second with an ideal lock, in closed form.
fn closed_form(think: u32, section: u32, threads: usize) -> f64 {
    let (think, section) = (f64::from(think), f64::from(section));
    (threads as f64 / (think + section)).min(1.0 / section) * 1e9
}

fn ideal(costs: &Costs) -> Bound {
    costs.ideal().expect("there is a lock, and each thread has a CPU")
}

fn throughput(costs: &Costs) -> f64 {
    costs.operations as f64 / costs.window * 1e9
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < NEAR, "{found}, expected {expected}");
}

/// Asserts that the ideal figure matches the closed form, and that the gain is its ratio to the
/// simulated figure.
#[track_caller]
fn assert_ideal(costs: &Costs, expected: f64) {
    let ideal = ideal(costs);
    assert_near(ideal.throughput, expected);
    assert!((ideal.throughput / throughput(costs) - 1.0 - ideal.gain).abs() < 1e-9, "{ideal:?}");
    let gain = format!("(+{:.0} %)", ideal.gain * 100.0);
    assert!(costs.sentence().contains(&gain), "{}", costs.sentence());
    let little = costs.sentence().contains("would change little");
    assert!(!little || ideal.gain < LITTLE, "{}", costs.sentence());
}

#[test]
fn below_the_knee_it_is_local_work() {
    for threads in [1, 2, 4] {
        let costs = one_lock(QUEUED, 2100, 300, threads);
        assert_eq!(costs.cause(), (Cause::LocalWork, None));
        assert_eq!(costs.bottleneck(), None);
        assert_ideal(&costs, closed_form(2100, 300, threads));
        assert!(ideal(&costs).gain < 0.05, "{:?}", ideal(&costs));
    }
}

#[test]
fn at_the_knee_it_is_the_lock_though_threads_mostly_work() {
    // (2100 + 300) / 300 = 8 threads keep an ideal lock busy without any waiting.
    let costs = one_lock(QUEUED, 2100, 300, 8);
    assert!(costs.share(lockyard_sim::CyclePhase::Working) > 0.6, "local work is no cause");
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("m")));
    assert_ideal(&costs, closed_form(2100, 300, 8));
    let lock = costs.locks["m"];
    let busy = costs.held_share(&lock) + costs.handed_over_share(&lock);
    assert!(busy > 0.97, "nobody is ahead of the knee: {busy}");
}

#[test]
fn the_knee_without_hand_overs_is_at_its_closed_form() {
    // With one thread no line moves, so a hand-over costs almost nothing.
    for (think, section) in [(2100, 300), (700, 300), (20_000, 300)] {
        let costs = one_lock(QUEUED, think, section, 1);
        let knee = costs.knee(&costs.locks["m"]);
        assert_near(knee, f64::from(think + section) / f64::from(section));
    }
}

#[test]
fn far_above_the_knee_a_long_section_is_all_there_is() {
    // The hand-over takes a hundredth of the critical section.
    let costs = one_lock(QUEUED, 20_000, 20_000, 8);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("m")));
    assert_ideal(&costs, closed_form(20_000, 20_000, 8));
    assert!(ideal(&costs).gain < LITTLE, "{:?}", ideal(&costs));
    assert!(costs.sentence().contains("A faster lock would change little"));
}

#[test]
fn on_two_sockets_the_section_dominates_and_a_faster_lock_helps_all_the_same() {
    let costs = one_lock(QUEUED, 2000, 300, 48);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("m")));
    assert_ideal(&costs, closed_form(2000, 300, 48));
    assert!(ideal(&costs).gain > 0.3, "{:?}", ideal(&costs));
    // With half of the critical section, the throughput is 1 / (hold / 2 + hand-over), using the
    // simulated times.
    let lock = costs.locks["m"];
    let [hold, hand] = [lock.held, lock.handed_over()].map(|time| costs.each_time(&lock, time));
    let half = costs.half_section().expect("there is a bottleneck");
    assert_near(half.throughput, 1e9 / (hold / 2.0 + hand));
    let both =
        ["an ideal lock would give at most about 3.", ", half of the section at most about "];
    let sentence = costs.sentence().to_lowercase();
    assert!(both.iter().all(|words| sentence.contains(words)), "{sentence}");
}

/// Returns the simulated nanoseconds of a critical section and of a hand-over, for the only lock.
fn times(costs: &Costs) -> [f64; 2] {
    let lock = costs.locks["m"];
    [lock.held, lock.handed_over()].map(|time| costs.each_time(&lock, time))
}

#[test]
fn the_bound_is_one_over_the_hold_time() {
    for (think, section, threads) in [(2000, 300, 24), (20_000, 20_000, 8)] {
        let costs = one_lock(QUEUED, think, section, threads);
        let bound = costs.hold_bound().expect("there is a bottleneck");
        assert_near(bound, 1e9 / times(&costs)[0]);
        // Some work of the critical section runs ahead of the acquisition, which makes the bound a
        // little higher.
        assert!(bound > 0.99e9 / f64::from(section) && bound < 1.2e9 / f64::from(section));
        let reached = throughput(&costs) / bound;
        assert_near(reached, costs.held_share(&costs.locks["m"]));
        let words = format!("(1 / hold time); this is {:.0} % of that", reached * 100.0);
        assert!(costs.sentence().contains(&words), "{}", costs.sentence());
    }
    let below = one_lock(QUEUED, 2100, 300, 2);
    assert_eq!((below.hold_bound(), below.second_lock()), (None, None));
    assert!(!below.sentence().contains("hold time"), "{}", below.sentence());
}

#[test]
fn the_bound_of_a_lock_that_is_taken_twice_says_so() {
    let section = [Do("lock", "m"), Work(300), Do("unlock", "m")];
    let steps = [&[Work(2000)], &section[..], &section[..]].concat();
    let costs = costs("", &[("m", QUEUED)], &steps, 24);
    let bound = costs.hold_bound().expect("there is a bottleneck");
    assert_near(bound, 1e9 / (2.0 * times(&costs)[0]));
    let words = "(1 / the 2.0 holds of an operation); this is ";
    assert!(costs.sentence().contains(words), "{}", costs.sentence());
}

#[test]
fn above_the_knee_of_two_locks_a_second_one_doubles_the_throughput() {
    // The knee is near 5 threads with one lock, and near 10 with two locks.
    let costs = one_lock(QUEUED, 2000, 300, 20);
    let [hold, hand] = times(&costs);
    let second = costs.second_lock().expect("there is a bottleneck");
    assert_near(second.throughput, 2e9 / (hold + hand));
    assert!((second.gain - 1.0).abs() < NEAR, "{second:?}");
    let words = format!(
        "a second lock for half of the operations at most about {:.2} M op/s (+",
        second.throughput / 1e6
    );
    assert!(costs.sentence().contains(&words), "{}", costs.sentence());
}

#[test]
fn between_the_knees_of_one_lock_and_of_two_threads_bound_a_second_lock() {
    let costs = one_lock(QUEUED, 2000, 300, 8);
    let [hold, hand] = times(&costs);
    let (one, two) = (1e9 / (hold + hand), 2e9 / (hold + hand));
    let by_threads = 8e9 / (2000.0 + hold + hand);
    assert!(by_threads > 1.05 * one && by_threads < 0.95 * two, "{one} {by_threads} {two}");
    assert_near(costs.second_lock().expect("there is a bottleneck").throughput, by_threads);
}

#[test]
fn at_exactly_the_knee_the_lock_is_the_bottleneck_and_a_second_one_gives_nothing() {
    // The hand-over counts too, and is shorter if fewer threads wait. So search for a think time
    // with a knee at 8 threads. At the knee it changes by leaps.
    let costs = (2700..2900)
        .step_by(5)
        .map(|think| one_lock(QUEUED, think, 300, 8))
        .find(|costs| (costs.knee(&costs.locks["m"]) / 8.0 - 1.0).abs() < NEAR)
        .expect("one of these think times has its knee at 8 threads");
    let service: f64 = times(&costs).iter().sum();
    assert_near(costs.knee(&costs.locks["m"]), 8.0);
    assert_eq!(costs.bottleneck().map(|(name, _)| name), Some("m"));
    assert_near(throughput(&costs), 1e9 / service);
    let second = costs.second_lock().expect("there is a bottleneck");
    assert!(second.gain < NEAR, "operations that are alike do not collide: {second:?}");
}

#[test]
fn at_the_knee_of_operations_that_vary_a_second_lock_helps() {
    let steps = [Work(2100), Do("lock", "m"), Work(300), Do("unlock", "m")];
    let costs = costs(VARIES, &[("m", QUEUED)], &steps, 8);
    let [hold, hand] = times(&costs);
    // M/M/1//8 with two servers, by exact mean value analysis.
    let (service, mut queue, mut expected) = ((hold + hand) / 2.0, 0.0, 0.0);
    for threads in 1..=8 {
        let time = service * (1.0 + queue);
        expected = f64::from(threads) / (2100.0 + 2.0 * time);
        queue = expected * time;
    }
    let second = costs.second_lock().expect("there is a bottleneck");
    assert!((second.throughput / (expected * 1e9) - 1.0).abs() < 0.06, "{second:?}, {expected}");
    assert!(second.gain > 0.1, "{second:?}");
}

#[test]
fn a_short_section_behind_a_slow_hand_over_is_a_matter_of_the_lock() {
    let costs = one_lock(TICKET, 2000, 50, 48);
    assert_eq!(costs.cause(), (Cause::WakeUpStorm, Some("m")));
    assert_eq!(costs.bottleneck().map(|(name, _)| name), Some("m"));
    assert_ideal(&costs, closed_form(2000, 50, 48));
    assert!(ideal(&costs).gain > 5.0, "{:?}", ideal(&costs));
    let lock = costs.locks["m"];
    assert!(costs.handed_over_share(&lock) > 0.8);
    assert!(costs.sentence().contains("`m` is the bottleneck"), "{}", costs.sentence());
}

#[test]
fn of_two_locks_the_longer_section_bounds() {
    let steps = [
        Work(1000),
        Do("lock", "short"),
        Work(100),
        Do("unlock", "short"),
        Do("lock", "long"),
        Work(400),
        Do("unlock", "long"),
    ];
    let costs = costs("", &[("short", QUEUED), ("long", QUEUED)], &steps, 12);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("long")));
    assert_ideal(&costs, 1e9 / 400.0);
    assert!(
        costs.sentence().contains("deal locks would give at most about"),
        "{}",
        costs.sentence()
    );
}

#[test]
fn a_lock_inside_another_one_is_no_second_queue() {
    let steps = [
        Work(1000),
        Do("lock", "outer"),
        Work(200),
        Do("lock", "inner"),
        Work(200),
        Do("unlock", "inner"),
        Do("unlock", "outer"),
    ];
    let costs = costs("", &[("outer", QUEUED), ("inner", QUEUED)], &steps, 12);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("outer")));
    assert_ideal(&costs, 1e9 / 400.0);
}

#[test]
fn a_lock_that_is_never_contended_is_no_cause() {
    let steps = [
        Work(5000),
        Do("lock", "m"),
        Work(20),
        Do("unlock", "m"),
        Do("add", "count"),
        Do("add", "count"),
    ];
    let costs = costs("", &[("m", QUEUED), ("count", "kind = \"word\"")], &steps, 2);
    assert_eq!(costs.cause(), (Cause::LocalWork, None));
    assert!(ideal(&costs).gain < 0.05, "{:?}", ideal(&costs));
}

#[test]
fn readers_without_a_lock_have_no_ideal_one() {
    let steps = [Work(500), Do("read", "word")];
    let costs = costs("", &[("word", "kind = \"word\"")], &steps, 8);
    assert_eq!(costs.cause(), (Cause::LocalWork, None));
    assert_eq!((costs.ideal(), costs.bottleneck()), (None, None));
    assert!(!costs.sentence().contains("ideal"), "{}", costs.sentence());
}

#[test]
fn a_lock_in_a_lockref_has_no_ideal_one() {
    // The count moves with the lock, and a `get` that gives up also waits for the lock.
    let steps =
        [Do("get", "ref"), Do("lock", "ref"), Work(300), Do("unlock", "ref"), Do("put", "ref")];
    let costs = costs("", &[("ref", "kind = \"lockref\"\nlock = \"queued\"")], &steps, 8);
    assert!(costs.held_share(&costs.locks["ref"]) > 0.1);
    assert_eq!((costs.ideal(), costs.half_section()), (None, None));
}

#[test]
fn a_holder_without_a_cpu_is_late() {
    // Three guests share the CPUs, so a holder is preempted for two thirds of the time.
    let steps = [Work(1000), Do("lock", "m"), Work(20_000), Do("unlock", "m")];
    let kind = "kind = \"lock\"\nlock = \"test-and-set\"";
    let costs = costs("[guests]\ncount = 3", &[("m", kind)], &steps, 4);
    assert_eq!(costs.cause(), (Cause::LateHolder, Some("m")));
    assert_eq!(costs.ideal(), None, "waiters that spin take time from others");
}

#[test]
fn operations_that_vary_are_the_machine_repairmans() {
    // M/M/1//8 with 2100 and 300 ns: the probability that the lock is busy, divided by the critical
    // section.
    let mut states = vec![1.0];
    for free in (1..=8).rev() {
        states.push(states[states.len() - 1] * f64::from(free) * 300.0 / 2100.0);
    }
    let expected = (1.0 - 1.0 / states.iter().sum::<f64>()) / 300.0 * 1e9;
    assert!(expected < 0.85 * closed_form(2100, 300, 8), "at the knee they collide");
    let steps = [Work(2100), Do("lock", "m"), Work(300), Do("unlock", "m")];
    let costs = costs(VARIES, &[("m", QUEUED)], &steps, 8);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("m")));
    let ideal = ideal(&costs);
    // A window holds a few thousand operations of random length.
    assert!((ideal.throughput / expected - 1.0).abs() < 0.06, "{ideal:?}, expected {expected}");
    assert!(costs.sentence().contains("would give at most about"), "{}", costs.sentence());
}

#[test]
fn prose_fits_a_terminal() {
    for (kind, threads) in [(QUEUED, 2), (QUEUED, 8), (TICKET, 48)] {
        let table = one_lock(kind, 2100, 300, threads).table("heading");
        let wide = table.lines().filter(|line| line.chars().count() > 80);
        let of_lines = |line: &&str| line.ends_with("re-reads") || line.starts_with("  m  ");
        assert!(wide.clone().all(|line| of_lines(&line) || line.starts_with("  queue nodes")));
        assert!(wide.count() <= 3, "{table}");
    }
}
