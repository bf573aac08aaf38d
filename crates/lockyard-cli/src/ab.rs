//! `lockyard compare --ab`: two programs that run in pairs, one pair a round.
//!
//! A fair coin decides in each round which of them runs first. The verdicts rest on that coin
//! (`compare::sign_flip`), so it must not depend on the host or on earlier rounds.

use crate::arguments::Compare;
use crate::child::{self, Failed};
use crate::errors::Failure;
use crate::progress;
use lockyard_results::compare::{self, Comparison, Options, ResultFile};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

/// Default number of rounds.
const USUAL_ROUNDS: u16 = 15;

/// Default timeout of one run.
const USUAL_LIMIT: Duration = Duration::from_secs(600);

/// Runs both programs in all rounds, and compares their results.
///
/// # Errors
///
/// If a program fails, or the results are not comparable.
pub(crate) fn run(options: &Compare, choices: Options) -> Result<Comparison, Failure> {
    let rounds = usize::from(options.rounds.unwrap_or(USUAL_ROUNDS));
    let limit = options.timeout.unwrap_or(USUAL_LIMIT);
    let arguments = with_format(&options.command);
    let programs = [("A", &options.a), ("B", &options.b)];
    let mut runs: [Vec<ResultFile>; 2] = [Vec::new(), Vec::new()];
    let bar = progress::bar(2 * rounds, "runs");
    let mut a_first = 0;
    for round in 1..=rounds {
        let b_first = coin();
        a_first += usize::from(!b_first);
        for index in if b_first { [1, 0] } else { [0, 1] } {
            let (name, program) = programs[index];
            let which = format!("{name} ({}), round {round}", shown(program));
            runs[index].push(results(&which, program, &arguments, limit)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let line: Vec<String> = arguments.iter().map(|argument| shown(Path::new(argument))).collect();
    let joined = |index: usize| {
        let (_, program) = programs[index];
        compare::join_rounds(&format!("{} {}", shown(program), line.join(" ")), &runs[index])
    };
    let mut comparison = compare::compare_pairs(&joined(0)?, &joined(1)?, choices)?;
    comparison.notes.push(format!("A ran first in {a_first} of {rounds} rounds."));
    Ok(comparison)
}

/// Returns a random bit. The hash key comes from the system's random numbers.
fn coin() -> bool {
    RandomState::new().hash_one(0u64) >> 63 == 1
}

/// Runs a program once, and reads its results.
fn results(
    which: &str,
    program: &Path,
    arguments: &[OsString],
    limit: Duration,
) -> Result<ResultFile, Failure> {
    let fail = |what: String| Failure::Input(format!("{which}: {what}"));
    let text = child::run(program, arguments, limit).map_err(|failed| match failed {
        Failed::NotStarted(error) => fail(format!("cannot be started: {error}")),
        Failed::Ended(what) => fail(what),
    })?;
    if text.trim().is_empty() {
        return Err(fail("printed nothing; results in JSON are needed".to_owned()));
    }
    let results = compare::parse(&format!("{which}: its output"), &text)?;
    match results.environment.get("incomplete") {
        Some(why) => {
            let why = lockyard_support::printable(why);
            Err(fail(format!("its results are not complete: {why}")))
        }
        None => Ok(results),
    }
}

/// Returns the arguments, completed so that a command of lockyard prints one round in JSON. Options
/// that the user chose stay. Arguments of any other program are unchanged.
fn with_format(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = arguments.to_vec();
    let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let command = command(&texts).unwrap_or_default();
    let chosen = |option: &str| {
        let is = |argument: &&str| {
            let rest = argument.strip_prefix(option);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        texts.iter().any(is)
    };
    let measures = command == "measure";
    if measures && !chosen("--repeats") {
        all.extend(["--repeats".into(), "1".into()]);
    }
    let prints = measures || ["predict", "reproduce"].contains(&command);
    if prints && !chosen("--format") && !texts.iter().any(|argument| is_short_format(argument)) {
        all.extend(["--format".into(), "json".into()]);
    }
    all
}

/// Returns the first argument that is not an option of every command.
fn command<'t>(arguments: &[&'t str]) -> Option<&'t str> {
    let mut arguments = arguments.iter();
    loop {
        match *arguments.next()? {
            "-q" | "--quiet" => {}
            // Its value follows.
            "--color" => drop(arguments.next()),
            option if option.starts_with("--color=") => {}
            command => return Some(command),
        }
    }
}

/// Returns true for `-f` with or without its value, also after `-q`: `-qfjson`.
fn is_short_format(argument: &str) -> bool {
    let short = argument.strip_prefix('-').map(|letters| letters.trim_start_matches('q'));
    short.is_some_and(|letters| letters.starts_with('f'))
}

fn shown(path: &Path) -> String {
    lockyard_support::printable(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_lockyard_print_one_round_in_json() {
        let with = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let all: Vec<String> =
                with_format(&arguments).iter().map(|a| a.to_string_lossy().into_owned()).collect();
            all.join(" ")
        };
        assert_eq!(with(&["measure", "x"]), "measure x --repeats 1 --format json");
        assert_eq!(with(&["measure", "--repeats=3"]), "measure --repeats=3 --format json");
        assert_eq!(with(&["predict", "x"]), "predict x --format json");
        assert_eq!(with(&["predict", "x", "--format", "csv"]), "predict x --format csv");
        assert_eq!(with(&["my-bench", "measure"]), "my-bench measure");
        for format in ["-f json", "-fjson", "-f=json", "-qf json", "-qfjson", "--format=json"] {
            let arguments: Vec<&str> =
                ["predict", "x"].into_iter().chain(format.split(' ')).collect();
            assert_eq!(with(&arguments), arguments.join(" "));
        }
        for global in ["-q", "--quiet", "--color never", "--color=never"] {
            let arguments: Vec<&str> = global.split(' ').chain(["predict", "x", "-q"]).collect();
            assert_eq!(with(&arguments), format!("{} --format json", arguments.join(" ")));
        }
        assert_eq!(with(&["-q"]), "-q");
        assert_eq!(with(&["--color"]), "--color");
        assert_eq!(with(&["--mode", "measure"]), "--mode measure");
    }

    #[test]
    fn the_coin_is_fair() {
        // Five standard deviations of 10,000 tosses are 250.
        let heads = (0..10_000).filter(|_| coin()).count();
        assert!((4750..=5250).contains(&heads), "{heads}");
    }
}
