//! `lockyard completions` and `lockyard man`: files for a shell and for `man`, generated from the
//! definition of the arguments.

use crate::arguments::{Arguments, Completions, Man};
use crate::errors::Failure;
use crate::output;
use clap::CommandFactory;
use lockyard_support::{InputError, printable};
use std::io;

/// Prints the completions of a shell.
pub(crate) fn completions(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "lockyard", &mut script);
    output::write(&String::from_utf8_lossy(&script))
}

/// Writes the manual's pages, one for each command.
pub(crate) fn man(options: &Man) -> Result<(), Failure> {
    let directory = &options.directory;
    let shown = printable(&directory.display().to_string());
    if directory.is_file() {
        return Err(Failure::Input(format!("{shown}: is a file; name a directory")));
    }
    std::fs::create_dir_all(directory)
        .map_err(|error| InputError(format!("{shown}: cannot be made: {error}")))?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, "lockyard", &mut pages)
        .map_err(|error| Failure::Run(format!("a page cannot be made: {error}")))?;
    output::write_files(directory, &pages)
}

/// Adds the pages of a command and of its subcommands.
fn add_pages(
    command: &clap::Command,
    name: &str,
    pages: &mut Vec<(String, String)>,
) -> io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), String::from_utf8_lossy(&page).into_owned()));
    for sub in command.get_subcommands() {
        add_pages(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}
