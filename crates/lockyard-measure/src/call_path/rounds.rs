//! Rounds of the experiment: each way runs once per round, in an order that is shuffled each time,
//! and its events are counted.
//!
//! A figure is the ratio of a way to the direct call *in the same round*. The result is the median
//! over the rounds, with its interval. A slow moment of the host affects both the same way. All
//! ways perform the same number of critical sections.

use super::way::{CHOICE, Way, Ways, new_section};
use crate::counters::{Counted, Event, Source, System};
use crate::cpus::{Cpus, pin};
use crate::order::Orders;
use lockyard::kind::{Choice, Kind};
use lockyard_results::row::Measured;
use lockyard_results::statistics;
use lockyard_support::jobs;
use std::time::{Duration, Instant};

/// Length and number of rounds.
#[derive(Clone, Copy, Debug)]
pub struct CallPathEffort {
    /// Approximate duration of one way in one round.
    pub window: Duration,
    /// Number of rounds.
    pub repeats: usize,
}

impl CallPathEffort {
    /// Default: many short rounds. Another process's time slice spoils only the rounds that it
    /// overlaps, and the median ignores these.
    pub const USUAL: CallPathEffort =
        CallPathEffort { window: Duration::from_millis(2), repeats: 101 };
}

/// Quantity measured for a lock and unlock pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPathMetric {
    /// An event that the processor counts.
    Counted(&'static str, Event),
    /// Ratio of one event to another.
    Ratio(&'static str, Event, Event),
    /// Elapsed time.
    Wallclock,
}

impl CallPathMetric {
    /// All metrics, in the order of the published table and with its names: nine counters, and
    /// time.
    pub const ALL: [CallPathMetric; 10] = [
        CallPathMetric::Counted("cpu-cycles", Event::Cycles),
        CallPathMetric::Counted("instructions", Event::Instructions),
        CallPathMetric::Ratio("cpi", Event::Cycles, Event::Instructions),
        CallPathMetric::Counted("cache-references", Event::CacheReferences),
        CallPathMetric::Counted("cache-misses", Event::CacheMisses),
        CallPathMetric::Ratio("cache-miss-rate", Event::CacheMisses, Event::CacheReferences),
        CallPathMetric::Counted("branches", Event::Branches),
        CallPathMetric::Counted("branch-misses", Event::BranchMisses),
        CallPathMetric::Ratio("branch-miss-rate", Event::BranchMisses, Event::Branches),
        CallPathMetric::Wallclock,
    ];

    /// Returns the name of the metric.
    pub fn name(self) -> &'static str {
        match self {
            CallPathMetric::Counted(name, _) | CallPathMetric::Ratio(name, ..) => name,
            CallPathMetric::Wallclock => "wallclock",
        }
    }
}

/// Figures per lock and unlock of one way in one round.
#[derive(Clone, Debug)]
struct Sample {
    nanoseconds: f64,
    counted: Counted,
}

impl Sample {
    fn event(&self, event: Event) -> Result<f64, String> {
        let of = self.counted.per_operation.iter().find(|(of, _)| *of == event);
        of.map_or_else(|| Err("it was not counted".to_owned()), |(_, value)| value.clone())
    }

    fn value(&self, metric: CallPathMetric) -> Result<f64, String> {
        match metric {
            CallPathMetric::Wallclock => Ok(self.nanoseconds),
            CallPathMetric::Counted(_, event) => self.event(event),
            CallPathMetric::Ratio(_, of, for_each) => Ok(self.event(of)? / self.event(for_each)?),
        }
    }
}

/// Median over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct OverRounds {
    /// Median, with its interval.
    pub measured: Measured,
    /// Probability that the interval covers the median.
    pub coverage: f64,
    /// Figure of each round.
    pub rounds: Vec<f64>,
}

impl OverRounds {
    /// Returns `None` if there are no rounds.
    fn of(rounds: Vec<f64>) -> Option<OverRounds> {
        let value = statistics::median(&rounds)?;
        let interval = statistics::median_interval(&rounds)?;
        let (ci_low, ci_high) = (interval.low, interval.high);
        let measured = Measured { value, ci_low, ci_high, samples: rounds.len() };
        Some(OverRounds { measured, coverage: interval.coverage, rounds })
    }
}

/// Figures of a way and a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Per cent of the direct call in the same round.
    pub relative: OverRounds,
    /// Cost of a lock and unlock: nanoseconds, events, or a ratio.
    pub absolute: OverRounds,
}

/// Results of the rounds.
#[derive(Debug)]
pub struct Rounds {
    /// Kind of the lock.
    pub kind: Kind,
    /// Number of critical sections per way and round.
    pub times: u64,
    /// True if the thread was pinned to a CPU.
    pub pinned: bool,
    /// Ways that this host refuses, with the reason.
    pub refused: Vec<(Way, String)>,
    rounds: Vec<Vec<(Way, Sample)>>,
}

