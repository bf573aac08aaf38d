//! Samples of a run on a simulated machine, with disturbances by other tasks.

use super::SimulationEffort;
use super::failed::Failed;
use super::objects::{drain_ns, objects, simulation};
use super::prediction::SimulationError;
use super::spec::CellSpec;
use super::starts::Beginnings;
use lockyard_results::outcome::SampleFigures;
use lockyard_scenarios::Samples;
use lockyard_sim::RunEnd;
use std::rc::Rc;

/// Number of simulated runs, which have different seeds. Samples are long, so their totals differ
/// little between seeds.
pub const SEEDS: usize = 3;

/// Returns the operations per second in each sample, as means over the seeds. Each disturbance has
/// a separate task, on a hardware thread after those of the other tasks.
///
/// # Errors
///
/// Those of [`super::simulate`]. Also if the machine has no hardware thread for a disturbance.
///
/// # Panics
///
/// If the placement has no room for the tasks.
pub fn samples(cell: &CellSpec, samples: Samples) -> Result<Vec<SampleFigures>, SimulationError> {
    let mut sums = vec![SampleFigures::default(); samples.number];
    for seed in 1..=SEEDS as u64 {
        let one = run(cell, samples, seed)
            .map_err(|failed| failed.error(cell, &format!("seed {seed}")))?;
        for (sum, counts) in sums.iter_mut().zip(one) {
            let one = SampleFigures::of_counts(&counts, samples.simulated_seconds * SEEDS as f64);
            sum.least += one.least;
            sum.most += one.most;
            sum.total += one.total;
        }
    }
    Ok(sums)
}

/// Returns the operations of each task in each sample.
fn run(cell: &CellSpec, samples: Samples, seed: u64) -> Result<Vec<Vec<u64>>, Failed> {
    let CellSpec { machine, variant, placement, threads: tasks, .. } = *cell;
    let mut simulation = simulation(cell, seed);
    let prepared = objects(&mut simulation, cell, seed)?;
    let disturbances = variant.disturbances.len();
    let room = placement.room(machine);
    if tasks + disturbances > room {
        let of = if tasks == 1 { "task" } else { "tasks" };
        return Err(Failed::Run(format!(
            "{tasks} {of} and {disturbances} that disturb them have only {room} hardware threads"
        )));
    }
    let places = placement.places(machine, tasks + disturbances, seed);
    let beginnings = Beginnings::draw(&mut simulation, variant.starts, tasks);
    for (task, &place) in places[..tasks].iter().enumerate() {
        let prepared = Rc::clone(&prepared);
        let code = move || prepared.run_task(|_| ());
        beginnings.spawn(&mut simulation, task, 0, place, code);
    }
    let length = samples.simulated_seconds * 1e9;
    let all_there = beginnings.end();
    let at = |sample: f64| {
        all_there + machine.cycles(SimulationEffort::USUAL.warm_up_ns + sample * length)
    };
    for (number, disturbance) in variant.disturbances.iter().enumerate() {
        let prepared = Rc::clone(&prepared);
        let place = places[tasks + number];
        simulation.spawn_at(place, at(disturbance.sample), move || prepared.disturb(number));
    }
    let mut counts = Vec::new();
    let mut before: Vec<u64> = Vec::new();
    for sample in 0..=samples.number {
        let outcome = simulation.run_until(at(sample as f64));
        if !outcome.is_sound() {
            return Err(Failed::during(&[prepared], &outcome));
        }
        let now = simulation.operations()[..tasks].to_vec();
        if sample > 0 {
            counts.push(now.iter().zip(&before).map(|(now, before)| now - before).collect());
        }
        before = now;
    }
    simulation.request_stop();
    let end = at(samples.number as f64) + machine.cycles(drain_ns(cell));
    let outcome = simulation.run_until(end);
    if !matches!(outcome, RunEnd::Finished) {
        return Err(Failed::during(&[prepared], &outcome));
    }
    let operations: u64 = simulation.operations().iter().sum();
    simulation
        .setup(|| prepared.verify(operations))
        .map_err(|error| Failed::during(&[prepared], &error))?;
    Ok(counts)
}
