//! A cell's simulation and the objects in it.

use super::effort::LARGE_TABLE;
use super::failed::Failed;
use super::spec::CellSpec;
use super::stage::OnMachine;
use crate::interruptible;
use lockyard_scenarios::{Object, ObjectKind, Prepared, Variant};
use lockyard_sim::Simulation;
use std::rc::Rc;

/// Maximum time for all tasks to finish their operations after the stop, in simulated nanoseconds,
/// without their local work.
const DRAIN_NS: f64 = 1e9;

/// Returns the maximum time for all tasks of a cell to finish their operations after the stop, in
/// simulated nanoseconds. They may do all of their local work one after the other, under a lock.
pub(super) fn drain_ns(cell: &CellSpec) -> f64 {
    let variant = cell.variant;
    let tasks = variant.tasks(cell.threads) + variant.disturbances.len();
    DRAIN_NS + tasks as f64 * variant.longest_work(cell.local_work)
}

/// Returns a simulation with room for the contents of the variant's tables.
pub(super) fn simulation(cell: &CellSpec, seed: u64) -> Simulation {
    let tables: usize = cell.variant.tables().map(|table| table.bytes()).sum();
    let bytes = Simulation::MEMORY + tables * cell.variant.guests.unwrap_or(1);
    interruptible(Simulation::with_memory(cell.machine, seed, bytes))
}

/// Lays out the variant's objects in a simulation.
///
/// # Errors
///
/// If they do not fit.
pub(super) fn objects(
    simulation: &mut Simulation,
    cell: &CellSpec,
    seed: u64,
) -> Result<Rc<Prepared<OnMachine>>, Failed> {
    let home = cell.home.min(cell.machine.sockets() - 1) as u32;
    let line = cell.machine.line_bytes();
    let make = || Prepared::new(cell.variant, line, Some(home), cell.local_work);
    let objects = match contents(cell.variant) {
        Some(name) => simulation.setup_contents(&name, make),
        None => simulation.setup(make),
    };
    let objects = objects.ok_or(Failed::Setup("the objects do not fit into the arena"))?;
    Ok(Rc::new(objects.with_seed(seed)))
}

/// Returns the name of the lines of a variant's tables in explanations. Returns `None` if no table
/// is so large that its lines have to share an entry.
fn contents(variant: &Variant) -> Option<String> {
    let is_table = |object: &&Object| matches!(object.kind, ObjectKind::Table { .. });
    let tables: Vec<&Object> = variant.objects.iter().filter(is_table).collect();
    let is_large = variant.tables().any(|table| table.bytes() >= LARGE_TABLE);
    is_large.then(|| match &tables[..] {
        [table] => format!("contents of {}", table.name),
        _ => "contents of tables".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Cause;
    use crate::placement::MachinePlacement;
    use crate::simulate::{RunPlan, SimulationEffort, simulate};
    use lockyard_scenarios::Script;
    use lockyard_sim::{LineCounts, Machine};

    #[test]
    fn long_sections_end_after_the_stop_with_every_thread_in_the_queue() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let text = "name = \"s\"\n[[objects]]\nname = \"m\"\nkind = \"lock\"\nlock = \"queued\"\n\
                    [[steps]]\ndo = \"lock\"\nobject = \"m\"\n[[steps]]\ndo = \"work\"\nns = 1e7\n\
                    [[steps]]\ndo = \"unlock\"\nobject = \"m\"\n[[variants]]\nname = \"v\"\n";
        let script = Script::parse("s.toml", text).expect("it is a script");
        let placement = MachinePlacement::Order(script.order);
        let cell = CellSpec::first_of(&machine, &script, &placement, 96);
        let plan = RunPlan::of_windows(SimulationEffort::SEARCH);
        let found = simulate(&cell, &plan).expect("all threads finish");
        assert!((found.throughput / 100.0 - 1.0).abs() < 0.1, "{}", found.throughput);
    }

    /// A lock that is held for 500 ns every 1,000, with this number of threads.
    fn busy_lock(lock: &str, machine: &Machine, threads: usize) -> crate::simulate::Prediction {
        let text = format!(
            "name = \"s\"\n[[objects]]\nname = \"m\"\nkind = \"lock\"\nlock = \"{lock}\"\n\
             [[steps]]\ndo = \"work\"\nns = 500\n[[steps]]\ndo = \"lock\"\nobject = \"m\"\n\
             [[steps]]\ndo = \"work\"\nns = 500\n[[steps]]\ndo = \"unlock\"\nobject = \"m\"\n\
             [[variants]]\nname = \"v\"\n"
        );
        let script = Script::parse("s.toml", &text).expect("it is a script");
        let placement = MachinePlacement::Order(script.order);
        let cell = CellSpec::first_of(machine, &script, &placement, threads);
        simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH)).expect("it runs")
    }

    #[test]
    fn locks_whose_waiters_sleep_pay_for_the_kernels_calls_in_a_script() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let dear = machine.clone().with("kernel.wake", 20_000.0).expect("it has the number");
        for lock in ["futex-mutex", "parking-mutex", "pthread-like-mutex", "mutex"] {
            let alone = busy_lock(lock, &machine, 1);
            assert_eq!((alone.sleeps, alone.costs.system_calls), (0.0, 0.0), "{lock}");
            let many = busy_lock(lock, &machine, 16);
            assert!(many.sleeps > 0.0 && many.costs.system_calls > 0.0, "{lock}");
            let dear = busy_lock(lock, &dear, 16);
            assert!(dear.costs.system_calls > many.costs.system_calls, "{lock}");
        }
        let spins = busy_lock("queued", &machine, 16);
        assert_eq!((spins.sleeps, spins.costs.system_calls), (0.0, 0.0));
    }

    #[test]
    fn the_lines_of_a_large_table_are_one_entry_and_its_chains_are_cache_misses() {
        let machine = Machine::shipped("nehalem-2s4c2t").expect("it is shipped");
        let text = "name = \"s\"\n[[objects]]\nname = \"peers\"\nkind = \"connection-table\"\n\
                    with = { bits = 8, connections = 60000 }\n[[steps]]\ndo = \"look-up\"\n\
                    object = \"peers\"\nkey = \"random\"\n[[variants]]\nname = \"v\"\n";
        let script = Script::parse("s.toml", text).expect("it is a script");
        let placement = MachinePlacement::Order(script.order);
        let cell = CellSpec::first_of(&machine, &script, &placement, 2);
        let found = simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH));
        let costs = found.expect("it runs").costs;
        assert_eq!(costs.cause(), (Cause::CacheMisses, Some("contents of peers")));
        let lost = |name: &str| costs.lines.get(name).map_or(0, LineCounts::lost);
        assert!(lost("contents of peers") > 100 * lost("peers"));
        assert!(costs.lines.len() < 50, "of 60,000 lines: {}", costs.lines.len());
    }
}
