//! A synthetic host with a seed. Its speed drifts, and other programs slow down single runs.

use lockyard_results::cell_key::CellKey;
use lockyard_results::compare::read::{Figure, FigureKey, FigureKind};
use lockyard_results::compare::{Comparison, Options, ResultFile, compare, compare_pairs};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::collections::BTreeMap;

/// Threshold of the comparisons.
pub(crate) const THRESHOLD: f64 = 0.05;

const OPTIONS: Options = Options { threshold: THRESHOLD, anyway: false };

/// Noise of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// Standard deviation of the host's speed. All rows of a run share it.
    pub(crate) host: f64,
    /// Share of the host's deviation that carries over from one run to the next.
    pub(crate) stays: f64,
    /// Noise of a single row in a single run. It is heavy-tailed: Student's distribution with 2
    /// degrees of freedom.
    pub(crate) row: f64,
}

/// A host, with the state of its noise.
#[derive(Debug)]
pub(crate) struct Host {
    random: SplitMix64,
    noise: Noise,
    speed: f64,
}

impl Host {
    pub(crate) fn new(seed: u64, noise: Noise) -> Host {
        Host { random: SplitMix64::seed_from_u64(seed), noise, speed: 0.0 }
    }

    /// Returns a uniform number from 0 up to, but excluding, 1.
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normally distributed number (G. E. P. Box, M. E. Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Runs a program with these speeds, one per row. Returns the figures.
    fn run(&mut self, speeds: &[f64]) -> Vec<f64> {
        let Noise { host, stays, row } = self.noise;
        self.speed = stays * self.speed + (1.0 - stays * stays).sqrt() * host * self.normal();
        let figure = |speed: &f64| {
            let degrees = (-(1.0 - self.uniform()).ln()).sqrt().max(1e-6);
            speed * (self.speed + row * self.normal() / degrees).exp()
        };
        speeds.iter().map(figure).collect()
    }

    /// Compares two programs in pairs of runs, in random order.
    pub(crate) fn pairs(&mut self, rounds: usize, a: &[f64], b: &[f64]) -> Comparison {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            if self.uniform() < 0.5 {
                of_a.push(self.run(a));
                of_b.push(self.run(b));
            } else {
                of_b.push(self.run(b));
                of_a.push(self.run(a));
            }
        }
        compare_pairs(&file("A", &of_a), &file("B", &of_b), OPTIONS).expect("comparable")
    }

    /// Compares two programs by two separate runs of all rounds.
    pub(crate) fn separate(&mut self, rounds: usize, a: &[f64], b: &[f64]) -> Comparison {
        let mut all = |speeds| (0..rounds).map(|_| self.run(speeds)).collect::<Vec<_>>();
        let (of_a, of_b) = (all(a), all(b));
        compare(&file("A", &of_a), &file("B", &of_b), OPTIONS).expect("comparable")
    }
}

/// Makes a result file from the figures of each round.
fn file(name: &str, rounds: &[Vec<f64>]) -> ResultFile {
    let figure = |row: usize| {
        let rounds: Vec<f64> = rounds.iter().map(|round| round[row]).collect();
        let cell = CellKey::here("e", &format!("v{row}"), 2, "throughput", "op/s");
        Figure {
            key: FigureKey { table: String::new(), cell, kind: FigureKind::Measured },
            value: lockyard_results::compare::bootstrap::median(&mut rounds.clone()),
            rounds,
            unusable: None,
            identity: BTreeMap::new(),
            local_work: None,
        }
    };
    ResultFile {
        origin: name.to_owned(),
        environment: BTreeMap::new(),
        figures: (0..rounds[0].len()).map(figure).collect(),
        without_figure: 0,
    }
}
