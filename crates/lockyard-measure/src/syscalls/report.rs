//! Rounds of the experiments, and their results as rows. Each round measures every cell once, for
//! the kernel's lockref and our own. The order is shuffled for each round.
//!
//! A sample consists of the minimum, the maximum and the total over its tasks, in operations per
//! second, as will-it-scale prints them. The figure of a cell is the median of its totals, with an
//! interval.
//!
//! The script of the same experiment (`scenarios/`) runs our lockref with threads. Its local work
//! is chosen to make one operation take as long as one operation of a single kernel task on this
//! host. It is the kernel operation's time minus the script operation's time without local work.
//! Both are measured before the rounds: medians of a few short samples.
//!
//! So with one task, both do about the same number of operations by construction. Any difference
//! with more tasks comes from the contended part.

use super::{Directory, Experiment, Launcher, MOST_TASKS, Plan, Stopped, TaskKind, Times, sample};
use crate::cpus::{Cpus, Placement};
use crate::detect;
use crate::order::Orders;
use crate::scenario::probe::Nothing;
use crate::scenario::run;
use crate::scenario::stage::rounds_per_ns;
use crate::scenario::watch::HostCell;
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{Details, MeasuredDetail, RatioDetail, SyscallsDetail};
use lockyard_results::row::{Measured, Row};
use lockyard_results::statistics::{self, coverage};
use lockyard_scenarios::{Order, Script, Variant};
use lockyard_support::{InputError, jobs};
use std::time::Duration;

/// A request: the cells to measure.
#[derive(Clone, Debug)]
pub struct SyscallsRequest {
    /// Operation of a task.
    pub experiment: Experiment,
    /// Kinds of tasks. The first kind is the base of the ratios shown for the others.
    pub kinds: Vec<TaskKind>,
    /// Task counts.
    pub tasks: Vec<usize>,
    /// Placement of the tasks. By default each core gets one task before any gets a second.
    pub placement: Option<Placement>,
    /// Command that starts task processes.
    pub launcher: Launcher,
    /// Durations of a sample.
    pub times: Times,
    /// Number of rounds.
    pub repeats: usize,
    /// True to measure our own lockref in addition to the kernel's.
    pub beside: bool,
}

/// Lockref measured by a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Lockref of the running kernel.
    Kernel(TaskKind),
    /// Our own lockref: the name of a variant in this experiment.
    Ours(&'static str),
}

impl Whose {
    /// Returns the name in rows.
    pub fn name(&self) -> &'static str {
        match self {
            Whose::Kernel(kind) => kind.variant(),
            Whose::Ours(name) => name,
        }
    }
}

/// One sample of one cell: statistics over its tasks, in operations per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSecond {
    /// Figure of the slowest task.
    pub minimum: f64,
    /// Figure of the fastest task.
    pub maximum: f64,
    /// Sum over all tasks.
    pub total: f64,
    /// Idle share of the host, in per cent.
    pub idle: Option<f64>,
}

/// Samples of one cell, one per round.
#[derive(Clone, Debug, PartialEq)]
pub struct SyscallsCell {
    /// Lockref to measure.
    pub whose: Whose,
    /// Number of tasks.
    pub tasks: usize,
    /// Samples taken so far.
    pub samples: Vec<PerSecond>,
}

impl SyscallsCell {
    /// Creates a cell without samples.
    pub fn new(whose: Whose, tasks: usize) -> SyscallsCell {
        SyscallsCell { whose, tasks, samples: Vec::new() }
    }

    /// Adds a sample, given the operations per second of each task.
    pub fn push(&mut self, per_second: &[f64], idle: Option<f64>) {
        self.samples.push(PerSecond {
            minimum: per_second.iter().copied().fold(f64::INFINITY, f64::min),
            maximum: per_second.iter().copied().fold(0.0, f64::max),
            total: per_second.iter().sum(),
            idle,
        });
    }

    fn totals(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.total).collect()
    }

    /// Mean of the totals; `None` if there are no samples.
    pub fn mean(&self) -> Option<f64> {
        statistics::mean(&self.totals())
    }

    /// Idle share of the host: mean of the samples. `None` if the system does not report it.
    pub fn idle(&self) -> Option<f64> {
        let idle: Option<Vec<f64>> = self.samples.iter().map(|sample| sample.idle).collect();
        statistics::mean(&idle?)
    }

    fn measured(&self) -> Option<Measured> {
        Measured::of_samples(&self.totals())
    }
}

