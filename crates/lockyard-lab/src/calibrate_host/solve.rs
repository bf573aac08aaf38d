//! Latencies of a host's machine file. They are chosen to make each simulated hand-over, at every
//! distance, as long as the measured one.
//!
//! The numbers are solved for one by one, from near to far. Each simulated hand-over then depends
//! on only one unknown number.
//!
//! All numbers except the scale are whole cycles, and so are the latencies that the scale
//! multiplies. A simulated figure therefore changes in steps. The search takes the nearest of the
//! values that it tried, and reports the remaining error.

use super::draft::{Draft, Origin, Scale, figure_text};
use super::inputs::{self, Taken, round4};
use super::{LineDistance, Measurements, Pair, kernel, layout, line_spread};
use lockyard_predict::machine::known_figures;
use lockyard_results::row::Measured;
use lockyard_sim::Machine;

/// Maximum error of a hand-over. If the error is larger, no value can reach the measured hand-over.
const TOLERANCE: f64 = 0.05;

/// Errors that differ by less than this count as equal.
const ALIKE: f64 = 0.01;

/// Minimum and maximum of the scale.
const SCALES: (f64, f64) = (0.05, 20.0);

/// Maximum number of cycles for a turn between siblings. `MOST_LEG` is the maximum for a leg.
const MOST_TURN: f64 = 500.0;
/// Number of short turns to try one by one. With short turns a ping-pong does not grow steadily,
/// because some of them cause more branch mispredictions.
const SHORT_TURNS: u32 = 64;
const MOST_LEG: f64 = 5000.0;

/// Number of bisection steps, which suffices for all of these ranges.
const STEPS: usize = 24;

/// A host converted to a machine.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Resulting machine.
    pub machine: Machine,
    /// Text of its file.
    pub file: String,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Family whose constants the file uses, if it belongs to another vendor, with a note that says
    /// so.
    pub borrowed: Option<(String, String)>,
    draft: Draft,
}

impl Calibrated {
    /// Returns the host with additional notes in the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read back.
    pub fn with_notes(mut self, notes: Vec<String>) -> Result<Calibrated, String> {
        self.draft.notes.extend(notes);
        (self.machine, self.file) = (self.draft.machine()?, self.draft.text());
        Ok(self)
    }
}

/// Makes a machine from the measurements. If no name is given, it derives one.
///
/// # Errors
///
/// If no valid machine file exists for them: the clock or the cost of an atomic addition is
/// missing, a number is out of range, or a measured hand-over cannot be reached.
pub fn calibrate(measurements: &Measurements, name: Option<&str>) -> Result<Calibrated, String> {
    let taken = Taken::of(measurements)?;
    let mut draft = inputs::begin(measurements, &taken, name)?;
    kernel::set(&mut draft, measurements);
    // Check the measurements before solving for any latency.
    draft.machine()?;
    let mut notes = Vec::new();
    line_spread::jitter(&mut draft, measurements, &mut notes)?;
    scale(&mut draft, measurements, &taken, &mut notes)?;
    exclusive_loads(&mut draft, measurements)?;
    sibling_turn(&mut draft, measurements, &taken, &mut notes)?;
    leg(&mut draft, measurements, LineDistance::Socket, "complex_leg", &mut notes)?;
    // The look-up is part of a hand-over between sockets.
    directory(&mut draft, measurements)?;
    leg(&mut draft, measurements, LineDistance::Remote, "socket_leg", &mut notes)?;
    let machine = draft.machine()?;
    let is_of_family = |p: &&lockyard_sim::Parameter| {
        p.source.as_ref().is_some_and(|source| source.starts_with("family "))
    };
    let of_family = machine.parameters().iter().filter(is_of_family).count();
    let is_assumed = |p: &&lockyard_sim::Parameter| p.assumed.is_some() && !is_of_family(p);
    let assumed = machine.parameters().iter().filter(is_assumed).count();
    let all = machine.parameters().len();
    notes.push(format!(
        "of the file's {all} numbers {assumed} are assumed, {of_family} are the family's ({}; \
         the latencies times {}), and {} were measured here or follow from the layout; relative: \
         {}",
        draft.family,
        draft.scale.factor,
        all - assumed - of_family,
        taken.describe()
    ));
    Ok(Calibrated { machine, file: draft.text(), notes, borrowed: taken.borrowed(), draft })
}

