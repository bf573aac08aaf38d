//! Several recordings of one program: measured rates, what grows, and the gate, which predicts the
//! largest recorded number of threads from the smaller ones.
//!
//! The smallest recording is replayed, for all numbers of threads: its times are the least
//! disturbed. The other ones say rates, and where time goes.

use super::replay::replay_as_row;
use crate::growth::{FITTED, Fit, Point, Replayed, Target, spread};
use crate::simulate::SimulationError;
use lockyard_recording::model::{Model, Operation};
use lockyard_recording::recording::Recording;
use lockyard_recording::runs::Runs;
use lockyard_recording::script::{OPEN, RECORDED};
use lockyard_results::details::CostsDetail;
use lockyard_results::growth::{Growth, GrowthGate, GrowthPart, Law, RecordedRate};
use lockyard_results::row::Row;
use lockyard_scenarios::{LockKind, ObjectKind, Script};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

/// Largest error of the gate.
const ALLOWED: f64 = 0.15;

/// Maximum number of call sites of a lock.
const MOST_SITES: usize = 3;

/// Unit of rates without the recorder, and of those of recordings.
pub(super) const OPERATIONS: &str = "operations/s";
const ACQUISITIONS: &str = "acquisitions/s";

/// Recorded numbers of threads.
#[derive(Debug)]
pub struct Several {
    runs: Vec<OfRun>,
    /// The recording with the most threads.
    largest: Recording,
    /// Unit of the rates.
    unit: &'static str,
    without_rate: Vec<usize>,
}

/// A recorded number of threads.
#[derive(Debug)]
struct OfRun {
    threads: usize,
    rate: f64,
    model: Model,
    sites: Vec<String>,
}

/// Where a thread's time goes, by the recording: nanoseconds of an operation.
#[derive(Clone, Debug, Default)]
struct Times {
    outside: f64,
    locks: BTreeMap<String, f64>,
}

impl Several {
    /// Returns the smallest recording of some, and the rates of all. One recording has none.
    ///
    /// # Errors
    ///
    /// A recording cannot be replayed: one line.
    pub(super) fn of(runs: Runs) -> Result<(Recording, Option<Several>), String> {
        let mut all = Vec::new();
        let (mut smallest, mut largest) = (None, Recording::default());
        let is_one = runs.runs.len() == 1;
        for run in runs.runs {
            if is_one {
                return Ok((run.recording, None));
            }
            let threads = run.threads;
            let model = Model::of(&run.recording).map_err(|why| {
                format!("the run with {}: {why}", lockyard_support::threads(threads))
            })?;
            all.push((threads, run.rate(), model, run.recording.about.sites.clone()));
            match smallest {
                None => smallest = Some(run.recording),
                Some(_) => largest = run.recording,
            }
        }
        let smallest = smallest.ok_or("there is no recording")?;
        let mut without_rate: Vec<usize> =
            all.iter().filter(|run| run.1.is_none()).map(|run| run.0).collect();
        // Acquisitions of an operation, with the numbers of threads that have both rates.
        let both = all.iter().filter_map(|run| Some((run.0, run.2.undisturbed_rate() / run.1?)));
        let both: Vec<(usize, f64)> = both.collect();
        let unit = if both.is_empty() { ACQUISITIONS } else { OPERATIONS };
        if both.is_empty() {
            without_rate.clear();
        }
        let of_operation = |threads: usize| {
            let near = both.iter().min_by_key(|(other, _)| other.abs_diff(threads));
            near.map_or(1.0, |(_, acquisitions)| *acquisitions)
        };
        let runs = all.into_iter().map(|(threads, rate, model, sites)| {
            let own = model.undisturbed_rate() / of_operation(threads);
            OfRun { threads, rate: rate.unwrap_or(own), model, sites }
        });
        Ok((smallest, Some(Several { runs: runs.collect(), largest, unit, without_rate })))
    }

    /// Returns the largest recorded number of threads.
    pub fn most_threads(&self) -> usize {
        self.runs.last().map_or(1, |run| run.threads)
    }

