//! Counts of the places where tasks of random walks wait for each other: a recorded program's own
//! use of its conditions, semaphores and barriers. `meeting_steps` has the waits.
//!
//! Counts of units and of arrivals are the program's data. They take no time here: the program
//! counts within its recorded times. What waits and wakes cost is the host's: a waiting task
//! parks on the meeting's word, and a task that ends a wait changes that word and wakes.
//!
//! A run whose tasks all wait has no figure. A waiting task looks for that now and then.

use crate::model::{Meeting, MeetingKind};
use lockyard::platform::{Host, Ordering, U32, Word};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Meetings of a run.
pub(super) struct Meetings<H: Host> {
    all: Vec<Placed<H>>,
    counts: Mutex<Counts>,
    /// Place that all tasks wait for, if they do.
    stuck: OnceLock<String>,
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
    /// Tasks that have begun, and those that wait.
    tasks: u64,
    waiting: u64,
    /// Number of changes of any meeting.
    changes: u64,
}

/// Counts of a meeting.
#[derive(Clone, Copy, Default)]
struct Count {
    units: u64,
    /// Number of tasks that come here.
    members: u64,
    /// Number of waits that have begun, and of those that may end.
    arrived: u64,
    served: u64,
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

    /// Counts a task that begins, and comes to these meetings.
    pub(super) fn begins(&self, comes_to: impl Iterator<Item = usize>) {
        let mut counts = self.counts();
        counts.tasks += 1;
        comes_to.for_each(|meeting| counts.each[meeting].members += 1);
    }

    /// Returns what all tasks wait for, if they do.
    pub(super) fn stuck(&self) -> Option<&str> {
        self.stuck.get().map(String::as_str)
    }

    /// Comes to a meeting, or looks again. Returns the ticket if the task has to wait, and
    /// the number of tasks to be woken if it has not.
    pub(super) fn come(&self, meeting: usize, ticket: Option<Ticket>) -> Result<u32, Ticket> {
        let counts = &mut *self.counts();
        let of = &mut counts.each[meeting];
        let mut wakes = 0;
        let number = ticket.map_or(of.arrived, |ticket| ticket.number);
        of.arrived += u64::from(ticket.is_none());
        let goes_on = match self.all[meeting].meeting.kind {
            MeetingKind::Kept { .. } => of.units > 0,
            MeetingKind::Lost => number < of.served,
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
            if ticket.is_some() {
                of.waiting -= 1;
                counts.waiting -= 1;
            }
            of.word = of.word.wrapping_add(u32::from(wakes > 0));
            counts.changes += 1;
            return Ok(wakes);
        }
        if ticket.is_none() {
            of.waiting += 1;
            counts.waiting += 1;
        }
        Err(Ticket { number, word: of.word })
    }

    /// Leaves a meeting whose wait has not ended: the run is over.
    pub(super) fn leave(&self, meeting: usize) {
        let mut counts = self.counts();
        counts.each[meeting].waiting -= 1;
        counts.waiting -= 1;
    }

    /// Gives units, or signals. Returns the number of tasks to be woken.
    pub(super) fn give(&self, meeting: usize, units: u64, all: bool) -> u32 {
        let counts = &mut *self.counts();
        let of = &mut counts.each[meeting];
        match self.all[meeting].meeting.kind {
            MeetingKind::Kept { .. } => of.units += units,
            MeetingKind::Lost if all => of.served = of.arrived,
            MeetingKind::Lost => of.served = (of.served + units).min(of.arrived),
            MeetingKind::Barrier => return 0,
        }
        counts.changes += 1;
        let wakes = if all { of.waiting } else { of.waiting.min(units) };
        of.word = of.word.wrapping_add(u32::from(wakes > 0));
        wakes as u32
    }

    /// Notes that all tasks wait, if that is so and nothing has changed since `changes`. Returns
    /// the number of changes so far.
    pub(super) fn look(&self, meeting: usize, changes: Option<u64>) -> u64 {
        let counts = self.counts();
        if counts.waiting >= counts.tasks && changes == Some(counts.changes) {
            let name = &self.all[meeting].meeting.name;
            let tasks = counts.tasks;
            self.stuck.get_or_init(|| {
                format!(
                    "all {tasks} threads of the replay wait for each other, one for \
                     `{name}`, so that the recording does not say who goes on"
                )
            });
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
