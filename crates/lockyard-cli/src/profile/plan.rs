//! Runs of one program with several numbers of threads: `{threads}` stands for the number in an
//! argument, or in an environment variable.

use super::preloaded::Asked;
use super::printed::{self, Pattern, Plain};
use crate::arguments::Several;
use crate::errors::{Failure, complain};
use crate::values::thread_list;
use lockyard_recording::recording::Recording;
use lockyard_recording::runs::{MOST_RUNS, MOST_THREADS, Run, Runs};
use lockyard_support::printable;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::ExitCode;

/// Text that stands for the number of threads.
const PLACE: &str = "{threads}";

/// A recording that was made now.
pub(super) struct Taken {
    pub(super) recording: Recording,
    /// Exit code of the program.
    pub(super) code: ExitCode,
}

/// Program to run with several numbers of threads.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Name and arguments, as the user gave them.
    words: Vec<OsString>,
    /// Variables of the environment, as the user gave them.
    set: Vec<(OsString, OsString)>,
    /// Numbers of threads.
    pub(super) threads: Vec<usize>,
    /// Pattern of the rate that the program prints.
    pub(super) pattern: Option<Pattern>,
    /// True if the program's output goes to standard error.
    pub(super) is_apart: bool,
}

impl Plan {
    /// Returns the plan that the user asks for; `None` without `--threads`.
    ///
    /// # Errors
    ///
    /// Bad input: a wrong number, the same number twice, or nothing that stands for it.
    pub(super) fn of(asked: &Several, words: &[OsString]) -> Result<Option<Plan>, Failure> {
        let pattern = asked.rate_from.as_deref().map(Pattern::of).transpose()?;
        let set: Vec<(OsString, OsString)> =
            asked.set.iter().map(|text| variable(text)).collect::<Result<_, Failure>>()?;
        let Some(list) = &asked.threads else {
            return match pattern {
                Some(_) => Err(Failure::Input(
                    "--rate-from: the program runs once; allowed: with --threads LIST".to_owned(),
                )),
                None => Ok(None),
            };
        };
        let plan =
            Plan { words: words.to_vec(), set, threads: numbers(list)?, pattern, is_apart: false };
        if !plan.has_place() {
            return Err(Failure::Input(format!(
                "--threads: no argument and no --set has {PLACE}, so each run would be the same; \
                 allowed: `-- ./app --jobs {PLACE}`, or --set OMP_NUM_THREADS={PLACE}"
            )));
        }
        Ok(Some(plan))
    }

    /// Returns the plan of `why`, which may also run the program as it is, and takes its rate then.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub(super) fn for_why(asked: &Several, words: &[OsString]) -> Result<Plan, Failure> {
        if asked.threads.is_some() {
            let plan = Plan::of(asked, words)?.unwrap_or_default();
            return Ok(Plan { is_apart: true, ..plan });
        }
        let pattern = asked.rate_from.as_deref().map(Pattern::of).transpose()?;
        Ok(Plan { words: words.to_vec(), pattern, is_apart: true, ..Plan::default() })
    }

    /// Returns the largest number of threads, if there is one.
    pub(super) fn most(&self) -> Option<usize> {
        self.threads.iter().copied().max()
    }

    /// Returns the name of the program, without its directory.
    pub(super) fn program(&self) -> String {
        let name = self.words.first().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        printable(name.rsplit('/').next().unwrap_or(&name)).to_string()
    }

    /// Returns the program with its numbers of threads, in words.
    pub(super) fn shown(&self) -> String {
        let numbers: Vec<String> = self.threads.iter().map(ToString::to_string).collect();
        match numbers.as_slice() {
            [] => self.program(),
            _ => format!("{} with {} threads", self.program(), numbers.join(", ")),
        }
    }

    fn has_place(&self) -> bool {
        let place = |text: &OsString| contains(text, PLACE);
        self.words.iter().skip(1).any(place) || self.set.iter().any(|(_, value)| place(value))
    }

    /// Returns the words and the environment of a run; without a number as the user gave them.
    pub(super) fn with(
        &self,
        threads: Option<usize>,
    ) -> (Vec<OsString>, Vec<(OsString, OsString)>) {
        let of = |text: &OsString| threads.map_or(text.clone(), |number| with_number(text, number));
        let set = self.set.iter().map(|(name, value)| (name.clone(), of(value)));
        (self.words.iter().map(of).collect(), set.collect())
    }

    /// Runs the program with each number of threads: without the recorder, if the program prints a
    /// rate, and then with it, by `taken`. Returns the exit code of a run that fails.
    ///
    /// # Errors
    ///
    /// A run cannot be started, prints no rate, or takes no locks.
    pub(super) fn record(
        &self,
        who: &str,
        taken: impl Fn(Asked) -> Result<Result<Taken, ExitCode>, Failure>,
    ) -> Result<Result<Runs, ExitCode>, Failure> {
        let mut runs = Vec::new();
        for &threads in &self.threads {
            let (words, set) = self.with(Some(threads));
            let asked = Asked { who, words: &words, set: &set, is_apart: self.is_apart };
            let mut rates = Vec::new();
            if self.pattern.is_some() {
                match printed::run(asked, None, self.pattern.as_ref())? {
                    Ok(Plain { rate, .. }) => rates.extend(rate),
                    Err(code) => return Ok(Err(code)),
                }
            }
            let with = lockyard_support::threads(threads);
            let taken = taken(asked).map_err(|failure| match failure {
                Failure::Run(why) => Failure::Run(format!("{why} (with {with})")),
                other => other,
            })?;
            match taken {
                Ok(Taken { recording, code }) if code == ExitCode::SUCCESS => {
                    runs.push(Run { threads, rates, recording });
                }
                Ok(Taken { code, .. }) | Err(code) => {
                    complain(&format!("lockyard: {who}: the program failed with {with}"));
                    return Ok(Err(code));
                }
            }
        }
        let shown = self.words.iter().map(|word| word.to_string_lossy().into_owned());
        Runs::of(shown.collect(), runs).map(Ok).map_err(|why| Failure::Run(format!("{who}: {why}")))
    }
}

