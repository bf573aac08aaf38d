//! Programs whose cost has a known cause: the explanation names it.

use lockyard::platform::{Ordering, Word};
use lockyard_lab::explain::{Cause, Costs};
use lockyard_lab::placement::Placement;
use lockyard_lab::simulate::{self, Effort};
use lockyard_scenarios::{Order, Script};
use lockyard_sim::{Machine, Phase, SimulatedU64, Simulation};

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Where the cycles of a script's only variant go.
fn costs(objects_and_steps: &str, order: Order, threads: usize) -> Costs {
    let text = format!(
        "name = \"fixture\"\ntitle = \"t\"\noperation = \"o\"\nmetric = \"throughput\"\nunit = \"op/s\"\n\
         {objects_and_steps}\n[[variants]]\nname = \"v\"\ntitle = \"v\"\n[placement]\norder = \"{}\"\n",
        order.name()
    );
    let script = Script::parse("fixture.toml", &text).expect("it is a script");
    let placement = Placement::Order(order);
    let variant = &script.variants[0];
    simulate::cell(&machine(), variant, (&placement, 0), threads, 0.0, Effort::SEARCH)
        .expect("it runs")
        .costs
}

fn assert_cause(costs: &Costs, cause: Cause, line: Option<&str>, words: &str) {
    println!("{}", costs.table("fixture"));
    assert_eq!(costs.cause(), (cause, line));
    assert!(costs.sentence().contains(words), "{}", costs.sentence());
    let shares: f64 = Phase::ALL.iter().map(|&phase| costs.share(phase)).sum();
    assert!((shares - 1.0).abs() < 1e-9, "every cycle is in one phase: {shares}");
}

#[test]
fn false_sharing() {
    // Each thread adds to a word of its own; the words share a line.
    let machine = machine();
    let mut simulation = Simulation::new(&machine, 1);
    let words = simulation.place([const { SimulatedU64::new(0) }; 8], 64, 0);
    simulation.name(&raw const words[0] as usize, 64, "counters");
    for index in 0..8 {
        let words = words.clone();
        simulation.spawn(index, move || {
            for _ in 0..500 {
                words[index].fetch_add(1, Ordering::Relaxed);
                lockyard_sim::work(20.0);
            }
        });
    }
    simulation.run();
    let mut costs = Costs::default();
    costs.add(&machine, &simulation.attribution(), (0, 0), simulation.now());
    costs.operations = 4000;
    assert_cause(&costs, Cause::FalseSharing, Some("counters"), "100 % of the moves");
}

#[test]
fn additions_to_one_word_are_no_false_sharing() {
    let costs = costs(
        "[[objects]]\nname = \"word\"\nkind = \"word\"\nline = \"a\"\n\
         [[steps]]\ndo = \"add\"\nobject = \"word\"\n[[steps]]\ndo = \"work\"\nns = 20",
        Order::SiblingsLast,
        8,
    );
    assert_cause(&costs, Cause::HandOver, Some("word"), "within a socket");
}

const LOCK: &str = "[[objects]]\nname = \"lock\"\nkind = \"lock\"\nlock = \"queued\"\nline = \"a\"\n\
     [[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"work\"\nns = 20\n\
     [[steps]]\ndo = \"unlock\"\nobject = \"lock\"\n";

#[test]
fn remote_hand_overs() {
    let costs = costs(LOCK, Order::Spread, 2);
    assert_eq!(costs.cause().0, Cause::RemoteHandOver, "{}", costs.sentence());
    let sentence = costs.sentence();
    assert!(sentence.starts_with("Remote hand-overs dominate: 100 %"), "{sentence}");
}

#[test]
fn failed_compare_exchanges() {
    let costs = costs(
        "[[objects]]\nname = \"entry\"\nkind = \"lockref\"\nlock = \"queued\"\ncount = 1\npause = true\n\
         line = \"a\"\n[[steps]]\ndo = \"get\"\nobject = \"entry\"\n[[steps]]\ndo = \"work\"\nns = 50\n\
         [[steps]]\ndo = \"put\"\nobject = \"entry\"\n",
        Order::SiblingsLast,
        24,
    );
    assert_cause(&costs, Cause::FailedExchange, Some("entry"), "fail for each that succeeds");
}

#[test]
fn a_wake_up_storm() {
    let ticket = LOCK.replace("\"queued\"", "\"ticket\"");
    let costs = costs(&ticket, Order::SiblingsLast, 16);
    assert_cause(&costs, Cause::WakeUpStorm, Some("lock"), "re-reads by waiters");
}

#[test]
fn late_holders() {
    let late = LOCK.replace("ns = 20", "ns = 20000");
    let costs = costs(&late, Order::SiblingsLast, 8);
    assert_eq!(costs.cause().0, Cause::LateHolder, "{}", costs.sentence());
    assert!(costs.held_share() > 0.9, "{}", costs.held_share());
    assert!(costs.sentence().contains("a faster lock would change little"));
}

#[test]
fn store_buffer_drain() {
    // Stores to lines that everybody writes, then an addition that has to wait for them.
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
    assert_cause(&costs, Cause::LocalWork, None, "work of their own");
}
