//! Checks that each measured figure has a single value. If a hand-over takes 25 ns for a while and
//! then 114 ns, no machine file can describe it.
//!
//! Virtual machines show such figures if their CPUs are siblings of a core only some of the time,
//! or if they move to another host. The check looks for three signs, with the rule of
//! [`lockyard_results::statistics::unsteady`]:
//!
//! 1. The hand-over of a distance is unsteady over time, for at least half of its pairs. A number
//!    in the file would be arbitrary, so no file is written. With `--anyway` there is a file with a
//!    warning.
//! 2. Another figure of a pair is unsteady, or the hand-overs of a distance have two modes from
//!    pair to pair. The file gets a warning.
//! 3. An earlier file for the same CPUs has a different hand-over. The file gets a warning.
//!
//! The warning is a note in the file, which every command that uses the file repeats. A change that
//! takes longer than the measurement is only found by the third sign. So the file of a virtual
//! machine always says that this may happen.

use super::{LineDistance, Measurements, Pair, PairFigure, layout};
use lockyard_results::statistics::{Unsteady, unsteady};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

/// Result of the check for a file made from the measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steadiness {
    /// Reason to refuse a file, in one line.
    pub refused: Option<String>,
    /// Notes for the file and for the user.
    pub notes: Vec<String>,
}

/// Minimum ratio of hand-overs in two files that indicates different hosts.
const ANOTHER: f64 = 1.25;

/// Checks all measured figures, both over time and from pair to pair.
pub fn steadiness(measurements: &Measurements) -> Steadiness {
    let mut found = Steadiness::default();
    let mut groups: BTreeMap<(Pair, LineDistance), Vec<&PairFigure>> = BTreeMap::new();
    for pair in &measurements.pairs {
        let distance = measurements.layout.distance(pair.tasks.0, pair.tasks.1);
        groups.entry((pair.what, distance)).or_default().push(pair);
    }
    for ((what, distance), pairs) in groups {
        let (name, between) = (what.name(), layout::describe(distance));
        let seen = pairs.iter().filter_map(|pair| Some((*pair, unsteady(&pair.series)?)));
        let seen: Vec<(&PairFigure, Unsteady)> = seen.collect();
        if let Some((pair, how)) = seen.first() {
            let cpus = measurements.layout.cpus();
            let (a, b) = (cpus[pair.tasks.0], cpus[pair.tasks.1]);
            let count = match pairs.len() {
                1 => String::new(),
                all => format!(" ({} of {all} pairs are like this)", seen.len()),
            };
            let said = format!(
                "{name} between {between} has more than one value: \
                 CPUs {a} and {b} have {how} in {} rounds{count}",
                pair.series.len()
            );
            if what == Pair::HandOver && 2 * seen.len() >= pairs.len() {
                found.refused.get_or_insert_with(|| said.clone());
            }
            found.notes.push(said);
        }
        let medians: Vec<f64> = pairs.iter().map(|pair| pair.figure.value).collect();
        // The order of pairs is not chronological, so check only for modes, not for a drift.
        if what == Pair::HandOver
            && let Some(Unsteady::Modes { modes: [low, high], .. }) = unsteady(&medians)
        {
            found.notes.push(format!(
                "{name} between {between} is {:.1} ns for {:.0} % of the pairs and {:.1} ns for \
                 the others: they are less alike than the system says",
                low.value,
                low.share * 100.0,
                high.value
            ));
        }
    }
    found
}

/// Advice if measurements are refused.
pub const ADVICE: &str = "on a virtual machine two CPUs may be siblings of a core at one time and \
     not at another: pin its virtual CPUs, or use --anyway for a file that is marked";

/// Lists the hand-overs for which an earlier file and a new one differ. Files with different
/// numbers of CPUs are not compared.
pub fn differs(earlier: &Machine, new: &Machine) -> Vec<String> {
    if earlier.hardware_threads() != new.hardware_threads() {
        return Vec::new();
    }
    let figure = |machine: &Machine, name: &str| {
        machine.checks().iter().find(|check| check.name == name)?.value.number()
    };
    let hand_overs = new.checks().iter().filter(|check| {
        let is_quantile = ["_p10", "_p90"].iter().any(|end| check.name.ends_with(end));
        check.name.starts_with("checks.ping_pong") && !is_quantile
    });
    let differs = hand_overs.filter_map(|check| {
        let (now, before) = (check.value.number()?, figure(earlier, &check.name)?);
        (now.max(before) >= now.min(before) * ANOTHER).then(|| {
            let name = check.name.trim_start_matches("checks.");
            format!(
                "an earlier calibration ({}) had {name} {before:.1} ns, this one has {now:.1} ns: \
                 the host has changed over time",
                earlier.name()
            )
        })
    });
    differs.collect()
}

/// Note in the file of a virtual machine.
pub(super) const VIRTUAL: &str = "measured on a virtual machine: which of its CPUs share a core \
     may change, and with it every hand-over; calibrate again at another time and compare";
