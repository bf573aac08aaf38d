//! Costs of an uncontended ticket or queued lock, compared with the cheapest possible lock: one
//! compare-exchange and one store. The loops call no interpreter and make no indirect calls
//! (`lockyard_peers::straight`). They run on one CPU. Each loop runs once per round, in an order
//! that is shuffled for each round.
//!
//! ```text
//! cargo study uncontended [ROUNDS]
//! ```

use lockyard_measure::cpus::{Cpus, pin};
use lockyard_measure::order::Orders;
use lockyard_peers::straight::LOOPS;
use lockyard_results::statistics::{median, median_interval};

/// A small number, so most loops fit between two interruptions by the host.
const PAIRS: u64 = 20_000;

fn main() {
    let argument = std::env::args().nth(1);
    let rounds = argument.as_deref().map_or(Ok(501), str::parse::<usize>);
    let Some(rounds) = rounds.ok().filter(|rounds| (1..=1_000_000).contains(rounds)) else {
        eprintln!("uncontended: ROUNDS is a whole number from 1 to 1000000");
        std::process::exit(2);
    };
    if !pin(Cpus::allowed().cpu(0)) {
        println!("not pinned: this thread may move between CPUs");
    }
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); LOOPS.len()];
    let mut orders = Orders::new(LOOPS.len());
    for _ in 0..rounds {
        for &index in orders.next_round() {
            samples[index].push(LOOPS[index].1(PAIRS).as_nanos() as f64 / PAIRS as f64);
        }
    }
    println!("{rounds} rounds of {PAIRS} pairs of lock and unlock, one thread\n");
    println!("{:8} {:>10} {:>16} {:>18}", "lock", "ns a pair", "over bare's", "interval of that");
    for ((name, _), times) in LOOPS.iter().zip(&samples) {
        let ratios: Vec<f64> = times.iter().zip(&samples[0]).map(|(a, bare)| a / bare).collect();
        let (Some(time), Some(ratio), Some(interval)) =
            (median(times), median(&ratios), median_interval(&ratios))
        else {
            unreachable!("there is a round")
        };
        let interval = format!("{:.3} .. {:.3}", interval.low, interval.high);
        println!("{name:8} {time:>10.2} {ratio:>16.3} {interval:>18}");
    }
}
