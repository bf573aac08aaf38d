//! What ends a wait for a condition, by the sections that wait for it and the signals.
//!
//! Each signal gives as many units as sections follow from it, on average. Where that is one but
//! for chance, it is exactly one: otherwise a queue of the replay would slowly fill or drain.

use super::ends::{Beginnings, End};
use super::facts::{Fact, HARDLY, LEAST, Section, What, alike};
use crate::recording::Met;
use lockyard_scenarios::MeetingKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Largest difference from one unit that is chance: windows end between a signal and what follows.
const CHANCE: f64 = 0.05;

/// Counts of a condition.
#[derive(Clone, Debug, Default)]
struct Counts {
    signals: usize,
    broadcasts: usize,
    /// Signals that found no waiter.
    in_vain: usize,
    /// Sections that waited, and that passed.
    waited: usize,
    passed: usize,
    /// Passes, and waits, of threads that were the last to signal.
    own: [usize; 2],
    takers: BTreeSet<u32>,
    signals_by_takers: usize,
    /// Sections of other sites, by site.
    others: BTreeMap<Section, usize>,
}

/// Decides about a condition, by the sections that wait for it.
pub(super) fn condition(
    facts: &[Fact],
    place: u32,
    of: &[Section],
    gives: &mut HashMap<Section, Vec<u32>>,
) -> Result<End, &'static str> {
    let counts = counts(facts, place, of);
    let done = (counts.waited + counts.passed) as f64;
    let signals = counts.signals as f64;
    if counts.waited < LEAST || counts.signals == 0 {
        return Err("too few waits are recorded");
    }
    let threads = counts.takers.len() as f64;
    let all = counts.broadcasts as f64 >= signals / 2.0;
    let rounds = counts.passed as f64;
    let is_round = counts.broadcasts == counts.signals && alike(rounds, signals);
    if is_round && threads > 1.0 && alike(done / rounds, threads) && !alike(done, signals) {
        return Ok(End::barrier(counts.takers));
    }
    let [own_passes, own_waits] = counts.own;
    if own_passes + own_waits >= LEAST
        && (own_passes as f64) < HARDLY * (own_passes + own_waits) as f64
        && counts.signals_by_takers as f64 > 0.8 * signals
    {
        return Err("threads take turns");
    }
    let in_vain = counts.in_vain as f64;
    if rounds < HARDLY * done && in_vain > 0.2 * signals && !alike(done, signals) {
        return Ok(End::by(MeetingKind::Lost, 1.0));
    }
    let units = done / signals;
    if (units - 1.0).abs() <= CHANCE {
        return Ok(kept(facts, place, of, 1.0, &counts));
    }
    if units > 1.0 && !all {
        // Some sections that make the condition true do not signal.
        let lock = of[0].0;
        let apart = |count: usize| (count as f64 / done).ln().abs();
        let givers = counts.others.iter().filter(|((of, _), _)| *of == lock);
        let givers = givers.filter(|(_, count)| alike(**count as f64, done));
        let giver = givers.min_by(|a, b| apart(*a.1).total_cmp(&apart(*b.1)));
        if let Some((giver, _)) = giver {
            gives.entry(*giver).or_default().push(u32::MAX);
            return Ok(End::by(MeetingKind::Kept { units: 0 }, 0.0));
        }
        if !alike(done, signals) {
            return Err("signals and sections that wait do not match");
        }
    }
    Ok(kept(facts, place, of, units, &counts))
}

fn counts(facts: &[Fact], place: u32, of: &[Section]) -> Counts {
    let mut counts = Counts::default();
    let mut waiting: BTreeSet<u32> = BTreeSet::new();
    let mut last_signal = None;
    for fact in facts {
        let signals = matches!(fact.at(place), Some(Met::Signals | Met::Broadcasts));
        match fact.what {
            What::Gap => {
                waiting.clear();
                last_signal = None;
            }
            What::Met { what, .. } if signals => {
                counts.signals += 1;
                counts.broadcasts += usize::from(what == Met::Broadcasts);
                counts.in_vain += usize::from(waiting.is_empty());
                counts.signals_by_takers += usize::from(counts.takers.contains(&fact.thread));
                last_signal = Some(fact.thread);
            }
            What::Met { meeting, what: Met::Waits, .. } if meeting == place => {
                waiting.insert(fact.thread);
                counts.own[1] += usize::from(last_signal == Some(fact.thread));
            }
            What::WaitEnds => drop(waiting.remove(&fact.thread)),
            What::Section { section, waited } if of.contains(&section) => {
                counts.takers.insert(fact.thread);
                counts.waited += usize::from(waited);
                counts.passed += usize::from(!waited);
                let own = !waited && last_signal == Some(fact.thread);
                counts.own[0] += usize::from(own);
            }
            What::Section { section, .. } => *counts.others.entry(section).or_default() += 1,
            What::Begins | What::Met { .. } => {}
        }
    }
    counts
}

/// Returns the end of waits by units that are kept.
///
/// A thread that waits shows that there is no unit. So their number is known before and after it.
fn kept(facts: &[Fact], place: u32, of: &[Section], units: f64, counts: &Counts) -> End {
    // Of each part without a gap: number of units since its beginning, and the least number there
    // when a thread began to wait.
    let (mut level, mut zero, mut parts): (f64, Option<f64>, Vec<Option<f64>>) =
        (0.0, None, Vec::new());
    let mut waiting: BTreeSet<u32> = BTreeSet::new();
    let mut busy: Vec<f64> = Vec::new();
    let end = [Fact { time: u64::MAX, thread: 0, what: What::Gap }];
    for fact in facts.iter().chain(&end) {
        match fact.what {
            What::Gap => {
                parts.push(zero.take().map(|zero| -zero));
                level = 0.0;
                waiting.clear();
            }
            What::Met { meeting, what, .. } if meeting == place => match what {
                Met::Waits => {
                    zero = Some(zero.unwrap_or(level).min(level));
                    waiting.insert(fact.thread);
                    busy.push(counts.takers.len() as f64 - waiting.len() as f64);
                }
                _ => level += units,
            },
            What::WaitEnds => drop(waiting.remove(&fact.thread)),
            What::Section { section, .. } if of.contains(&section) => level -= 1.0,
            _ => {}
        }
    }
    let closed = counts.signals_by_takers as f64 > 0.8 * counts.signals as f64;
    let in_hand = match closed {
        true => busy.iter().sum::<f64>() / busy.len().max(1) as f64,
        false => 0.0,
    };
    let beginnings = Some(Beginnings { lock: of[0].0, parts, in_hand });
    End { beginnings, ..End::by(MeetingKind::Kept { units: 0 }, units) }
}
