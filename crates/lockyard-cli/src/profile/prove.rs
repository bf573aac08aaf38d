//! `lockyard why --prove`: runs a program with lockyard's mutex preloaded and without, in turn.

use super::preloaded::Asked;
use super::printed::{self, Pattern};
use crate::errors::{Failure, complain};
use lockyard_results::statistics::median;
use lockyard_results::what_if::Proof;
use std::path::{Path, PathBuf};

/// Number of rounds, each with one run of both.
const ROUNDS: usize = 5;

/// Name of the library's file.
const NAME: &str = "liblockyard_mutex.so";

/// The library that replaces mutexes.
#[derive(Debug)]
pub(super) struct Library(PathBuf);

impl Library {
    /// Returns the library: the user's, or that beside the command, or that of the system.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn find(given: Option<&Path>) -> Result<Library, Failure> {
        if let Some(path) = given {
            // The dynamic linker would search a name without a slash elsewhere.
            let whole = path.canonicalize().ok().filter(|path| path.is_file());
            return whole.map(Library).ok_or_else(|| {
                let shown = lockyard_support::shown(path);
                Failure::Input(format!("--mutex-library: there is no file {shown}"))
            });
        }
        let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(NAME)));
        let system = Path::new("/usr/local/lib").join(NAME);
        let found = beside.into_iter().chain([system]).find(|path| path.is_file());
        found.map(Library).ok_or_else(|| {
            Failure::Input(format!(
                "--prove: there is no {NAME} beside the command or in /usr/local/lib; allowed: \
                 --mutex-library FILE (`cargo build --release -p lockyard-mutex` makes one)"
            ))
        })
    }
}

/// Returns what was measured: by the rate that the program prints, or else by the time of its runs,
/// as of a fixed amount of work. `None` if a run fails.
///
/// # Errors
///
/// A run cannot be started, or prints no rate.
pub(super) fn prove(
    asked: Asked,
    library: &Library,
    pattern: Option<&Pattern>,
    predicted: Option<f64>,
) -> Result<Option<Proof>, Failure> {
    let mut gains = Vec::new();
    for round in 0..ROUNDS {
        let mut speeds = [0.0; 2];
        // What runs second has warmer files, or a warmer processor.
        let mut order = [0, 1];
        order.rotate_left(round % 2);
        for which in order {
            let preload = (which == 1).then_some(library.0.as_path());
            match printed::run(asked, preload, pattern)? {
                Ok(plain) => speeds[which] = plain.rate.unwrap_or(1.0 / plain.seconds.max(1e-9)),
                Err(_) => {
                    let which = if which == 1 { "with" } else { "without" };
                    complain(&format!(
                        "lockyard: why: nothing is proved: the program failed {which} lockyard's \
                         mutex"
                    ));
                    return Ok(None);
                }
            }
        }
        gains.push(speeds[1] / speeds[0] - 1.0);
    }
    let fold = |of: fn(f64, f64) -> f64, from: f64| gains.iter().copied().fold(from, of);
    Ok(Some(Proof {
        change: "lockyard's mutex".to_owned(),
        rounds: ROUNDS,
        by_rate: pattern.is_some(),
        predicted_share: predicted,
        measured_share: median(&gains).unwrap_or_default(),
        measured_low_share: fold(f64::min, f64::INFINITY),
        measured_high_share: fold(f64::max, f64::NEG_INFINITY),
    }))
}
