//! Options for the display of results, which every command has.

use clap::{Args, ValueEnum};

// A doc comment here would become the command's help text.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Display {
    /// Colours: auto, always, never
    #[arg(
        long = "color",
        value_name = "WHEN",
        global = true,
        display_order = 100,
        value_enum,
        default_value_t = ColourChoice::Auto,
        hide_possible_values = true
    )]
    pub(crate) colour: ColourChoice,
    /// Print only figures and errors: no progress, curves, notes
    #[arg(short, long, global = true, display_order = 101)]
    pub(crate) quiet: bool,
    /// Also print tables of fairness and waits, where there are some
    #[arg(long, global = true, display_order = 102)]
    pub(crate) waits: bool,
}

/// Choice of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// Use colours if standard output is a terminal.
    Auto,
    /// Always use colours.
    Always,
    /// Never use colours.
    Never,
}
