//! Threads that wait for a condition, a semaphore or at a barrier, and the call sites that end
//! these waits: who waits for whom.
//!
//! A wait ends by the latest signal of another thread during it. A recording from before 2026-11-28
//! has no signals, and some programs signal before the wait seems to begin. But a thread whose wait
//! has ended takes the mutex again, and the thread that made the condition true had this mutex
//! before. So the last section of the mutex by another thread, during the wait, is taken for the
//! one that ended it. Sections that begin where the waiter's own begins count only if there are no
//! others: they are mostly of its fellows, which wait for the same. This tells call sites, not
//! single signals.

use crate::model::Model;
use crate::recording::{Event, How, Met, Recording};
use std::collections::{BTreeMap, HashMap};

/// Minimum number of recorded waits that tell something.
const LEAST_WAITS: u64 = 20;

/// Waits of threads at a call site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waiting {
    /// The condition's mutex, as its place in the list of locks.
    pub lock: Option<u32>,
    /// The condition, semaphore or barrier, as its place in the list of meetings, if it is known.
    pub meeting: Option<u32>,
    /// Call site of the wait, as its place in the list of sites.
    pub site: u32,
    /// Mean number of threads that wait there at a time.
    pub threads: f64,
    /// Number of waits a second.
    pub waits_per_s: f64,
    /// Mean duration of a wait in nanoseconds.
    pub wait_ns: f64,
    /// Signals of other threads by which waits end, or sections of the mutex after which they do,
    /// the most frequent first.
    pub ended_by: Vec<EndedBy>,
    /// Share of the waits while no signal and no section of another thread was recorded.
    pub share_unknown: f64,
}

/// Signals at a call site, or sections of a mutex that begin there, and the waits that end after
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndedBy {
    /// The call site, as its place in the list of sites.
    pub site: u32,
    /// Share of the waits.
    pub share: f64,
}

/// A section of a mutex, or a signal.
#[derive(Clone, Copy, Debug)]
struct Section {
    end: u64,
    thread: u32,
    /// Call site where it began.
    site: u32,
}

/// What threads did that wait, or end waits.
#[derive(Debug, Default)]
struct Found {
    /// Sections of each mutex in the order of their ends.
    sections: HashMap<u32, Vec<Section>>,
    /// Signals of each condition, units given to each semaphore.
    signals: HashMap<u32, Vec<Section>>,
    waits: Vec<Wait>,
}

/// A wait.
#[derive(Clone, Copy, Debug)]
struct Wait {
    begin: u64,
    end: u64,
    thread: u32,
    lock: Option<u32>,
    meeting: Option<u32>,
    site: u32,
    /// Call site at which the thread had taken the mutex.
    taken_at: Option<u32>,
}

impl Recording {
    /// Returns the waits by what they are for and by call site, those of most threads first. Sites
    /// with fewer than 20 recorded waits are left out.
    pub fn waiting(&self) -> Vec<Waiting> {
        let Found { sections, signals, waits } = self.found();
        // A site may wait for several conditions of one mutex, and some waits do not say which.
        let mut by_site: BTreeMap<(Option<u32>, Option<u32>, u32), Vec<Wait>> = BTreeMap::new();
        for wait in waits {
            by_site.entry((wait.lock, wait.meeting, wait.site)).or_default().push(wait);
        }
        by_site.retain(|_, waits| waits.len() as u64 >= LEAST_WAITS);
        let rate = self.waits_per_recorded_wait();
        let none = Vec::new();
        let mut all: Vec<Waiting> = by_site
            .into_iter()
            .map(|((lock, meeting, site), waits)| {
                let sections = lock.and_then(|lock| sections.get(&lock)).unwrap_or(&none);
                let signals = meeting.and_then(|meeting| signals.get(&meeting)).unwrap_or(&none);
                let by_signals = ended_by(signals, &waits);
                let by_sections = || ended_by(sections, &waits);
                let (ended_by, share_unknown) = match by_signals.1 <= 0.5 {
                    true => by_signals,
                    false => by_sections(),
                };
                let count = waits.len() as f64;
                let time: f64 = waits.iter().map(|wait| (wait.end - wait.begin) as f64).sum();
                let waits_per_s = count * rate;
                let wait_ns = time / count;
                let threads = waits_per_s * wait_ns / 1e9;
                let of = Waiting { lock, meeting, site, threads, ..Waiting::default() };
                Waiting { waits_per_s, wait_ns, ended_by, share_unknown, ..of }
            })
            .collect();
        all.sort_by(|a, b| b.threads.total_cmp(&a.threads));
        all
    }