/// Result of a measurement request.
#[derive(Clone, Debug, Default)]
pub struct SyscallsReport {
    /// Requested cells, in the order of the rows. A cell that was never begun has no samples.
    pub cells: Vec<SyscallsCell>,
    /// One row for each cell with at least one sample.
    pub rows: Vec<Row>,
    /// Samples for readers: a text for each cell of the kernel.
    pub listings: Vec<String>,
    /// Reason why the remaining cells were not measured.
    pub failure: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Conditions of the measurement, by name.
    pub environment: Vec<(String, String)>,
}

/// Number of samples per calibration point of the local work.
const CALIBRATION_SAMPLES: usize = 5;
/// Local work at which our operation is calibrated, in nanoseconds.
const TRIED_WORK: f64 = 1000.0;
/// Minimum ratio of the time that local work takes to its nominal time. Below it, the measurement
/// was disturbed.
const MOST_SPEED: f64 = 0.5;
/// Maximum length of a calibration sample.
const CALIBRATION_WINDOW: Duration = Duration::from_millis(100);

/// Returns the number of samples in a request, for the progress display.
pub fn samples(request: &SyscallsRequest) -> usize {
    let ours = if request.beside { request.experiment.beside().1.len() } else { 0 };
    (request.kinds.len() + ours) * request.tasks.len() * request.repeats
}

/// Measures a request on the file in `directory`.
///
/// # Errors
///
/// If there are too many tasks.
pub fn run(
    request: &SyscallsRequest,
    directory: &Directory,
    done: &mut dyn FnMut(),
) -> Result<SyscallsReport, InputError> {
    if let Some(tasks) = request.tasks.iter().find(|&&tasks| !(1..=MOST_TASKS).contains(&tasks)) {
        return Err(InputError(format!("--tasks: {tasks} tasks; allowed: 1 to {MOST_TASKS}")));
    }
    let cpus = Cpus::allowed();
    let placement = match &request.placement {
        Some(placement) => placement.clone(),
        None => Placement::of(Order::SiblingsLast, &cpus),
    };
    let mut rounds = Rounds {
        request,
        placement: &placement,
        directory,
        variants: variants(request),
        local_work: 0.0,
    };
    let mut cells = rounds.cells();
    let stopped = rounds.measure(&mut cells, done).err();
    let mut report = SyscallsReport {
        rows: rows(request, &cells, rounds.local_work),
        listings: cells.iter().filter_map(|cell| listing(request.experiment, cell)).collect(),
        notes: notes(request, &placement, &cpus, rounds.local_work),
        environment: environment(request, &placement, directory),
        cells,
        failure: None,
    };
    if let Some(Stopped::Failed(message)) = stopped {
        report.failure = Some(message);
    }
    Ok(report)
}

/// Returns the measured variants of our lockref, with their names in this experiment.
fn variants(request: &SyscallsRequest) -> Vec<(&'static str, Variant)> {
    let (script, names) = request.experiment.beside();
    let Some(script) = Script::shipped(script).filter(|_| request.beside) else {
        return Vec::new();
    };
    let variant = |&(variant, name): &(&str, &'static str)| {
        script.variant(variant).map(|variant| (name, variant.clone()))
    };
    names.iter().filter_map(variant).collect()
}

/// A request during its measurement, and its conditions.
struct Rounds<'a> {
    request: &'a SyscallsRequest,
    placement: &'a Placement,
    directory: &'a Directory,
    variants: Vec<(&'static str, Variant)>,
    /// Local work of one operation of our own lockref, in nanoseconds.
    local_work: f64,
}

