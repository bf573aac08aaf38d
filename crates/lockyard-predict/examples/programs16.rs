//! Twelve programs of one host with 16 CPUs: recorded with one thread, measured with 1 to 32, and
//! predicted. Prints the tables of [recordings](../../../docs/evidence/recordings.md).
//!
//! ```text
//! cargo run --release -p lockyard-predict --example programs16
//! cargo run --release -p lockyard-predict --example programs16 -- --write
//! ```
//!
//! Each program's errors are those of constants that were fitted on the other programs. With
//! `--write`, the errors by number of threads away go into `data/growth.csv`, for intervals. With
//! `--thin FROM TO`, every tenth window of the recordings of a folder is kept, in another folder.

use lockyard_predict::growth::{Crowd, Fit, HandOver, Law, Point, Replayed, Target, spread};
use lockyard_predict::recorded::Recorded;
use lockyard_recording::file;
use lockyard_recording::recording::Kind;
use lockyard_results::scaling::Usl;
use lockyard_results::statistics::{median, quantile};
use lockyard_sim::Machine;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Numbers of threads whose rates are known.
const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Largest error of the gate.
const ALLOWED: f64 = 0.15;

/// Largest error that counts in the search for the constants.
const MOST: f64 = 0.5;

/// Largest change of a rate that counts as none.
const NOTHING: f64 = 0.05;

/// Share of the other programs' cells below an interval, and above it.
const TAIL: f64 = 0.05;

/// Windows of which `--thin` keeps one.
const OF_WINDOWS: usize = 10;

/// A program.
struct Program {
    name: String,
    rates: BTreeMap<usize, f64>,
    replayed: BTreeMap<usize, Replayed>,
    cpus: usize,
    /// True if it has reader-writer locks.
    has_readers: bool,
}

impl Program {
    fn points(&self, threads: &[usize]) -> Vec<Point> {
        let point =
            |n: &usize| Point { threads: *n, rate: self.rates[n], replayed: self.replayed[n] };
        threads.iter().map(point).collect()
    }

    fn fit(&self, known: &[usize], hand_over: HandOver) -> Fit {
        Fit::of(&self.points(known), self.cpus, hand_over).expect("numbers are known")
    }

    /// Returns the rate that is predicted from known numbers of threads.
    fn predicted(&self, known: &[usize], threads: usize, hand_over: HandOver) -> f64 {
        let replayed = self.replayed[&threads];
        let target = Target { threads, replayed, cpus: self.cpus, is_host: true };
        self.fit(known, hand_over).predict(&target)
    }

    /// Returns the rate that the replay of the recording predicts.
    fn alone(&self, threads: usize) -> f64 {
        self.rates[&1] * self.replayed[&threads].rate / self.replayed[&1].rate
    }

    fn error(&self, threads: usize, predicted: f64) -> f64 {
        predicted / self.rates[&threads] - 1.0
    }

    /// Returns the error of the prediction of 4 threads from 1 and 2.
    fn gate(&self, hand_over: HandOver) -> f64 {
        self.error(4, self.predicted(&[1, 2], 4, hand_over))
    }

    fn errors(&self, known: &[usize], of: &[usize], hand_over: HandOver) -> Vec<f64> {
        of.iter().map(|n| self.error(*n, self.predicted(known, *n, hand_over))).collect()
    }

    /// Returns what the constants are fitted to: mean errors of all that is predicted.
    fn cost(&self, hand_over: HandOver) -> f64 {
        // They are a mutex's.
        if self.has_readers {
            return 0.0;
        }
        let mean = |errors: &[f64]| {
            errors.iter().map(|error| error.abs().min(MOST)).sum::<f64>() / errors.len() as f64
        };
        mean(&self.errors(&[1, 2, 4], &THREADS[3..], hand_over))
            + mean(&self.errors(&[1], &THREADS[1..], hand_over))
            + self.gate(hand_over).abs().min(MOST)
    }
}

/// Returns the constants with which some programs err least.
fn fitted(costs: &[(HandOver, Vec<f64>)], without: usize) -> HandOver {
    let sum = |costs: &[f64]| {
        let others = costs.iter().enumerate().filter(|(index, _)| *index != without);
        others.map(|(_, cost)| cost).sum::<f64>()
    };
    let best = costs.iter().min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
    best.map_or(HandOver::default(), |(hand_over, _)| *hand_over)
}

fn grid() -> impl Iterator<Item = HandOver> {
    let few = (0..=10).map(|step| f64::from(step) * 20.0);
    few.flat_map(|few_ns| {
        let full = (-3..=8).map(|step| f64::from(step) * 20.0);
        full.map(move |full_ns| HandOver { few_ns, full_ns })
    })
}

