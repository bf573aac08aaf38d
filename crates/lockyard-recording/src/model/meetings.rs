//! Conditions, semaphores and barriers: what ends a wait, as far as the recording decides it.
//!
//! A program keeps what a signal says in data of its own: items of a queue, say. The recording has
//! no such data, but it has sections that sometimes wait for a condition and sometimes pass, and
//! the signals. If these are as many, each signal is a unit, which is kept until a section takes
//! it. If no section ever passes although signals find no waiter, they are lost. If each section
//! that does not wait wakes all others, it is a barrier.
//!
//! All else stays as it was recorded: a sleep of the recorded length.

use super::semaphores::semaphore;
use crate::recording::{Event, How, MeetingKind as Kind, Met, Recording};
use lockyard_scenarios::MeetingKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Minimum number of waits of a condition, of takes of a unit, or of passes of a barrier, that
/// decide something.
pub(super) const LEAST: usize = 20;

/// Largest ratio of two counts that are taken as equal.
const ALIKE: f64 = 1.5;

/// Share below which something happens by chance only.
const HARDLY: f64 = 0.05;

/// A section: its lock, and the call site that took it.
pub(super) type Section = (u32, u32);

/// A place where threads of the replay wait for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MeetingModel {
    /// Name for readers.
    pub name: String,
    /// What ends a wait.
    pub kind: MeetingKind,
    /// Number of units that a signal gives.
    pub units: f64,
}

/// What a recording decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Decided {
    pub(super) meetings: Vec<MeetingModel>,
    /// Conditions, semaphores and barriers, by their places in the recording.
    pub(super) places: HashMap<u32, u32>,
    /// Sections that wait.
    pub(super) waits: HashMap<Section, u32>,
    /// Sections that give a unit, where signals are too few.
    pub(super) gives: HashMap<Section, Vec<u32>>,
    /// What stays a sleep: name and reason.
    pub(super) undecided: Vec<String>,
}

impl Decided {
    /// Returns the places of the barriers among the meetings.
    pub(super) fn barriers(&self) -> Vec<u32> {
        barriers(&self.meetings)
    }
}

/// Returns the places of the barriers among some meetings.
pub(super) fn barriers(meetings: &[MeetingModel]) -> Vec<u32> {
    let of = (0..).zip(meetings).filter(|(_, of)| of.kind == MeetingKind::Barrier);
    of.map(|(place, _)| place).collect()
}

/// Something that a thread did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) time: u64,
    pub(super) thread: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// All threads were out of windows before.
    Gap,
    /// A window begins that does not continue another one.
    Begins,
    Met {
        meeting: u32,
        what: Met,
    },
    /// A wait is over, without what came before it.
    WaitEnds,
    /// A section ends. True if it waited.
    Section {
        section: Section,
        waited: bool,
    },
}

/// Returns what a recording decides.
pub(super) fn decide(recording: &Recording) -> Decided {
    let mut decided = Decided::default();
    if recording.about.meetings.is_empty() {
        return decided;
    }
    let (facts, sections) = facts(recording);
    let names = recording.about.meetings.iter().map(|meeting| meeting.name.as_str());
    for ((place, name), about) in (0..).zip(names).zip(&recording.about.meetings) {
        let by_time = about.timeouts as f64 > HARDLY * about.waits as f64;
        let found = match about.kind {
            Kind::Condition if by_time => Err("waits end by time"),
            Kind::Condition => {
                let of: Vec<Section> = sections
                    .iter()
                    .filter(|(_, waits)| waits.contains_key(&place))
                    .map(|(section, _)| *section)
                    .collect();
                if of.is_empty() {
                    continue;
                }
                let several = of.iter().any(|section| sections[section].len() > 1);
                if several {
                    Err("its sections wait for other conditions, too")
                } else {
                    condition(&facts, place, &of, &mut decided)
                }
            }
            Kind::Semaphore => semaphore(&facts, place),
            Kind::Barrier => barrier(&facts, place),
        };
        match found {
            Ok((kind, units)) => {
                let number = decided.meetings.len() as u32;
                decided.places.insert(place, number);
                for (section, waits) in &sections {
                    if waits.contains_key(&place) {
                        decided.waits.insert(*section, number);
                    }
                }
                for of in decided.gives.values_mut().flatten().filter(|of| **of == u32::MAX) {
                    *of = number;
                }
                decided.meetings.push(MeetingModel { name: name.to_owned(), kind, units });
            }
            Err(why) => {
                decided.gives.retain(|_, of| !of.contains(&u32::MAX));
                decided.undecided.push(format!("`{name}` ({why})"));
            }
        }
    }
    decided
}