    /// Returns the numbers of threads of the recordings but the smallest one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().skip(1).map(|run| run.threads)
    }

    /// Returns the statistics of the largest recording.
    pub(super) fn last(&self) -> Option<&Model> {
        self.runs.last().map(|run| &run.model)
    }

    /// Returns the largest recording.
    pub(super) fn largest(&self) -> &Recording {
        &self.largest
    }

    /// Returns the unit of predicted figures.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// Returns the first run whose threads had too little of the CPUs: its number of threads and
    /// that share.
    pub(super) fn busiest(&self, least: f64) -> Option<(usize, f64)> {
        let of = |run: &OfRun| (run.threads, run.model.shares.cpu);
        self.runs.iter().map(of).find(|(_, share)| *share < least)
    }

    /// Compares the recorded numbers with their replays, by the script of the smallest one.
    ///
    /// # Errors
    ///
    /// A simulation fails.
    pub(super) fn fitted(
        &self,
        script: &Script,
        host: &Machine,
    ) -> Result<Fitted, SimulationError> {
        let mut points = Vec::new();
        let mut costs = Vec::new();
        for run in &self.runs {
            let found = replay_as_row(host, script, run.threads)?;
            let of = found.costs.detail();
            let replayed = Replayed::of(found.throughput, &of);
            points.push(Point { threads: run.threads, rate: run.rate, replayed });
            costs.push(of);
        }
        let fit = Fit::of(&points, host.hardware_threads(), FITTED);
        let fit = fit.ok_or_else(|| SimulationError::new("no number of threads".to_owned()))?;
        let mut growth = self.growth(&fit, &points, &costs);
        if let (Some(predicted), Some((to, from))) = (fit.of_last(), points.split_last()) {
            let error = predicted / to.rate - 1.0;
            growth.gate = Some(GrowthGate {
                from: from.iter().map(|point| point.threads).collect(),
                to: to.threads,
                predicted_per_s: predicted,
                measured_per_s: to.rate,
                error,
                allowed: ALLOWED,
                passed: error.abs() <= ALLOWED,
            });
        }
        Ok(Fitted { fit, growth, host: host.name().to_owned() })
    }

    fn growth(&self, fit: &Fit, points: &[Point], costs: &[CostsDetail]) -> Growth {
        let recorded = points.iter().map(|point| RecordedRate {
            threads: point.threads,
            measured_per_s: point.rate,
            replayed_acquisitions_per_s: point.replayed.rate,
            not_explained_share: fit.growth_at(point) - 1.0,
        });
        let mut growth = Growth {
            unit: self.unit,
            recorded: recorded.collect(),
            law: fit.law(),
            without_rate: self.without_rate.clone(),
            ..Growth::default()
        };
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else {
            return growth;
        };
        let (Some(last_point), Some(to_costs)) = (points.last(), costs.last()) else {
            return growth;
        };
        growth.operation_ns = last.threads as f64 / last.rate * 1e9;
        let explained = growth.operation_ns / fit.growth_at(last_point);
        growth.not_explained_ns = growth.operation_ns - explained;
        let acquisitions = first.model.undisturbed_rate() / first.rate;
        let (from, to) = (first.times(), last.times());
        let mut parts =
            vec![GrowthPart { from_ns: from.outside, to_ns: to.outside, ..GrowthPart::default() }];
        for (lock, to_ns) in &to.locks {
            let from_ns = from.locks.get(lock).copied().unwrap_or(0.0);
            let stalled = to_costs.locks.iter().find(|of| of.lock == *lock);
            let explained_ns = stalled.map_or(0.0, |of| {
                of.held_stalled_ns_each_time * acquisitions * first.model.share_of(lock)
            });
            let (lock, sites) = (Some(lock.clone()), last.sites_of(lock));
            let to_ns = *to_ns;
            parts.push(GrowthPart {
                lock,
                sites,
                from_ns,
                to_ns,
                explained_ns,
                ..parts[0].clone()
            });
        }
        attribute(&mut parts, growth.not_explained_ns, fit.law());
        growth.parts = parts;
        growth
    }
}

/// Attributes the time that is not explained to the places where more passed than is explained.
fn attribute(parts: &mut [GrowthPart], not_explained_ns: f64, law: Law) {
    let rest = |part: &GrowthPart| (part.to_ns - part.from_ns - part.explained_ns).max(0.0);
    let all: f64 = parts.iter().map(rest).sum();
    for (index, part) in parts.iter_mut().enumerate() {
        // If it is seen nowhere, it is outside: there is no other place.
        let nowhere = if index == 0 { 1.0 } else { 0.0 };
        let share = if all > 0.0 { rest(part) / all } else { nowhere };
        part.not_explained_ns = not_explained_ns.max(0.0) * share;
        part.law = law;
    }
}

/// Shares of acquisitions by the names of locks.
trait ByName {
    fn share_of(&self, lock: &str) -> f64;
}

