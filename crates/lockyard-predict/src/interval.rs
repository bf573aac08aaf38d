//! Interval of a predicted figure. It covers differences between runs, and wrong inputs.
//!
//! Three inputs are made 20 % smaller and larger, one at a time: the clock, the latencies between
//! cores, and the local work. Users are least able to know these inputs. For each change, the cell
//! is simulated anew in two short runs with the same seeds. (`--sensitivity` changes every number
//! of the machine separately, which takes ten times as long.)
//!
//! Numbers that one host decides, or that are assumed, change too: to the least and the greatest
//! value that a host asks for, in cells in which they matter ([`varied`] has the table). The most
//! important one is how much the ways of lines differ, the machine's `jitter`. It decides whether a
//! core can always finish a short section while it owns the lock's line, and so whether a queue
//! forms. Where tasks are siblings of a core, `smt_slowdown` says how much their work slows.
//! The other latencies stay, so a hand-over also gets shorter or longer by a few per cent.
//!
//! Of cells whose tasks call the kernel to sleep or to wake, the costs of its calls change too, all
//! that the machine's file assumes at once.
//!
//! Each end of the interval is the root of a sum of squares: those of the changes, and that of the
//! confidence interval of the mean over the seeds. Two questions that the model leaves open widen
//! the interval. It includes the figure for SMT siblings that share nothing of an ownership, and
//! the figures for the range of rates of fallbacks in a long run.
//!
//! The interval does not bound the error. It does not cover mechanisms that the model lacks: see
//! [`evidence`](crate::evidence).

pub mod varied;

use crate::local_work::LocalWork;
use crate::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_results::statistics;
use lockyard_scenarios::{Metric, PublishedRun, Step, Variant};
use lockyard_sim::{Machine, Parameter};
use varied::Tasks;

/// Relative change of an input.
pub const CHANGE: f64 = 0.2;

/// Length and number of runs with changed inputs.
const EFFORT: SimulationEffort = SimulationEffort { seeds: 2, ..SimulationEffort::SEARCH };

/// Numbers in `cycles` that concern one core only. All others are latencies between cores.
const ALONE: [&str; 6] = [
    "cycles.load",
    "cycles.rmw_before_lock",
    "cycles.rmw_lock",
    "cycles.sibling_turn",
    "cycles.pause",
    "cycles.poll",
];

/// Latencies to which a family's scale does not apply.
const NOT_SCALED: [&str; 4] =
    ["cycles.socket_leg", "cycles.complex_leg", "cycles.directory", "cycles.jitter"];

/// The least and the greatest costs of the kernel's calls, as shares of those that a machine's file
/// assumes. Two guests that were measured differ by 1.4 (calls that return at once) to 6 times
/// (calls that wake).
const KERNEL: [f64; 2] = [0.5, 2.0];

/// Name of the number that scales all latencies of a family.
const SCALE: &str = "family.scale";

/// Returns the interval of a cell's figure, in the unit of a metric. Returns `None` if there is
/// only one run, as for tables that no cache holds. Then the differences between runs are unknown.
///
/// # Errors
///
/// If a run with changed inputs fails.
pub fn of(
    cell: &CellSpec,
    run: &PublishedRun,
    work: Option<LocalWork>,
    prediction: &Prediction,
    metric: Metric,
) -> Result<Option<(f64, f64)>, SimulationError> {
    without(cell, run, work, prediction, metric, None)
}

