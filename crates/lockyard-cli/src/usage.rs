//! Reports bad usage in one line, like all bad input: the error, its place, and the allowed values.
//! The argument parser finds the error, but its message has several lines.

use crate::arguments::{self, Arguments};
use crate::errors::Failure;
use crate::screen;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use lockyard_results::render::Screen;
use lockyard_scenarios::LockKinds;
use lockyard_support::{hint, printable};
use std::ffi::OsString;

/// Parses the arguments of the process. Ends it if they ask for help, or for the version.
///
/// # Errors
///
/// Bad usage.
pub(crate) fn parse(locks: &LockKinds) -> Result<Arguments, Failure> {
    let all: Vec<OsString> = std::env::args_os().collect();
    parsed(&all, locks).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Failure::Run(format!("standard output cannot be written: {error}"))
            }
            _ => std::process::exit(error.exit_code()),
        },
        _ => Failure::Input(explained(&all, &error)),
    })
}

/// Parses arguments after the name of the program, and does nothing else.
///
/// # Errors
///
/// Bad usage, in one line.
pub(crate) fn check(arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    let all: Vec<OsString> = std::iter::once("lockyard".into()).chain(arguments).collect();
    match parsed(&all, &LockKinds::default()) {
        Err(error) if error.use_stderr() => Err(explained(&all, &error)),
        _ => Ok(()),
    }
}

fn parsed(all: &[OsString], locks: &LockKinds) -> Result<Arguments, Error> {
    let width = screen::width();
    let mut command = arguments::command(locks, width);
    command.build();
    let command = with_usage_in(command, width);
    command.try_get_matches_from(all).and_then(|found| Arguments::from_arg_matches(&found))
}

fn explained(all: &[OsString], error: &Error) -> String {
    let said = Place::of(all.iter().skip(1).cloned()).explain(error);
    match needy(all, error) {
        Some(option) => said.replacen(THESE_OPTIONS, &format!("with `{}` ", printable(&option)), 1),
        None => said,
    }
}

/// Words for options of which one needs another one.
const THESE_OPTIONS: &str = "with these options ";

/// Returns the option that needs another one which is missing: without it, none is.
fn needy(all: &[OsString], error: &Error) -> Option<String> {
    let is_missing = |error: &Error| error.kind() == ErrorKind::MissingRequiredArgument;
    if !is_missing(error) {
        return None;
    }
    let end = all.iter().position(|argument| argument == "--").unwrap_or(all.len());
    let options = 1..end;
    let mut options = options.filter(|&at| all[at].as_encoded_bytes().starts_with(b"-"));
    // From the last one, so that no value of an option becomes the program.
    let at = options.rfind(|&at| {
        let others = [&all[..at], &all[at + 1..]].concat();
        !matches!(&parsed(&others, &LockKinds::default()), Err(error) if is_missing(error))
    })?;
    Some(all[at].to_string_lossy().into_owned())
}

/// Wraps the usage of a command and of its subcommands. The parser wraps the other help, but not
/// the usage.
fn with_usage_in(mut command: Command, width: usize) -> Command {
    const TITLE: &str = "Usage: ";
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |sub| with_usage_in(sub, width));
    }
    let usage = command.render_usage().to_string();
    if usage.lines().all(|line| line.chars().count() <= width) {
        return command;
    }
    let room = Screen { width: width.saturating_sub(TITLE.len()), ..Screen::default() };
    let usage = room.wrap(usage.trim_start_matches(TITLE));
    command.override_usage(usage.replace('\n', &format!("\n{}", " ".repeat(TITLE.len()))))
}

/// Command or subcommand whose arguments are wrong.
struct Place {
    name: String,
    command: Command,
}

/// Returns true if the command has the option, whose value may follow an `=`.
fn knows(command: &Command, option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    command.get_arguments().any(|argument| {
        let long = argument.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long));
        let short = argument.get_short().zip(name.strip_prefix('-').and_then(|n| n.chars().next()));
        long || short.is_some_and(|(a, b)| a == b)
    })
}

impl Place {
    fn of(arguments: impl Iterator<Item = OsString>) -> Place {
        let mut command = Arguments::command();
        command.build();
        let mut name = Vec::new();
        for argument in arguments {
            // Stop at an option that the command does not know: the error belongs to this command.
            let option = argument.to_string_lossy();
            if option.starts_with('-') && !knows(&command, &option) {
                break;
            }
            let Some(found) = command.find_subcommand(&argument).cloned() else { continue };
            name.push(found.get_name().to_owned());
            command = found;
        }
        if name.is_empty() {
            name.push("lockyard".to_owned());
        }
        Place { name: name.join(" "), command }
    }

