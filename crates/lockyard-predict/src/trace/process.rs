//! The process of a cell in a trace: its threads, locks and lines as tracks.

use super::events::Events;
use super::lock_track::LockTrack;
use super::names::Names;
use super::thread_track::ThreadTrack;
use crate::simulate::{Change, Changed, StepKind, TracedRun};
use lockyard_sim::{LineHolder, Machine};
use lockyard_trace::{Kind, Process};
use std::collections::BTreeMap;

/// Maximum number of lines of a cell that get a track.
pub(super) const MOST_LINES: usize = 16;

/// Returns the process of a cell, with its name, and the number of its lines that moved. Numbers of
/// arrows begin at `arrows`.
pub(super) fn of(
    name: &str,
    run: &TracedRun,
    machine: &Machine,
    names: &mut Names,
    arrows: &mut u64,
) -> (Process, usize) {
    let mut events = Events::new(name, names);
    let tasks = tasks(run);
    let threads = tasks.iter().map(|name| ThreadTrack::new(name, &mut events)).collect();
    let locks = locks(run, &mut events);
    let (lines, moved) = lines(run, &mut events);
    let mut tracks = Tracks {
        run,
        machine,
        on_cores: on_cores(run, machine, &tasks),
        tasks,
        threads,
        locks,
        lines,
        arrows,
        events,
    };
    for change in &run.changes {
        tracks.add(change);
    }
    (tracks.finish(), moved)
}

/// Returns the names of the tasks, ordered by guest.
fn tasks(run: &TracedRun) -> Vec<String> {
    let of_guest = run.places.len() / run.guests;
    let name = |(index, place): (usize, &usize)| match run.shares_cpus {
        true => format!("guest {}, task {}", index / of_guest, index % of_guest),
        false => format!("task {index} on hardware thread {place}"),
    };
    run.places.iter().enumerate().map(name).collect()
}

/// Returns the names of cores. A core has the names of its tasks, if these never move.
fn on_cores(run: &TracedRun, machine: &Machine, tasks: &[String]) -> BTreeMap<usize, String> {
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    if run.shares_cpus {
        return names;
    }
    for (place, task) in run.places.iter().zip(tasks) {
        let name = names.entry(machine.place(*place).core).or_default();
        if !name.is_empty() {
            name.push_str(" and ");
        }
        name.push_str(task);
    }
    names
}

/// Adds tracks for the locks that are used.
fn locks(run: &TracedRun, events: &mut Events) -> BTreeMap<u32, LockTrack> {
    let used = run.changes.iter().filter_map(|change| match change.what {
        Changed::Begins(StepKind::Waits(lock) | StepKind::Holds(lock)) => Some(lock),
        _ => None,
    });
    let mut used: Vec<u32> = used.collect();
    used.sort_unstable();
    used.dedup();
    if used.is_empty() {
        return BTreeMap::new();
    }
    let group = events.track("locks", Kind::Group, None);
    let track = |lock: u32| {
        let name = &run.objects[lock as usize % run.objects.len()];
        let name = match run.guests {
            1 => name.clone(),
            _ => format!("guest {}: {name}", lock as usize / run.objects.len()),
        };
        (lock, LockTrack::new(name, group, events))
    };
    used.into_iter().map(track).collect()
}

/// Track of a line.
struct LineTrack {
    track: usize,
    holder: LineHolder,
}

/// Adds tracks for the busiest lines. Returns these tracks, and the number of lines that moved.
fn lines(run: &TracedRun, events: &mut Events) -> (BTreeMap<u32, LineTrack>, usize) {
    let mut moves: BTreeMap<u32, usize> = BTreeMap::new();
    for change in &run.changes {
        // Lines that no thread touches have only their initial state.
        if matches!(change.what, Changed::Moves(_)) && change.time > run.begin {
            *moves.entry(change.of).or_default() += 1;
        }
    }
    let moved = moves.len();
    let mut busiest: Vec<(u32, usize)> = moves.into_iter().collect();
    busiest.sort_by_key(|&(line, moves)| (std::cmp::Reverse(moves), line));
    busiest.truncate(MOST_LINES);
    if busiest.is_empty() {
        return (BTreeMap::new(), 0);
    }
    let group = events.track("lines", Kind::Group, None);
    let track = |(line, _): (u32, usize)| {
        let name = format!("line: {}", run.lines[line as usize]);
        let track = events.track(&name, Kind::Slices, Some(group));
        (line, LineTrack { track, holder: LineHolder::Elsewhere })
    };
    (busiest.into_iter().map(track).collect(), moved)
}

