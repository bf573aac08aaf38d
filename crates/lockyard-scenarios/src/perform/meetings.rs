//! Counts of the places where tasks of random walks wait for each other: a recorded program's own
//! use of its conditions, semaphores and barriers. `meeting_steps` has the waits.
//!
//! Counts of units and of arrivals are the program's data. They take no time here: the program
//! counts within its recorded times. What waits and wakes cost is the host's: a waiting task
//! parks on the meeting's word, and a task that ends a wait changes that word and wakes.
//!
//! A run whose tasks all wait has no figure, and neither has one in which some wait for ever
//! (`standstill`). A waiting task looks now and then if all wait.

use super::standstill::{self, Member};
use crate::model::{Meeting, MeetingKind};
use lockyard::platform::{Host, Ordering, U32, Word};
use std::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Meetings of a run.
pub(super) struct Meetings<H: Host> {
    all: Vec<Placed<H>>,
    counts: Mutex<Counts>,
    /// Tasks that wait for ever, if there are any.
    stuck: OnceLock<Stuck>,
}

/// Tasks that wait for each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Description for readers.
    pub what: String,
    /// Meetings where they wait, as places in the walk's list.
    pub meetings: Vec<usize>,
}

/// A meeting in memory.
struct Placed<H: Host> {
    meeting: Meeting,
    /// Number of changes, in a line of its own: waiting tasks park on it.
    word: NonNull<U32<H>>,
}

/// Counts of a run's meetings.
#[derive(Default)]
struct Counts {
    each: Vec<Count>,
    /// Tasks that have begun, by their numbers.
    tasks: BTreeMap<u64, Member>,
    /// Number of tasks that wait.
    waiting: u64,
    /// Number of changes of any meeting.
    changes: u64,
}

impl Counts {
    /// Ends a task's wait.
    fn goes_on(&mut self, meeting: usize, task: u64) {
        self.each[meeting].waiting -= 1;
        self.waiting -= 1;
        if let Some(member) = self.tasks.get_mut(&task) {
            member.waits = None;
        }
    }
}

/// Counts of a meeting.
#[derive(Clone, Copy, Default)]
struct Count {
    units: u64,
    /// Number of tasks that come here.
    members: u64,
    /// Number of waits that have begun.
    arrived: u64,
    /// Number of the first wait that may not end yet.
    served: u64,
    /// Signals that end a wait before that one, whichever task comes first, and have not done so.
    pending: u64,
    waiting: u64,
    /// Value that the word has, or is about to have.
    word: u32,
}

/// A task's part in a meeting.
#[derive(Clone, Copy)]
pub(super) struct Ticket {
    number: u64,
    /// Value of the word when the task saw that it has to wait.
    pub(super) word: u32,
}

/// Lays a run's meetings out. `allocate` returns the memory of a line.
pub(super) fn place<H: Host>(
    meetings: &[Meeting],
    mut allocate: impl FnMut() -> Option<NonNull<u8>>,
) -> Option<Meetings<H>> {
    let mut all = Vec::new();
    let mut counts = Counts::default();
    for meeting in meetings {
        let word = allocate()?.cast::<U32<H>>();
        // SAFETY: a line has room for the word, and nothing else is in it.
        unsafe { word.write(Word::new(0)) };
        let units = if let MeetingKind::Kept { units } = meeting.kind { units } else { 0 };
        counts.each.push(Count { units, ..Count::default() });
        all.push(Placed { meeting: meeting.clone(), word });
    }
    Some(Meetings { all, counts: Mutex::new(counts), stuck: OnceLock::new() })
}

/// Layout of a meeting's line.
pub(super) fn line(line_bytes: usize) -> Option<Layout> {
    Layout::from_size_align(line_bytes, line_bytes).ok()
}

impl<H: Host> Meetings<H> {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a task that begins.
    pub(super) fn begins(&self, task: u64, member: Member) {
        let mut counts = self.counts();
        member.comes.iter().for_each(|meeting| counts.each[*meeting].members += 1);
        counts.tasks.insert(task, member);
    }