/// Returns the interval as [`of`] does, without the values that the host `left_out` asks for.
///
/// # Errors
///
/// If a run with changed inputs fails.
pub fn without(
    cell: &CellSpec,
    run: &PublishedRun,
    work: Option<LocalWork>,
    prediction: &Prediction,
    metric: Metric,
    left_out: Option<&str>,
) -> Result<Option<(f64, f64)>, SimulationError> {
    let Some(by_seeds) = by_seeds(&prediction.runs) else { return Ok(None) };
    let plan = RunPlan::of_run(EFFORT, run);
    let base = simulate(cell, &plan)?.throughput;
    // With changed inputs, no operation may finish: the figure is then 0.
    let throughput = |cell: &CellSpec| match simulate(cell, &plan) {
        Ok(found) => Ok(found.throughput),
        Err(SimulationError::Stalled(_) | SimulationError::Stuck { .. }) => Ok(0.0),
        Err(error) => Err(error),
    };
    let mut spread = Spread::new(by_seeds);
    let mut add = |changed: &[f64]| spread.add(changed.iter().map(|change| change / base - 1.0));
    for change in [clock, latencies] {
        let with = |factor: f64| {
            let machine = change(cell.machine, factor);
            throughput(&CellSpec { machine: &machine, ..*cell })
        };
        add(&[with(1.0 - CHANGE)?, with(1.0 + CHANGE)?]);
    }
    for (_, machines) in varied::changes(cell.machine, &tasks(cell), left_out) {
        let with = |machine| throughput(&CellSpec { machine, ..*cell });
        add(&machines.iter().map(with).collect::<Result<Vec<f64>, _>>()?);
    }
    if prediction.costs.system_calls > 0.0 {
        let with = |machine: &Machine| throughput(&CellSpec { machine, ..*cell });
        add(&[with(&kernel(cell.machine, KERNEL[0]))?, with(&kernel(cell.machine, KERNEL[1]))?]);
    }
    if works(&cell.variant.steps) || cell.local_work > 0.0 {
        let with = |factor: f64, local_work: f64| {
            let variant =
                Variant { steps: with_work(&cell.variant.steps, factor), ..cell.variant.clone() };
            throughput(&CellSpec { variant: &variant, local_work, ..*cell })
        };
        let (least, greatest) = local_work(cell.local_work, work);
        add(&[with(1.0 - CHANGE, least)?, with(1.0 + CHANGE, greatest)?]);
    }
    let figure = prediction.throughput;
    let (low, high) = spread.ends();
    let mut interval = (figure * low, figure * high);
    let by_rate = prediction.long.and_then(|long| long.by_rate);
    let ends = by_rate.into_iter().flat_map(|(low, high)| [low, high]);
    for other in ends.chain(prediction.siblings_apart) {
        interval = (interval.0.min(other), interval.1.max(other));
    }
    Ok(Some(metric.range(interval, cell.threads)))
}

/// Distances of an interval's ends from its figure, while they are summed up.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Sum of the squares of relative changes downwards.
    down: f64,
    /// Sum of the squares of relative changes upwards.
    up: f64,
}

impl Spread {
    /// Returns the spread of a figure that runs know up to this share of it.
    pub fn new(by_seeds: f64) -> Self {
        Spread { down: by_seeds.powi(2), up: by_seeds.powi(2) }
    }

    /// Adds the relative changes of the figure that an input causes.
    pub fn add(&mut self, changes: impl IntoIterator<Item = f64>) {
        let (down, up) = changes
            .into_iter()
            .fold((0.0, 0.0), |(down, up), change| (f64::max(down, -change), f64::max(up, change)));
        self.down += down.powi(2);
        self.up += up.powi(2);
    }

    /// Returns the ends of the interval, as factors of the figure.
    pub fn ends(self) -> (f64, f64) {
        ((1.0 - self.down.sqrt()).max(0.0), 1.0 + self.up.sqrt())
    }
}

/// Returns half of the 95 % confidence interval of the mean of runs, relative to the mean. Returns
/// `None` with fewer than two runs.
pub fn by_seeds(runs: &[f64]) -> Option<f64> {
    let mean = statistics::mean(runs)?;
    if runs.len() < 2 {
        return None;
    }
    let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
    let error = (squares / (runs.len() * (runs.len() - 1)) as f64).sqrt();
    Some(statistics::student(runs.len() - 1) * error / mean)
}

/// Returns the machine with a number multiplied by `factor`. Without such a number, the machine is
/// unchanged.
fn with(machine: Machine, name: &str, factor: f64) -> Machine {
    let value = machine.number(name);
    let changed = value.and_then(|value| machine.clone().with(name, value * factor));
    changed.unwrap_or(machine)
}