    /// Returns the number of waits a second for each recorded one: windows have a part of the
    /// acquisitions only.
    fn waits_per_recorded_wait(&self) -> f64 {
        let recorded: u64 = self.windows.iter().map(|window| window.acquired()).sum();
        let begin = self.windows.iter().map(|window| window.begin).min().unwrap_or(0);
        let end = self.windows.iter().map(|window| window.end()).max().unwrap_or(0);
        let whole = || {
            let all: u64 = Model::acquisitions(self).values().sum();
            all as f64 / (end.saturating_sub(begin).max(1) as f64 / 1e9)
        };
        self.outside().map_or_else(whole, |outside| outside.rate) / recorded.max(1) as f64
    }

    /// Returns sections, signals and waits.
    fn found(&self) -> Found {
        let mut found = Found::default();
        let Found { sections, signals, waits } = &mut found;
        // Sites at which locks were taken: by threads that hold them, and by those that held them.
        let mut held: HashMap<(u32, u32), u32> = HashMap::new();
        let mut last: HashMap<(u32, u32), u32> = HashMap::new();
        // Conditions that threads wait for.
        let mut waiting: HashMap<u32, u32> = HashMap::new();
        for window in &self.windows {
            let thread = window.thread;
            if !window.continues {
                held.retain(|(of, _), _| *of != thread);
                last.retain(|(of, _), _| *of != thread);
                waiting.remove(&thread);
            }
            let mut now = window.begin;
            for event in &window.events {
                match *event {
                    Event::Recorder { time } => now = now.saturating_add(time),
                    Event::OffCpu { .. } => {}
                    Event::Released { after, lock } => {
                        now = now.saturating_add(after);
                        if let Some(site) = held.remove(&(thread, lock)) {
                            last.insert((thread, lock), site);
                            let section = Section { end: now, thread, site };
                            sections.entry(lock).or_default().push(section);
                        }
                    }
                    Event::Met { after, meeting, site, what, wait } => {
                        now = now.saturating_add(after);
                        match what {
                            Met::Waits => drop(waiting.insert(thread, meeting)),
                            Met::Signals | Met::Broadcasts | Met::Gives => {
                                let signal = Section { end: now, thread, site };
                                signals.entry(meeting).or_default().push(signal);
                            }
                            Met::Takes { .. } | Met::Passes { .. } => waits.push(Wait {
                                begin: now.saturating_sub(wait),
                                end: now,
                                thread,
                                lock: None,
                                meeting: Some(meeting),
                                site,
                                taken_at: None,
                            }),
                        }
                    }
                    Event::Acquired { after, lock, site, how, wait } => {
                        now = now.saturating_add(after);
                        // The wait released the mutex.
                        let taken_at = last.get(&(thread, lock)).copied();
                        if let (How::Condition, Some(taken_at)) = (how, taken_at) {
                            waits.push(Wait {
                                begin: now.saturating_sub(wait),
                                end: now,
                                thread,
                                lock: Some(lock),
                                meeting: waiting.remove(&thread),
                                site,
                                taken_at: Some(taken_at),
                            });
                        }
                        // What follows a wait is the rest of the section before.
                        let began = taken_at.filter(|_| how == How::Condition).unwrap_or(site);
                        held.insert((thread, lock), began);
                    }
                }
            }
        }
        for of in sections.values_mut().chain(signals.values_mut()) {
            of.sort_by_key(|section| (section.end, section.thread));
        }
        found
    }
}

