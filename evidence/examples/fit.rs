//! Fits numbers of a training machine to its training table. The numbers of the families come from
//! this program.
//!
//! ```text
//! cargo study fit -- broadwell-ep-2s22c2t 300 1 \
//!     cycles.leg=10..30 cycles.transfer=50..100 protocol.granted_legs=0.3..4 \
//!     ping_pong=44 ping_pong_remote=122
//! ```
//!
//! The arguments are the machine, seconds, a seed, and the numbers with their ranges. `ping_pong`
//! and `ping_pong_remote` are target latencies in nanoseconds. Further arguments:
//!
//! - `name:=value` sets a number.
//! - `threads=45,88` uses these thread counts.
//! - `seeds=3` runs each cell this many times.
//! - `half=0` or `half=1` fits on every second thread count, and evaluates on the others.
//!
//! With 0 seconds it just prints the objective.
//!
//! The search is random, and starts from the numbers in the machine's file. Each step changes some
//! numbers slightly, and is kept if the objective falls. The objective is the sum of:
//!
//! - 0.6 times the mean over the table's programs; for each program, the mean of
//!   |ln(simulated/published)|, limited to 1 per cell
//! - 0.4 times the median over all cells
//! - a penalty for the ping-pongs (0.01 at an error of 3 %)
//!
//! Only training tables are used.

use lockyard_lab::training;
use lockyard_predict::machine::known_figures;
use lockyard_sim::Machine;
use lockyard_support::jobs;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Thread counts to simulate. Simulating all of them would take minutes per step.
const THREADS: [usize; 9] = [4, 8, 16, 32, 44, 48, 60, 72, 88];

/// A fit.
struct Fit {
    base: Machine,
    /// Numbers to fit: name, minimum, maximum.
    numbers: Vec<(String, f64, f64)>,
    /// Ping-pongs: the hardware thread that exchanges the line with thread 0, and the target
    /// latency.
    ping_pongs: Vec<(usize, f64)>,
    cells: Vec<training::TrainingCell>,
    /// Number of runs of each cell.
    seeds: u64,
    /// Cells that are not used for the fit, but to evaluate the result.
    held_out: Vec<training::TrainingCell>,
}

impl Fit {
    fn machine(&self, values: &[f64]) -> Machine {
        let change = |machine: Machine, ((name, ..), value): (&(String, f64, f64), &f64)| {
            machine.with(name, *value).expect("checked when the arguments were read")
        };
        self.numbers.iter().zip(values).fold(self.base.clone(), change)
    }

    /// Returns the mean over the seeds of each cell's simulated figure. A run that is stuck is
    /// infinitely slow.
    fn figures(&self, machine: &Machine, cells: &[training::TrainingCell]) -> Vec<f64> {
        let times = training::PartTimes { warm_up_ns: 30_000.0, counted_ns: 100_000.0 };
        let figure = |cell: &training::TrainingCell| {
            let run = |seed| training::simulate_for(machine, cell, seed, times);
            let sum: f64 = (1..=self.seeds).map(|seed| run(seed).unwrap_or(f64::INFINITY)).sum();
            sum / self.seeds as f64
        };
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        jobs::run(cells, jobs, figure, || ()).into_iter().flatten().collect()
    }

    /// Prints the signed error of each cell, by program.
    fn print_cells(&self, values: &[f64]) {
        let machine = self.machine(values);
        let figures = self.figures(&machine, &self.cells);
        let mut programs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (cell, figure) in self.cells.iter().zip(figures) {
            let error = (figure / cell.published - 1.0) * 100.0;
            let text = format!("{}: {figure:.0} ({error:+.0} %)", cell.threads);
            programs.entry(&cell.variant).or_default().push(text);
        }
        for (program, cells) in programs {
            println!("{program}: {}", cells.join(", "));
        }
    }

    /// Returns the objective and the median error on `cells`.
    fn objective(&self, values: &[f64], cells: &[training::TrainingCell]) -> (f64, f64) {
        let machine = self.machine(values);
        let penalty: f64 = self
            .ping_pongs
            .iter()
            .filter_map(|&(place, wanted)| {
                Some((known_figures::ping_pong(&machine, place, 0)?, wanted))
            })
            .map(|(found, wanted)| 0.01 * ((found / wanted).ln() / 0.03).powi(2))
            .sum();
        let figures = self.figures(&machine, cells);
        let error =
            |(cell, figure): (&training::TrainingCell, f64)| (figure / cell.published).ln().abs();
        let errors: Vec<f64> = cells.iter().zip(figures).map(error).collect();
        let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (cell, error) in cells.iter().zip(&errors) {
            programs.entry(&cell.variant).or_default().push(error.min(1.0));
        }
        let mean = |errors: &Vec<f64>| errors.iter().sum::<f64>() / errors.len() as f64;
        let means = programs.values().map(mean).sum::<f64>() / programs.len() as f64;
        let median = lockyard_results::statistics::median(&errors).unwrap_or(f64::INFINITY);
        (0.6 * means + 0.4 * median + penalty, median)
    }
}

