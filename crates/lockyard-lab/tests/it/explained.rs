//! Programs whose cost has a known cause. The explanation must name it.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_predict::explain::{Cause, Costs};
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_scenarios::{Order, Script};
use lockyard_sim::{
    CyclePhase, LineDistance, Machine, RunEnd, Simulated, SimulatedU64, Simulation,
};

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Returns the cycles by cause for the only variant of a script.
fn costs(objects_and_steps: &str, order: Order, threads: usize) -> Costs {
    let text = format!(
        "name = \"fixture\"\ntitle = \"t\"\noperation = \"o\"\nmetric = \"throughput\"\n\
         unit = \"op/s\"\nwork_varies = false\n\
         {objects_and_steps}\n[[variants]]\nname = \"v\"\ntitle = \"v\"\n[placement]\n\
         order = \"{}\"\n",
        order.name()
    );
    let script = Script::parse("fixture.toml", &text).expect("it is a script");
    let placement = MachinePlacement::Order(order);
    let variant = &script.variants[0];
    let machine = machine();
    let cell = CellSpec {
        machine: &machine,
        variant,
        placement: &placement,
        home: 0,
        threads,
        local_work: 0.0,
    };
    simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH)).expect("it runs").costs
}

fn assert_cause(costs: &Costs, cause: Cause, line: Option<&str>) {
    println!("{}", costs.table("fixture"));
    assert_eq!(costs.cause(), (cause, line));
    let shares: f64 = CyclePhase::ALL.iter().map(|&phase| costs.share(phase)).sum();
    assert!((shares - 1.0).abs() < 1e-9, "every cycle is in one phase: {shares}");
}

/// Returns the cycles by cause for threads that share eight words in one line. `task` gets the
/// number of its thread.
fn costs_of_words(places: &[usize], name: &str, task: fn(usize, &[SimulatedU64; 8])) -> Costs {
    let machine = machine();
    let mut simulation = Simulation::new(&machine, 1);
    let words = simulation.place([const { SimulatedU64::new(0) }; 8], 64, 0);
    simulation.name(&raw const words[0] as usize, 64, name);
    for (number, &place) in places.iter().enumerate() {
        let words = words.clone();
        simulation.spawn(place, move || task(number, &words));
    }
    assert!(matches!(simulation.run(), RunEnd::Finished));
    let mut costs = Costs::default();
    costs.add(&machine, &simulation.attribution(), &[], simulation.now());
    costs.operations = 500 * places.len() as u64;
    costs
}

const SOCKET: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn false_sharing() {
    // Each thread adds to its own word, but the words share a line.
    let costs = costs_of_words(&SOCKET, "counters", |number, words| {
        for _ in 0..500 {
            words[number].fetch_add(1, Ordering::Relaxed);
            lockyard_sim::work(20.0);
        }
    });
    assert_cause(&costs, Cause::FalseSharing, Some("counters"));
    assert!(costs.sentence().contains("100 %"), "{}", costs.sentence());
}

#[test]
fn a_word_that_was_written_once_beside_a_counter_is_falsely_shared_too() {
    let costs = costs_of_words(&SOCKET, "setting", |number, words| {
        if number == 0 {
            words[0].store(7, Ordering::Relaxed);
        }
        for _ in 0..500 {
            if number == 0 {
                words[1].fetch_add(1, Ordering::Relaxed);
                lockyard_sim::work(20.0);
            } else {
                words[0].load(Ordering::Relaxed);
                lockyard_sim::work(50.0);
            }
        }
    });
    assert_cause(&costs, Cause::FalseSharing, Some("setting"));
}

#[test]
fn a_word_that_another_socket_reads_comes_from_there() {
    // Only one thread writes, so it keeps write access to the line. There is no hand-over, but
    // readers fetch the line.
    let costs = costs_of_words(&[0, 24, 25, 26, 27, 28, 29, 30], "flag", |number, words| {
        for n in 0..if number == 0 { 1000 } else { 500 } {
            if number == 0 {
                words[0].store(n, Ordering::Relaxed);
                lockyard_sim::work(20.0);
            } else {
                words[0].load(Ordering::Relaxed);
                lockyard_sim::work(5.0);
            }
        }
    });
    let line = costs.lines["flag"];
    assert_eq!(line.hand_overs, [0; 4]);
    assert!(line.reads[LineDistance::Remote as usize] > 100, "{line:?}");
    assert_eq!(line.reads[..3], [0; 3], "all readers are on the other socket");
    assert_cause(&costs, Cause::RemoteHandOver, Some("flag"));
    assert!(costs.sentence().contains("100 %"), "{}", costs.sentence());
}

