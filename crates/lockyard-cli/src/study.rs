//! Measurement in rounds, and output as of this command, for commands of other crates: the studies
//! in `evidence/`. They compare with crates that users should not have to build.

use crate::arguments::ColourChoice;
use crate::baselines::Baselines;
use crate::{host, output, process, progress, screen, signals, values};
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use lockyard_measure::scenario::rounds::Effort;
use lockyard_results::compare::Planned;
use lockyard_results::compare::read::FigureKind;
use lockyard_results::render::{Document, Extent};
use lockyard_results::row::Row;
use std::process::ExitCode;

pub use crate::arguments::{BaselineOptions, Output, Rounds, Stall};
pub use crate::errors::Failure;

/// Runs a command with the arguments of the process; returns its exit code. Signals, errors and
/// exit codes are those of `lockyard`. `run` measures and prints.
pub fn main<A: Parser>(run: impl FnOnce(&A) -> Result<(), Failure>) -> ExitCode {
    process(|| {
        let arguments = A::try_parse().map_err(|error| match error.use_stderr() {
            true => Failure::Input(one_line(&error)),
            false => error.exit(),
        })?;
        screen::detect(ColourChoice::Auto, false, false);
        signals::begin(true);
        run(&arguments).map(|()| ExitCode::SUCCESS)
    })
}

/// Returns a parser's error as one line, without advice on usage. What this command's parsers of
/// values say follows the name of the option.
fn one_line(error: &clap::Error) -> String {
    use std::error::Error as _;
    if let (Some(ContextValue::String(option)), Some(source)) =
        (error.get(ContextKind::InvalidArg), error.source())
    {
        let option = option.split(' ').next().unwrap_or_default();
        return format!("{option} {source}");
    }
    let text = error.to_string();
    let is_advice = |line: &str| line.starts_with("Usage:") || line.starts_with("For more");
    let lines = text.lines().map(str::trim).take_while(|line| !is_advice(line));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let joined = lines.join("; ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

/// Reads a list of thread counts, such as `1-4,8`.
///
/// # Errors
///
/// Bad input: the list is wrong.
pub fn thread_list(list: &str) -> Result<Vec<usize>, Failure> {
    values::thread_list(list)
}

/// Reads the list of numbers of `option`, such as `90,99`. `what` names them in an error.
///
/// # Errors
///
/// Bad input: the list is wrong.
pub fn number_list(option: &str, what: &str, list: &str) -> Result<Vec<usize>, Failure> {
    values::number_list_from(0, option, what, list)
}

/// Returns the length and number of rounds that the options ask for.
pub fn effort(rounds: &Rounds, stall: &Stall) -> Effort {
    Effort {
        warm_up: host::warm_up(rounds.seconds),
        window: rounds.seconds,
        repeats: usize::from(rounds.repeats),
        stalled_after: stall.stalled_after,
        ..Effort::USUAL
    }
}

/// A measurement that is about to begin.
#[derive(Debug)]
pub struct Begin<'a> {
    /// Number of rounds of all cells.
    pub rounds: usize,
    /// Length and number of rounds of each cell.
    pub effort: Effort,
    /// Conditions of the measurement, by name.
    pub conditions: Vec<(String, String)>,
    /// Earlier results to compare with, and a name for these.
    pub baselines: &'a BaselineOptions,
    /// Format of the results.
    pub output: &'a Output,
}

/// Results of a measurement.
#[derive(Debug)]
pub struct Finished {
    /// Number of requested cells with a figure.
    pub extent: Extent,
    /// Rows.
    pub rows: Vec<Row>,
    /// Reason why the remaining rows were not measured.
    pub failure: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Conditions of the measurement and description of the host, by name.
    pub environment: Vec<(String, String)>,
}

/// Measures, shows progress, prints the results, and saves or compares them. `measure` calls its
/// argument after each round.
///
/// # Errors
///
/// As `measure`, and if results cannot be written, saved or compared.
pub fn measure(
    begin: Begin<'_>,
    measure: impl FnOnce(&mut dyn FnMut()) -> Result<Finished, Failure>,
) -> Result<(), Failure> {
    let Begin { rounds, effort, conditions, baselines, output } = begin;
    let kept = Baselines::prepare(baselines)?;
    kept.check(|| {
        let mut environment = conditions;
        let host = host::environment().into_iter();
        environment.extend(host.map(|(name, value)| (name.to_owned(), value)));
        Ok::<_, Failure>(Planned { kind: FigureKind::Measured, environment, cells: Vec::new() })
    })?;
    host::warn();
    progress::announce((effort.warm_up + effort.window).mul_f64(rounds as f64));
    let bar = progress::bar(rounds, "rounds");
    let finished = measure(&mut || bar.inc(1));
    bar.finish_and_clear();
    let Finished { extent, rows, failure, mut notes, environment } = finished?;
    notes.push(host::note(&environment));
    let environment = output::environment(environment);
    let document = Document { rows, environment, notes, ..Document::default() };
    kept.finish(document, failure, extent, output, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Options {
        #[arg(long, value_parser = crate::values::repeats)]
        repeats: u16,
    }

    #[test]
    fn an_error_of_the_parser_is_one_line() {
        let line = |arguments: &[&str]| {
            super::one_line(&Options::try_parse_from(arguments).expect_err("it is wrong"))
        };
        assert_eq!(line(&["x", "--repeats", "0"]), "--repeats is 0; allowed: 1 to 1000");
        let unknown = line(&["x", "--repeat", "1"]);
        assert!(unknown.starts_with("unexpected argument '--repeat' found; tip: "), "{unknown}");
        let right = Options::try_parse_from(["x", "--repeats", "3"]).expect("it is right");
        assert_eq!(right.repeats, 3);
    }
}