fn programs() -> Result<(Vec<Program>, Vec<String>), Box<dyn Error>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts/emerald-rapids-16-programs");
    let machine = Machine::load(&folder.join("machine.toml"))?;
    let mut rates: BTreeMap<String, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    let text = std::fs::read_to_string(folder.join("rates.csv"))?;
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, threads, rate] = cells[..] else { return Err(line.into()) };
        let of = rates.entry(name.to_owned()).or_default();
        of.entry(threads.parse()?).or_default().push(rate.parse()?);
    }
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for (name, rates) in rates {
        let recording = file::load(&folder.join(format!("{name}-1.recording")))?;
        let recorded = match Recorded::with_host(recording, Some(machine.clone())) {
            Ok(recorded) => recorded,
            Err(why) => {
                refused.push(format!("{name}: {why}"));
                continue;
            }
        };
        let host = recorded.host()?;
        let mut replayed = BTreeMap::new();
        for threads in THREADS {
            replayed.insert(threads, recorded.replayed(host, threads)?);
        }
        let rates = rates.into_iter().filter_map(|(n, all)| Some((n, median(&all)?))).collect();
        let groups = &recorded.model.groups;
        let has_readers = groups.iter().any(|group| group.kind == Kind::RwLock);
        let cpus = host.hardware_threads();
        found.push(Program { name, rates, replayed, cpus, has_readers });
    }
    Ok((found, refused))
}

/// Returns the median and the 90th percentile of absolute errors, in words.
fn summary(errors: &[f64]) -> String {
    let all: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let of = |q| quantile(&all, q).unwrap_or(f64::NAN) * 100.0;
    format!("{:.0} % | {:.0} %", of(0.5), of(0.9))
}

fn percent(error: f64) -> String {
    format!("{:+.0} %", error * 100.0)
}

/// Returns the direction of a change.
fn direction(from: f64, to: f64) -> i32 {
    let change = to / from - 1.0;
    i32::from(change > NOTHING) - i32::from(change < -NOTHING)
}

/// Errors of predictions at some distance: measured rate over predicted rate of each program.
type Ratios = BTreeMap<(bool, usize), Vec<(usize, f64)>>;

/// Returns the part of the ratios that nine of ten are in.
fn spread_of(ratios: &Ratios, several: bool, doublings: usize, without: usize) -> (f64, f64) {
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    for up_to in 1..=doublings {
        let Some(all) = ratios.get(&(several, up_to)) else { continue };
        let others: Vec<f64> =
            all.iter().filter(|(index, _)| *index != without).map(|(_, ratio)| *ratio).collect();
        low = low.min(quantile(&others, TAIL).unwrap_or(f64::NAN));
        high = high.max(quantile(&others, 1.0 - TAIL).unwrap_or(f64::NAN));
    }
    (low, high)
}

