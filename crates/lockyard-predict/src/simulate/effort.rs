//! Length and number of the runs of a cell.
//!
//! A run has to reach its long-term behaviour. Where chance has an influence, the run has to be
//! repeated. Sources of chance are the places of unpinned tasks, time slices of guests, and caches
//! that fill.

use crate::placement::MachinePlacement;
use lockyard_scenarios::{Order, Variant};
use lockyard_sim::Machine;

/// Length and number of simulated runs.
#[derive(Clone, Copy, Debug)]
pub struct SimulationEffort {
    /// Simulated nanoseconds before counting begins, after all tasks have begun.
    pub warm_up_ns: f64,
    /// Simulated nanoseconds that are counted.
    pub window_ns: f64,
    /// Number of runs. Their seeds follow each other.
    pub seeds: u64,
    /// Seed of the first run, usually 1.
    pub first_seed: u64,
    /// `true` if the figure itself matters, not its ratio to another one with the same seeds. Then
    /// windows have more operations where those differ in their work.
    pub is_absolute: bool,
}

/// Minimum number of operations of a window.
const ENOUGH: u64 = 200;

/// Minimum number of operations of all runs of a cell whose random factors of the work matter.
///
/// All cells draw the same factors, so the mean of the drawn ones is an error that all cells share.
/// With this number, its standard deviation is 1 %.
const ENOUGH_FACTORS: u64 = 10_000;

/// The same minimum for a single task; several tasks share it. Tasks that rarely wait are as fast
/// as their work, so the mean of the drawn factors is the error of the figure. Here it is 0.3 %.
const ENOUGH_FACTORS_ALONE: u64 = 100_000;

/// Minimum number of operations of each task in a window, because tasks may be in lockstep.
const ENOUGH_OF_EACH: u64 = 20;

/// Number of requests from outside in a window, on average.
const OF_REQUESTS: f64 = 4_000.0;

impl SimulationEffort {
    /// Effort for the tables if the tasks' places do not depend on the seed, or do not matter. Then
    /// the runs of a cell differ by less than 4 %.
    pub(super) const USUAL: SimulationEffort = SimulationEffort {
        warm_up_ns: 150_000.0,
        window_ns: 1_000_000.0,
        seeds: 5,
        first_seed: 1,
        is_absolute: true,
    };
    /// Effort for a calibration search, and for changes of a figure, which are simulated with the
    /// same seeds.
    pub const SEARCH: SimulationEffort = SimulationEffort {
        warm_up_ns: 100_000.0,
        window_ns: 400_000.0,
        seeds: 3,
        first_seed: 1,
        is_absolute: false,
    };

    /// Effort for the tables with unpinned tasks. There each seed has another placement, and
    /// placements differ more than windows do. For example, the runs of `page-ref` with 4 threads
    /// on Broadwell-EX differ by up to a factor of 2.3, mostly upwards. The standard error of the
    /// mean of 40 runs is 2 to 4 % there.
    pub(super) const UNPINNED: SimulationEffort = SimulationEffort {
        warm_up_ns: 150_000.0,
        window_ns: 500_000.0,
        seeds: 40,
        first_seed: 1,
        is_absolute: true,
    };

    /// Minimum effort for guests that share CPUs: some rounds of their time slices.
    const GUESTS: SimulationEffort = SimulationEffort {
        warm_up_ns: 50_000_000.0,
        window_ns: 100_000_000.0,
        seeds: 1,
        first_seed: 1,
        is_absolute: true,
    };

    /// Returns the seeds of the runs.
    pub(super) fn seeds(self) -> std::ops::Range<u64> {
        self.first_seed..self.first_seed.saturating_add(self.seeds)
    }

    /// Returns the effort for this many guests that share CPUs.
    pub(super) fn for_guests(self, guests: usize) -> SimulationEffort {
        if guests < 2 {
            return self;
        }
        SimulationEffort {
            warm_up_ns: self.warm_up_ns.max(SimulationEffort::GUESTS.warm_up_ns),
            window_ns: self.window_ns.max(SimulationEffort::GUESTS.window_ns),
            ..self
        }
    }

    /// Returns the effort for threads of one program that share CPUs, `of_cpu` on each: every
    /// thread has its turn before the window, and within it. In a shorter run those that begin
    /// would be all that run. The window has two rounds: threads that sleep change the order. Runs
    /// that are compared with each other stay as short as they are.
    pub(super) fn for_crowd(self, machine: &Machine, of_cpu: usize) -> SimulationEffort {
        if of_cpu < 2 || !self.is_absolute {
            return self;
        }
        let number = |name: &str| machine.number(name);
        // In microseconds; without a group of the file, as the scheduler's.
        let period = number("scheduler.period").unwrap_or(24_000.0);
        let granularity = number("scheduler.granularity").unwrap_or(3_000.0);
        let round = period.max(granularity * of_cpu as f64) * 1e3;
        SimulationEffort {
            warm_up_ns: self.warm_up_ns.max(round),
            window_ns: self.window_ns.max(2.0 * round),
            seeds: self.seeds.min(2),
            ..self
        }
    }

    /// Returns the effort for tables that are not in the caches at first. Tables are filled anew
    /// for each run, so there is only one run. It is longer, because the caches must first reach
    /// their steady state.
    pub(super) fn for_tables(self, variant: &Variant) -> SimulationEffort {
        if variant.tables().all(|table| table.bytes() < LARGE_TABLE) {
            return self;
        }
        SimulationEffort {
            warm_up_ns: self.warm_up_ns.max(2_000_000.0),
            window_ns: self.window_ns.max(2_000_000.0),
            seeds: 1,
            ..self
        }
    }