/// Returns the machine with its clock multiplied by `factor`, which changes all of its times.
pub fn clock(machine: &Machine, factor: f64) -> Machine {
    with(machine.clone(), "clock.ghz", factor)
}

/// Returns the machine with the latencies between its cores multiplied by `factor`.
pub fn latencies(machine: &Machine, factor: f64) -> Machine {
    let all = machine.parameters().iter().map(|parameter| parameter.name.clone());
    let of_cores =
        all.filter(|name| name.starts_with("cycles.") && !ALONE.contains(&name.as_str()));
    let names: Vec<String> = if machine.parameter(SCALE).is_some() {
        let others = of_cores.filter(|name| NOT_SCALED.contains(&name.as_str()));
        others.chain([SCALE.to_owned()]).collect()
    } else {
        of_cores.collect()
    };
    names.iter().fold(machine.clone(), |machine, name| with(machine, name, factor))
}

/// Returns the machine with those costs of the kernel's calls that its file assumes multiplied by
/// `factor`. Times from which something else counts are no costs: with them, a longer wake-up could
/// become a short one. A deep wake-up stays no shorter than another one.
pub fn kernel(machine: &Machine, factor: f64) -> Machine {
    let is_cost = |parameter: &&Parameter| {
        let is_one = parameter.name.starts_with("kernel.") && parameter.assumed.is_some();
        is_one && !["kernel.deep_after", "kernel.block"].contains(&parameter.name.as_str())
    };
    let names = machine.parameters().iter().filter(is_cost);
    let machine =
        names.fold(machine.clone(), |machine, number| with(machine, &number.name, factor));
    match (machine.number("kernel.wakeup"), machine.number("kernel.deep_wakeup")) {
        (Some(wakeup), Some(deep)) if deep < wakeup => {
            machine.clone().with("kernel.deep_wakeup", wakeup).unwrap_or(machine)
        }
        _ => machine,
    }
}

/// Returns the facts about a cell that say which numbers can matter.
fn tasks(cell: &CellSpec) -> Tasks {
    let places = cell.placement.places(cell.machine, cell.threads, 1);
    Tasks::at(cell.machine, &places, cell.variant.longest_work(cell.local_work) > 0.0)
}

/// Returns the least and the greatest local work for the steps that share it. These are the limits
/// of the local work that matches the calibration cell equally well. Without calibrated work, they
/// are 20 % less and more.
fn local_work(nanoseconds: f64, work: Option<LocalWork>) -> (f64, f64) {
    match work {
        Some(LocalWork { as_good: (least, greatest), .. }) => {
            (least.min(nanoseconds), greatest.max(nanoseconds))
        }
        None => (nanoseconds * (1.0 - CHANGE), nanoseconds * (1.0 + CHANGE)),
    }
}

/// Returns `true` if a step has local work that the script states.
fn works(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.states_work() || step.inner().is_some_and(works))
}