/// Returns the sites of the sections or signals that end waits with their shares, and the share of
/// waits of which this is unknown.
fn ended_by(sections: &[Section], waits: &[Wait]) -> (Vec<EndedBy>, f64) {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for wait in waits {
        let until = sections.partition_point(|section| section.end <= wait.end);
        let during = || {
            let latest_first = sections[..until].iter().rev();
            let during = latest_first.take_while(|section| section.end >= wait.begin);
            during.filter(|section| section.thread != wait.thread)
        };
        let of_others = || during().find(|section| Some(section.site) != wait.taken_at);
        if let Some(section) = of_others().or_else(|| during().next()) {
            *counts.entry(section.site).or_default() += 1;
        }
    }
    let all = waits.len() as f64;
    let known: u64 = counts.values().sum();
    let share = |(site, count): (u32, u64)| EndedBy { site, share: count as f64 / all };
    let mut ended_by: Vec<EndedBy> = counts.into_iter().map(share).collect();
    ended_by.sort_by(|a, b| b.share.total_cmp(&a.share));
    (ended_by, 1.0 - known as f64 / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{About, LockAbout, MeetingAbout, Window};

    const TAKES: u32 = 0;
    const WAITS: u32 = 1;
    const GIVES: u32 = 2;
    const SIGNALS: u32 = 3;

    fn acquired(after: u64, site: u32, how: How, wait: u64) -> Event {
        Event::Acquired { after, lock: 0, site, how, wait }
    }

    /// Two consumers wait for 900 ns in each 1000; a producer's section is in the middle.
    fn queue(rounds: u64, producer_is_recorded: bool) -> Recording {
        let consumer = |thread: u32, shift: u64| {
            let each = (0..rounds).flat_map(|_| {
                [
                    acquired(50, TAKES, How::Waits, 0),
                    Event::Released { after: 20, lock: 0 },
                    acquired(900, WAITS, How::Condition, 900),
                    Event::Released { after: 30, lock: 0 },
                ]
            });
            Window { thread, begin: shift, events: each.collect(), ..Window::default() }
        };
        let each = (0..rounds).flat_map(|round| {
            let after = if round == 0 { 500 } else { 990 };
            [acquired(after, GIVES, How::Waits, 0), Event::Released { after: 10, lock: 0 }]
        });
        let producer = Window { thread: 3, begin: 0, events: each.collect(), ..Window::default() };
        let mut windows = vec![consumer(1, 0), consumer(2, 35)];
        windows.extend(producer_is_recorded.then_some(producer));
        let locks = vec![LockAbout { name: "queue".to_owned(), ..LockAbout::default() }];
        let sites = ["get", "wait", "put"].map(str::to_owned).to_vec();
        let about = About { seconds: rounds as f64 / 1e6, locks, sites, ..About::default() };
        Recording { about, windows }
    }

    #[test]
    fn a_wait_ends_after_a_section_of_the_thread_that_gives() {
        let found = queue(100, true).waiting();
        assert_eq!(found.len(), 1);
        let Waiting { lock, site, threads, wait_ns, ref ended_by, share_unknown, .. } = found[0];
        assert_eq!((lock, site, wait_ns, share_unknown), (Some(0), WAITS, 900.0, 0.0));
        assert_eq!(ended_by, &[EndedBy { site: GIVES, share: 1.0 }]);
        // Two threads, for nine tenths of the time.
        assert!((threads - 1.8).abs() < 0.01, "{threads}");
    }

    #[test]
    fn fellows_of_the_waiter_are_named_only_if_nothing_else_is_recorded() {
        let found = queue(100, false).waiting();
        assert_eq!(found[0].ended_by[0].site, TAKES);
    }

    /// The same queue with signals, which come after other sections of the mutex.
    #[test]
    fn a_wait_ends_by_the_signal_that_came_during_it() {
        let mut recording = queue(100, true);
        recording.about.meetings = vec![MeetingAbout::default()];
        for window in &mut recording.windows {
            let mut events = Vec::new();
            for event in &window.events {
                if let Event::Acquired { how: How::Condition, .. } = event {
                    let what = Met::Waits;
                    events.push(Event::Met { after: 0, meeting: 0, site: WAITS, what, wait: 0 });
                }
                events.push(*event);
                if window.thread == 3 && matches!(event, Event::Released { .. }) {
                    let what = Met::Signals;
                    events.push(Event::Met { after: 0, meeting: 0, site: SIGNALS, what, wait: 0 });
                }
            }
            window.events = events;
        }
        let found = recording.waiting();
        assert_eq!((found[0].lock, found[0].meeting), (Some(0), Some(0)));
        assert_eq!(found[0].ended_by, [EndedBy { site: SIGNALS, share: 1.0 }]);
    }

    #[test]
    fn waits_for_a_semaphore_end_when_another_thread_gives() {
        let takes = |_| Event::Met {
            after: 1_000,
            meeting: 0,
            site: TAKES,
            what: Met::Takes { left: 0 },
            wait: 900,
        };
        let gives =
            |_| Event::Met { after: 1_000, meeting: 0, site: GIVES, what: Met::Gives, wait: 0 };
        let of = |thread, begin, events| Window { thread, begin, events, ..Window::default() };
        let windows = vec![
            of(1, 0, (0..50).map(takes).collect()),
            of(2, 500, (0..50).map(gives).collect::<Vec<_>>()),
        ];
        let found = Recording { about: About::default(), windows }.waiting();
        assert_eq!((found[0].lock, found[0].meeting, found[0].site), (None, Some(0), TAKES));
        assert_eq!(found[0].ended_by[0].site, GIVES);
        assert!(found[0].share_unknown < 0.03, "{found:?}");
    }

    #[test]
    fn few_waits_tell_nothing() {
        assert!(queue(9, true).waiting().is_empty());
        assert_eq!(queue(10, true).waiting().len(), 1);
    }
}