    /// Returns true if tasks are known to wait for ever.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.get().is_some()
    }

    /// Looks for tasks that wait for ever, after all have begun.
    pub(super) fn stuck(&self) -> Option<&Stuck> {
        if !self.is_stuck() {
            let counts = self.counts();
            let kind = |meeting: usize| self.all[meeting].meeting.kind;
            let may_go_on = |meeting: usize| {
                let of = &counts.each[meeting];
                match kind(meeting) {
                    MeetingKind::Kept { .. } => of.units > 0,
                    MeetingKind::Lost => of.pending > 0,
                    MeetingKind::Barrier => of.waiting > of.arrived - of.served,
                }
            };
            let still = standstill::tasks(&counts.tasks, kind, may_go_on);
            if !still.is_empty() {
                self.stuck.get_or_init(|| self.stuck_tasks(&counts, &still));
            }
        }
        self.stuck.get()
    }

    fn stuck_tasks(&self, counts: &Counts, still: &BTreeSet<u64>) -> Stuck {
        let waits = still.iter().filter_map(|task| counts.tasks[task].waits);
        let meetings: Vec<usize> = waits.collect::<BTreeSet<usize>>().into_iter().collect();
        let name = meetings.first().map_or("", |of| self.all[*of].meeting.name.as_str());
        let all = counts.tasks.len();
        let number = match still.len() {
            some if some < all => format!("{some} of {all}"),
            _ => format!("all {all}"),
        };
        let what = format!(
            "{number} threads of the replay wait for each other, one for `{name}`, so that the \
             recording does not say who goes on"
        );
        Stuck { what, meetings }
    }

    /// Lets a task come to a meeting, or look again with its ticket. Returns the number of tasks to
    /// be woken if it goes on, and the ticket as an error if it has to wait.
    pub(super) fn come(
        &self,
        meeting: usize,
        task: u64,
        ticket: Option<Ticket>,
    ) -> Result<u32, Ticket> {
        let counts = &mut *self.counts();
        let of = &mut counts.each[meeting];
        let mut wakes = 0;
        let number = ticket.map_or(of.arrived, |ticket| ticket.number);
        of.arrived += u64::from(ticket.is_none());
        let goes_on = match self.all[meeting].meeting.kind {
            MeetingKind::Kept { .. } => of.units > 0,
            // Tasks may park in another order than they have come in.
            MeetingKind::Lost => number < of.served && of.pending > 0,
            MeetingKind::Barrier if ticket.is_none() && of.arrived - of.served >= of.members => {
                // The last one of a round.
                of.served = of.arrived;
                wakes = of.waiting as u32;
                true
            }
            MeetingKind::Barrier => number < of.served,
        };
        if goes_on {
            of.units = of.units.saturating_sub(1);
            of.pending = of.pending.saturating_sub(1);
            if ticket.is_some() {
                counts.goes_on(meeting, task);
            }
            let of = &mut counts.each[meeting];
            of.word = of.word.wrapping_add(u32::from(wakes > 0));
            counts.changes += 1;
            return Ok(wakes);
        }
        if ticket.is_none() {
            of.waiting += 1;
            counts.waiting += 1;
            if let Some(member) = counts.tasks.get_mut(&task) {
                member.waits = Some(meeting);
            }
        }
        Err(Ticket { number, word: of.word })
    }

    /// Leaves a meeting whose wait has not ended: the run is over.
    pub(super) fn leave(&self, meeting: usize, task: u64) {
        self.counts().goes_on(meeting, task);
    }

    /// Gives units, or signals. Returns the number of tasks to be woken.
    pub(super) fn give(&self, meeting: usize, units: u64, all: bool) -> u32 {
        let counts = &mut *self.counts();
        let of = &mut counts.each[meeting];
        match self.all[meeting].meeting.kind {
            MeetingKind::Kept { .. } => of.units += units,
            MeetingKind::Lost => {
                of.served = of.arrived;
                of.pending = if all { of.waiting } else { (of.pending + units).min(of.waiting) };
            }
            MeetingKind::Barrier => return 0,
        }
        counts.changes += 1;
        let wakes = if all { of.waiting } else { of.waiting.min(units) };
        of.word = of.word.wrapping_add(u32::from(wakes > 0));
        wakes as u32
    }

    /// Notes that all tasks wait, if that is so and nothing has changed since `changes`. Returns
    /// the number of changes so far.
    pub(super) fn look(&self, changes: Option<u64>) -> u64 {
        let counts = self.counts();
        if counts.waiting >= counts.tasks.len() as u64 && changes == Some(counts.changes) {
            let all = counts.tasks.keys().copied().collect();
            self.stuck.get_or_init(|| self.stuck_tasks(&counts, &all));
        }
        counts.changes
    }

    /// Returns the word that tasks park on while they wait at a meeting.
    pub(super) fn word(&self, meeting: usize) -> &U32<H> {
        // SAFETY: the word was written in `place`, and the run's memory outlives its tasks.
        unsafe { self.all[meeting].word.as_ref() }
    }

    /// Changes a meeting's word, and wakes tasks.
    pub(super) fn wake(&self, meeting: usize, wakes: u32) {
        let word = self.word(meeting);
        if wakes == 0 {
            // Relaxed: a signal only looks if anybody waits.
            std::hint::black_box(word.load(Ordering::Relaxed));
            return;
        }
        // Relaxed: what the program publishes is under its locks.
        word.fetch_add(1, Ordering::Relaxed);
        H::unpark(word, wakes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard::platform::Native;

    #[test]
    fn a_signal_ends_the_wait_of_whichever_task_is_woken() {
        let kind = MeetingKind::Lost;
        let of = [Meeting { name: "m".to_owned(), kind }];
        let mut line = 0u64;
        let memory = NonNull::from(&mut line).cast();
        let meetings = place::<Native>(&of, || Some(memory)).expect("there is memory");
        (0..3).for_each(|task| meetings.begins(task, Member::default()));
        let first = meetings.come(0, 0, None).expect_err("there is no signal");
        let second = meetings.come(0, 1, None).expect_err("there is no signal");
        assert_eq!(meetings.give(0, 1, false), 1);
        // The second one had parked first, and a third one comes too late.
        let third = meetings.come(0, 2, None).expect_err("the signal came before");
        assert!(meetings.come(0, 2, Some(third)).is_err());
        assert!(meetings.come(0, 1, Some(second)).is_ok());
        assert!(meetings.come(0, 0, Some(first)).is_err(), "one signal ends one wait");
        assert_eq!(meetings.give(0, 1, true), 2);
        assert!(meetings.come(0, 0, Some(first)).is_ok());
        assert!(meetings.come(0, 2, Some(third)).is_ok());
        // No task waits: the signal is lost.
        assert_eq!(meetings.give(0, 1, false), 0);
        assert!(meetings.come(0, 0, None).is_err());
    }
}
