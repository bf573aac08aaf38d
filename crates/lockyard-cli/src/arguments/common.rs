//! Options that several commands have.

use crate::values::jobs;
use clap::{Args, ValueEnum};

// Format of results. A doc comment here would become the command's help text.
#[derive(Debug, Args)]
#[expect(missing_docs, reason = "it would become the command's help text")]
pub struct Output {
    /// Output: table, json, csv, markdown
    #[arg(short, long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) output: Output,
    /// Cells to simulate in parallel [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

impl From<Format> for lockyard_results::render::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Table => Self::Table,
            Format::Json => Self::Json,
            Format::Csv => Self::Csv,
            Format::Markdown => Self::Markdown,
        }
    }
}

impl Common {
    /// Returns the number of cells that are simulated at the same time.
    pub(crate) fn jobs(&self) -> usize {
        match self.jobs {
            Some(jobs) => usize::from(jobs),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