impl Rounds<'_> {
    fn cells(&self) -> Vec<SyscallsCell> {
        let kernel = self.request.kinds.iter().map(|&kind| Whose::Kernel(kind));
        let ours = self.variants.iter().map(|(name, _)| Whose::Ours(name));
        let whose: Vec<Whose> = kernel.chain(ours).collect();
        let of = |whose: &Whose| {
            let cell = |&tasks| SyscallsCell::new(whose.clone(), tasks);
            self.request.tasks.iter().map(cell).collect::<Vec<_>>()
        };
        whose.iter().flat_map(of).collect()
    }

    fn measure(
        &mut self,
        cells: &mut [SyscallsCell],
        done: &mut dyn FnMut(),
    ) -> Result<(), Stopped> {
        self.find_local_work()?;
        let mut orders = Orders::new(cells.len());
        for _ in 0..self.request.repeats {
            for &index in orders.next_round() {
                let cell = &mut cells[index];
                let (per_second, idle) =
                    self.once(&cell.whose, cell.tasks, self.request.times, self.local_work)?;
                cell.push(&per_second, idle);
                done();
            }
        }
        Ok(())
    }

    /// Returns the operations per second of each task in one sample.
    fn once(
        &self,
        whose: &Whose,
        tasks: usize,
        times: Times,
        local_work: f64,
    ) -> Result<(Vec<f64>, Option<f64>), Stopped> {
        let (counts, window, idle) = match whose {
            Whose::Kernel(kind) => {
                let plan = Plan {
                    experiment: self.request.experiment,
                    kind: *kind,
                    tasks,
                    placement: self.placement,
                    directory: self.directory,
                    launcher: &self.request.launcher,
                };
                let sample = sample(&plan, times)?;
                (sample.counts, sample.window, sample.idle)
            }
            Whose::Ours(name) => {
                let found = self.variants.iter().find(|(variant, _)| variant == name);
                let Some((_, variant)) = found else {
                    unreachable!("a cell is of one of the variants")
                };
                let cell = HostCell {
                    variant,
                    threads: tasks,
                    local_work,
                    placement: self.placement,
                    samples: None,
                };
                let ours = run::Times {
                    warm_up: times.warm_up,
                    window: times.window,
                    stalled_after: times.stalled_after,
                };
                if jobs::interrupted() {
                    return Err(Stopped::Interrupted);
                }
                let run = run::run(cell, ours, Nothing).map_err(|message| {
                    if jobs::interrupted() {
                        Stopped::Interrupted
                    } else {
                        Stopped::Failed(message)
                    }
                })?;
                let (begin, end) = run.window;
                (run.counted, end - begin, None)
            }
        };
        if jobs::interrupted() {
            // The interrupt cut the window short.
            return Err(Stopped::Interrupted);
        }
        let seconds = window.as_secs_f64();
        Ok((counts.iter().map(|&count| count as f64 / seconds).collect(), idle))
    }

    /// Finds the local work for which one of our operations takes as long as one of the kernel's.
    /// Our operation is measured both with and without local work, because on a busy host a
    /// nanosecond of work takes longer than a nanosecond.
    fn find_local_work(&mut self) -> Result<(), Stopped> {
        let Some((name, _)) = self.variants.first() else { return Ok(()) };
        rounds_per_ns();
        let window = self.request.times.window.min(CALIBRATION_WINDOW);
        let times = Times { window, warm_up: window.mul_f64(0.2), ..self.request.times };
        let (kernel, ours) = (Whose::Kernel(self.request.kinds[0]), Whose::Ours(name));
        let points = [(&kernel, 0.0), (&ours, 0.0), (&ours, TRIED_WORK)];
        let mut nanoseconds = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..CALIBRATION_SAMPLES {
            for ((whose, work), nanoseconds) in points.iter().zip(&mut nanoseconds) {
                let (per_second, _) = self.once(whose, 1, times, *work)?;
                nanoseconds.push(1e9 / per_second[0].max(1.0));
            }
        }
        let [kernel, without, with] =
            nanoseconds.map(|all| statistics::median(&all).unwrap_or(0.0));
        self.local_work = local_work(kernel, without, with);
        Ok(())
    }
}

/// Returns the local work of an operation that should take `target` nanoseconds. It lies on the
/// line through two points: `without` local work, and `with` nanoseconds at a local work of
/// [`TRIED_WORK`]. The result is at least zero.
fn local_work(target: f64, without: f64, with: f64) -> f64 {
    let slope = ((with - without) / TRIED_WORK).max(MOST_SPEED);
    ((target - without) / slope).max(0.0)
}

/// Returns the ratio of a cell's totals to another cell's totals, sample by sample.
fn ratio(cell: &SyscallsCell, other: &SyscallsCell) -> Option<RatioDetail> {
    let pairs = cell.samples.iter().zip(&other.samples);
    let ratios: Vec<f64> = pairs.map(|(a, b)| a.total / b.total).collect();
    let interval = statistics::median_interval(&ratios)?;
    Some(RatioDetail {
        to: other.whose.name().to_owned(),
        value: statistics::median(&ratios)?,
        ci_low: interval.low,
        ci_high: interval.high,
        bootstrap: None,
    })
}

fn rows(request: &SyscallsRequest, cells: &[SyscallsCell], local_work: f64) -> Vec<Row> {
    let row = |cell: &SyscallsCell| {
        let measured = cell.measured()?;
        let listed = |of: fn(&PerSecond) -> f64| {
            cell.samples.iter().map(|sample| of(sample).round() as u64).collect()
        };
        let is_kernel = matches!(cell.whose, Whose::Kernel(_));
        let syscalls = SyscallsDetail {
            sample_minimum: listed(|sample| sample.minimum),
            sample_maximum: listed(|sample| sample.maximum),
            sample_total: listed(|sample| sample.total),
            idle_percent: cell.idle(),
            operation: is_kernel.then(|| request.experiment.operation()),
        };
        let reference = Whose::Kernel(request.kinds[0]);
        let same = |other: &&SyscallsCell| other.whose == reference && other.tasks == cell.tasks;
        let ratio = cells.iter().find(same).and_then(|other| ratio(cell, other));
        let of_cell =
            MeasuredDetail { ratio, syscalls: Some(syscalls), ..MeasuredDetail::default() };
        let work = if is_kernel { Details::default() } else { Details::of_local_work(local_work) };
        let details = Details { measured: Some(of_cell), ..work };
        let key =
            CellKey::throughput_here(request.experiment.name(), cell.whose.name(), cell.tasks);
        Some(Row::measured(key, measured, details))
    };
    cells.iter().filter_map(row).collect()
}

