//! Values of options: numbers within bounds, and lists of them. An error message continues the
//! option's name.

use crate::errors::Failure;
use lockyard_lab::calibrate_host::{LEAST_SECONDS, MOST_SECONDS};
use std::time::Duration;

/// Reads numbers of threads: `1,2,4`.
pub(crate) fn thread_list(text: &str) -> Result<Vec<usize>, Failure> {
    number_list("--threads", "threads", text)
}

/// Reads numbers of `things`, each at least 1, separated by commas.
pub(crate) fn number_list(option: &str, things: &str, text: &str) -> Result<Vec<usize>, Failure> {
    number_list_from(1, option, things, text)
}

/// Reads numbers of `things`, each at least `least`, separated by commas.
pub(crate) fn number_list_from(
    least: usize,
    option: &str,
    things: &str,
    text: &str,
) -> Result<Vec<usize>, Failure> {
    const MOST: usize = 256;
    let allowed =
        format!("allowed: whole numbers from {least}, with commas between them, such as 1,2,4");
    let mut numbers = Vec::new();
    for part in text.split(',') {
        match part.trim().parse::<usize>() {
            Ok(number) if number >= least && numbers.len() < MOST => numbers.push(number),
            Ok(number) if number >= least => {
                return Err(Failure::Input(format!(
                    "{option} lists more than {MOST} numbers; at most {MOST} are allowed"
                )));
            }
            _ => {
                let part = lockyard_support::printable(part);
                return Err(Failure::Input(format!(
                    "{option}: `{part}` is not a number of {things}; {allowed}"
                )));
            }
        }
    }
    Ok(numbers)
}

/// Refuses a list in which a number of `things` exceeds `most`.
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

/// Reads the time without progress after which a run is aborted.
pub(crate) fn stalled_after(text: &str) -> Result<Duration, String> {
    seconds(text, 0.1, 3600.0)
}

/// Reads the longest time of a program's run.
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

/// Reads a number of rounds of two programs. With fewer there can be no verdict.
pub(crate) fn pairs(text: &str) -> Result<u16, String> {
    whole_from(text, lockyard_results::compare::paired::FEWEST_PAIRS as u32, 200)
}

/// Reads a number of rounds.
pub(crate) fn repeats(text: &str) -> Result<u16, String> {
    whole(text, 1000)
}

/// Reads the number of simulations that run at the same time.
pub(crate) fn jobs(text: &str) -> Result<u16, String> {
    whole(text, 1024)
}

/// Reads a number of objects in a table.
pub(crate) fn objects(text: &str) -> Result<u32, String> {
    whole(text, lockyard_measure::measure_tables::MOST_OBJECTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_threads_are_read() {
        assert_eq!(thread_list("1,2, 96").unwrap(), [1, 2, 96]);
        for wrong in ["", "0", "x", "1,,2", "-1", "1.5", "99999999999999999999"] {
            assert!(matches!(thread_list(wrong), Err(Failure::Input(_))), "{wrong}");
        }
    }
}
