//! Options of the commands whose results can be saved under a name, and compared with earlier ones.

use clap::Args;
use std::path::PathBuf;

// Options of `measure`, `predict`, and studies. A doc comment here would become help text.
#[derive(Debug, Args)]
#[expect(missing_docs, reason = "it would become the command's help text")]
pub struct BaselineOptions {
    /// Save the results under this name (see docs/use/compare-in-ci.md); replaces earlier results
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) save: Option<String>,
    /// Compare with the results of this name or file; exit with code 1 if a row is slower, as
    /// `compare` does
    #[arg(long, value_name = "NAME|FILE", allow_hyphen_values = true)]
    pub(crate) against: Option<String>,
    /// With --against: how much slower a row may be [default: 5%]
    #[arg(long, value_name = "PERCENT", requires = "against", allow_hyphen_values = true)]
    pub(crate) threshold: Option<String>,
    #[command(flatten)]
    pub(crate) directory: BaselineDirectory,
}

// Also for `compare`. A doc comment here would become help text.
#[derive(Debug, Args)]
pub(crate) struct BaselineDirectory {
    /// Directory of saved results [default: .lockyard/baselines]
    #[arg(long = "baselines", value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}
