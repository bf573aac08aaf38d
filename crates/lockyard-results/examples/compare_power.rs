//! Estimates how likely `lockyard compare --ab` is to find a program that is 10 % slower. The host
//! is synthetic, and its speed drifts by 30 %. Only one row is slower.
//!
//! ```text
//! cargo run --release -p lockyard-results --example compare_power
//! ```

// This example uses only part of the module; the tests use the rest.
#[allow(dead_code)]
#[path = "../tests/it/synthetic.rs"]
mod synthetic;

use lockyard_results::compare::comparison::Verdict;
use synthetic::{Host, Noise};

const TRIES: usize = 500;

/// Standard deviations of a single row in a single run. The two runs of a pair do not share this
/// noise.
const NOISES: [f64; 3] = [0.01, 0.03, 0.1];

fn main() {
    println!(
        "| deviation of a row | rows | rounds | found slower | exit code 1 | false verdicts |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for row in NOISES {
        for rows in [1, 8] {
            for rounds in [6, 9, 15, 30] {
                line(row, rows, rounds);
            }
        }
    }
}

fn line(row: f64, rows: usize, rounds: usize) {
    let seed = (rows * 1000 + rounds) as u64;
    let mut host = Host::new(seed, Noise { host: 0.3, stays: 0.999, row });
    let a = vec![1e6; rows];
    let mut b = a.clone();
    b[0] *= 0.9;
    let (mut found, mut failed, mut wrong) = (0, 0, 0);
    for _ in 0..TRIES {
        let comparison = host.pairs(rounds, &a, &b);
        found += usize::from(comparison.rows[0].verdict == Verdict::Slower);
        failed += usize::from(comparison.slower_beyond_threshold() > 0);
        let others = &comparison.rows[1..];
        wrong += usize::from(others.iter().any(|row| row.verdict != Verdict::NoEvidence));
    }
    let share = |count: usize| format!("{:.0} %", count as f64 / TRIES as f64 * 100.0);
    println!(
        "| {:.0} % | {rows} | {rounds} | {} | {} | {} |",
        row * 100.0,
        share(found),
        share(failed),
        share(wrong)
    );
}
