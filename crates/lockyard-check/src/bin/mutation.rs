//! `cargo mutation`: weakens every ordering of every primitive, one at a time, and shows which
//! model check notices.
//!
//! `cargo mutation [PART]` runs the suites whose names contain `PART`, `cargo mutation 2/4` every
//! fourth suite from the second, and `cargo mutation --list` lists the sites. The exit code is 0 if
//! every site is killed or explained, otherwise 1. For bad usage the exit code is 2.

use lockyard_check::mutation::{Report, part, run, suites, survivors::SURVIVORS};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--list");
    let mut suites = suites::all();
    let parts: Vec<&String> = arguments.iter().filter(|a| *a != "--list").collect();
    if let Some(part) = parts.first() {
        part::keep(&mut suites, part);
        if suites.is_empty() || parts.len() > 1 {
            let names: Vec<&str> = suites::all().iter().map(|suite| suite.name).collect();
            eprintln!(
                "mutation: give nothing, a share such as 2/4, or a part of a suite's name; there \
                 are {}",
                names.join(", ")
            );
            return ExitCode::from(2);
        }
    }
    if list {
        for suite in &suites {
            match suite.sites() {
                Ok(sites) => sites
                    .iter()
                    .for_each(|(site, order)| println!("{}: {site} {order}", suite.name)),
                Err(message) => {
                    println!("{message}");
                    return ExitCode::FAILURE;
                }
            }
        }
        return ExitCode::SUCCESS;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("| suite | site | weakened | result |\n| --- | --- | --- | --- |");
    let report = match run(&suites, SURVIVORS, threads, |mutant| println!("{mutant}")) {
        Ok(report) => report,
        Err(message) => {
            println!("{message}");
            return ExitCode::FAILURE;
        }
    };
    finish(report, parts.is_empty())
}

fn finish(mut report: Report, whole: bool) -> ExitCode {
    if !whole {
        // Some of the suites alone cannot cover the sources.
        report.unreached.clear();
    }
    for complaint in report.all_complaints() {
        println!("{complaint}");
    }
    let killed = report.mutants.iter().filter(|m| m.killed.is_some()).count();
    println!("{} mutants, {killed} killed", report.mutants.len());
    println!("{}{}", if whole { "" } else { "partial: " }, report.totals().line());
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
