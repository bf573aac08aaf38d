//! Facts of a recording that decide what ends waits: signals, waits and sections, in the order of
//! time.

use crate::recording::{Event, How, Met, Recording};
use std::collections::{BTreeMap, HashMap};

/// Minimum number of waits of a condition, of takes of a unit, or of passes of a barrier, that
/// decide something.
pub(super) const LEAST: usize = 20;

/// Largest ratio of two counts that are taken as equal.
const ALIKE: f64 = 1.5;

/// Share below which something happens by chance only.
pub(super) const HARDLY: f64 = 0.05;

/// A section: its lock, and the call site that took it.
pub(super) type Section = (u32, u32);

/// Something that a thread did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) time: u64,
    pub(super) thread: u32,
    pub(super) what: What,
}

impl Fact {
    /// Returns what the thread did at a meeting; `None` if the fact is another one.
    pub(super) fn at(&self, place: u32) -> Option<Met> {
        match self.what {
            What::Met { meeting, what, .. } if meeting == place => Some(what),
            _ => None,
        }
    }
}

/// Returns how often threads did `is_one` at a meeting.
pub(super) fn count_at(facts: &[Fact], place: u32, is_one: fn(Met) -> bool) -> usize {
    facts.iter().filter_map(|fact| fact.at(place)).filter(|what| is_one(*what)).count()
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// All threads were out of windows before.
    Gap,
    /// A window begins that does not continue another one.
    Begins,
    /// True if the thread holds a lock.
    Met { meeting: u32, what: Met, locked: bool },
    /// A wait is over, without what came before it.
    WaitEnds,
    /// A section ends. True if it waited.
    Section { section: Section, waited: bool },
}

/// Returns all facts in the order of time, and for each section that waits the conditions with
/// the numbers of waits. Sections within others are none.
pub(super) fn facts(recording: &Recording) -> (Vec<Fact>, BTreeMap<Section, BTreeMap<u32, usize>>) {
    let mut facts = Vec::new();
    let mut sections: BTreeMap<Section, BTreeMap<u32, usize>> = BTreeMap::new();
    let mut threads: HashMap<u32, Thread> = HashMap::new();
    let mut end = 0;
    let mut windows: Vec<_> = recording.windows.iter().collect();
    windows.sort_by_key(|window| window.begin);
    for window in windows {
        if window.begin > end {
            facts.push(Fact { time: window.begin, thread: 0, what: What::Gap });
        }
        end = end.max(window.end());
        let thread = threads.entry(window.thread).or_default();
        if !window.continues {
            *thread = Thread::default();
            facts.push(Fact { time: window.begin, thread: window.thread, what: What::Begins });
        }
        let mut time = window.begin;
        for event in &window.events {
            let mut fact = |time, what| facts.push(Fact { time, thread: window.thread, what });
            match *event {
                Event::Recorder { time: own } => time += own,
                Event::OffCpu { .. } => {}
                Event::Met { after, meeting, what, .. } => {
                    time += after;
                    if what == Met::Waits
                        && let Some(section) = thread.left.filter(|_| thread.held.is_empty())
                    {
                        *sections.entry(section).or_default().entry(meeting).or_default() += 1;
                        thread.waits = Some(section);
                        // What looked like the end of a section was its wait.
                        if let Some(last) = thread.ended.take() {
                            facts[last].what = What::Met { meeting, what, locked: false };
                            continue;
                        }
                    }
                    let locked = !thread.held.is_empty();
                    fact(time, What::Met { meeting, what, locked });
                }
                Event::Acquired { after, lock, site, how, .. } => {
                    time += after;
                    let waited = thread.waits.take().filter(|_| how == How::Condition);
                    if how == How::Condition {
                        fact(time, What::WaitEnds);
                    }
                    let section = waited.unwrap_or((lock, site));
                    thread.held.push((section, waited.is_some()));
                }
                Event::Released { after, lock } => {
                    time += after;
                    let place = thread.held.iter().rposition(|((held, _), _)| *held == lock);
                    let Some(place) = place else { continue };
                    let (section, waited) = thread.held.remove(place);
                    thread.left = Some(section);
                    thread.ended = None;
                    if thread.held.is_empty() {
                        thread.ended = Some(facts.len());
                        let what = What::Section { section, waited };
                        facts.push(Fact { time, thread: window.thread, what });
                    }
                }
            }
        }
    }
    facts.sort_by_key(|fact| fact.time);
    (facts, sections)
}

/// State of a thread among its events.
#[derive(Clone, Debug, Default)]
struct Thread {
    held: Vec<(Section, bool)>,
    /// Section that ended last, and the place of its fact.
    left: Option<Section>,
    ended: Option<usize>,
    /// Section where the thread waits.
    waits: Option<Section>,
}

/// Returns true if two counts are taken as equal.
pub(super) fn alike(a: f64, b: f64) -> bool {
    a <= b * ALIKE && b <= a * ALIKE
}
