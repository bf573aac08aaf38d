//! Counts of processor events, and the sources that read them.

use lockyard_results::details::CountersDetail;

/// Event to count, for a thread in user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Unhalted core cycles.
    Cycles,
    /// Retired instructions.
    Instructions,
    /// References to the last-level cache, as defined by the operating system.
    CacheReferences,
    /// References that missed the last-level cache.
    CacheMisses,
    /// Retired branches, including calls and returns.
    Branches,
    /// Mispredicted branches.
    BranchMisses,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 6] = [
        Event::Cycles,
        Event::Instructions,
        Event::CacheReferences,
        Event::CacheMisses,
        Event::Branches,
        Event::BranchMisses,
    ];

    /// Returns the name in results and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Event::Cycles => "cycles",
            Event::Instructions => "instructions",
            Event::CacheReferences => "cache_references",
            Event::CacheMisses => "cache_misses",
            Event::Branches => "branches",
            Event::BranchMisses => "branch_misses",
        }
    }
}

/// Reading of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Number of events while the counter counted.
    pub value: u64,
    /// Nanoseconds during which the counter was enabled.
    pub enabled: u64,
    /// Nanoseconds during which the counter actually counted. This is less than `enabled` if there
    /// are more events than hardware counters.
    pub running: u64,
}

impl Count {
    /// Count extrapolated to the whole time; `None` if the counter never ran.
    fn scaled(self) -> Option<f64> {
        let Count { value, enabled, running } = self;
        match running {
            0 => None,
            _ => Some(value as f64 * (enabled as f64 / running as f64)),
        }
    }
}

/// Readings of one thread's counters. A missing counter has a reason instead.
pub type Reading = Vec<(Event, Result<Count, String>)>;

/// Source of counters.
pub trait Source: Send + Sync {
    /// Opens counters for the calling thread, in the stopped state.
    fn open(&self) -> Box<dyn Counters>;
}

/// Counters of a thread.
pub trait Counters {
    /// Starts counting.
    fn start(&mut self);
    /// Stops counting, and reads the counters.
    fn stop(&mut self) -> Reading;
}

/// Checks that at least one counter is available.
///
/// # Errors
///
/// The reason why none is available, as a sentence without a full stop.
pub fn available(source: &dyn Source) -> Result<(), String> {
    let mut counters = source.open();
    counters.start();
    let reading = counters.stop();
    if reading.iter().any(|(_, count)| count.is_ok()) {
        return Ok(());
    }
    let reason = reading.into_iter().find_map(|(_, count)| count.err());
    Err(reason.unwrap_or_else(|| "there is no counter".to_owned()))
}

/// Combined counts of the threads of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Number of each event per operation, or the reason why it is unknown.
    pub per_operation: Vec<(Event, Result<f64, String>)>,
    /// True if a counter counted only for part of the time, so its count is extrapolated.
    pub extrapolated: bool,
}

impl Counted {
    /// Combines the readings of all threads, which together performed `operations` operations.
    pub fn of(threads: &[Reading], operations: u64) -> Counted {
        let mut extrapolated = false;
        let mut one = |event: Event| -> Result<f64, String> {
            let mut sum = 0.0;
            for reading in threads {
                let found = reading.iter().find(|(of, _)| *of == event).map(|(_, count)| count);
                let count = match found {
                    Some(Ok(count)) => *count,
                    Some(Err(reason)) => return Err(reason.clone()),
                    None => return Err("it was not counted".to_owned()),
                };
                let busy = "the processor's counters were all in use by others";
                sum += count.scaled().ok_or(busy)?;
                extrapolated |= count.running < count.enabled;
            }
            match operations {
                0 => Err("there was no operation".to_owned()),
                _ => Ok(sum / operations as f64),
            }
        };
        let per_operation = Event::ALL.map(|event| (event, one(event))).to_vec();
        Counted { per_operation, extrapolated }
    }

    /// Returns the details of a row.
    pub fn detail(&self) -> CountersDetail {
        let number = |event: Event| {
            let found = self.per_operation.iter().find(|(of, _)| *of == event);
            found.and_then(|(_, value)| value.as_ref().ok().copied())
        };
        let cycles = number(Event::Cycles);
        let instructions = number(Event::Instructions);
        let per_cycle = cycles.filter(|cycles| *cycles > 0.0).zip(instructions);
        CountersDetail {
            cycles_per_operation: cycles,
            instructions_per_operation: instructions,
            instructions_per_cycle: per_cycle.map(|(cycles, instructions)| instructions / cycles),
            cache_references_per_operation: number(Event::CacheReferences),
            cache_misses_per_operation: number(Event::CacheMisses),
            branches_per_operation: number(Event::Branches),
            branch_misses_per_operation: number(Event::BranchMisses),
            extrapolated: self.extrapolated,
        }
    }

    /// Returns the reasons for missing counts; `None` if no count is missing.
    pub fn missing(&self) -> Option<String> {
        let reason = |(event, value): &(Event, Result<f64, String>)| match value {
            Ok(_) => None,
            Err(reason) => Some(format!("{}: {reason}", event.name())),
        };
        let missing: Vec<String> = self.per_operation.iter().filter_map(reason).collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::System;

    fn count(value: u64, enabled: u64, running: u64) -> Result<Count, String> {
        Ok(Count { value, enabled, running })
    }

    #[test]
    fn counts_are_of_an_operation_and_for_all_the_time() {
        let threads = [
            vec![(Event::Cycles, count(1000, 10, 10)), (Event::Instructions, count(300, 10, 5))],
            vec![(Event::Cycles, count(3000, 10, 10)), (Event::Instructions, count(200, 10, 10))],
        ];
        let counted = Counted::of(&threads, 100);
        assert_eq!(counted.per_operation[0], (Event::Cycles, Ok(40.0)));
        assert_eq!(counted.per_operation[1], (Event::Instructions, Ok(8.0)), "600 + 200");
        assert!(counted.extrapolated);
        assert_eq!(counted.detail().instructions_per_cycle, Some(0.2));
        let missing = counted.missing().expect("events are missing");
        assert!(missing.contains("cache_misses: it was not counted"), "{missing}");
    }

    #[test]
    fn a_counter_that_never_counted_is_not_0() {
        let counted = Counted::of(&[vec![(Event::Cycles, count(0, 10, 0))]], 100);
        assert!(counted.per_operation[0].1.as_ref().unwrap_err().contains("in use by others"));
        let counted = Counted::of(&[vec![(Event::Cycles, count(7, 10, 10))]], 0);
        assert!(counted.per_operation[0].1.is_err());
    }

    #[test]
    fn this_host_counts_or_says_why_not() {
        match available(&System::default()) {
            Ok(()) => {}
            Err(reason) => assert!(reason.len() > 20 && !reason.ends_with('.'), "{reason}"),
        }
    }
}