#[test]
fn compare_exchanges_that_fail_between_pauses_are_named_not_the_pauses() {
    let failing = |_, words: &[SimulatedU64; 8]| {
        for _ in 0..500 {
            let (order, wrong) = (Ordering::Relaxed, 1);
            assert!(words[0].compare_exchange(wrong, 2, order, order).is_err());
            for _ in 0..20 {
                Simulated::relax();
            }
        }
    };
    let costs = costs_of_words(&SOCKET[..2], "word", failing);
    assert!(costs.share(CyclePhase::Waiting) > 0.5);
    assert_cause(&costs, Cause::FailedExchange, Some("word"));
}

#[test]
fn a_line_that_is_fetched_for_a_setting_is_needed_if_its_counter_is_used_then() {
    // A thread that has read the setting counts right away. On separate lines, the counter's line
    // would move instead.
    let costs = costs_of_words(&SOCKET[..2], "both", |number, words| {
        for _ in 0..500 {
            words[0].load(Ordering::Relaxed);
            words[1].fetch_add(1, Ordering::Relaxed);
            // Keep the threads out of step, so no thread takes the line between the two operations.
            lockyard_sim::work(if number == 0 { 900.0 } else { 1000.0 });
        }
    });
    let line = costs.lines["both"];
    assert!(line.reads.iter().sum::<u64>() > 300 && line.moves > 700, "{line:?}");
    assert!(line.needless() * 5 < line.moves, "{line:?}");
}

#[test]
fn pauses_that_wait_for_nothing_are_no_work_of_the_threads() {
    let pauses = "[[steps]]\ndo = \"pause\"\n".repeat(20);
    let word = "[[objects]]\nname = \"word\"\nkind = \"word\"\nline = \"a\"\n\
                [[steps]]\ndo = \"add\"\nobject = \"word\"\n";
    let costs = costs(&format!("{word}{pauses}"), Order::SiblingsLast, 2);
    assert_cause(&costs, Cause::Pauses, None);
}

#[test]
fn a_line_with_one_word_never_moves_needlessly() {
    // Each compare-exchange follows a load. While the load is in flight, another thread that
    // requested the line earlier takes it.
    let entry = "[[objects]]\nname = \"entry\"\nkind = \"lockref\"\nlock = \"queued\"\n\
        line = \"a\"\n\
                 [[steps]]\ndo = \"get\"\nobject = \"entry\"\n[[steps]]\ndo = \"put\"\n\
                 object = \"entry\"\n";
    for threads in [2, 8] {
        let line = costs(entry, Order::SiblingsLast, threads).lines["entry"];
        assert!(line.moves > 1000, "{line:?}");
        assert!(line.needless() * 20 < line.moves, "{threads} threads: {line:?}");
    }
}

#[test]
fn additions_to_one_word_are_no_false_sharing() {
    let costs = costs(
        "[[objects]]\nname = \"word\"\nkind = \"word\"\nline = \"a\"\n\
         [[steps]]\ndo = \"add\"\nobject = \"word\"\n[[steps]]\ndo = \"work\"\nns = 20",
        Order::SiblingsLast,
        8,
    );
    assert_cause(&costs, Cause::HandOver, Some("word"));
}

const LOCK: &str = "[[objects]]\nname = \"lock\"\nkind = \"lock\"\nlock = \"queued\"\n\
    line = \"a\"\n\
     [[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"work\"\nns = 20\n\
     [[steps]]\ndo = \"unlock\"\nobject = \"lock\"\n";

#[test]
fn remote_hand_overs() {
    let costs = costs(LOCK, Order::Spread, 2);
    assert_eq!(costs.cause().0, Cause::RemoteHandOver, "{}", costs.sentence());
    assert!(costs.sentence().contains("100 %"), "{}", costs.sentence());
}