    /// Returns the effort for requests that come from outside: many before the window, so
    /// that some wait, and [`OF_REQUESTS`] in it.
    pub(super) fn for_requests(self, variant: &Variant) -> SimulationEffort {
        let Some(interval) = variant.interval_of_requests() else { return self };
        SimulationEffort {
            warm_up_ns: self.warm_up_ns.max(interval * OF_REQUESTS / 4.0),
            window_ns: self.window_ns.max(interval * OF_REQUESTS),
            ..self
        }
    }

    /// Returns the effort for runs that begin with a fallback. `until` is the cell's throughput
    /// before it. These runs warm up longer, until every task has begun.
    pub(super) fn for_fallen(self, threads: usize, until: f64) -> SimulationEffort {
        let round = threads as f64 / until * 1e9;
        SimulationEffort { warm_up_ns: self.warm_up_ns + 2.0 * round, ..self }
    }

    /// Returns the minimum number of operations of a window, of all `tasks` tasks together.
    ///
    /// Two kinds of cells need no more factors. A calibrated cell shares the error with its
    /// calibration cell, so it cancels. With tables, a longer window would change the figure more
    /// than the error does, because caches go on filling.
    pub(super) fn enough(self, variant: &Variant, tasks: u64) -> u64 {
        let by_factors = self.is_absolute
            && (variant.work_varies || variant.walks())
            && !variant.is_calibrated()
            && variant.tables().next().is_none();
        let of_window = match by_factors {
            true => ENOUGH_FACTORS.max(ENOUGH_FACTORS_ALONE / tasks.max(1)) / self.seeds.max(1),
            false => 0,
        };
        of_window.max(ENOUGH).max(ENOUGH_OF_EACH * tasks)
    }

    /// Returns the effort for the tables.
    pub fn usual(
        machine: &Machine,
        placement: &MachinePlacement,
        threads: usize,
    ) -> SimulationEffort {
        if threads < 2 || places_are_alike(machine, placement) {
            SimulationEffort::USUAL
        } else {
            SimulationEffort::UNPINNED
        }
    }
}

/// Returns `true` if tasks have equivalent places in every run: the same places, or cores of one
/// complex.
pub(super) fn places_are_alike(machine: &Machine, placement: &MachinePlacement) -> bool {
    *placement != MachinePlacement::Order(Order::Unpinned) || machine.complexes() == 1
}

/// Minimum size, in bytes, of a table that fits in no cache, or that enters the caches only slowly.
pub(super) const LARGE_TABLE: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{CellSpec, RunPlan, simulate};
    use lockyard_scenarios::Script;

    #[test]
    fn varying_work_is_as_fast_as_its_mean() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let figure = |varies: bool, held: u32, outside: u32| {
            let text = format!(
                "name = \"s\"\nwork_varies = {varies}\n[[objects]]\nname = \"m\"\n\
                 kind = \"lock\"\nlock = \"queued\"\n[[steps]]\ndo = \"work\"\nns = {outside}\n\
                 [[steps]]\ndo = \"lock\"\nobject = \"m\"\n[[steps]]\ndo = \"work\"\nns = {held}\n\
                 [[steps]]\ndo = \"unlock\"\nobject = \"m\"\n[[variants]]\nname = \"v\"\n"
            );
            let script = Script::parse("s.toml", &text).expect("it is a script");
            let placement = MachinePlacement::Order(script.order);
            let cell = CellSpec::first_of(&machine, &script, &placement, 1);
            let plan = RunPlan::full(&cell, &script.run, None);
            simulate(&cell, &plan).expect("it runs").throughput
        };
        for (held, outside) in [(300, 1_700), (1_000, 30_000)] {
            let ratio = figure(true, held, outside) / figure(false, held, outside);
            assert!((ratio - 1.0).abs() < 0.01, "{held}, {outside}: {ratio}");
        }
    }

    #[test]
    fn a_mean_over_placements_is_of_enough_of_them() {
        let machine = Machine::shipped("broadwell-ex-8s10c2t").expect("it is shipped");
        let script = Script::shipped("page-ref").expect("it is shipped");
        let placement = MachinePlacement::Order(script.order);
        let usual = SimulationEffort::usual(&machine, &placement, 4);
        let variant = script.variant("xadd").expect("it has it");
        let cell = CellSpec {
            machine: &machine,
            variant,
            placement: &placement,
            home: 0,
            threads: 4,
            local_work: 0.0,
        };
        let found = simulate(&cell, &RunPlan::of_run(usual, &script.run)).expect("it runs");
        assert_eq!(found.runs.len() as u64, usual.seeds);
        // For a normal distribution, the range of 40 values is 4.3 standard deviations.
        let deviation = (found.range.1 - found.range.0) / 4.3 / found.throughput;
        let error = deviation / (usual.seeds as f64).sqrt();
        assert!(
            error < 0.03,
            "{error} with {} placements, which differ by {deviation}",
            usual.seeds
        );
        let seeds = |machine: &Machine, placement: &MachinePlacement, threads| {
            SimulationEffort::usual(machine, placement, threads).seeds
        };
        assert_eq!(
            seeds(&machine, &MachinePlacement::List(vec![0, 1]), 2),
            SimulationEffort::USUAL.seeds
        );
        assert_eq!(seeds(&machine, &placement, 1), SimulationEffort::USUAL.seeds);
        let one_complex = Machine::shipped("zen4-7840u").expect("it is shipped");
        assert_eq!(seeds(&one_complex, &placement, 4), SimulationEffort::USUAL.seeds);
    }
}
