//! Options for pages and pictures.

use clap::Args;
use std::path::PathBuf;

// File that a page is written to. A doc comment here would become the command's help text.
#[derive(Debug, Args)]
pub(crate) struct ReportFile {
    /// Also write a page with charts, for a browser (see docs/use/report.md)
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Pages {
    #[command(flatten)]
    pub(crate) file: ReportFile,
    /// Also write the curves over threads as a picture
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,
}
