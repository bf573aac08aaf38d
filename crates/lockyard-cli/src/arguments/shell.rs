//! The arguments of the commands that help a shell and its user: `completions`, `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard completions bash > lockyard.bash\n  \
                  lockyard completions zsh > _lockyard")]
pub(crate) struct Completions {
    /// Shell: bash, elvish, fish, powershell, zsh
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard man man1")]
pub(crate) struct Man {
    /// Directory of the pages; created if missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
