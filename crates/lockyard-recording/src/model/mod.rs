//! Statistics of a recording: classes of threads, and for each a Markov chain over its visits to
//! locks, with the times of each visit.
//!
//! | file | content |
//! | --- | --- |
//! | `visits` | events become visits: a lock is taken while none is held, until it is released |
//! | `meetings` | what ends a wait for a condition, a semaphore or a barrier |
//! | `facts`, `ends` | what that is decided by, and what is decided |
//! | `conditions` | the same, for conditions |
//! | `semaphores` | units of a semaphore when the replay begins |
//! | `phase` | the part of the run that is replayed, and its rate |
//! | `groups` | locks that one call site takes in turn; orders of nested locks |
//! | `chain` | visits that are alike, and which follows which |
//! | `shares` | what the model leaves out, or changes |
//! | `today` | where the threads' time goes |
//! | `used` | the threads' own CPU time and switches in the whole run |
//! | `data` | cost of the data that a lock protects, when the lock comes from another thread |

mod chain;
mod conditions;
mod data;
mod ends;
mod facts;
mod groups;
mod meetings;
mod phase;
mod semaphores;
mod shares;
#[cfg(test)]
mod tests;
mod today;
mod used;
mod visits;

pub(crate) use chain::is_at_a_barrier;
pub use chain::{ClassModel, Shape, VisitModel};
pub(crate) use groups::fastest_and_mean;
pub use groups::{Calls, Group, Moved, place};
pub use meetings::{Asleep, MeetingModel};
pub use shares::Shares;
pub use today::{GroupTime, SharedTime, Today};
pub use used::Used;
pub use visits::{Meets, Operation, Segment};

use crate::recording::Recording;
use std::collections::HashMap;

/// Minimum number of visits of a recording that can be replayed.
const LEAST_VISITS: usize = 200;

/// Mean number of acquisitions of a thread below which threads are too short to be replayed.
const LEAST_OF_A_THREAD: u64 = 10;

/// Statistics of a recording.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Number of threads that are replayed: the mean of those that ran at the same time.
    pub threads: f64,
    /// Acquisitions a second in the part of the run that is replayed.
    pub rate: f64,
    /// The same between windows, where the recorder only counts; `None` if the threads were in
    /// windows nearly all the time.
    pub rate_outside: Option<f64>,
    /// Classes of threads.
    pub classes: Vec<ClassModel>,
    /// Locks, alone or in groups.
    pub groups: Vec<Group>,
    /// Shares of things that the model leaves out, or changes.
    pub shares: Shares,
    /// Where the threads' time goes.
    pub today: Today,
    /// Conditions, semaphores and barriers whose waits end in the replay as in the program.
    pub meetings: Vec<MeetingModel>,
    /// Those whose waits stay sleep of the recorded length: names, each with the reason.
    pub undecided: Vec<String>,
    /// Names of conditions that threads signal, and for which no recorded thread waits.
    pub never_waited: Vec<String>,
    /// What the replayed threads used in the whole run, without the program's other threads; `None`
    /// if it is not known.
    pub used: Option<Used>,
}

impl Model {
    /// Returns the statistics of a recording.
    ///
    /// # Errors
    ///
    /// There is too little to be replayed: what is missing.
    pub fn of(recording: &Recording) -> Result<Model, String> {
        Model::with_asleep(recording, &Asleep::new())
    }

