//! `cargo evidence`: runs a study. See `docs/measure/commands.md`.

use clap::{Parser, Subcommand};
use lockyard_cli::study;
use lockyard_evidence::measure_tables::{self, MeasureTables};
use std::process::ExitCode;

/// Studies whose figures lockyard's documents show.
#[derive(Debug, Parser)]
#[command(name = "evidence", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Debug, Subcommand)]
enum Study {
    /// Measure tables, counters and reclamation beside alternatives
    MeasureTables(MeasureTables),
}

fn main() -> ExitCode {
    study::main(|arguments: &Arguments| match &arguments.study {
        Study::MeasureTables(options) => measure_tables::command(options),
    })
}
