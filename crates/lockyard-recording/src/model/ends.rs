//! Ends of waits, as the recording decides them, and the units that there are at the beginning.

use lockyard_scenarios::MeetingKind;
use std::collections::BTreeSet;

/// End of the waits at a place in the recording.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) kind: MeetingKind,
    /// Number of units that a signal gives.
    pub(super) units: f64,
    /// Threads that come to a barrier.
    pub(super) members: BTreeSet<u32>,
    /// Units at the beginning, which other conditions of the same lock decide, too.
    pub(super) beginnings: Option<Beginnings>,
}

impl End {
    /// Returns the end of waits by signals that give this many units.
    pub(super) fn by(kind: MeetingKind, units: f64) -> End {
        End { kind, units, members: BTreeSet::new(), beginnings: None }
    }

    /// Returns the end of waits by the arrival of all these threads.
    pub(super) fn barrier(members: BTreeSet<u32>) -> End {
        End { kind: MeetingKind::Barrier, units: 0.0, members, beginnings: None }
    }
}

/// Units of a condition at the beginning of each part without a gap, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginnings {
    /// Lock of the sections that wait.
    pub(super) lock: u32,
    pub(super) parts: Vec<Option<f64>>,
    /// Units that threads have which give what they take: one each while they work.
    pub(super) in_hand: f64,
}

impl Beginnings {
    /// Returns the units at the beginning. The places of a queue and its items add up to its
    /// capacity, so that conditions of a lock are looked at in the same parts. A part shows that
    /// there are none only if a thread waits in it. Without a part that has waits for all, the
    /// largest numbers are the best bounds.
    pub(super) fn units(&self, all: &[Beginnings]) -> u64 {
        let others: Vec<&Beginnings> = all.iter().filter(|of| of.lock == self.lock).collect();
        let is_known = |part: &usize| others.iter().all(|of| of.parts[*part].is_some());
        let common: Vec<usize> = (0..self.parts.len()).filter(is_known).collect();
        let units = if common.is_empty() {
            self.parts.iter().flatten().copied().fold(0.0, f64::max)
        } else {
            let sum: f64 = common.iter().filter_map(|part| self.parts[*part]).sum();
            sum / common.len() as f64
        };
        (units.max(0.0) + self.in_hand).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Beginnings;

    #[test]
    fn the_places_and_items_of_a_queue_are_counted_at_the_same_times() {
        let of = |lock, parts: &[Option<f64>]| Beginnings {
            lock,
            parts: parts.to_vec(),
            ..Beginnings::default()
        };
        let units = |all: &[Beginnings]| all.iter().map(|of| of.units(all)).collect::<Vec<_>>();
        // The first part has hardly any items, the second one hardly any places.
        let items = of(0, &[Some(1.0), None, Some(6.0)]);
        let places = of(0, &[None, Some(1.0), Some(10.0)]);
        assert_eq!(units(&[items.clone(), places.clone()]), [6, 10]);
        // Other locks have other parts.
        assert_eq!(units(&[items, of(1, &[None, Some(1.0), None]), places]), [6, 1, 10]);
        // Nobody fills the queue while another one empties it.
        let apart = [of(0, &[Some(1.0), None, Some(3.0)]), of(0, &[None, Some(9.0), None])];
        assert_eq!(units(&apart), [3, 9]);
    }
}