impl ByName for Model {
    fn share_of(&self, lock: &str) -> f64 {
        let found = self.groups.iter().position(|group| group.name == lock);
        found.map_or(0.0, |index| self.today.groups[index].acquired)
    }
}

impl OfRun {
    fn times(&self) -> Times {
        let cycle = self.threads as f64 / self.rate * 1e9;
        let today = &self.model.today;
        let held = self.model.groups.iter().zip(&today.groups);
        Times {
            outside: today.outside * cycle,
            locks: held.map(|(group, time)| (group.name.clone(), time.held * cycle)).collect(),
        }
    }

    /// Returns the call sites of a lock, the most frequent first.
    fn sites_of(&self, lock: &str) -> Vec<String> {
        let Some(group) = self.model.groups.iter().position(|group| group.name == lock) else {
            return Vec::new();
        };
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for visit in self.model.classes.iter().flat_map(|class| &class.visits) {
            for operation in &visit.shape {
                if let Operation::Enter { lock, site, .. } = *operation
                    && lock as usize == group
                {
                    *counts.entry(site).or_default() += visit.count();
                }
            }
        }
        let mut sites: Vec<(u32, usize)> = counts.into_iter().collect();
        sites.sort_by_key(|(site, count)| (std::cmp::Reverse(*count), *site));
        let name = |(site, _): (u32, usize)| self.sites.get(site as usize).cloned();
        sites.into_iter().take(MOST_SITES).filter_map(name).collect()
    }
}

/// A program's rates beside their replays.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    fit: Fit,
    /// What grows, for readers.
    pub growth: Growth,
    host: String,
}

impl Fitted {
    /// Returns the reason for which predictions are refused: the largest number of threads is not
    /// predicted.
    pub(super) fn refusal(&self) -> Option<String> {
        let of = self.growth.gate.as_ref().filter(|of| !of.passed)?;
        let rate = |of: f64| lockyard_support::grouped(of.round() as u64);
        Some(format!(
            "the prediction of {}: {} predicted, {} {} measured; allowed: {:.0} %",
            of.words(),
            rate(of.predicted_per_s),
            rate(of.measured_per_s),
            self.growth.unit,
            of.allowed * 100.0
        ))
    }

    /// Turns replays of the recorded program's variants into predictions.
    pub fn correct(&self, rows: &mut [Row], script: &Script, machine: &Machine) {
        // The rates are those of a closed load.
        for row in rows.iter_mut().filter(|row| row.key.variant != OPEN) {
            let (Some(replayed), Some(threads)) = (row.predicted, row.key.threads) else {
                continue;
            };
            let Some(simulated) = &mut row.details.simulated else { continue };
            let Some(costs) = &simulated.costs else { continue };
            let sleeps = script.variant(&row.key.variant).is_some_and(|variant| {
                variant.objects.iter().any(|object| sleeps_in_kernel(object.kind))
            });
            let mut target = Target {
                threads,
                replayed: Replayed::of(replayed, costs),
                cpus: machine.hardware_threads(),
                // Changes may do more than the recorded program.
                is_host: machine.name() == self.host && row.key.variant == RECORDED,
            };
            if !sleeps {
                target.replayed.crowd = Default::default();
            }
            let predicted = self.fit.predict(&target);
            let factor = predicted / replayed;
            row.predicted = Some(predicted);
            for range in simulated.range.iter_mut().chain(&mut simulated.interval) {
                (range.low, range.high) = (range.low * factor, range.high * factor);
            }
        }
    }
}

/// Returns true for locks whose waiters all sleep in the kernel at once.
fn sleeps_in_kernel(kind: ObjectKind) -> bool {
    let ObjectKind::Lock { lock } = kind else { return false };
    matches!(
        lock,
        LockKind::PthreadLike | LockKind::StdLike | LockKind::ParkingLike | LockKind::ReadWrite
    )
}

/// Widens the intervals of rows by the errors of programs that were measured: with as many times
/// the largest recorded number of threads.
pub fn widen(rows: &mut [Row], several: bool, recorded: usize) {
    for row in rows.iter_mut().filter(|row| row.key.variant != OPEN) {
        let (Some(figure), Some(threads)) = (row.predicted, row.key.threads) else { continue };
        let known = spread::of(several, spread::doublings(recorded, threads));
        if let (Some(simulated), Some(known)) = (&mut row.details.simulated, known)
            && simulated.interval.is_some()
        {
            simulated.interval = Some(known.around(figure));
        }
    }
}
