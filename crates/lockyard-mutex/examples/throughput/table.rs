//! The table: rounds of all kinds, each run in a separate process.

use crate::load::{Shape, rate};
use std::path::Path;
use std::process::{Command, ExitCode};

const KINDS: [&str; 5] = ["glibc", "mutex", "queued", "ticket", "pv-queued"];
const ROUNDS: usize = 11;

/// A load, its name, its title, and the numbers of threads.
type Load = (Shape, &'static str, &'static str, &'static [usize]);

const LOADS: [Load; 3] = [
    (Shape::Short, "short", "short section: one addition", &[1, 2, 8, 32]),
    (Shape::Long, "long", "long section: 1 µs, and 1 µs between sections", &[1, 2, 8, 32]),
    (Shape::Pairs, "pairs", "condition variables: pairs of threads pass a turn on", &[2, 8, 32]),
];

/// Runs one shape in another process.
fn run(library: &str, kind: &str, shape: &str, threads: usize) -> Result<f64, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(me);
    command.args(["--here", shape, &threads.to_string()]);
    if kind != KINDS[0] {
        command.env("LD_PRELOAD", library).env("LOCKYARD_LOCK", kind);
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said.trim().parse().map_err(|_| format!("{command:?}: {}", output.status));
    if output.stderr.is_empty() {
        rate
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn table(library: &str) -> Result<(), String> {
    for (_, name, title, threads) in LOADS {
        println!("\n**{title}**\n");
        println!("| threads | glibc, 1/s | mutex | queued | ticket | pv-queued |");
        println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
        for &threads in threads {
            let mut rates = [const { Vec::new() }; KINDS.len()];
            for _ in 0..ROUNDS {
                for (kind, rates) in KINDS.iter().zip(&mut rates) {
                    rates.push(run(library, kind, name, threads)?);
                }
            }
            let [real, rates @ ..] = rates;
            let mut line = format!("| {threads} | {:.0} |", sorted(real.clone())[ROUNDS / 2]);
            for rates in rates {
                let ratios =
                    sorted(rates.iter().zip(&real).map(|(rate, real)| rate / real).collect());
                let (low, high) = (ratios[1], ratios[ROUNDS - 2]);
                line += &format!(" {:.2} ({low:.2} to {high:.2}) |", ratios[ROUNDS / 2]);
            }
            println!("{line}");
        }
    }
    Ok(())
}

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--here", name, threads] => {
            let load = LOADS.iter().find(|load| load.1 == name);
            let (Some(load), Ok(threads)) = (load, threads.parse()) else { return usage() };
            println!("{}", rate(load.0, threads));
            ExitCode::SUCCESS
        }
        [library] if Path::new(library).is_file() => match table(library) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("throughput: {why}");
                ExitCode::FAILURE
            }
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("throughput: the path of liblockyard_mutex.so is needed");
    ExitCode::from(2)
}
