//! Text format of a recorded or hand-written reading. Each event has a line: `EVENT VALUE ENABLED
//! RUNNING` or `EVENT error NUMBER`. The first line describes the host: `host paranoid 2 unit no
//! virtualised yes`. `#` begins a comment. `cargo study counters` makes a
//! recording.

use super::{Count, Counters, Event, Reading, Source, Surroundings, why};
use std::fmt::Write;

/// A recorded reading. Every counted thread returns this same reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    events: Vec<(Event, Result<Count, i32>)>,
    host: Surroundings,
}

impl Recorded {
    /// Creates a recording from the counts and errors of a host.
    pub(super) fn new(events: Vec<(Event, Result<Count, i32>)>, host: Surroundings) -> Recorded {
        Recorded { events, host }
    }

    /// Parses a recording.
    ///
    /// # Errors
    ///
    /// The number of the first malformed line, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Recorded, String> {
        let mut host = Surroundings { paranoid: None, unit: false, virtualised: false };
        let mut events = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            let wrong = |what: &str| format!("line {}: {what}", index + 1);
            match words[..] {
                [] => {}
                ["host", "paranoid", level, "unit", unit, "virtualised", virtualised] => {
                    let yes = |word| match word {
                        "yes" => Ok(true),
                        "no" => Ok(false),
                        _ => Err(wrong("allowed: yes, no")),
                    };
                    host = Surroundings {
                        paranoid: level.parse().ok(),
                        unit: yes(unit)?,
                        virtualised: yes(virtualised)?,
                    };
                }
                [name, ref rest @ ..] => {
                    let event = Event::ALL.into_iter().find(|event| event.name() == name);
                    let event = event.ok_or_else(|| wrong("no such event"))?;
                    let number =
                        |word: &str| word.parse::<u64>().map_err(|_| wrong("a number is expected"));
                    let count = match *rest {
                        ["error", error] => Err(error
                            .parse::<i32>()
                            .map_err(|_| wrong("the number of an error is expected"))?),
                        [value, enabled, running] => Ok(Count {
                            value: number(value)?,
                            enabled: number(enabled)?,
                            running: number(running)?,
                        }),
                        _ => return Err(wrong("allowed: VALUE ENABLED RUNNING, or error NUMBER")),
                    };
                    events.push((event, count));
                }
            }
        }
        Ok(Recorded { events, host })
    }

    /// Returns the text of a recording.
    pub fn text(&self) -> String {
        let yes = |what| if what { "yes" } else { "no" };
        let paranoid = self.host.paranoid.map_or("unknown".to_owned(), |level| level.to_string());
        let mut text = format!(
            "host paranoid {paranoid} unit {} virtualised {}\n",
            yes(self.host.unit),
            yes(self.host.virtualised)
        );
        for (event, count) in &self.events {
            // Writing to a string cannot fail.
            let _ = match count {
                Ok(Count { value, enabled, running }) => {
                    writeln!(text, "{} {value} {enabled} {running}", event.name())
                }
                Err(error) => writeln!(text, "{} error {error}", event.name()),
            };
        }
        text
    }
}

impl Source for Recorded {
    fn open(&self) -> Box<dyn Counters> {
        Box::new(self.clone())
    }
}

impl Counters for Recorded {
    fn start(&mut self) {}
    fn stop(&mut self) -> Reading {
        let reason = |error: &i32| why(*error, self.host);
        self.events
            .iter()
            .map(|(event, count)| (*event, count.as_ref().copied().map_err(reason)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counted, available};
    use super::*;

    /// Recorded on a virtual machine with 2 CPUs, by the example `counters`.
    const REFUSED: &str = include_str!("fixtures/virtual-machine.txt");
    /// Written by hand.
    const COUNTED: &str = include_str!("fixtures/by-hand.txt");

    #[test]
    fn a_virtual_machine_without_counters_is_told_so() {
        let source = Recorded::parse(REFUSED).unwrap();
        let why = available(&source).unwrap_err();
        assert!(why.starts_with("this is a virtual machine without a performance"), "{why}");
    }

    #[test]
    fn a_reading_is_made_into_figures_of_an_operation() {
        let source = Recorded::parse(COUNTED).unwrap();
        assert_eq!(available(&source), Ok(()));
        let reading = source.open().stop();
        // Two threads with this reading each, and 1000 operations in total.
        let counted = Counted::of(&[reading.clone(), reading], 1000);
        let of = |index: usize| counted.per_operation[index].1.clone();
        assert_eq!(of(0), Ok(480.0), "cycles");
        assert_eq!(of(1), Ok(96.0), "instructions: half of the time, so twice as many");
        assert_eq!(of(2), Ok(8.0));
        assert_eq!(of(3), Err("this processor does not count it".to_owned()));
        assert!(counted.extrapolated);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [REFUSED, COUNTED] {
            let recorded = Recorded::parse(text).unwrap();
            assert_eq!(Recorded::parse(&recorded.text()), Ok(recorded));
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("\ncycels 1 2 3", "line 2: no such event"),
            ("cycles 1 2", "line 1: allowed: VALUE ENABLED RUNNING, or error NUMBER"),
            ("cycles 1 2 -3", "line 1: a number is expected"),
            ("cycles error x", "line 1: the number of an error is expected"),
            ("host paranoid 2 unit perhaps virtualised no", "line 1: allowed: yes, no"),
        ] {
            assert_eq!(Recorded::parse(text), Err(expected.to_owned()));
        }
    }
}