/// Returns the samples of a kernel cell, as will-it-scale prints them.
fn listing(experiment: Experiment, cell: &SyscallsCell) -> Option<String> {
    let Whose::Kernel(kind) = cell.whose else { return None };
    let mut text = format!("{}, tasks: {}, {}:\n", experiment.name(), cell.tasks, kind.name());
    for PerSecond { minimum, maximum, total, .. } in &cell.samples {
        text.push_str(&format!("min:{minimum:.0} max:{maximum:.0} total:{total:.0}\n"));
    }
    text.push_str(&format!("average:{:.0}\n", cell.mean()?));
    Some(text)
}

fn notes(
    request: &SyscallsRequest,
    placement: &Placement,
    cpus: &Cpus,
    local_work: f64,
) -> Vec<String> {
    let mut notes = Vec::new();
    let places = placement.cpus(cpus);
    if request.tasks.iter().any(|&tasks| tasks > places) {
        notes.push(format!(
            "More tasks than the {places} CPUs of the placement share them: \
             figures then depend on the operating system's scheduler."
        ));
    }
    let experiment = request.experiment;
    notes.push(format!(
        "{}: {}, all tasks on one file. {} rounds, with one sample of {} s per cell, in an order \
         shuffled for each round. Figures are medians, with an interval of at least 95 % ({}).",
        experiment.name(),
        experiment.operation(),
        request.repeats,
        request.times.window.as_secs_f64(),
        coverage(request.repeats)
    ));
    notes.push(format!(
        "Ratio: the figure divided by that of {} in the same round; \
         the median of the rounds, with its interval.",
        request.kinds[0].variant()
    ));
    if request.beside {
        notes.push(format!(
            "For comparison: our lockref in threads, as in scenario `{}`, with {local_work:.0} ns \
             of local work per operation. One task then takes about as long as one of {}.",
            experiment.beside().0,
            request.kinds[0].variant()
        ));
    }
    notes
}

fn environment(
    request: &SyscallsRequest,
    placement: &Placement,
    directory: &Directory,
) -> Vec<(String, String)> {
    let mut environment = vec![
        ("placement".to_owned(), placement.describe()),
        ("seconds".to_owned(), request.times.window.as_secs_f64().to_string()),
        ("warm_up_seconds".to_owned(), request.times.warm_up.as_secs_f64().to_string()),
        ("repeats".to_owned(), request.repeats.to_string()),
        ("file_system".to_owned(), directory.file_system()),
        ("c_library".to_owned(), c_library()),
    ];
    let host = detect::environment();
    environment.extend(host.into_iter().map(|(name, value)| (name.to_owned(), value)));
    environment
}

/// Returns the C library that makes the system calls. It decides which kind of `fstat` call is
/// made.
fn c_library() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function takes no arguments, and returns a C string that is never freed.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    "not glibc".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_work_is_on_the_line_through_two_measurements() {
        assert_eq!(local_work(500.0, 100.0, 1100.0), 400.0);
        // With half of a CPU, everything takes twice as long.
        assert_eq!(local_work(1000.0, 200.0, 2200.0), 400.0);
        assert_eq!(local_work(90.0, 100.0, 1100.0), 0.0);
        assert!(local_work(1e6, 100.0, 100.0).is_finite());
    }

    #[test]
    fn a_sample_is_the_slowest_the_fastest_and_all_tasks() {
        let mut cell = SyscallsCell::new(Whose::Kernel(TaskKind::Processes), 3);
        cell.push(&[10.0, 30.0, 20.0], Some(25.0));
        let expected = PerSecond { minimum: 10.0, maximum: 30.0, total: 60.0, idle: Some(25.0) };
        assert_eq!(cell.samples, [expected]);
        cell.push(&[10.0, 10.0, 10.0], Some(75.0));
        assert_eq!((cell.mean(), cell.idle()), (Some(45.0), Some(50.0)));
        assert_eq!(
            listing(Experiment::Open3, &cell).as_deref(),
            Some(
                "open3, tasks: 3, processes:\nmin:10 max:30 total:60\nmin:10 max:10 \
                total:30\naverage:45\n"
            )
        );
    }
}
