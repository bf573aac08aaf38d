//! Predictions of the curves, the fit of one factor, and the errors.

use super::Curve;
use lockyard_predict::local_work::{self, LocalWork};
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_results::statistics;
use lockyard_scenarios::{Region, Step, Variant};
use lockyard_sim::Machine;
use lockyard_support::jobs;

/// Factors that are tried: a half to two, in steps of a quarter of an octave.
const STEPS: i32 = 4;

/// The factor 1 among them.
const AS_IS: usize = STEPS as usize;

/// Numbers that the factor multiplies, beside the family's latencies.
const LEGS: [&str; 3] = ["cycles.complex_leg", "cycles.socket_leg", "cycles.directory"];

fn factors() -> Vec<f64> {
    (-STEPS..=STEPS).map(|step| (f64::from(step) / f64::from(STEPS)).exp2()).collect()
}

/// A measured figure with its predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRow {
    /// Name of the curve.
    pub curve: String,
    /// Number of threads.
    pub threads: usize,
    /// Measured operations per second.
    pub measured: f64,
    /// Prediction of the machine as it is; `None` for the row that gives the local work.
    pub predicted: Option<f64>,
    /// Prediction with the factor that fits the other curves.
    pub left_out: Option<f64>,
}

impl FitRow {
    /// Returns the absolute error of the machine as it is.
    pub fn error(&self) -> Option<f64> {
        self.predicted.map(|found| (found / self.measured - 1.0).abs())
    }

    /// Returns the absolute error with the other curves' factor.
    pub fn left_out_error(&self) -> Option<f64> {
        self.left_out.map(|found| (found / self.measured - 1.0).abs())
    }
}

/// Result of a fit.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// All rows.
    pub rows: Vec<FitRow>,
    /// Factor on the latencies that fits all curves; `None` if there is only one curve, or after an
    /// interrupt.
    pub factor: Option<f64>,
    /// Median error with that factor. It was fitted on these rows.
    pub fitted_error: Option<f64>,
    /// Number of simulated cells, and number that were asked for.
    pub finished: usize,
    /// Number of cells.
    pub asked: usize,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Fit {
    /// Returns median and 90th percentile of errors.
    pub fn errors(of: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let all: Vec<f64> = of.collect();
        Some((statistics::median(&all)?, statistics::quantile(&all, 0.9)?))
    }
}

/// A curve with its calibrated variant.
#[derive(Clone, Debug)]
pub struct Prepared<'c> {
    /// The curve.
    pub curve: &'c Curve,
    /// Its variant, with calibrated work.
    pub variant: Variant,
    /// That work, derived from the curve's first point.
    pub work: LocalWork,
}

/// Returns the points of a curve that are scored on a machine: all after the point that gives the
/// local work.
fn scored<'c>(curve: &'c Curve, machine: &Machine) -> impl Iterator<Item = &'c (usize, f64)> {
    let all = machine.hardware_threads();
    curve.points.iter().skip(1).filter(move |(threads, _)| *threads <= all)
}

/// Returns the number of cells that a fit simulates.
pub fn cells(curves: &[Curve], machine: &Machine) -> usize {
    curves.iter().map(|curve| scored(curve, machine).count()).sum::<usize>() * factors().len()
}

