//! Conditions, semaphores and barriers: what ends a wait, as far as the recording decides it.
//!
//! A program keeps what a signal says in data of its own: items of a queue, say. The recording has
//! no such data, but it has sections that sometimes wait for a condition and sometimes pass, and
//! the signals. If these are as many, each signal is a unit, which is kept until a section takes
//! it. If no section ever passes although signals find no waiter, they are lost. If each section
//! that does not wait wakes all others, it is a barrier.
//!
//! All else stays as it was recorded: a sleep of the recorded length.

use super::conditions::condition;
use super::ends::{Beginnings, End};
use super::facts::{Fact, HARDLY, LEAST, Section, What, count_at, facts};
use super::semaphores::semaphore;
use crate::recording::{MeetingKind as Kind, Met, Recording};
use lockyard_scenarios::MeetingKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Smallest ratio of two counts that show different things.
const UNLIKE: f64 = 2.0;

/// A place where threads of the replay wait for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MeetingModel {
    /// Name for readers.
    pub name: String,
    /// What ends a wait.
    pub kind: MeetingKind,
    /// Number of units that a signal gives.
    pub units: f64,
    /// Places in the recording. Barriers of the same threads are one: whoever comes to one
    /// meets all the others there.
    pub places: Vec<u32>,
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
    /// Names of conditions that threads signal, and for which none waits.
    pub(super) never_waited: Vec<String>,
    /// Units of conditions at the beginning, by their numbers.
    beginnings: BTreeMap<usize, Beginnings>,
    /// Threads that come to each barrier, by its number.
    members: BTreeMap<u32, BTreeSet<u32>>,
}

impl Decided {
    /// Returns the places in the recording where sections wait whose locks are among some.
    pub(super) fn with_locks(&self, is_one: impl Fn(u32) -> bool) -> Vec<u32> {
        let of = self.waits.iter().filter(|((lock, _), _)| is_one(*lock));
        of.flat_map(|(_, number)| self.meetings[*number as usize].places.clone()).collect()
    }

    /// Adds a meeting. Returns its number.
    fn add(&mut self, place: u32, name: &str, end: End) -> Result<u32, &'static str> {
        if end.kind == MeetingKind::Barrier {
            let others = self.members.iter().find(|(_, of)| !of.is_disjoint(&end.members));
            if let Some((&number, others)) = others {
                if *others != end.members {
                    return Err("some of its threads come to another barrier, too");
                }
                let same = &mut self.meetings[number as usize];
                same.name = format!("{}, {name}", same.name);
                same.places.push(place);
                return Ok(number);
            }
            self.members.insert(self.meetings.len() as u32, end.members);
        }
        if let Some(beginnings) = end.beginnings {
            self.beginnings.insert(self.meetings.len(), beginnings);
        }
        let (kind, units) = (end.kind, end.units);
        let name = name.to_owned();
        self.meetings.push(MeetingModel { name, kind, units, places: vec![place] });
        Ok(self.meetings.len() as u32 - 1)
    }

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

/// Places in a recording whose waits stay sleep in any case, with the reasons.
pub type Asleep = BTreeMap<u32, &'static str>;

/// Returns what a recording decides. The waits at some places stay sleep.
pub(super) fn decide(recording: &Recording, asleep: &Asleep) -> Decided {
    let mut decided = Decided::default();
    if recording.about.meetings.is_empty() {
        return decided;
    }
    let (facts, sections) = facts(recording);
    let names = recording.about.meetings.iter().map(|meeting| meeting.name.as_str());
    for ((place, name), about) in (0..).zip(names).zip(&recording.about.meetings) {
        let by_time = about.timeouts as f64 > HARDLY * about.waits as f64;
        let found = match asleep.get(&place) {
            Some(why) => Err(*why),
            None if by_time => Err("waits end by time"),
            None if is_unlike_the_run(recording, &facts, place) => {
                Err("windows have another share of its events than the run")
            }
            None => match about.kind {
                Kind::Semaphore | Kind::Barrier if waits_locked(&facts, place) => {
                    Err("threads wait there with a lock held")
                }
                Kind::Condition => {
                    let of: Vec<Section> = sections
                        .iter()
                        .filter(|(_, waits)| waits.contains_key(&place))
                        .map(|(section, _)| *section)
                        .collect();
                    if of.is_empty() {
                        if facts.iter().any(|fact| fact.at(place).is_some()) {
                            decided.never_waited.push(name.to_owned());
                        }
                        continue;
                    }
                    match of.iter().any(|section| sections[section].len() > 1) {
                        true => Err("its sections wait for other conditions, too"),
                        false => condition(&facts, place, &of, &mut decided.gives),
                    }
                }
                Kind::Semaphore => semaphore(&facts, place),
                Kind::Barrier => barrier(&facts, place),
            },
        };
        match found.and_then(|end| decided.add(place, name, end)) {
            Ok(number) => {
                decided.places.insert(place, number);
                for (section, waits) in &sections {
                    if waits.contains_key(&place) {
                        decided.waits.insert(*section, number);
                    }
                }
                for of in decided.gives.values_mut().flatten().filter(|of| **of == u32::MAX) {
                    *of = number;
                }
            }
            Err(why) => {
                decided.gives.retain(|_, of| !of.contains(&u32::MAX));
                decided.undecided.push(format!("`{name}` ({why})"));
            }
        }
    }
    let all: Vec<Beginnings> = decided.beginnings.values().cloned().collect();
    for (number, of) in &decided.beginnings {
        decided.meetings[*number].kind = MeetingKind::Kept { units: of.units(&all) };
    }
    decided
}

/// Returns true if threads take units or pass with a lock held. Threads of the replay that end such
/// a wait may need this lock first.
fn waits_locked(facts: &[Fact], place: u32) -> bool {
    facts.iter().any(|fact| {
        matches!(fact.what, What::Met { meeting, what, locked: true }
            if meeting == place && matches!(what, Met::Takes { .. } | Met::Passes { .. }))
    })
}

/// Returns true if signals or passes are much rarer or more frequent in windows than in the whole
/// run, beside the acquisitions of locks. What windows show is then not what the program does.
fn is_unlike_the_run(recording: &Recording, facts: &[Fact], place: u32) -> bool {
    let about = &recording.about;
    let run: u64 = about.locks.iter().map(|lock| lock.acquired).sum();
    let windows: u64 = recording.windows.iter().map(|window| window.acquired()).sum();
    let of = &about.meetings[place as usize];
    let share = windows as f64 / run.max(1) as f64;
    let seen = |is_one| count_at(facts, place, is_one) as f64;
    let gives = seen(|what| matches!(what, Met::Signals | Met::Broadcasts | Met::Gives));
    let takes = seen(|what| matches!(what, Met::Takes { .. } | Met::Passes { .. }));
    [(gives, of.signals), (takes, of.passes)].into_iter().any(|(seen, all)| {
        let expected = all as f64 * share;
        let is_known = run > 0 && all > 0 && seen.max(expected) >= LEAST as f64;
        is_known && (seen > UNLIKE * expected || expected > UNLIKE * seen)
    })
}

/// Decides about a barrier: it is one of all threads that come to it.
fn barrier(facts: &[Fact], place: u32) -> Result<End, &'static str> {
    let (mut passes, mut rounds) = (0, 0);
    let mut threads = BTreeSet::new();
    for fact in facts {
        if let Some(Met::Passes { serial }) = fact.at(place) {
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
    Ok(End::barrier(threads))
}