/// Reads numbers of threads, each once.
fn numbers(list: &str) -> Result<Vec<usize>, Failure> {
    let found = thread_list(list)?;
    let given = list.split(',').map(str::trim).filter(|part| part.parse::<usize>().is_ok());
    let mut seen: Vec<&str> = Vec::new();
    for part in given {
        if seen.contains(&part) {
            return Err(Failure::Input(format!(
                "--threads: {part} is given twice; allowed: each number once"
            )));
        }
        seen.push(part);
    }
    crate::values::check_most("--threads", "threads", &found, MOST_THREADS)?;
    if found.len() > MOST_RUNS {
        let many = found.len();
        return Err(Failure::Input(format!(
            "--threads: {many} numbers; allowed: 1 to {MOST_RUNS}"
        )));
    }
    Ok(found)
}

/// Reads an environment variable.
fn variable(text: &OsStr) -> Result<(OsString, OsString), Failure> {
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at @ 1..) => Ok((
            OsString::from_vec(bytes[..at].to_vec()),
            OsString::from_vec(bytes[at + 1..].to_vec()),
        )),
        _ => Err(Failure::Input(format!(
            "--set: `{}` is no variable; allowed: NAME=VALUE, such as OMP_NUM_THREADS={PLACE}",
            lockyard_support::printable(&text.to_string_lossy())
        ))),
    }
}

fn contains(text: &OsStr, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|at| at == part.as_bytes())
}

/// Returns a text with the number in place of `{threads}`.
fn with_number(text: &OsStr, threads: usize) -> OsString {
    let (bytes, number) = (text.as_bytes(), threads.to_string());
    let mut with = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        match rest.strip_prefix(PLACE.as_bytes()) {
            Some(after) => {
                with.extend_from_slice(number.as_bytes());
                rest = after;
            }
            None => {
                with.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    OsString::from_vec(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn several(threads: &str, set: &[&str]) -> Several {
        Several {
            threads: Some(threads.to_owned()),
            set: set.iter().map(OsString::from).collect(),
            rate_from: None,
        }
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_number_takes_its_place_in_arguments_and_variables() {
        let asked = several("1,2", &["JOBS=n{threads}{threads}", "OTHER=a=b"]);
        let plan = Plan::of(&asked, &words(&["./app", "--t={threads}", "x"]));
        let plan = plan.expect("it is right").expect("there are numbers");
        assert_eq!(plan.threads, [1, 2]);
        let (given, set) = plan.with(Some(12));
        assert_eq!(given, words(&["./app", "--t=12", "x"]));
        let set: Vec<(&str, &str)> =
            set.iter().filter_map(|(name, of)| Some((name.to_str()?, of.to_str()?))).collect();
        assert_eq!(set, [("JOBS", "n1212"), ("OTHER", "a=b")]);
    }

    #[test]
    fn wrong_plans_are_refused_in_a_line() {
        let wrong = |asked: &Several, given: &[&str]| match Plan::of(asked, &words(given)) {
            Err(Failure::Input(why)) => why,
            other => panic!("{other:?}"),
        };
        let app = ["./app", "{threads}"];
        assert!(wrong(&several("1,2,1", &[]), &app).contains("1 is given twice; allowed: each"));
        assert!(wrong(&several("0", &[]), &app).contains("`0` is not a number of threads"));
        assert!(wrong(&several("1-100", &[]), &app).contains("100 numbers; allowed: 1 to 64"));
        let none = wrong(&several("1,2", &["A=b"]), &["./{threads}", "x"]);
        assert!(none.contains("no argument and no --set has {threads}"), "{none}");
        assert!(wrong(&several("1", &["A"]), &app).contains("--set: `A` is no variable"));
        let alone = Several { threads: None, rate_from: Some("(x)".into()), ..several("", &[]) };
        assert!(wrong(&alone, &app).contains("--rate-from: the program runs once"));
    }
}