/// Returns the steps with their stated local work multiplied by `factor`.
fn with_work(steps: &[Step], factor: f64) -> Vec<Step> {
    let mut steps = steps.to_vec();
    steps.iter_mut().for_each(|step| step.scale_stated_work(factor));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use lockyard_scenarios::{Order, Script};

    /// Returns the throughput of a script's only variant, and the ends of its interval relative to
    /// it, minus 1, without the values that the host `left_out` asks for.
    fn found_on(
        machine: &str,
        order: Order,
        steps: &str,
        threads: usize,
        left_out: Option<&str>,
    ) -> (f64, (f64, f64)) {
        let text = format!(
            "name = \"s\"\nwork_varies = false\n[[objects]]\nname = \"m\"\nkind = \"lock\"\n\
             lock = \"queued\"\n[[variants]]\nname = \"v\"\n{steps}"
        );
        let script = Script::parse("s.toml", &text).expect("it is a script");
        let machine = Machine::shipped(machine).expect("it is shipped");
        let cell = CellSpec {
            machine: &machine,
            variant: &script.variants[0],
            placement: &MachinePlacement::Order(order),
            home: 0,
            threads,
            local_work: 0.0,
        };
        let prediction =
            simulate(&cell, &RunPlan::full(&cell, &script.run, None)).expect("it runs");
        let (low, high) = without(&cell, &script.run, None, &prediction, script.metric, left_out)
            .expect("it runs")
            .expect("there are runs");
        let figure = prediction.throughput;
        (figure, (low / figure - 1.0, high / figure - 1.0))
    }

    /// The same on different cores of a Cascade Lake.
    fn found(steps: &str, threads: usize) -> (f64, (f64, f64)) {
        found_on("cascade-lake-2s24c2t", Order::SiblingsLast, steps, threads, None)
    }

    const WORK: &str = "[[steps]]\ndo = \"work\"\nns = 1000\n";
    const ENTER: &str = "[[steps]]\ndo = \"lock\"\nobject = \"m\"\n";
    const LEAVE: &str = "[[steps]]\ndo = \"unlock\"\nobject = \"m\"\n";

    #[test]
    fn an_operation_of_work_alone_depends_on_the_work_only() {
        // 20 % less work: 1 / 0.8. 20 % more: 1 / 1.2.
        let (figure, (low, high)) = found(WORK, 1);
        assert!((figure / 1e6 - 1.0).abs() < 0.01, "{figure}");
        assert!((low + 1.0 / 6.0).abs() < 0.01 && (high - 0.25).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn a_lock_alone_depends_on_the_machine_only() {
        // A hand-over consists of cycles, and most of them are latencies. So the clock changes it
        // by 20 %, and the latencies change it by less.
        let (_, (low, high)) = found(&format!("{ENTER}{LEAVE}"), 8);
        let (clock, both) = (0.2, 0.2 * 2f64.sqrt());
        assert!(low < -clock * 0.95 && low > -both - 0.05, "{low}");
        assert!(high > clock * 0.95 && high < 0.25 * 2f64.sqrt() + 0.05, "{high}");
    }

    #[test]
    fn only_siblings_have_an_interval_by_what_they_take_from_each_other() {
        // Two tasks that only work, on a Zen 4: 1.4 times as long beside a sibling, 1 or 1.5 times
        // at the ends. Their work is 20 % less or more.
        let found = |order, left_out| found_on("zen4-7840u", order, WORK, 2, left_out);
        let both = |work: f64, siblings: f64| (work.powi(2) + siblings.powi(2)).sqrt();
        let is = |(low, high): (f64, f64), (down, up): (f64, f64)| {
            assert!((low + down).abs() < 0.01 && (high - up).abs() < 0.01, "{low} {high}");
        };
        let (figure, siblings) = found(Order::Fill, None);
        is(siblings, (both(1.0 / 6.0, 1.0 - 1.4 / 1.5), both(0.25, 0.4)));
        // Without the host that has 1.5, the greatest value is below that of the machine.
        is(found(Order::Fill, Some(varied::X86_3)).1, (1.0 / 6.0, both(0.25, 0.4)));
        let (on_cores, cores) = found(Order::SiblingsLast, None);
        is(cores, (1.0 / 6.0, 0.25));
        assert_eq!((on_cores, cores), found(Order::SiblingsLast, Some(varied::X86_3)));
        assert_eq!((figure, siblings), found(Order::Fill, None), "it is the same each time");
    }

    #[test]
    fn differences_between_runs_widen_the_interval() {
        assert_eq!(by_seeds(&[1.0]), None);
        assert_eq!(by_seeds(&[2.0, 2.0, 2.0]), Some(0.0));
        // Five runs with a standard deviation of 1, around 10: 2.776 / sqrt(5) tenths.
        let away = (4.0f64 / 2.0).sqrt();
        let half = by_seeds(&[10.0 - away, 10.0, 10.0, 10.0, 10.0 + away]).expect("there are five");
        assert!((half - 0.1 * 2.776 / 5f64.sqrt()).abs() < 0.002, "{half}");
    }

    #[test]
    fn a_cell_with_siblings_contains_the_figure_without_sharing() {
        let script = Script::shipped("fstat2").expect("it is shipped");
        let machine = Machine::shipped("zen4-7840u").expect("it is shipped");
        let placement = MachinePlacement::Order(Order::SiblingsLast);
        let cell =
            CellSpec { local_work: 100.0, ..CellSpec::first_of(&machine, &script, &placement, 16) };
        let plan = RunPlan { siblings_apart: true, ..RunPlan::of_windows(EFFORT) };
        let prediction = simulate(&cell, &plan).expect("it runs");
        let apart = prediction.siblings_apart.expect("cores have two tasks");
        let work = LocalWork { nanoseconds: 100.0, miss: 0.0, as_good: (100.0, 100.0) };
        let (low, high) = of(&cell, &script.run, Some(work), &prediction, script.metric)
            .expect("it runs")
            .expect("there are runs");
        assert!(low <= apart && apart <= high, "{low} {apart} {high}");
        assert!(low < prediction.throughput && prediction.throughput < high);
    }

    #[test]
    fn all_latencies_between_cores_change_and_no_other_number() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let slower = latencies(&machine, 1.2);
        let number = |machine: &Machine, name: &str| machine.number(name).expect("it has it");
        for name in ["cycles.leg", "cycles.socket_leg", "cycles.directory", "cycles.hold_exclusive"]
        {
            let ratio = number(&slower, name) / number(&machine, name);
            assert!((ratio - 1.2).abs() < 0.05, "{name}: {ratio}");
        }
        for name in ALONE.into_iter().chain(["clock.ghz", "protocol.run_ahead"]) {
            assert_eq!(number(&slower, name), number(&machine, name), "{name}");
        }
    }

    #[test]
    fn costs_of_the_kernels_calls_change_where_a_file_assumes_them() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let value = |machine: &Machine, name: &str| machine.number(name).expect("it has it");
        let twice = kernel(&machine, KERNEL[1]);
        for name in ["kernel.wake", "kernel.wakeup", "kernel.bucket", "kernel.yield"] {
            assert_eq!(value(&twice, name), 2.0 * value(&machine, name), "{name}");
        }
        assert_eq!(value(&twice, "cycles.leg"), value(&machine, "cycles.leg"));
        let text = include_str!("../../../machines/cascade-lake-2s24c2t.toml");
        let text = text.replace("as = \"linux-metal\"", "as = \"linux-guest\"");
        let guest = Machine::parse("m.toml", &text).expect("it is a machine");
        let twice = kernel(&guest, KERNEL[1]);
        assert_eq!(value(&twice, "kernel.wake"), 1344.0, "it was measured");
        assert_eq!(value(&twice, "kernel.block"), 1000.0, "it is no cost");
        // A measured wake-up beside an assumed deep one.
        let measured = machine.clone().with("kernel.wakeup", 10_000.0).expect("a number");
        let half = kernel(&measured, KERNEL[0]);
        assert!(value(&half, "kernel.deep_wakeup") >= value(&half, "kernel.wakeup"));
    }

    #[test]
    fn work_under_locks_changes_too_and_a_calibrated_one_within_what_meets_its_cell() {
        let text = format!(
            "name = \"s\"\n[[objects]]\nname = \"m\"\nkind = \"lock\"\nlock = \"queued\"\n[[variants]]\nname = \"v\"\n{ENTER}{WORK}{LEAVE}"
        );
        let script = Script::parse("s.toml", &text).expect("it is a script");
        let steps = with_work(&script.variants[0].steps, 0.5);
        let Step::Locked { steps, .. } = &steps[0] else { panic!("{steps:?}") };
        assert!(matches!(steps[0], Step::Work { nanoseconds: 500.0, .. }), "{steps:?}");
        assert!(works(&script.variants[0].steps) && !works(&[Step::Pause]));
        let work = LocalWork { nanoseconds: 100.0, miss: 0.0, as_good: (90.0, 150.0) };
        assert_eq!(local_work(100.0, Some(work)), (90.0, 150.0));
        assert_eq!(local_work(100.0, None), (80.0, 120.0));
    }
}
