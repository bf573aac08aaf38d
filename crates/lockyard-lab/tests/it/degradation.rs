//! A lockref under a steady stream of operations, with one brief holder. Without trywait, all
//! operations end up on the lock and stay there. With trywait, all of them return to the fast path.
//! The Sapphire Rapids is simulated, so the figures are exact.

use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{self, CellSpec};
use lockyard_results::outcome::SampleFigures;
use lockyard_scenarios::{Samples, Script, Variant};
use lockyard_sim::Machine;

/// Four samples of a millisecond, with a disturbance in the middle of the second one.
const SAMPLES: Samples = Samples { number: 4, seconds: 1.0, simulated_seconds: 0.001 };

fn script() -> Script {
    Script::shipped("stat-degradation").expect("it is shipped")
}

fn samples(variant: &Variant, tasks: usize, local_work: f64) -> Vec<SampleFigures> {
    let machine = Machine::shipped("sapphire-rapids").expect("it is shipped");
    let order = MachinePlacement::Order(script().order);
    let cell = CellSpec {
        machine: &machine,
        variant,
        placement: &order,
        home: 0,
        threads: tasks,
        local_work,
    };
    simulate::samples(&cell, SAMPLES).expect("it runs")
}

fn totals(variant: &str, tasks: usize, local_work: f64) -> Vec<f64> {
    let variant = script().variant(variant).expect("it has it").clone();
    samples(&variant, tasks, local_work).iter().map(|sample| sample.total.round()).collect()
}

#[test]
fn without_trywait_one_brief_holder_is_enough_for_everyone_to_stay_on_the_lock() {
    let found = totals("lockref-no-trywait", 20, 2289.0);
    assert_eq!(found, [7_844_667.0, 4_950_333.0, 2_078_667.0, 2_084_667.0]);
    // The first half of sample 1 is fast. All later operations take the lock.
    assert!(found[1] < 0.8 * found[0] && found[2] < 0.4 * found[0]);
    assert!((found[3] / found[2] - 1.0).abs() < 0.01, "it stays down");
}

#[test]
fn with_trywait_everyone_comes_back() {
    let found = totals("lockref", 20, 2289.0);
    assert_eq!(found, [7_844_667.0, 7_829_667.0, 7_830_333.0, 7_835_667.0]);
    assert!(found.iter().all(|total| (total / found[0] - 1.0).abs() < 0.02), "{found:?}");
}

#[test]
fn with_the_work_of_a_real_stat_it_is_the_same_from_eight_tasks_on() {
    for (tasks, stays_down) in [(2, false), (4, false), (8, true), (20, true)] {
        let found = totals("lockref-no-trywait", tasks, 450.0);
        let last = found[3] / found[0];
        assert_eq!(last < 0.6, stays_down, "{tasks} tasks: {found:?}");
        // After the disturbance two tasks may run in a different phase to each other. Four come
        // back slowly.
        assert!(tasks != 2 || last > 0.95, "{tasks} tasks: {found:?}");
        let found = totals("lockref", tasks, 450.0);
        assert!(found[3] / found[0] > 0.95, "{tasks} tasks, with trywait: {found:?}");
    }
}

#[test]
fn nobody_falls_who_is_not_disturbed() {
    let mut variant = script().variant("lockref-no-trywait").expect("it has it").clone();
    variant.disturbances.clear();
    let found = samples(&variant, 20, 2289.0);
    let first = found[0].total;
    assert!(found.iter().all(|sample| (sample.total / first - 1.0).abs() < 0.02), "{found:?}");
}

#[test]
fn a_sample_has_the_least_and_the_most_of_a_task_and_the_total_of_all() {
    let variant = script().variant("lockref").expect("it has it").clone();
    for sample in samples(&variant, 8, 100.0) {
        let mean = sample.total / 8.0;
        assert!(sample.least <= mean && mean <= sample.most && sample.least > 0.8 * sample.most);
    }
}

#[test]
fn a_disturbance_needs_a_hardware_thread() {
    let script = script();
    let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
    let (order, all) = (MachinePlacement::Order(script.order), machine.hardware_threads());
    let run = |tasks| {
        let cell = CellSpec {
            machine: &machine,
            variant: &script.variants[0],
            placement: &order,
            home: 0,
            threads: tasks,
            local_work: 100.0,
        };
        simulate::samples(&cell, SAMPLES)
    };
    assert!(run(all - 1).is_ok());
    let error = run(all).expect_err("there is no room").to_string();
    assert!(error.contains("that disturb them have only"), "{error}");
}