/// Returns a hardware thread of the machine at this distance from thread 0, if there is one.
pub(super) fn place_at(machine: &Machine, distance: LineDistance) -> Option<usize> {
    let (complex, cores) = (machine.cores_per_complex(), machine.cores());
    let socket = cores / machine.sockets();
    match distance {
        LineDistance::Core => (machine.threads_per_core() > 1).then_some(cores),
        LineDistance::Complex => (complex > 1).then_some(1),
        LineDistance::Socket => (socket > complex).then_some(complex),
        LineDistance::Remote => (machine.sockets() > 1).then_some(socket),
    }
}

/// Simulates the hand-over at this distance.
fn hand_over(draft: &Draft, distance: LineDistance) -> Result<f64, String> {
    let machine = draft.machine()?;
    let place = place_at(&machine, distance);
    place
        .and_then(|place| known_figures::ping_pong(&machine, place, 0))
        .ok_or_else(|| format!("the machine has no {}", layout::describe(distance)))
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    value: f64,
    figure: f64,
}

impl Found {
    /// Returns the error of the figure, as a share of `target`.
    fn miss(&self, target: f64) -> f64 {
        (self.figure / target - 1.0).abs()
    }
}

/// Returns the value between `low` and `high` for which `figure` is nearest to `target`. The figure
/// must grow with the value, except for steps. `round` returns the nearest allowed value.
fn nearest(
    (mut low, mut high): (f64, f64),
    target: f64,
    round: impl Fn(f64) -> f64,
    mut figure: impl FnMut(f64) -> Result<f64, String>,
) -> Result<Found, String> {
    let mut try_one = |value: f64| -> Result<Found, String> {
        let value = round(value);
        Ok(Found { value, figure: figure(value)? })
    };
    let mut best = try_one(low)?;
    if best.figure >= target {
        return Ok(best);
    }
    let mut other = try_one(high)?;
    for _ in 0..=STEPS {
        if other.miss(target) < best.miss(target) {
            best = other;
        }
        // Use the geometric mean if possible, because the ranges span several orders of magnitude.
        let middle = if low > 0.0 { (low * high).sqrt() } else { (low + high) / 2.0 };
        if round(middle) == round(low) || round(middle) == round(high) {
            break;
        }
        other = try_one(middle)?;
        if other.figure < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    if other.miss(target) < best.miss(target) {
        best = other;
    }
    Ok(best)
}

/// Returns the middle of the longest run of values whose error is close to the minimum. A value at
/// the edge of a jump is less reliable, and so is a single good value among bad ones.
///
/// # Panics
///
/// If there are no values.
fn middle(found: &[Found], target: f64) -> Found {
    let least = found.iter().map(|found| found.miss(target)).fold(f64::INFINITY, f64::min);
    let good = |found: &Found| found.miss(target) <= least + ALIKE;
    let runs = found.chunk_by(|a, b| good(a) == good(b)).filter(|run| good(&run[0]));
    let longest = runs.max_by_key(|run| run.len()).expect("the one that misses least");
    longest[longest.len() / 2]
}

/// Describes a hand-over that was solved for, as the source of a number.
fn solved(
    measurements: &Measurements,
    distance: LineDistance,
    measured: Measured,
    found: Found,
) -> String {
    format!(
        "set so that the simulated ping-pong between {} is {:.2} ns; {}: {}",
        layout::describe(distance),
        found.figure,
        measurements.origin(),
        figure_text(measured, "ns")
    )
}

/// Adds a note that a hand-over cannot be reached, or a note on the error of the simulated one.
fn judge(
    what: &str,
    distance: LineDistance,
    measured: Measured,
    found: Found,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let miss = found.figure / measured.value - 1.0;
    if miss.abs() > TOLERANCE {
        return Err(format!(
            "the ping-pong between {} was measured as {:.1} ns; \
             the nearest that any `{what}` gives is {:.1} ns, so no machine file can be made",
            layout::describe(distance),
            measured.value,
            found.figure
        ));
    }
    if miss.abs() > 0.01 {
        notes.push(format!(
            "no whole number of cycles comes nearer to the ping-pong between {} than {:+.1} %",
            layout::describe(distance),
            miss * 100.0
        ));
    }
    Ok(())
}

fn scale(
    draft: &mut Draft,
    measurements: &Measurements,
    taken: &Taken,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let distance = LineDistance::Complex;
    let Some(measured) = measurements.pair(Pair::HandOver, distance) else {
        notes.push(format!(
            "the ping-pong between {} was not measured, so `scale` is assumed, \
             and with it everything that the file says about CPUs that share a line",
            layout::describe(distance)
        ));
        return Ok(());
    };
    let unknown = draft.scale.origin.clone();
    let found = nearest(SCALES, measured.value, round4, |scale| {
        draft.scale = Scale { factor: scale, origin: unknown.clone() };
        hand_over(draft, distance)
    })?;
    judge("scale", distance, measured, found, notes)?;
    let source = solved(measurements, distance, measured, found);
    let origin = if taken.member {
        Origin::Source(source)
    } else {
        let assumed = "that this processor speaks the family's protocol, as its nearest relative,";
        Origin::Both(source, format!("{assumed} {}", taken.describe()))
    };
    draft.scale = Scale { factor: found.value, origin };
    draft.is_input("ping_pong_same_socket");
    Ok(())
}

/// Decides whether a load fetches the line exclusively if a locked operation on that line follows.
/// The test case is two cores that change a word with a load and a compare-exchange. The
/// alternative that is nearer to the measurement wins.
fn exclusive_loads(draft: &mut Draft, measurements: &Measurements) -> Result<(), String> {
    let Some(measured) = measurements.pair(Pair::CompareExchange, LineDistance::Complex) else {
        return Ok(());
    };
    let unknown = Origin::Assumed("while it is solved for".to_owned());
    let mut figures = [0.0; 2];
    for (value, figure) in [0.0, 1.0].into_iter().zip(&mut figures) {
        draft.set("protocol", "exclusive_loads", value, unknown.clone());
        let machine = draft.machine()?;
        let Some(place) = place_at(&machine, LineDistance::Complex) else { return Ok(()) };
        *figure = known_figures::rate(&machine, place, true);
    }
    let miss = |figure: f64| (figure / measured.value).ln().abs();
    let value = if miss(figures[1]) < miss(figures[0]) { 1.0 } else { 0.0 };
    let source = format!(
        "chosen by the time that two cores take for an addition by compare-exchange: \
         simulated {:.1} ns with 0, {:.1} ns with 1; {}: {}",
        figures[0],
        figures[1],
        measurements.origin(),
        figure_text(measured, "ns")
    );
    draft.set("protocol", "exclusive_loads", value, Origin::Source(source));
    draft.is_input("compare_exchange_two_threads");
    Ok(())
}

/// Solves for the turn between siblings, if the relative has such a number. If training tables show
/// that there is none, the siblings' hand-over only serves as a check.
fn sibling_turn(
    draft: &mut Draft,
    measurements: &Measurements,
    taken: &Taken,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let distance = LineDistance::Core;
    let Some(measured) = measurements.pair(Pair::HandOver, distance) else { return Ok(()) };
    if taken.number("cycles.sibling_turn") == 0.0 {
        return Ok(());
    }
    let origin = taken.assumed("cycles.sibling_turn");
    let mut figure = |turn: f64| {
        draft.set("cycles", "sibling_turn", turn, origin.clone());
        hand_over(draft, distance)
    };
    let target = measured.value;
    let longer = (f64::from(SHORT_TURNS), MOST_TURN);
    let longer = nearest(longer, target, f64::round, &mut figure)?;
    let short = (0..SHORT_TURNS)
        .map(|turn| Ok(Found { value: f64::from(turn), figure: figure(f64::from(turn))? }))
        .collect::<Result<Vec<Found>, String>>()?;
    let short = middle(&short, target);
    let found = if short.miss(target) < longer.miss(target) { short } else { longer };
    if found.miss(target) > TOLERANCE {
        notes.push(format!(
            "no `sibling_turn` gives the ping-pong between threads of a core, {:.1} ns: \
             {} cycles give {:.1} ns",
            measured.value, found.value, found.figure
        ));
    } else {
        draft.is_input("ping_pong_same_core");
    }
    let source = solved(measurements, distance, measured, found);
    draft.set("cycles", "sibling_turn", found.value, Origin::Source(source));
    Ok(())
}

fn leg(
    draft: &mut Draft,
    measurements: &Measurements,
    distance: LineDistance,
    name: &'static str,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let Some(measured) = measurements.pair(Pair::HandOver, distance) else { return Ok(()) };
    let unknown = Origin::Assumed("while it is solved for".to_owned());
    let found = nearest((0.0, MOST_LEG), measured.value, f64::round, |leg| {
        draft.set("cycles", name, leg, unknown.clone());
        hand_over(draft, distance)
    })?;
    let source = solved(measurements, distance, measured, found);
    draft.set("cycles", name, found.value, Origin::Source(source));
    // The CPUs are farther apart but not slower. Virtual machines show this, because their CPUs
    // move.
    if found.value == 0.0 && found.figure > measured.value {
        notes.push(format!(
            "the ping-pong between {} takes {:.1} ns, which is no longer than the nearer one: \
             `{name}` is 0, and the simulated ping-pong takes {:.1} ns",
            layout::describe(distance),
            measured.value,
            found.figure
        ));
        return Ok(());
    }
    judge(name, distance, measured, found, notes)?;
    draft.is_input(&format!("ping_pong_{}", layout::name(distance)));
    Ok(())
}

/// Sets the additional cost of a line whose home is at the loading CPU.
fn directory(draft: &mut Draft, measurements: &Measurements) -> Result<(), String> {
    let homed = |what| measurements.pair(what, LineDistance::Remote);
    let (Some(reader), Some(writer)) = (homed(Pair::LoadHomedReader), homed(Pair::LoadHomedWriter))
    else {
        return Ok(());
    };
    let more = (reader.value - writer.value).max(0.0);
    let cycles = draft.machine()?.cycles(more).min(MOST_LEG as u64);
    let source = format!(
        "{}: a load of a line that the other socket modified \
         takes {:.1} ns if it is at home with the reader and {:.1} ns if with the writer",
        measurements.origin(),
        reader.value,
        writer.value
    );
    draft.set("cycles", "directory", cycles as f64, Origin::Source(source));
    draft.is_input("load_modified_remote_homed_reader");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_staircase_the_nearest_step_is_taken() {
        let stairs = |x: f64| Ok((x / 10.0).floor() * 10.0 + 5.0);
        let found = nearest((0.0, 1000.0), 333.0, f64::round, stairs).unwrap();
        assert_eq!(found.figure, 335.0);
        assert_eq!(nearest((0.0, 1000.0), 2.0, f64::round, stairs).unwrap().value, 0.0);
        assert_eq!(nearest((0.0, 1000.0), 1e6, f64::round, stairs).unwrap().value, 1000.0);
        let found = nearest((0.05, 20.0), 7.5, round4, |x| Ok(x * 5.0)).unwrap();
        assert!((found.value - 1.5).abs() < 2e-4, "{found:?}");
        let error = nearest((0.0, 1.0), 1.0, round4, |_| Err("no".to_owned()));
        assert_eq!(error, Err("no".to_owned()));
    }

    #[test]
    fn of_values_that_are_alike_the_middle_of_the_most_in_a_row_is_taken() {
        let of = |figures: &[f64], target: f64| {
            let found = figures.iter().enumerate();
            let found: Vec<Found> =
                found.map(|(i, &figure)| Found { value: i as f64, figure }).collect();
            middle(&found, target).value
        };
        // Similar to simulated turns of siblings: a plateau with a few isolated values.
        let turns = [1.0, 1.5, 5.19, 5.19, 5.19, 5.2, 5.19, 2.7, 5.19, 5.6];
        assert_eq!(of(&turns, 5.0), 4.0);
        assert_eq!(of(&turns, 2.6), 7.0);
        assert_eq!(of(&turns, 9.0), 9.0);
        assert_eq!(of(&turns, 0.5), 0.0);
    }
}
