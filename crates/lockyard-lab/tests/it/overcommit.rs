//! Guests that share CPUs. Each figure is per guest; otherwise nothing changes.

use lockyard_predict::explain::Cause;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, simulate};
use lockyard_scenarios::{Order, Script};
use lockyard_sim::{CyclePhase, Machine};

/// A short run. The longer run with guests is derived from it.
const EFFORT: SimulationEffort = SimulationEffort {
    warm_up_ns: 50_000.0,
    window_ns: 200_000.0,
    seeds: 1,
    first_seed: 1,
    is_absolute: true,
};

fn script(steps: &str, guests: &str) -> Script {
    let text = format!(
        "name = \"s\"\ntitle = \"t\"\noperation = \"o\"\nmetric = \"throughput\"\nunit = \"op/s\"\n\
         work_varies = false\n\
         [[objects]]\nname = \"lock\"\nkind = \"lock\"\nlock = \"ticket\"\nline = \"l\"\n{steps}\n\
         [[variants]]\nname = \"v\"\ntitle = \"t\"\n{guests}\n[placement]\n\
         order = \"siblings-last\"\n"
    );
    Script::parse("s.toml", &text).expect("it is a script")
}

fn cell(script: &Script) -> Prediction {
    // Make time slices short compared with the window.
    let machine = Machine::shipped("sandy-bridge-32c-kvm").expect("it is shipped");
    let machine =
        [("scheduler.period", 2000.0), ("scheduler.granularity", 500.0), ("scheduler.lead", 300.0)]
            .into_iter()
            .fold(machine, |machine, (name, value)| machine.with(name, value).expect("it has it"));
    let placement = MachinePlacement::Order(Order::SiblingsLast);
    let cell = CellSpec {
        machine: &machine,
        variant: &script.variants[0],
        placement: &placement,
        home: 0,
        threads: 4,
        local_work: 0.0,
    };
    simulate(&cell, &RunPlan::of_windows(EFFORT)).expect("it runs")
}

const WORK: &str = "[[steps]]\ndo = \"work\"\nns = 50000.0";
const LOCKED: &str = "[[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"work\"\n\
    ns = 2000.0\n\
                      [[steps]]\ndo = \"unlock\"\nobject = \"lock\"\n[[steps]]\ndo = \"work\"\n\
                      ns = 40000.0";
const WAIT: &str = "[[steps]]\ndo = \"wait-for-others\"\n[[steps]]\ndo = \"work\"\nns = 500.0";

#[test]
fn a_figure_is_of_one_guest() {
    let alone = cell(&script(WORK, "[guests]\ncount = 1"));
    assert!((alone.throughput / 80_000.0 - 1.0).abs() < 0.01, "{}", alone.throughput);
    // Task i of every guest starts on the CPU of place i. CPUs take over only threads that have
    // parked. So all guests together run on four CPUs.
    let two = cell(&script(WORK, "[guests]\ncount = 2"));
    assert!((two.throughput / alone.throughput - 0.5).abs() < 0.01, "{}", two.throughput);
    assert_eq!(two.cpu.user, 0.0);
    assert!((two.cpu.system - 2.0).abs() < 0.02, "{:?}", two.cpu);
    assert!((two.costs.share(CyclePhase::OffCpu) - 0.5).abs() < 0.02);
    let four = cell(&script(WORK, "[guests]\ncount = 4"));
    assert!((four.throughput / alone.throughput - 0.25).abs() < 0.02, "{}", four.throughput);
    assert!((four.cpu.system - 1.0).abs() < 0.02, "{:?}", four.cpu);
}

#[test]
fn without_guests_no_thread_is_ever_off_its_cpu() {
    let found = cell(&script(LOCKED, ""));
    assert_eq!(found.costs.share(CyclePhase::OffCpu), 0.0);
    assert!(!found.costs.table("x").contains("off the cpu"));
    let one = cell(&script(LOCKED, "[guests]\ncount = 1"));
    assert!((one.throughput / found.throughput - 1.0).abs() < 0.02, "{}", one.throughput);
}

#[test]
fn each_guest_has_a_lock_of_its_own_and_waits_for_holders_that_do_not_run() {
    let one = cell(&script(LOCKED, "[guests]\ncount = 1"));
    let many = cell(&script(LOCKED, "[guests]\ncount = 16"));
    // The throughput is below the guest's share of the CPUs, because waiters spin, but above zero.
    assert!(many.throughput < one.throughput * 0.49, "{} {}", many.throughput, one.throughput);
    assert!(many.throughput > one.throughput * 0.05, "{}", many.throughput);
}

#[test]
fn waiting_for_others_is_a_share_of_its_own_and_the_cause_that_is_named() {
    let one = cell(&script(WAIT, "[guests]\ncount = 1"));
    let table = one.costs.table("x");
    assert!(one.costs.share_on_cpu(CyclePhase::Answers) > 0.4, "{table}");
    assert_eq!(one.costs.cause().0, Cause::Others, "{table}");
    // The throughput is at most the guest's share of the CPUs: a preempted task answers only when
    // it runs again. (Four guests that start together also keep their turns together.)
    let four = cell(&script(WAIT, "[guests]\ncount = 4"));
    assert!(four.throughput < one.throughput * 0.251, "{} {}", four.throughput, one.throughput);
    let again = cell(&script(WAIT, "[guests]\ncount = 4"));
    assert_eq!(four, again, "the same seeds, the same figures");
}