/// Returns all facts in the order of time, and for each section that waits the conditions with
/// the numbers of waits. Sections within others are none.
fn facts(recording: &Recording) -> (Vec<Fact>, BTreeMap<Section, BTreeMap<u32, usize>>) {
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
                            facts[last].what = What::Met { meeting, what };
                            continue;
                        }
                    }
                    fact(time, What::Met { meeting, what });
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
    takers: HashSet<u32>,
    signals_by_takers: usize,
    /// Sections of other sites, by site.
    others: BTreeMap<Section, usize>,
}

/// Decides about a condition, by the sections that wait for it.
fn condition(
    facts: &[Fact],
    place: u32,
    of: &[Section],
    decided: &mut Decided,
) -> Result<(MeetingKind, f64), &'static str> {
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
        return Ok((MeetingKind::Barrier, 0.0));
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
        return Ok((MeetingKind::Lost, 1.0));
    }
    let units = done / signals;
    if alike(done, signals) {
        return Ok((kept(facts, place, of, 1.0, &counts), 1.0));
    }
    if units < 1.0 || all {
        return Ok((kept(facts, place, of, units, &counts), units));
    }
    // Some sections that make the condition true do not signal.
    let lock = of[0].0;
    let giver = counts.others.iter().filter(|((of, _), _)| *of == lock);
    let giver = giver.filter(|(_, count)| alike(**count as f64, done)).map(|of| *of.0).next();
    let giver = giver.ok_or("signals and sections that wait do not match")?;
    decided.gives.entry(giver).or_default().push(u32::MAX);
    Ok((MeetingKind::Kept { units: 0 }, 0.0))
}

/// Returns true if two counts are taken as equal.
pub(super) fn alike(a: f64, b: f64) -> bool {
    a <= b * ALIKE && b <= a * ALIKE
}

fn counts(facts: &[Fact], place: u32, of: &[Section]) -> Counts {
    let mut counts = Counts::default();
    let mut waiting: BTreeSet<u32> = BTreeSet::new();
    let mut last_signal = None;
    for fact in facts {
        let signals = matches!(fact.what, What::Met { meeting, what: Met::Signals | Met::Broadcasts }
            if meeting == place);
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
            What::Met { meeting, what: Met::Waits } if meeting == place => {
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

/// Returns a meeting that keeps units, with their number at the beginning.
///
/// A thread that waits shows that there is no unit. So their number is known before and after it.
fn kept(facts: &[Fact], place: u32, of: &[Section], units: f64, counts: &Counts) -> MeetingKind {
    // Of each part without a gap: numbers of units since its beginning, and the least number there
    // when a thread began to wait.
    let (mut level, mut zero, mut parts): (f64, Option<f64>, Vec<f64>) = (0.0, None, Vec::new());
    let mut waiting: BTreeSet<u32> = BTreeSet::new();
    let mut busy: Vec<f64> = Vec::new();
    let end = [Fact { time: u64::MAX, thread: 0, what: What::Gap }];
    for fact in facts.iter().chain(&end) {
        match fact.what {
            What::Gap => {
                parts.extend(zero.take().map(|zero| -zero));
                level = 0.0;
                waiting.clear();
            }
            What::Met { meeting, what } if meeting == place => match what {
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
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let most = parts.iter().copied().fold(0.0, f64::max);
    // Threads that give what they take have a unit each while they work.
    let closed = counts.signals_by_takers as f64 > 0.8 * counts.signals as f64;
    let of_threads = if closed { mean(&busy) } else { 0.0 };
    MeetingKind::Kept { units: (mean(&parts).clamp(0.0, most) + of_threads).round() as u64 }
}

/// Decides about a barrier: it is one of all threads that come to it.
fn barrier(facts: &[Fact], place: u32) -> Result<(MeetingKind, f64), &'static str> {
    let (mut passes, mut rounds) = (0, 0);
    let mut threads = HashSet::new();
    for fact in facts {
        if let What::Met { meeting, what: Met::Passes { serial } } = fact.what
            && meeting == place
        {
            passes += 1;
            rounds += usize::from(serial);
            threads.insert(fact.thread);
        }
    }
    if passes < LEAST || rounds == 0 {
        return Err("too few passes are recorded");
    }
    let size = passes as f64 / rounds as f64;
    if (size / threads.len() as f64 - 1.0).abs() > 0.2 {
        return Err("other threads than those that pass it wait there, or some of them");
    }
    Ok((MeetingKind::Barrier, 0.0))
}
