//! Output of a program that runs without a recorder: passed on, and searched for the rate that the
//! program prints.

use super::preloaded::{self, Asked, Ran, code, end};
use crate::errors::{Failure, complain};
use lockyard_support::printable;
use regex_lite::Regex;
use std::io::{PipeReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Amount of output that is searched: its end.
const SEARCHED: usize = 1 << 20;

/// Time after the program's end in which its output must end. A process that it left behind may
/// keep it open.
const AFTER: Duration = Duration::from_secs(1);

/// Maximum length of a regular expression.
const LONGEST: usize = 1000;

/// Pattern of a rate in a program's output.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// It is no regular expression, or has not one group.
    pub(super) fn of(text: &str) -> Result<Pattern, Failure> {
        let wrong = |why: &str| {
            let short: String = text.chars().take(60).collect();
            Failure::Input(format!(
                "--rate-from: `{}` {why}; allowed: a regular expression with one group, such as \
                 'rate: ([0-9.]+)'",
                printable(&short)
            ))
        };
        if text.len() > LONGEST {
            return Err(wrong(&format!("has {} bytes (at most {LONGEST})", text.len())));
        }
        let pattern = Regex::new(text).map_err(|error| wrong(&format!("is wrong: {error}")))?;
        match pattern.captures_len() - 1 {
            1 => Ok(Pattern(pattern)),
            groups => Err(wrong(&format!("has {}", lockyard_support::count(groups, "group")))),
        }
    }

    /// Returns the last number that the pattern finds. Commas and underscores between digits are
    /// left out.
    fn find(&self, text: &str) -> Option<f64> {
        let found = self.0.captures_iter(text).filter_map(|found| {
            let number = found.get(1)?.as_str().trim().replace([',', '_'], "");
            number.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
        });
        found.last()
    }
}

/// A run without a recorder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    /// Rate that the program printed, if it was looked for.
    pub(super) rate: Option<f64>,
    /// Duration in seconds.
    pub(super) seconds: f64,
}

/// Runs a program without a recorder, with `preload` in its place if there is one. Returns the
/// program's exit code if it fails.
///
/// # Errors
///
/// The program cannot be started, or prints no rate.
pub(super) fn run(
    asked: Asked,
    preload: Option<&Path>,
    pattern: Option<&Pattern>,
) -> Result<Result<Plain, ExitCode>, Failure> {
    let failed = |what: &str| Failure::Run(format!("{}: {what}", asked.who));
    let pipe = pattern.map(|_| std::io::pipe()).transpose();
    let pipe = pipe.map_err(|error| failed(&format!("no pipe for the program: {error}")))?;
    let (reader, writer) = pipe.unzip();
    let prepare = |command: &mut Command| {
        command.envs(preload.map(|library| ("LD_PRELOAD", library)));
        if let Some(writer) = writer {
            command.stdout(writer);
        }
    };
    let (sender, receiver) = channel();
    let is_apart = asked.is_apart;
    let reading = std::thread::Builder::new().spawn(move || {
        // This fails if the command waits no longer.
        let _ = sender.send(reader.map(|from| pass_on(from, is_apart)).unwrap_or_default());
    });
    reading.map_err(|error| failed(&format!("no thread for the program's output: {error}")))?;
    let Ran { ended, seconds, .. } = preloaded::run_command(asked, prepare)?;
    let text = receiver.recv_timeout(AFTER).unwrap_or_default();
    if !ended.status.success() {
        let how = end(ended.status);
        let name = asked.words.first().map(|name| name.to_string_lossy()).unwrap_or_default();
        complain(&format!("lockyard: {}: {} ended with {how}", asked.who, printable(&name)));
        return Ok(Err(ExitCode::from(code(ended.status))));
    }
    let rate = pattern.map(|pattern| {
        pattern.find(&String::from_utf8_lossy(&text)).ok_or_else(|| {
            Failure::Input(format!(
                "--rate-from: no number above 0 in the program's output matches `{}`",
                printable(pattern.0.as_str())
            ))
        })
    });
    Ok(Ok(Plain { rate: rate.transpose()?, seconds }))
}

/// Passes a program's output on to standard output, or to standard error, and returns its end.
fn pass_on(mut reader: PipeReader, is_apart: bool) -> Vec<u8> {
    let mut out: Box<dyn Write> =
        if is_apart { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        // The program would get an error where this one gets it, if no process reads.
        let _ = out.write_all(&buffer[..count]);
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * SEARCHED {
            kept.drain(..kept.len() - SEARCHED);
        }
    }
    let _ = out.flush();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_the_group_is_the_rate() {
        let pattern = Pattern::of("rate: ([0-9.,]+)").expect("it is one");
        assert_eq!(pattern.find("rate: 1.5\nrate: 2,500,000 op/s\n"), Some(2.5e6));
        assert_eq!(pattern.find("rate: none\nrate: 0\n"), None);
    }

    #[test]
    fn a_pattern_has_one_group() {
        let wrong = |text: &str| match Pattern::of(text) {
            Err(Failure::Input(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(wrong("rate").contains("`rate` has 0 groups; allowed: a regular expression"));
        assert!(wrong("(a)(b)").contains("has 2 groups"));
        assert!(wrong("(").contains("`(` is wrong: "));
        assert!(wrong(&"x".repeat(2000)).contains("has 2000 bytes (at most 1000)"));
    }
}