fn coverage(ratios: &Ratios, several: bool) -> String {
    let (mut within, mut all) = (0, 0);
    for ((_, doublings), cells) in ratios.iter().filter(|((of, _), _)| *of == several) {
        for (index, ratio) in cells {
            let (low, high) = spread_of(ratios, several, *doublings, *index);
            within += usize::from((low..=high).contains(ratio));
            all += 1;
        }
    }
    format!("{within} of {all}")
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, from, to] = arguments.as_slice()
        && option == "--thin"
    {
        return thin(&PathBuf::from(from), &PathBuf::from(to));
    }
    let (programs, refused) = programs()?;
    let costs: Vec<(HandOver, Vec<f64>)> = grid()
        .map(|hand_over| (hand_over, programs.iter().map(|of| of.cost(hand_over)).collect()))
        .collect();
    let all = fitted(&costs, usize::MAX);
    println!("constants: {:.0} ns less, {:.0} ns more\n", all.few_ns, all.full_ns);
    println!("| program | law | 4 from 1 and 2 | 8 | 16 | 32 | rate of 4 | the law (USL) |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let of = &THREADS[3..];
    let mut ratios = Ratios::new();
    let (mut ours, mut passed, mut same, mut usl) = (vec![], vec![], vec![], vec![]);
    let (mut alone, mut in_crowd, mut plain) = (vec![], vec![], vec![]);
    let (mut right, mut right_same, mut pairs) = (0, 0, 0);
    let mut passes = 0;
    for (index, program) in programs.iter().enumerate() {
        let hand_over = fitted(&costs, index);
        let fit = program.fit(&[1, 2, 4], hand_over);
        let errors = program.errors(&[1, 2, 4], of, hand_over);
        let gate = program.gate(hand_over);
        let of_same: Vec<f64> = of.iter().map(|n| program.error(*n, program.rates[&4])).collect();
        let of_usl = by_usl(program, of);
        if gate.abs() <= ALLOWED {
            passes += 1;
            passed.extend(errors.clone());
        }
        for (n, error) in of.iter().zip(&errors) {
            pairs += 1;
            let truth = direction(program.rates[&4], program.rates[n]);
            let predicted = (1.0 + error) * program.rates[n];
            right += i32::from(truth == direction(program.rates[&4], predicted));
            right_same += i32::from(truth == 0);
            let cell = ratios.entry((true, spread::doublings(4, *n))).or_default();
            cell.push((index, 1.0 / (1.0 + error)));
            plain.push(without_anything(program, *n));
        }
        in_crowd.extend(program.errors(&[1], &THREADS[1..], hand_over));
        for n in &THREADS[1..] {
            let error = program.error(*n, program.alone(*n));
            alone.push(error);
            let cell = ratios.entry((false, spread::doublings(1, *n))).or_default();
            cell.push((index, 1.0 / (1.0 + error)));
        }
        let law = match fit.law() {
            Law::Constant => "constant",
            Law::Threads => "threads",
            Law::Pairs => "pairs",
        };
        let cells: Vec<String> = errors.iter().map(|error| percent(*error)).collect();
        let each =
            |errors: &[f64]| errors.iter().map(|e| percent(*e)).collect::<Vec<_>>().join(", ");
        println!(
            "| {} | {law} | {}{} | {} | {} | {} |",
            program.name,
            percent(gate),
            if gate.abs() <= ALLOWED { "" } else { ", refused" },
            cells.join(" | "),
            each(&of_same),
            each(&of_usl)
        );
        ours.extend(errors);
        same.extend(of_same);
        usl.extend(of_usl);
    }
    refused.iter().for_each(|why| println!("\nno prediction of {why}"));
    println!("\n| 1, 2, 4 recorded; 8, 16, 32 predicted | median | p90 |\n| --- | --- | --- |");
    println!("| several recordings | {} |", summary(&ours));
    println!("| the same, gate passed ({passes} programs) | {} |", summary(&passed));
    println!("| in proportion to 4 threads, without laws and crowds | {} |", summary(&plain));
    println!("| the rate with 4 threads again | {} |", summary(&same));
    println!("| the Universal Scalability Law on 1, 2, 4 | {} |", summary(&usl));
    println!("| 1 recorded alone; 2, 4, 8, 16, 32 predicted | {} |", summary(&alone));
    println!("| the same, with hand-overs of a crowd | {} |", summary(&in_crowd));
    println!(
        "\nhelps, hurts, or nothing, from 4 threads: {right} of {pairs}; same rate {right_same}"
    );
    println!(
        "within intervals: several {}, one {}",
        coverage(&ratios, true),
        coverage(&ratios, false)
    );
    if arguments.iter().any(|argument| argument == "--write") {
        let mut text = String::from("recorded,doublings,low,high,cells\n");
        for ((several, doublings), cells) in &ratios {
            let (low, high) = spread_of(&ratios, *several, *doublings, usize::MAX);
            let name = if *several { "several" } else { "one" };
            text.push_str(&format!("{name},{doublings},{low:.2},{high:.2},{}\n", cells.len()));
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/growth.csv");
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Returns the error of the replay in proportion to the rate with 4 threads.
fn without_anything(program: &Program, threads: usize) -> f64 {
    let mut point = program.points(&[4]);
    let mut replayed = program.replayed[&threads];
    point[0].replayed.crowd = Crowd::default();
    replayed.crowd = Crowd::default();
    let fit = Fit::of(&point, program.cpus, HandOver::default()).expect("a number is known");
    let target = Target { threads, replayed, cpus: program.cpus, is_host: true };
    program.error(threads, fit.predict(&target))
}

/// Returns errors of the Universal Scalability Law through the rates with 1, 2 and 4 threads. Where
/// one of its parameters would be below 0, that is 0, and the other is from 4 threads.
fn by_usl(program: &Program, of: &[usize]) -> Vec<f64> {
    let lambda = program.rates[&1];
    let lost = |n: usize| n as f64 * lambda / program.rates[&n] - 1.0;
    let mut kappa = (lost(4) - 3.0 * lost(2)) / 6.0;
    let mut sigma = lost(2) - 2.0 * kappa;
    if kappa < 0.0 {
        (sigma, kappa) = ((lost(4) / 3.0).max(0.0), 0.0);
    } else if sigma < 0.0 {
        (sigma, kappa) = (0.0, (lost(4) / 12.0).max(0.0));
    }
    let law = Usl { lambda, sigma, kappa };
    of.iter().map(|n| program.error(*n, law.throughput(*n as f64))).collect()
}

/// Keeps some windows of each recording of a folder.
fn thin(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        let mut recording = file::load(&path)?;
        recording.windows = recording.windows.into_iter().step_by(OF_WINDOWS).collect();
        recording.windows.iter_mut().for_each(|window| window.continues = false);
        recording.about.host = None;
        std::fs::write(to.join(name), file::write(&recording))?;
    }
    Ok(())
}
