//! Units of a semaphore when the replay begins.
//!
//! A recording has a semaphore's value after each take, so it is known at one moment. But threads
//! also have units in hand: they took them before their windows, and give them later. In the
//! replay a thread begins just before it takes something, with nothing in hand. So what is in hand
//! belongs to the beginning, too. This holds for what a thread takes here and gives elsewhere,
//! like the places of a queue.

use super::ends::End;
use super::facts::{Fact, LEAST, What, alike, count_at};
use crate::recording::Met;
use lockyard_scenarios::MeetingKind;
use std::collections::{HashMap, HashSet};

/// Decides about a semaphore.
pub(super) fn semaphore(facts: &[Fact], place: u32) -> Result<End, &'static str> {
    let takes = count_at(facts, place, |what| matches!(what, Met::Takes { .. }));
    let gives = count_at(facts, place, |what| what == Met::Gives);
    if takes < LEAST {
        return Err("too few takes are recorded");
    }
    if !alike(takes as f64, gives as f64) {
        return Err("units that are given and taken do not match");
    }
    // Threads that take any unit: what others give was in nobody's hand.
    let takers: HashSet<u32> = facts
        .iter()
        .filter(|fact| matches!(fact.what, What::Met { what: Met::Takes { .. }, .. }))
        .map(|fact| fact.thread)
        .collect();
    let parts = facts.split(|fact| matches!(fact.what, What::Gap));
    let found: Vec<f64> = parts.filter_map(|part| at_the_beginning(part, place, &takers)).collect();
    let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
    Ok(End::by(MeetingKind::Kept { units: mean.round() as u64 }, 1.0))
}

/// Returns the units that there are when all threads of a part without a gap are in windows: those
/// of the semaphore, and those in hand.
fn at_the_beginning(part: &[Fact], place: u32, takers: &HashSet<u32>) -> Option<f64> {
    let mut begins: HashMap<u32, u64> = HashMap::new();
    for fact in part {
        if let What::Begins = fact.what {
            begins.entry(fact.thread).or_insert(fact.time);
        }
    }
    let begin = begins.into_values().max().unwrap_or(0);
    let (mut given, mut in_hand) = (0.0, 0.0);
    let mut value = None;
    let mut have_taken: HashSet<u32> = HashSet::new();
    for fact in part.iter().filter(|fact| fact.time >= begin) {
        let What::Met { meeting, what, .. } = fact.what else { continue };
        match what {
            Met::Takes { left } => {
                if meeting == place && value.is_none() {
                    value = Some((left as f64 + 1.0 - given).max(0.0));
                }
                have_taken.insert(fact.thread);
            }
            Met::Gives if meeting == place => {
                given += 1.0;
                let has = takers.contains(&fact.thread) && !have_taken.contains(&fact.thread);
                in_hand += f64::from(u8::from(has));
            }
            _ => {}
        }
    }
    value.map(|value| value + in_hand)
}
