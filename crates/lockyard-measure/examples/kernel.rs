//! Costs of sleeping on this host: the system calls of a lock with sleeping waiters, in
//! nanoseconds.
//!
//! ```sh
//! cargo run --release -p lockyard-measure --example kernel
//! ```

use lockyard_measure::kernel::{Cost, CpuPair, find, measure};
use std::time::Instant;

fn main() {
    let begin = Instant::now();
    let costs = measure();
    for what in Cost::ALL {
        let figure = find(&costs, what).map_or("not measurable here".to_owned(), |of| {
            let (low, high) = (of.ci_low.round(), of.ci_high.round());
            format!("{} ({low} to {high}, {} samples)", of.value.round(), of.samples)
        });
        println!("{:13} {figure}: {}", what.name(), what.describe());
    }
    if let Some(pair) = CpuPair::here() {
        println!("wake-ups: {pair}");
    }
    println!("in {:.1} s", begin.elapsed().as_secs_f64());
}
