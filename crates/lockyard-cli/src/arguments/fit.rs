//! The arguments of `lockyard fit`.

use super::common::Common;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard fit data.csv -m cascade-lake-2s24c2t\n\n\
                  See docs/use/send-your-machine.md.")]
pub(crate) struct FitData {
    /// Measurements: CSV with the columns scenario, variant, threads and measured (as measure -f
    /// csv writes it), or the file of measure --standard
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Machine name, cloud's name, or path of a machine file
    #[arg(short, long, value_name = "NAME|FILE")]
    pub(crate) machine: String,
    #[command(flatten)]
    pub(crate) common: Common,
}
