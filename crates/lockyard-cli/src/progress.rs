//! Progress of long work, on standard error: a bar on a terminal, otherwise a line at most once a
//! minute. Both show the elapsed time and an estimate of the remaining time.

use crate::errors::complain;
use crate::screen::screen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockyard_sim::HostWork;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two lines. Also the length from which work is announced.
const MINUTE: Duration = Duration::from_secs(60);

/// The remaining time is estimated once one item in this many is finished.
const LEAST_SHARE: u64 = 20;

/// Progress of work on a known number of items.
pub(crate) struct Progress {
    bar: ProgressBar,
    things: String,
    began: Instant,
    /// Time of the last line; `None` if no lines are printed.
    last_line: Option<Mutex<Instant>>,
}

/// Returns the progress of work on `count` items. Nothing is printed if the user wants only
/// figures.
pub(crate) fn bar(count: usize, things: &str) -> Progress {
    let quiet = screen().quiet;
    let terminal = std::io::stderr().is_terminal();
    let target = match terminal && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    let template = format!("{{bar:20}} {{pos}}/{{len}} {things}, {{elapsed}}, ETA {{eta}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    let began = Instant::now();
    let last_line = (!terminal && !quiet).then(|| Mutex::new(began));
    Progress { bar, things: things.to_owned(), began, last_line }
}

impl Progress {
    /// Adds to the number of finished items.
    pub(crate) fn inc(&self, more: u64) {
        self.bar.inc(more);
        self.line();
    }

    /// Sets the number of finished items.
    pub(crate) fn set_position(&self, finished: u64) {
        self.bar.set_position(finished);
        self.line();
    }

    /// Ends the progress, and removes the bar.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line if the last one is a minute old.
    fn line(&self) {
        let Some(last) = &self.last_line else { return };
        let Ok(mut last) = last.lock() else { return };
        if last.elapsed() < MINUTE {
            return;
        }
        *last = Instant::now();
        let asked = self.bar.length().unwrap_or_default();
        complain(&said(self.bar.position(), asked, &self.things, self.began.elapsed()));
    }
}

/// Formats a line about the progress.
fn said(finished: u64, asked: u64, things: &str, elapsed: Duration) -> String {
    let left = match finished {
        // A few items say little about the others.
        few if few * LEAST_SHARE < asked => String::new(),
        _ => {
            let each = elapsed.as_secs_f64() / finished as f64;
            let left = Duration::from_secs_f64(each * asked.saturating_sub(finished) as f64);
            format!(", about {} left", in_words(left))
        }
    };
    format!("{finished} of {asked} {things}, {} elapsed{left}", in_words(elapsed))
}

/// Announces work whose estimated duration exceeds a minute.
pub(crate) fn announce(estimate: Duration) {
    if estimate > MINUTE && !screen().quiet {
        complain(&format!("note: this takes about {}", in_words(estimate)));
    }
}

/// Work of the simulations from which their speed is printed. Less work says little about it.
const LEAST_WORK: Duration = Duration::from_secs(10);

/// Prints the speed of this host's simulations, if they took long enough.
pub(crate) fn note_speed() {
    if let Some(line) = speed(lockyard_sim::host_work()).filter(|_| !screen().quiet) {
        complain(&line);
    }
}

/// Formats the speed of simulations.
fn speed(work: HostWork) -> Option<String> {
    let per_second = work.per_second().filter(|_| work.time >= LEAST_WORK)?;
    Some(format!(
        "note: simulated {:.0} million platform operations, {:.1} million a second on each thread \
         of this host",
        work.platform_operations as f64 / 1e6,
        per_second / 1e6
    ))
}

/// Formats an estimated time, rounded to a sensible precision.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64().round();
    match seconds {
        few if few < 60.0 => format!("{few:.0} s"),
        some if some < 3570.0 => format!("{:.0} min", some / 60.0),
        many => format!("{:.1} h", many / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_passed_and_what_is_left() {
        let elapsed = Duration::from_secs(120);
        assert_eq!(
            said(30, 120, "rounds", elapsed),
            "30 of 120 rounds, 2 min elapsed, about 6 min left"
        );
        assert_eq!(said(0, 120, "rounds", elapsed), "0 of 120 rounds, 2 min elapsed");
        assert_eq!(said(1, 336, "cells", elapsed), "1 of 336 cells, 2 min elapsed");
        assert_eq!(said(9, 9, "rounds", elapsed), "9 of 9 rounds, 2 min elapsed, about 0 s left");
    }

    #[test]
    fn the_speed_is_that_of_one_thread_of_this_host() {
        let of = |seconds| {
            speed(HostWork {
                platform_operations: 600_000_000,
                time: Duration::from_secs_f64(seconds),
            })
        };
        assert_eq!(
            of(120.0).as_deref(),
            Some(
                "note: simulated 600 million platform operations, 5.0 million a second on each \
                 thread of this host"
            )
        );
        assert_eq!((of(9.9), of(0.0)), (None, None), "too little to tell");
    }

    #[test]
    fn times_are_rounded() {
        let of = |seconds: f64| in_words(Duration::from_secs_f64(seconds));
        assert_eq!([of(0.4), of(59.4), of(61.0), of(3000.0)], ["0 s", "59 s", "1 min", "50 min"]);
        assert_eq!(of(5400.0), "1.5 h");
    }
}