/// Xorshift, so the search does not depend on a library version.
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

fn value_of(machine: &Machine, name: &str) -> Option<f64> {
    machine.parameters().iter().find(|p| p.name == name)?.value.to_string().parse().ok()
}

fn read(arguments: &[String]) -> Result<(Fit, Duration, u64), String> {
    let [name, seconds, seed, rest @ ..] = arguments else {
        return Err(
            "usage: fit MACHINE SECONDS SEED [section.name=MINIMUM..MAXIMUM ...]".to_owned()
        );
    };
    let mut base = lockyard_predict::names::machine(name).map_err(|e| e.to_string())?;
    let seconds = seconds.parse().map_err(|_| format!("`{seconds}` is not a number of seconds"))?;
    let seed: u64 = seed.parse().map_err(|_| format!("`{seed}` is no seed"))?;
    let (mut numbers, mut ping_pongs, mut half) = (Vec::new(), Vec::new(), None);
    let (mut threads, mut seeds) = (THREADS.to_vec(), 1);
    for argument in rest {
        if let Some((name, value)) = argument.split_once(":=") {
            let value = value.parse().map_err(|_| format!("`{argument}` is not a number"))?;
            base = base.with(name, value).ok_or(format!("{name} cannot be {value}"))?;
            continue;
        }
        let wrong = || format!("`{argument}` is not a number with its range");
        let (name, range) = argument.split_once('=').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
        match name {
            "threads" => {
                threads = range
                    .split(',')
                    .map(number)
                    .map(|n| Ok(n? as usize))
                    .collect::<Result<_, String>>()?
            }
            "seeds" => seeds = (number(range)? as u64).max(1),
            "half" => half = Some(number(range)? as usize % 2),
            "ping_pong" => ping_pongs.push((1, number(range)?)),
            "ping_pong_remote" => {
                ping_pongs.push((base.cores() / base.sockets(), number(range)?));
            }
            _ => {
                value_of(&base, name).ok_or(format!("the machine has no number `{name}`"))?;
                let (least, greatest) = range.split_once("..").ok_or_else(wrong)?;
                numbers.push((name.to_owned(), number(least)?, number(greatest)?));
            }
        }
    }
    let of_machine = |cell: &training::TrainingCell| {
        cell.machine == base.name() && threads.contains(&cell.threads)
    };
    let cells: Vec<_> = training::cells().0.into_iter().filter(of_machine).collect();
    let of_half = |cell: &training::TrainingCell| {
        half.is_none_or(|half| {
            threads.iter().position(|&t| t == cell.threads).is_some_and(|i| i % 2 == half)
        })
    };
    let (cells, held_out): (Vec<_>, Vec<_>) = cells.into_iter().partition(of_half);
    if cells.is_empty() || (numbers.is_empty() && seconds > 0) {
        return Err(format!("`{name}` has no training table, or no number to fit is given"));
    }
    Ok((
        Fit { base, numbers, ping_pongs, cells, seeds, held_out },
        Duration::from_secs(seconds),
        seed,
    ))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (fit, duration, seed) = match read(&arguments) {
        Ok(read) => read,
        Err(what) => {
            eprintln!("fit: {what}");
            return ExitCode::from(2);
        }
    };
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut values: Vec<f64> =
        fit.numbers.iter().filter_map(|(name, ..)| value_of(&fit.base, name)).collect();
    let mut best = fit.objective(&values, &fit.cells);
    println!("the file's numbers: objective {:.4}, median error {:.1} %", best.0, best.1 * 100.0);
    let judge = |values: &[f64]| {
        if !fit.held_out.is_empty() {
            let (objective, median) = fit.objective(values, &fit.held_out);
            println!("held out: objective {objective:.4}, median error {:.1} %", median * 100.0);
        }
    };
    judge(&values);
    if duration.is_zero() {
        fit.print_cells(&values);
    }
    let begin = Instant::now();
    while begin.elapsed() < duration {
        let mut tried = values.clone();
        for _ in 0..=(random(&mut state) * 3.0) as usize {
            let index = (random(&mut state) * fit.numbers.len() as f64) as usize;
            let (_, least, greatest) = fit.numbers[index];
            let step = (random(&mut state) - 0.5) * 0.3 * (greatest - least);
            tried[index] = (tried[index] + step).clamp(least, greatest);
        }
        let found = fit.objective(&tried, &fit.cells);
        if found.0 < best.0 {
            (best, values) = (found, tried);
            let numbers: Vec<String> = fit
                .numbers
                .iter()
                .zip(&values)
                .map(|((name, ..), value)| format!("{name}={value:.2}"))
                .collect();
            println!("{:.4} {:.1} % {}", best.0, best.1 * 100.0, numbers.join(" "));
        }
    }
    judge(&values);
    ExitCode::SUCCESS
}