    fn explain(&self, error: &Error) -> String {
        let place = &self.name;
        let arguments = texts(error, ContextKind::InvalidArg);
        let argument = arguments.first().map_or_else(String::new, |argument| flag(argument));
        let value = texts(error, ContextKind::InvalidValue).concat();
        match error.kind() {
            ErrorKind::MissingRequiredArgument => {
                let missing: Vec<String> = arguments.iter().map(|a| self.described(a)).collect();
                let always =
                    arguments.iter().any(|a| self.find(a).is_some_and(Arg::is_required_set));
                let when = if always { "" } else { THESE_OPTIONS };
                format!("{when}`{place}` needs {}", missing.join("; "))
            }
            ErrorKind::InvalidSubcommand => {
                let name = texts(error, ContextKind::InvalidSubcommand).concat();
                let commands: Vec<&str> =
                    self.command.get_subcommands().map(|c| c.get_name()).collect();
                let hint = hint(&name, &commands, "there are");
                format!("`{place}` has no command `{}`; {hint}", printable(&name))
            }
            ErrorKind::UnknownArgument if argument.starts_with('-') => {
                let options: Vec<String> = self.options().collect();
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let hint = hint(&argument, &options, "there are");
                format!("`{place}` has no option `{}`; {hint}", printable(&argument))
            }
            ErrorKind::UnknownArgument => {
                let positional: Vec<String> =
                    self.command.get_positionals().map(ToString::to_string).collect();
                let allowed = match positional.is_empty() {
                    true => "only options".to_owned(),
                    false => positional.join(" "),
                };
                format!(
                    "`{place}`: `{}` is one too many; allowed: {allowed}",
                    printable(&arguments.concat())
                )
            }
            ErrorKind::InvalidValue if value.is_empty() => {
                let values = texts(error, ContextKind::ValidValue).join(", ");
                let allowed = match values.is_empty() {
                    true => self.help(&arguments.concat()).unwrap_or_default(),
                    false => values,
                };
                format!("{argument} has no value; allowed: {allowed}")
            }
            ErrorKind::InvalidValue => {
                let values = texts(error, ContextKind::ValidValue);
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                let hint = hint(&value, &values, "allowed");
                format!("{argument}: there is no `{}`; {hint}", printable(&value))
            }
            // The error message of a value's parser begins with "is".
            ErrorKind::ValueValidation => {
                let why =
                    std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
                format!("{argument} {why}")
            }
            ErrorKind::TooManyValues => {
                format!("{argument} takes no value, and `{}` was given", printable(&value))
            }
            ErrorKind::ArgumentConflict => match texts(error, ContextKind::PriorArg).first() {
                Some(other) if *other != arguments.concat() => {
                    format!(
                        "{argument} and {} do not go together; allowed: one of them",
                        flag(other)
                    )
                }
                _ => format!("{argument} is given more than once; allowed: once"),
            },
            ErrorKind::InvalidUtf8 => format!("`{place}`: an argument is not UTF-8 text"),
            _ => format!("`{place}`: {}", error.to_string().lines().next().unwrap_or("bad usage")),
        }
    }

    /// Describes an argument by its syntax and its help.
    fn described(&self, argument: &str) -> String {
        self.help(argument)
            .map_or_else(|| argument.to_owned(), |help| format!("{argument}: {help}"))
    }

    /// Returns the help of an argument, worded for the middle of a sentence.
    fn help(&self, argument: &str) -> Option<String> {
        let help = self.find(argument)?.get_help()?.to_string();
        Some(for_the_middle(&help))
    }

    fn find(&self, written: &str) -> Option<&Arg> {
        self.command.get_arguments().find(|argument| argument.to_string() == written)
    }

    fn options(&self) -> impl Iterator<Item = String> {
        self.command.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}"))
    }
}

/// Returns a sentence with its first letter small, unless the first word is a name such as `A`.
fn for_the_middle(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().filter(|_| letters.as_str().starts_with(char::is_lowercase));
    match first {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => sentence.to_owned(),
    }
}

/// Returns the texts of one kind that an error holds.
fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// Returns an option without its value: `--threads` for `--threads <LIST>`.
fn flag(argument: &str) -> String {
    argument.split(' ').next().unwrap_or(argument).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_at_the_begin_of_a_help_stays_large() {
        assert_eq!(for_the_middle("Write a page"), "write a page");
        assert_eq!(for_the_middle("A and B are programs"), "A and B are programs");
        assert_eq!(for_the_middle("JSON"), "JSON");
        assert_eq!(for_the_middle(""), "");
    }
}
