//! Values of options: numbers within bounds, and lists of them. An error message continues the
//! option's name.

use crate::errors::Failure;
use lockyard_lab::calibrate_host::{LEAST_SECONDS, MOST_SECONDS};
use lockyard_support::Range;
use lockyard_sweep::sweep::Shard;
use std::time::Duration;

/// Maximum length of a list.
const MOST: usize = 256;

/// Reads numbers of threads: `1,2,4`, `1-4`, `16-96:16`.
pub(crate) fn thread_list(text: &str) -> Result<Vec<usize>, Failure> {
    number_list("--threads", "threads", text)
}

/// Reads numbers of `things`, each at least 1: single ones and ranges, separated by commas.
pub(crate) fn number_list(option: &str, things: &str, text: &str) -> Result<Vec<usize>, Failure> {
    number_list_from(1, option, things, text)
}

/// Reads numbers of `things`, each at least `least`. `A-B` is every number from A to B. `A-B:S` is
/// A, A+S, and so on, and always B. Duplicates are dropped.
pub(crate) fn number_list_from(
    least: usize,
    option: &str,
    things: &str,
    text: &str,
) -> Result<Vec<usize>, Failure> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let Some(range) = Range::parse(part.trim()).filter(|range| range.first() >= least) else {
            let part = lockyard_support::printable(part);
            return Err(Failure::Input(format!(
                "{option}: `{part}` is not a number of {things}; allowed: whole numbers \
                 from {least}, such as 1,2,4 or 1-4 or 16-96:16"
            )));
        };
        for number in range.numbers() {
            if numbers.contains(&number) {
                continue;
            }
            if numbers.len() == MOST {
                return Err(Failure::Input(format!(
                    "{option} lists more than {MOST} numbers; at most {MOST} are allowed"
                )));
            }
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// Refuses a list where a number of `things` exceeds `most`.
pub(crate) fn check_most(
    option: &str,
    things: &str,
    numbers: &[usize],
    most: usize,
) -> Result<(), Failure> {
    match numbers.iter().find(|&&number| number > most) {
        Some(number) => {
            Err(Failure::Input(format!("{option}: {number} {things}; allowed: 1 to {most}")))
        }
        None => Ok(()),
    }
}

/// Reads a part of a sweep.
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || {
        let text = lockyard_support::printable(text);
        format!("is `{text}`; allowed: I/N with I from 1 to N, such as 2/8")
    };
    Shard::parse(text).ok_or_else(wrong)
}

/// Reads a number of seconds within bounds.
fn seconds(text: &str, least: f64, most: f64) -> Result<Duration, String> {
    let allowed = format!("allowed: {least} to {most} seconds");
    match text.trim().parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) => Ok(Duration::from_secs_f64(value)),
        Ok(value) => Err(format!("is {value}; {allowed}")),
        Err(_) => Err(format!("is `{}`; {allowed}", lockyard_support::printable(text))),
    }
}

/// Reads the duration of one round.
pub(crate) fn window(text: &str) -> Result<Duration, String> {
    seconds(text, 1e-3, 3600.0)
}

/// Reads the duration of one round of calls.
pub(crate) fn call_window(text: &str) -> Result<Duration, String> {
    seconds(text, 1e-4, 60.0)
}

/// Reads the duration of a calibration.
pub(crate) fn measuring(text: &str) -> Result<Duration, String> {
    seconds(text, LEAST_SECONDS, MOST_SECONDS)
}

/// Reads a clock in GHz.
pub(crate) fn ghz(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|ghz| (0.1..=10.0).contains(ghz))
        .ok_or_else(|| format!("is `{}`; allowed: 0.1 to 10", lockyard_support::printable(text)))
}

/// Reads the time without progress after which a run is aborted.
pub(crate) fn stalled_after(text: &str) -> Result<Duration, String> {
    seconds(text, 0.1, 3600.0)
}

/// Reads the timeout of a program's run.
pub(crate) fn run_limit(text: &str) -> Result<Duration, String> {
    seconds(text, 0.1, 86_400.0)
}

/// Reads a whole number from 1 to `most`.
fn whole<N: TryFrom<u32>>(text: &str, most: u32) -> Result<N, String> {
    whole_from(text, 1, most)
}

/// Reads a whole number from `least` to `most`.
fn whole_from<N: TryFrom<u32>>(text: &str, least: u32, most: u32) -> Result<N, String> {
    let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
    number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
        format!("is {}; allowed: {least} to {most}", lockyard_support::printable(text))
    })
}

/// Reads a number of rounds of two programs. With fewer than the minimum there can be no verdict.
pub(crate) fn pairs(text: &str) -> Result<u16, String> {
    whole_from(text, lockyard_results::compare::paired::FEWEST_PAIRS as u32, 200)
}

/// Reads a number of rounds.
pub(crate) fn repeats(text: &str) -> Result<u16, String> {
    whole(text, 1000)
}

/// Reads the number of lines of a table.
pub(crate) fn top(text: &str) -> Result<usize, String> {
    whole(text, 1_000_000)
}

/// Reads the mean number of holds for each one that is timed.
pub(crate) fn every(text: &str) -> Result<u64, String> {
    whole(text, lockyard_records::MOST_EVERY as u32)
}

/// Reads the number of simulations that run at the same time.
pub(crate) fn jobs(text: &str) -> Result<u16, String> {
    whole(text, 1024)
}

/// Reads nanoseconds within bounds.
fn nanoseconds(text: &str, most: f64) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number.filter(|ns| *ns > 0.0 && *ns <= most).ok_or_else(|| {
        let text = lockyard_support::printable(text);
        format!("is `{text}`; allowed: nanoseconds above 0, at most {most}")
    })
}

/// Reads the time that a lock is held.
pub(crate) fn held(text: &str) -> Result<f64, String> {
    nanoseconds(text, 1e7)
}

/// Reads the time between two acquisitions.
pub(crate) fn between(text: &str) -> Result<f64, String> {
    nanoseconds(text, 2e7)
}

/// Reads a percentage.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| {
        format!("is `{}`; allowed: 0 to 100 per cent", lockyard_support::printable(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_threads_are_read() {
        assert_eq!(thread_list("1,2, 96").unwrap(), [1, 2, 96]);
        assert_eq!(thread_list("1-4,8,16-48:16").unwrap(), [1, 2, 3, 4, 8, 16, 32, 48]);
        assert_eq!(thread_list("16-50:16,2-4, 3").unwrap(), [16, 32, 48, 50, 2, 3, 4]);
        assert_eq!(thread_list("7-7").unwrap(), [7]);
        assert_eq!(thread_list("1-9:18446744073709551615").unwrap(), [1, 9]);
        assert_eq!(thread_list("1-256").unwrap().len(), 256);
        let wrong = ["", "0", "x", "1,,2", "-1", "1.5", "99999999999999999999"];
        let ranges = ["0-4", "4-1", "1-", "-", "1-4:0", "1-4:", "3:2", "1-2-3", "1-4:-1", "1-257"];
        for wrong in wrong.into_iter().chain(ranges) {
            assert!(matches!(thread_list(wrong), Err(Failure::Input(_))), "{wrong}");
        }
    }
}