impl Rounds {
    /// Number of finished rounds.
    pub fn finished(&self) -> usize {
        self.rounds.len()
    }

    /// Returns the figures of a way.
    ///
    /// # Errors
    ///
    /// The reason for a missing figure, as a sentence without a full stop: "refused here: ..." or
    /// "not available here: ...".
    pub fn figures(&self, way: Way, metric: CallPathMetric) -> Result<Figures, String> {
        if let Some((_, reason)) = self.refused.iter().find(|(of, _)| *of == way) {
            return Err(reason.clone());
        }
        let not_here = |reason: String| format!("not available here: {reason}");
        let (mut ratios, mut values) = (Vec::new(), Vec::new());
        for round in &self.rounds {
            let of = |way: Way| {
                let sample = round.iter().find(|(of, _)| *of == way);
                let (_, sample) = sample.ok_or("a round was not finished")?;
                sample.value(metric)
            };
            let (value, direct) = (of(way).map_err(not_here)?, of(Way::Direct).map_err(not_here)?);
            // Without any event the ratio is undefined.
            if direct > 0.0 && value.is_finite() {
                ratios.push(100.0 * (value / direct));
                values.push(value);
            }
        }
        let few = || not_here("it was not seen in most rounds of the direct call".to_owned());
        if 2 * ratios.len() <= self.rounds.len() {
            return Err(few());
        }
        let relative = OverRounds::of(ratios).ok_or_else(few)?;
        let absolute = OverRounds::of(values).ok_or_else(few)?;
        Ok(Figures { relative, absolute })
    }
}

/// Measures all ways that this host allows, and calls `done` after each sample. An interrupt ends
/// the measurement after the current sample. Unfinished rounds do not count.
///
/// # Errors
///
/// If a lock fails to exclude, which means that the harness is broken.
pub fn measure(effort: CallPathEffort, done: &mut (dyn FnMut() + Send)) -> Result<Rounds, String> {
    measure_with(effort, &CHOICE, &System::default(), done)
}

/// Does the same as [`measure`], but with a given choice of kind and a given source of counters.
///
/// # Errors
///
/// Same as for [`measure`].
pub fn measure_with(
    effort: CallPathEffort,
    choice: &Choice,
    source: &dyn Source,
    done: &mut (dyn FnMut() + Send),
) -> Result<Rounds, String> {
    // Use a separate thread, so the caller's CPU affinity does not change.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| on_one_cpu(effort, choice, source, done));
        thread.join().unwrap_or_else(|_| Err("the measuring thread panicked".to_owned()))
    })
}

fn on_one_cpu(
    effort: CallPathEffort,
    choice: &Choice,
    source: &dyn Source,
    done: &mut dyn FnMut(),
) -> Result<Rounds, String> {
    let pinned = Cpus::allowed().all().first().is_some_and(|cpu| pin(*cpu));
    let ways = Ways::of(choice);
    let (mut there, mut refused) = (Vec::new(), Vec::new());
    for way in Way::ALL {
        match ways.there_is(way) {
            Ok(()) => there.push(way),
            Err(reason) => refused.push((way, reason)),
        }
    }
    let times = sections_in(effort.window, &ways);
    let share = LONGEST_CALL.as_secs_f64() / effort.window.as_secs_f64();
    let at_once = ((times as f64 * share) as u64).clamp(1, times);
    let mut orders = Orders::new(there.len());
    let mut rounds = Vec::new();
    'rounds: for _ in 0..effort.repeats {
        let mut round = Vec::new();
        for &index in orders.next_round() {
            if jobs::interrupted() {
                break 'rounds;
            }
            let way = there[index];
            let Some(sample) = sample(&ways, way, (times, at_once), source)? else { break 'rounds };
            round.push((way, sample));
            done();
        }
        rounds.push(round);
    }
    Ok(Rounds { kind: ways.kind, times, pinned, refused, rounds })
}

/// Approximate time that a way runs between two checks for an interrupt.
const LONGEST_CALL: Duration = Duration::from_millis(50);

/// Returns the approximate number of critical sections that the direct call performs in this time.
fn sections_in(window: Duration, ways: &Ways) -> u64 {
    const MOST: u64 = 1 << 40;
    let enough = window.min(LONGEST_CALL * 4) / 8;
    let mut section = new_section();
    let mut times: u64 = 1000;
    loop {
        let begin = Instant::now();
        // SAFETY: the section is new, and only these ways use it.
        unsafe { ways.run(Way::Direct, &mut section, times) };
        let elapsed = begin.elapsed();
        if elapsed >= enough || times >= MOST {
            let scale = window.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
            return ((times as f64 * scale) as u64).clamp(1, MOST);
        }
        times *= 2;
    }
}