    /// Returns the statistics of a recording. Some waits stay sleep of the recorded length.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn with_asleep(recording: &Recording, asleep: &Asleep) -> Result<Model, String> {
        let about = &recording.about;
        let decided = meetings::decide(recording, asleep);
        let runs = visits::runs(recording, &decided);
        let taken: usize = runs.iter().map(|run| run.visits.len()).sum();
        let acquired = Model::acquisitions(recording);
        if taken < LEAST_VISITS {
            too_short(&acquired)?;
        }
        if taken == 0 {
            return Err("the recorded threads take no lock".to_owned());
        }
        if taken < LEAST_VISITS {
            return Err(format!(
                "only {taken} visits to locks are recorded; allowed: {LEAST_VISITS} or more"
            ));
        }
        let mut shares = Shares::default();
        let all: u64 = acquired.values().sum();
        let main_threads = phase::main_threads(&acquired);
        let of_main: u64 = main_threads.iter().filter_map(|thread| acquired.get(thread)).sum();
        shares.other_threads = 1.0 - of_main as f64 / all.max(1) as f64;
        let phase = phase::of(recording, &main_threads);
        shares.replayed = (phase.duration() / (about.seconds * 1e9).max(1.0)).min(1.0);
        let mut runs: Vec<visits::Run> = runs
            .into_iter()
            .filter(|run| main_threads.contains(&run.thread) && phase.contains(run.begin))
            .collect();
        let kept: usize = runs.iter().map(|run| run.visits.len()).sum();
        if kept < LEAST_VISITS {
            too_short(&acquired)?;
            return Err(format!(
                "only {kept} visits to locks are in the part of the run in which {} ran; \
                 allowed: {LEAST_VISITS} or more",
                lockyard_support::threads(main_threads.len())
            ));
        }
        visits::add_shares(&runs, &mut shares);
        let mut groups = groups::of(about, &runs);
        let of_lock = groups::of_locks(&groups);
        // Locks of a group have a condition each: the replay would wait with any of the locks.
        let many = decided.with_locks(|lock| {
            of_lock.get(&lock).is_some_and(|group| groups[*group as usize].locks.len() > 1)
        });
        if !many.is_empty() {
            let why = "its lock is one of several that a call site takes in turn";
            let others = asleep.iter().map(|(place, why)| (*place, *why));
            let asleep = others.chain(many.into_iter().map(|place| (place, why))).collect();
            return Model::with_asleep(recording, &asleep);
        }
        shares.circular = groups::without_circles(&of_lock, &mut runs);
        data::add_costs(&mut groups, &runs);
        let barriers = decided.barriers();
        let classes = chain::classes(&runs, &barriers, &mut shares);
        groups::add_calls(&mut groups, &classes);
        let outside = recording.outside_of(|thread| main_threads.contains(&thread), phase.times());
        let rate_outside = outside.map(|outside| outside.rate);
        let (threads, rate) = (phase.threads, phase.rate);
        let used = used::of(about, &main_threads, of_main);
        let of_program = about
            .cpu_time
            .map(|cpu| today::WholeRun { cpu, of_threads: threads * phase.duration() / 1e9 });
        let of_threads = used.and_then(|used| {
            Some(today::WholeRun { cpu: used.cpu_time?, of_threads: used.seconds })
        });
        let whole = of_threads.or(of_program);
        let spent = runs.iter().map(|run| &run.spent);
        let today = today::of(spent, &of_lock, groups.len(), whole);
        let share = |cpu, seconds| today.cpu_share(threads, about.cpus, cpu, seconds);
        shares.cpu_of_program = share(about.cpu_time, about.seconds);
        shares.cpu = of_threads.map_or(shares.cpu_of_program, |whole| {
            share(Some(whole.cpu), whole.of_threads / threads)
        });
        let meetings::Decided { meetings, undecided, never_waited, .. } = decided;
        Ok(Model {
            threads,
            rate,
            rate_outside,
            classes,
            groups,
            shares,
            today,
            meetings,
            undecided,
            never_waited,
            used,
        })
    }

    /// Returns the places of the barriers among the meetings.
    pub(crate) fn barriers(&self) -> Vec<u32> {
        meetings::barriers(&self.meetings)
    }

    /// Returns the acquisitions a second of the program while no events were written, if there was
    /// enough of this time; otherwise of all the run.
    pub fn undisturbed_rate(&self) -> f64 {
        self.rate_outside.unwrap_or(self.rate)
    }

    /// Returns the number of threads as a whole number, at least 1.
    pub fn whole_threads(&self) -> usize {
        (self.threads.round() as usize).max(1)
    }

    /// Returns the number of acquisitions of each thread, between its first window and its last.
    pub fn acquisitions(recording: &Recording) -> HashMap<u32, u64> {
        let mut ends: HashMap<u32, (u64, u64)> = HashMap::new();
        for window in &recording.windows {
            let end = window.acquisitions_at_end();
            let entry = ends.entry(window.thread).or_insert((window.acquisitions, end));
            *entry = (entry.0.min(window.acquisitions), entry.1.max(end));
        }
        ends.into_iter().map(|(thread, (first, last))| (thread, last - first)).collect()
    }
}

impl Recording {
    /// Returns the number of threads that take locks at a time, 0 if there is none.
    pub fn threads_at_a_time(&self) -> usize {
        let main_threads = phase::main_threads(&Model::acquisitions(self));
        phase::of(self, &main_threads).threads.round() as usize
    }
}

/// Refuses threads that come and go: one that takes a lock a few times shows no interval between
/// two acquisitions.
fn too_short(acquired: &HashMap<u32, u64>) -> Result<(), String> {
    let (threads, all) = (acquired.len() as u64, acquired.values().sum::<u64>());
    if threads < 2 || all >= threads * LEAST_OF_A_THREAD {
        return Ok(());
    }
    Err(format!(
        "threads come and go: {threads} threads took locks {all} times in all, and each is too \
         short to be replayed; allowed: {LEAST_OF_A_THREAD} times a thread or more"
    ))
}