/// Predicts the curves on a machine, and fits the factor. Calls `done` after each cell.
///
/// # Errors
///
/// If a run fails.
pub fn fit(
    curves: &[Curve],
    machine: &Machine,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Fit, String> {
    let mut notes = Vec::new();
    let all: Vec<&Curve> = curves.iter().collect();
    let prepared = jobs::run(&all, jobs, |&curve| prepare(curve, machine), || ());
    let prepared: Result<Vec<Option<Prepared>>, String> = prepared.into_iter().flatten().collect();
    let prepared: Vec<Prepared> = prepared?.into_iter().flatten().collect();
    if prepared.len() < curves.len() && !jobs::interrupted() {
        let missing = curves.len() - prepared.len();
        notes.push(format!("{missing} curves have more threads than the machine, or no figure"));
    }
    let machines: Vec<Machine> = factors().iter().filter_map(|f| scale(machine, *f)).collect();
    let mut tasks: Vec<(usize, usize, usize)> = Vec::new();
    for (index, of) in prepared.iter().enumerate() {
        for (threads, _) in scored(of.curve, machine) {
            tasks.extend((0..machines.len()).map(|factor| (index, *threads, factor)));
        }
    }
    let one = |&(index, threads, factor): &(usize, usize, usize)| {
        predict(&prepared[index], &machines[factor], threads)
    };
    let found = jobs::run(&tasks, jobs, one, done);
    let mut figures: Vec<(usize, usize, Vec<f64>)> = Vec::new();
    let mut finished = 0;
    for ((index, threads, _), figure) in tasks.iter().zip(found) {
        let Some(figure) = figure else { continue };
        finished += 1;
        let figure = figure?;
        match figures.last_mut().filter(|last| (last.0, last.1) == (*index, *threads)) {
            Some(last) => last.2.push(figure),
            None => figures.push((*index, *threads, vec![figure])),
        }
    }
    figures.retain(|(.., of)| of.len() == machines.len());
    let whole = finished == tasks.len();
    Ok(judge(
        &prepared,
        &figures,
        whole,
        Fit { finished, asked: tasks.len(), notes, ..Fit::default() },
    ))
}

/// Multiplies the latencies between cores.
fn scale(machine: &Machine, factor: f64) -> Option<Machine> {
    let mut scaled = match machine.scale() {
        Some(scale) => machine.clone().with("family.scale", (scale * factor).clamp(0.05, 20.0))?,
        None => machine.clone(),
    };
    for leg in LEGS {
        let cycles = machine.number(leg).unwrap_or(0.0);
        scaled = scaled.with(leg, cycles * factor)?;
    }
    Some(scaled)
}

/// Finds the local work from the first point. `None` if the machine has too few threads.
///
/// # Errors
///
/// If a run fails.
pub fn prepare<'c>(curve: &'c Curve, machine: &Machine) -> Result<Option<Prepared<'c>>, String> {
    let Some(&(threads, throughput)) = curve.points.first() else { return Ok(None) };
    if threads > machine.hardware_threads() {
        return Ok(None);
    }
    let mut variant = curve.variant.clone();
    if !variant.is_calibrated() {
        variant.steps.push(Step::CalibratedWork {
            share: 1.0,
            activity: Region::System.into(),
            ahead: false,
        });
    }
    let placement = MachinePlacement::Order(curve.order);
    // With one thread, the mean time of an operation does not depend on how much operations differ.
    // Equal operations show it exactly.
    let work_varies = variant.work_varies && threads > 1;
    let equal = Variant { work_varies, ..variant.clone() };
    let cell = CellSpec {
        machine,
        variant: &equal,
        placement: &placement,
        home: curve.home.min(machine.sockets() - 1),
        threads,
        local_work: 0.0,
    };
    let work = local_work::solve(&cell, throughput)
        .map_err(|error| format!("{}: {error}", curve.name()))?;
    Ok(Some(Prepared { curve, variant, work }))
}

fn predict(of: &Prepared, machine: &Machine, threads: usize) -> Result<f64, String> {
    let placement = MachinePlacement::Order(of.curve.order);
    let cell = CellSpec {
        machine,
        variant: &of.variant,
        placement: &placement,
        home: of.curve.home.min(machine.sockets() - 1),
        threads,
        local_work: of.work.nanoseconds,
    };
    let found = simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH));
    found.map(|found| found.throughput).map_err(|error| format!("{}: {error}", of.curve.name()))
}