/// Runs one round of one way: a short warm-up, and then the counted sections, in batches. Returns
/// `None` after an interrupt.
fn sample(
    ways: &Ways,
    way: Way,
    (times, at_once): (u64, u64),
    source: &dyn Source,
) -> Result<Option<Sample>, String> {
    let mut section = new_section();
    let mut counters = source.open();
    let warm_up = times.div_ceil(20);
    let mut perform = |mut left: u64| {
        while left > 0 && !jobs::interrupted() {
            let now = left.min(at_once);
            // SAFETY: the section is new, and only these ways use it.
            unsafe { ways.run(way, &mut section, now) };
            left -= now;
        }
    };
    perform(warm_up);
    counters.start();
    let begin = Instant::now();
    perform(times);
    let elapsed = begin.elapsed();
    let reading = counters.stop();
    if jobs::interrupted() {
        return Ok(None);
    }
    if section.count != times + warm_up {
        return Err(format!("{}: {} sections of {times} were done", way.name(), section.count));
    }
    Ok(Some(Sample {
        nanoseconds: elapsed.as_secs_f64() * 1e9 / times as f64,
        counted: Counted::of(&[reading], times),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Recorded;

    const BRIEF: CallPathEffort = CallPathEffort { window: Duration::from_micros(200), repeats: 6 };

    fn measured(counters: &str) -> Rounds {
        let source = Recorded::parse(counters).unwrap();
        measure_with(BRIEF, &CHOICE, &source, &mut || {}).unwrap()
    }

    #[test]
    fn the_direct_call_is_a_hundred_per_cent_of_itself() {
        let rounds = measured("cycles error 2\n");
        assert_eq!(rounds.finished(), BRIEF.repeats);
        let direct = rounds.figures(Way::Direct, CallPathMetric::Wallclock).unwrap();
        let OverRounds { measured, rounds, .. } = direct.relative;
        assert_eq!(rounds, vec![100.0; BRIEF.repeats]);
        assert_eq!((measured.ci_low, measured.ci_high), (100.0, 100.0));
        assert!(direct.absolute.measured.ci_low > 0.0);
    }

    #[test]
    fn every_way_is_measured_in_every_round_or_says_why_not() {
        let rounds = measured("cycles error 2\n");
        for way in Way::ALL {
            match rounds.figures(way, CallPathMetric::Wallclock) {
                Ok(found) => {
                    for OverRounds { measured, .. } in [&found.relative, &found.absolute] {
                        let Measured { value, ci_low, ci_high, samples } = *measured;
                        assert_eq!(samples, BRIEF.repeats);
                        assert!(ci_low <= value && value <= ci_high && value > 0.0, "{found:?}");
                    }
                }
                Err(reason) => {
                    assert!(matches!(way, Way::Patched | Way::Nested), "{reason}");
                    let here = ["refused here: ", "not available here: "];
                    assert!(here.iter().any(|begin| reason.starts_with(begin)), "{reason}");
                }
            }
        }
    }

    #[test]
    fn counters_that_are_not_there_say_why() {
        let rounds = measured("host paranoid 4 unit yes virtualised no\ncycles error 13\n");
        for metric in
            CallPathMetric::ALL.into_iter().filter(|metric| *metric != CallPathMetric::Wallclock)
        {
            let reason = rounds.figures(Way::Inlined, metric).unwrap_err();
            assert!(reason.starts_with("not available here: "), "{reason}");
        }
        let cycles = rounds.figures(Way::Inlined, CallPathMetric::ALL[0]).unwrap_err();
        assert!(cycles.contains("kernel.perf_event_paranoid is 4"), "{cycles}");
    }

    #[test]
    fn rates_are_of_the_counters_and_what_was_not_seen_has_no_ratio() {
        let rounds = measured(
            "cycles 4000 1 1\ninstructions 1000 1 1\ncache_references 50 1 1\ncache_misses 0 1 1\n\
             branches 100 1 1\nbranch_misses 10 1 1\n",
        );
        let metric = |name: &str| {
            let of = CallPathMetric::ALL.into_iter().find(|metric| metric.name() == name).unwrap();
            rounds.figures(Way::Indirect, of)
        };
        assert_eq!(metric("cpi").unwrap().absolute.measured.value, 4.0);
        // The sums are divided among rounds, so the median of quotients is not exact to the last
        // bit.
        let rate = metric("branch-miss-rate").unwrap().absolute.measured.value;
        assert!((rate - 0.1).abs() < 1e-12);
        // All ways get the same reading, so all are equal.
        assert_eq!(metric("cpu-cycles").unwrap().relative.measured.value, 100.0);
        for none in ["cache-misses", "cache-miss-rate"] {
            let reason = metric(none).unwrap_err();
            assert!(
                reason.ends_with("it was not seen in most rounds of the direct call"),
                "{reason}"
            );
        }
    }
}