#[test]
fn failed_compare_exchanges() {
    let costs = costs(
        "[[objects]]\nname = \"entry\"\nkind = \"lockref\"\nlock = \"queued\"\ncount = 1\n\
         pause = true\n\
         line = \"a\"\n[[steps]]\ndo = \"get\"\nobject = \"entry\"\n[[steps]]\ndo = \"work\"\n\
         ns = 50\n\
         [[steps]]\ndo = \"put\"\nobject = \"entry\"\n",
        Order::SiblingsLast,
        24,
    );
    assert_cause(&costs, Cause::FailedExchange, Some("entry"));
}

#[test]
fn a_wake_up_storm() {
    let ticket = LOCK.replace("\"queued\"", "\"ticket\"");
    let costs = costs(&ticket, Order::SiblingsLast, 16);
    assert_cause(&costs, Cause::WakeUpStorm, Some("lock"));
}

#[test]
fn a_critical_section() {
    let long = LOCK.replace("ns = 20", "ns = 20000");
    let costs = costs(&long, Order::SiblingsLast, 8);
    assert_cause(&costs, Cause::CriticalSection, Some("lock"));
    let share = costs.held_share(&costs.locks["lock"]);
    assert!(share > 0.9, "{share}");
}

/// Returns the costs with a hot lock, which every thread takes briefly, followed by four locks with
/// long critical sections. Of 24 threads, most stay at the hot lock if they begin there together.
/// If they arrive one by one, they stay at the second lock. The more threads wait, the longer the
/// hot lock takes.
fn a_hot_lock_and_four_that_are_held(threads: usize) -> Costs {
    let lock = |name: &str, kind: &str| {
        format!(
            "[[objects]]\nname = \"{name}\"\nkind = \"lock\"\nlock = \"{kind}\"\n\
             line = \"{name}\"\n"
        )
    };
    let step =
        |what: &str, name: &str| format!("[[steps]]\ndo = \"{what}\"\nobject = \"{name}\"\n");
    let held = ["a", "b", "c", "d"];
    let mut text = "starts = \"together\"\n".to_owned() + &lock("hot", "ticket");
    held.iter().for_each(|name| text += &lock(name, "queued"));
    text += &(step("lock", "hot") + &step("unlock", "hot"));
    for name in held {
        text += &step("lock", name);
        text += "[[steps]]\ndo = \"work\"\nns = 200\n";
        text += &step("unlock", name);
    }
    costs(&text, Order::SiblingsLast, threads)
}

#[test]
fn a_lock_is_no_critical_section_because_others_are_held() {
    let costs = a_hot_lock_and_four_that_are_held(24);
    assert!(costs.all_held_share() > 1.0, "{}", costs.all_held_share());
    assert_cause(&costs, Cause::WakeUpStorm, Some("hot"));
    // With fewer threads, the waiting is at the locks with long critical sections.
    let costs = a_hot_lock_and_four_that_are_held(12);
    assert_eq!(costs.cause(), (Cause::CriticalSection, Some("a")), "{}", costs.sentence());
}

#[test]
fn store_buffer_drain() {
    // Stores to lines that every thread writes, followed by an addition that has to wait for them.
    let mut text = String::new();
    for line in ["a", "b", "c", "d", "e", "f"] {
        text += &format!("[[objects]]\nname = \"{line}\"\nkind = \"word\"\nline = \"{line}\"\n");
        text += &format!("[[steps]]\ndo = \"write\"\nobject = \"{line}\"\n");
    }
    text += "[[objects]]\nname = \"count\"\nkind = \"word\"\nline = \"count\"\n\
             [[steps]]\ndo = \"add\"\nobject = \"count\"\n";
    let costs = costs(&text, Order::SiblingsLast, 8);
    assert_eq!(costs.cause().0, Cause::StoreBuffer, "{}", costs.sentence());
}

#[test]
fn local_work() {
    let costs = costs(
        "[[objects]]\nname = \"word\"\nkind = \"word\"\nline = \"a\"\n\
         [[steps]]\ndo = \"work\"\nns = 1000\n[[steps]]\ndo = \"add\"\nobject = \"word\"\n",
        Order::SiblingsLast,
        8,
    );
    assert_cause(&costs, Cause::LocalWork, None);
}