/// Fits the factor, and makes the rows.
fn judge(
    prepared: &[Prepared],
    figures: &[(usize, usize, Vec<f64>)],
    whole: bool,
    mut fit: Fit,
) -> Fit {
    let measured = |index: usize, threads: usize| {
        let points = prepared[index].curve.points.iter();
        points.clone().find(|(of, _)| *of == threads).map_or(f64::NAN, |(_, figure)| *figure)
    };
    // The factor with the least mean error over some of the rows, as a logarithm: half and double
    // are equally wrong.
    let best = |counts: &dyn Fn(usize) -> bool| {
        let miss = |factor: usize| {
            let rows = figures.iter().filter(|(index, ..)| counts(*index));
            let miss = |(index, threads, of): &(usize, usize, Vec<f64>)| {
                (of[factor] / measured(*index, *threads)).ln().abs()
            };
            rows.map(miss).sum::<f64>()
        };
        (0..factors().len()).min_by(|a, b| miss(*a).total_cmp(&miss(*b))).unwrap_or(AS_IS)
    };
    let curves_left = figures.iter().map(|(index, ..)| *index);
    let several = curves_left.clone().max() != curves_left.min();
    if !several {
        fit.notes.push("one curve cannot be left out of a fit: nothing was fitted".to_owned());
    }
    let fitted = (several && whole).then(|| best(&|_| true));
    if let Some(factor) = fitted {
        fit.factor = Some(factors()[factor]);
        let errors = figures
            .iter()
            .map(|(index, threads, of)| (of[factor] / measured(*index, *threads) - 1.0).abs());
        fit.fitted_error = statistics::median(&errors.collect::<Vec<f64>>());
        if factor == 0 || factor + 1 == factors().len() {
            fit.notes
                .push("the fitted factor is at the end of its range, a half to two".to_owned());
        }
    }
    for (index, of) in prepared.iter().enumerate() {
        let left_out = fitted.map(|_| best(&|other| other != index));
        for (position, (threads, figure)) in of.curve.points.iter().enumerate() {
            let found = figures.iter().find(|(i, t, _)| (*i, *t) == (index, *threads));
            if position > 0 && found.is_none() {
                continue;
            }
            let figures = found.map(|(.., of)| of);
            fit.rows.push(FitRow {
                curve: of.curve.name(),
                threads: *threads,
                measured: *figure,
                predicted: figures.map(|of| of[AS_IS]),
                left_out: figures.zip(left_out).map(|(of, factor)| of[factor]),
            });
        }
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::curves;
    use lockyard_scenarios::LockKinds;

    const TEXT: &str = "scenario,variant,threads,measured\nfstat2,lockref,1,1e6\n\
                        fstat2,lockref,4,1e6\nfstat2,lockref,8,1e6\npage-ref,xadd,1,10\n\
                        page-ref,xadd,4,10\npage-ref,xadd,999,10\n";

    /// Returns synthetic curves, as if measured on a machine with twice the latencies.
    fn imitated(machine: &Machine) -> Vec<Curve> {
        let slow = scale(machine, 2.0).expect("it has a family");
        let mut all = curves("d", TEXT, &LockKinds::default()).unwrap();
        for curve in &mut all {
            let prepared = prepare(curve, machine).unwrap().expect("it has room");
            let figure = |threads: usize| predict(&prepared, &slow, threads).unwrap();
            let figures: Vec<(usize, f64)> = curve
                .points
                .iter()
                .map(|&(threads, own)| (threads, if threads < 999 { figure(threads) } else { own }))
                .collect();
            curve.points = figures;
        }
        all
    }

    #[test]
    fn a_factor_on_the_latencies_is_found_and_scored_on_the_curve_that_was_left_out() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let curves = imitated(&machine);
        assert_eq!(cells(&curves, &machine), 3 * 9);
        let found = fit(&curves, &machine, 2, &|| ()).unwrap();
        assert_eq!((found.finished, found.asked), (27, 27));
        assert_eq!(found.factor, Some(2.0));
        // In each curve, one row gives the local work. In one curve, a row has too many threads to
        // be predicted.
        assert_eq!(found.rows.len(), 5);
        assert_eq!(found.rows.iter().filter(|row| row.predicted.is_none()).count(), 2);
        let (as_is, _) = Fit::errors(found.rows.iter().filter_map(FitRow::error)).unwrap();
        let (left_out, _) =
            Fit::errors(found.rows.iter().filter_map(FitRow::left_out_error)).unwrap();
        assert!(as_is > 0.1 && left_out < 0.02, "{as_is} {left_out} {found:?}");
        assert!(found.notes.iter().any(|note| note.contains("at the end of its range")));
    }

    #[test]
    fn one_curve_is_scored_and_not_fitted() {
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        let text: String = TEXT.lines().take(3).map(|line| format!("{line}\n")).collect();
        let curves = curves("d", &text, &LockKinds::default()).unwrap();
        let found = fit(&curves, &machine, 1, &|| ()).unwrap();
        assert_eq!(found.factor, None);
        assert!(found.rows.iter().all(|row| row.left_out.is_none()));
        assert!(found.notes[0].contains("one curve"), "{:?}", found.notes);
    }
}