/// The tracks of a process.
struct Tracks<'a> {
    run: &'a TracedRun,
    machine: &'a Machine,
    tasks: Vec<String>,
    on_cores: BTreeMap<usize, String>,
    threads: Vec<ThreadTrack>,
    locks: BTreeMap<u32, LockTrack>,
    lines: BTreeMap<u32, LineTrack>,
    arrows: &'a mut u64,
    events: Events<'a>,
}

impl Tracks<'_> {
    /// Converts a cycle of the run to nanoseconds of the trace.
    fn time(&self, cycle: u64) -> u64 {
        self.machine.nanoseconds(cycle - self.run.begin).round() as u64
    }

    fn add(&mut self, change: &Change) {
        let time = self.time(change.time);
        match change.what {
            Changed::Begins(step) => self.begin(change.of as usize, time, step),
            Changed::Ends => self.end(change.of as usize, time),
            Changed::Spends(phase, line) => {
                let line = line.map(|line| self.run.lines[line as usize].as_str());
                self.threads[change.of as usize].spends(time, phase, line, &mut self.events);
            }
            Changed::Moves(holder) => self.moves(change.of, time, holder),
        }
    }

    fn begin(&mut self, thread: usize, time: u64, step: StepKind) {
        let name = match step {
            StepKind::Work(region) => region.title().to_owned(),
            StepKind::Access => "reference or table".to_owned(),
            StepKind::Waits(lock) => format!("waits for {}", self.locks[&lock].name()),
            StepKind::Holds(lock) => format!("holds {}", self.locks[&lock].name()),
        };
        let begun = self.threads[thread].begin(time, step, &name, &mut self.events);
        match step {
            StepKind::Waits(lock) => {
                if let Some(lock) = self.locks.get_mut(&lock) {
                    lock.is_wanted(time, &mut self.events);
                }
            }
            StepKind::Holds(lock) => {
                let wanted = self.threads[thread].wanted();
                if let Some(lock) = self.locks.get_mut(&lock) {
                    let task = &self.tasks[thread];
                    let from = lock.is_held(time, thread, task, begun, &mut self.events);
                    // The next holder was already waiting when the last one released the lock.
                    if let Some((from, released)) = from
                        && wanted.is_some_and(|wanted| wanted <= released)
                    {
                        *self.arrows += 1;
                        self.events.arrow(*self.arrows, from, begun);
                    }
                }
            }
            StepKind::Work(_) | StepKind::Access => {}
        }
    }

    fn end(&mut self, thread: usize, time: u64) {
        let step = self.threads[thread].end(time, &mut self.events);
        let lock = match step {
            Some(StepKind::Waits(lock) | StepKind::Holds(lock)) => self.locks.get_mut(&lock),
            _ => None,
        };
        let Some(lock) = lock else { return };
        match step {
            Some(StepKind::Waits(_)) => lock.is_had(time, &mut self.events),
            _ => lock.is_released(time, thread, &mut self.events),
        }
    }

    fn moves(&mut self, line: u32, time: u64, holder: LineHolder) {
        let Some(line) = self.lines.get_mut(&line).filter(|line| line.holder != holder) else {
            return;
        };
        if line.holder != LineHolder::Elsewhere {
            self.events.end(time, line.track);
        }
        let core;
        let name = match holder {
            LineHolder::Core(number) => {
                core = format!("core {number}");
                Some(self.on_cores.get(&number).unwrap_or(&core).as_str())
            }
            LineHolder::Shared => Some("shared"),
            LineHolder::Elsewhere => None,
        };
        if let Some(name) = name {
            self.events.begin(time, line.track, name);
        }
        line.holder = holder;
    }

    /// Ends every slice that is still open.
    fn finish(mut self) -> Process {
        let end = self.time(self.run.end);
        for thread in &mut self.threads {
            thread.finish(end, &mut self.events);
        }
        for lock in self.locks.values_mut() {
            lock.finish(end, &mut self.events);
        }
        for line in self.lines.values() {
            if line.holder != LineHolder::Elsewhere {
                self.events.end(end, line.track);
            }
        }
        self.events.finish()
    }
}
