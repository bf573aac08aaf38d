//! The steps of an operation.

use super::access::Access;
use super::meeting::{Act, Meeting};
use super::table::{KeyChoice, TableOperation};
use super::times::{Among, Choice, Times};
use super::value::{Condition, Place, Register, Value};
use lockyard::platform::Activity;
use std::sync::Arc;

/// A method of taking a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetOperation {
    /// `LockRef::get`
    Get,
    /// `LockRef::get_not_zero`
    GetNotZero,
    /// `LockRef::get_not_dead`
    GetNotDead,
}

/// A method of dropping a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOperation {
    /// `LockRef::put_return`. If that fails, a put under the lock.
    PutReturn,
    /// `LockRef::put_not_zero`. If that fails, a put under the lock.
    PutNotZero,
    /// `LockRef::put_or_lock`. It returns with the lock held for the last reference, which is then
    /// dropped under the lock.
    PutOrLock,
}

/// A step of an operation. An `object` is an index into the variant's objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Local work of a fixed duration.
    Work {
        /// Duration in nanoseconds.
        nanoseconds: f64,
        /// Kind of work, for listings.
        activity: Activity,
        /// `true` if the work needs no memory, so a core may do it before earlier locked operations
        /// are complete.
        ahead: bool,
    },
    /// A share of the calibrated local work.
    CalibratedWork {
        /// The share, from 0 to 1. The shares of an operation add up to 1.
        share: f64,
        /// Kind of work, for listings.
        activity: Activity,
        /// `true` if the work needs no memory, so a core may do it before earlier locked operations
        /// are complete.
        ahead: bool,
    },
    /// Local work whose duration is drawn each time.
    Drawn {
        /// The durations.
        times: Arc<Times>,
        /// Factor of each duration.
        factor: f64,
        /// Kind of work, for listings.
        activity: Activity,
    },
    /// Sleep that uses no processor, with a duration that is drawn each time.
    Sleep {
        /// The durations. A duration of 0 means no sleep.
        times: Arc<Times>,
    },
    /// Waits for the next request of a queue, if the draw is a time above 0. Requests come at
    /// random times, however many tasks wait for them.
    Arrival {
        /// The queue. All tasks of a run share it.
        queue: usize,
        /// Mean time between two requests of the queue, in nanoseconds.
        interval: f64,
        /// Times that a recorded thread slept for a request; 0 if it did not sleep.
        times: Arc<Times>,
    },
    /// Takes one of several locks, performs steps, and releases it.
    LockedAmong {
        /// The locks.
        among: Among,
        /// Access to the lock.
        access: Access,
        /// Kind of waiting, as in [`Locked`](Step::Locked).
        wait: Activity,
        /// Steps that are performed under the lock.
        steps: Vec<Step>,
    },
    /// Takes a lock, performs steps, waits for other tasks without the lock if necessary, and
    /// performs more steps with the lock.
    LockedWait {
        /// The lock.
        object: usize,
        /// Kind of waiting for the lock, as in [`Locked`](Step::Locked).
        wait: Activity,
        /// Index of the meeting in the walk's list.
        meeting: usize,
        /// Steps before the wait, and after it.
        steps: [Vec<Step>; 2],
    },
    /// Meets other tasks, without a lock.
    Meet {
        /// Index of the meeting in the walk's list.
        meeting: usize,
        /// Action of the task.
        act: Act,
    },
    /// Loads a word, and stores the same value.
    Touch {
        /// The word.
        object: usize,
    },
    /// One visit of a random walk. The task continues its walk in its next operation.
    Walk {
        /// The walk.
        walk: Arc<Walk>,
        /// Factor of all local work.
        factor: f64,
    },
    /// One pause.
    Pause,
    /// Interrupts all other tasks of the same guest, and waits until every one has answered.
    WaitForOthers {
        /// One in this many operations performs the step, at random.
        one_in: u32,
    },
    /// Takes a lock, performs steps, and releases the lock.
    Locked {
        /// The lock, or the lockref.
        object: usize,
        /// Access to the lock.
        access: Access,
        /// Kind of waiting, for listings:
        /// [`Region::LockWait`](lockyard::platform::Region::LockWait), or a part of it.
        wait: Activity,
        /// Steps that are performed under the lock.
        steps: Vec<Step>,
    },
    /// Takes a reference.
    Get {
        /// The lockref, or the page.
        object: usize,
        /// Operation that takes the reference. Unused for a page, whose kind determines the
        /// operation.
        operation: GetOperation,
    },
    /// Drops a reference.
    Put {
        /// The lockref, or the page.
        object: usize,
        /// Operation that drops the reference. A page has only one such operation.
        operation: PutOperation,
    },
    /// Reads a word or data.
    Read {
        /// The word or data.
        object: usize,
    },
    /// Stores to a word, or increments data under a lock.
    Write {
        /// The word or data.
        object: usize,
    },
    /// Adds to a word atomically.
    Add {
        /// The word.
        object: usize,
        /// Number that is added.
        value: i32,
    },
    /// Uses a table.
    Table {
        /// The table.
        object: usize,
        /// Operation on the table.
        operation: TableOperation,
        /// The entry. Unused if the operation inserts or removes one.
        key: KeyChoice,
    },
    /// Loads a word into a register.
    Load {
        /// The word.
        place: Place,
        /// Register for its value.
        into: Register,
    },
    /// Stores a value to a word.
    Store {
        /// The word.
        place: Place,
        /// The value.
        value: Value,
    },
    /// Adds a value to a word atomically, and keeps the previous value.
    FetchAdd {
        /// The word.
        place: Place,
        /// Number that is added.
        value: Value,
        /// Register for the previous value.
        into: Register,
    },
    /// Replaces a word's value atomically, if it is the expected one.
    CompareExchange {
        /// The word.
        place: Place,
        /// The expected value.
        expect: Value,
        /// The new value.
        new: Value,
        /// Register for the value that was found.
        into: Option<Register>,
        /// Register for 1 if the value was replaced, and 0 if it was not.
        result: Register,
    },
    /// Puts a value into a register.
    Set {
        /// The register.
        into: Register,
        /// The value.
        value: Value,
    },
    /// Performs a step if conditions hold. A compare-exchange that is not performed has failed.
    When {
        /// The conditions.
        conditions: Vec<Condition>,
        /// The step.
        step: Box<Step>,
    },
    /// Performs steps if the operation's draw is in a range. The branches of one choice have ranges
    /// that do not overlap.
    Branch {
        /// `true` for the first branch of a choice, which draws a number from 0 to 1.
        draws: bool,
        /// The range: from the first number, below the second.
        range: (f64, f64),
        /// The steps.
        steps: Vec<Step>,
    },
    /// Performs steps again and again, until conditions hold after them.
    Repeat {
        /// The steps.
        steps: Vec<Step>,
        /// The conditions.
        until: Vec<Condition>,
        /// `true` if the loop is not inside another loop.
        outermost: bool,
        /// Line of the script that ends the loop, for errors.
        line: usize,
    },
}

/// An effect of a step on one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Changes a count of references.
    References(i64),
    /// Reads a word or data.
    Reads,
    /// Stores to a word, or increments data.
    Writes,
    /// Stores a value that the script gives to a word.
    Stores,
    /// Adds to a word.
    Adds(i32),
    /// Uses a table.
    Uses(TableOperation, KeyChoice),
}

impl Step {
    /// Returns the local work of the step itself, in nanoseconds. `calibrated` is the calibrated
    /// local work of an operation.
    pub(crate) fn work(&self, calibrated: f64) -> f64 {
        match *self {
            Step::Work { nanoseconds, .. } => nanoseconds,
            Step::CalibratedWork { share, .. } => calibrated * share,
            Step::Drawn { ref times, factor, .. } => times.mean() * factor,
            Step::Sleep { ref times } => times.mean(),
            Step::Arrival { interval, ref times, .. } => interval * times.share_above_zero(),
            Step::Walk { ref walk, factor } => walk.mean_work * factor,
            _ => 0.0,
        }
    }

    /// Returns the mean local work of the step and of the steps inside it, in nanoseconds, without
    /// calibrated work.
    pub fn mean_work(&self) -> f64 {
        Step::mean(std::slice::from_ref(self), &|step| step.work(0.0))
    }

    /// Returns the walk, if this is one.
    pub(crate) fn walk(&self) -> Option<&Walk> {
        match self {
            Step::Walk { walk, .. } => Some(walk),
            _ => None,
        }
    }

    /// Returns the steps inside this one: under a lock, in a loop, or with a condition.
    pub fn inner(&self) -> Option<&[Step]> {
        match self {
            Step::Locked { steps, .. }
            | Step::LockedAmong { steps, .. }
            | Step::Branch { steps, .. }
            | Step::Repeat { steps, .. } => Some(steps),
            Step::When { step, .. } => Some(std::slice::from_ref(step)),
            _ => None,
        }
    }

    /// Returns the steps inside this one, to be changed.
    pub fn inner_mut(&mut self) -> Option<&mut [Step]> {
        match self {
            Step::Locked { steps, .. }
            | Step::LockedAmong { steps, .. }
            | Step::Branch { steps, .. }
            | Step::Repeat { steps, .. } => Some(steps),
            Step::When { step, .. } => Some(std::slice::from_mut(step)),
            _ => None,
        }
    }

    /// Returns `true` if the step's local work is a number that the script gives.
    pub fn states_work(&self) -> bool {
        matches!(self, Step::Work { .. } | Step::Walk { .. })
    }

    /// Multiplies the local work that the script states, for this step and for the steps inside it.
    pub fn scale_stated_work(&mut self, by: f64) {
        match self {
            Step::Work { nanoseconds, .. } => *nanoseconds *= by,
            Step::Walk { factor, .. } => *factor *= by,
            step => {
                let inner = step.inner_mut().unwrap_or_default();
                inner.iter_mut().for_each(|step| step.scale_stated_work(by));
            }
        }
    }

    /// Returns the object that the step changes or reads, and its effect, which is checked before
    /// or after a run. Steps inside this step have separate effects.
    pub(crate) fn effect(&self) -> Option<(usize, Effect)> {
        match *self {
            Step::Get { object, .. } => Some((object, Effect::References(1))),
            Step::Put { object, .. } => Some((object, Effect::References(-1))),
            Step::Read { object } => Some((object, Effect::Reads)),
            Step::Write { object } => Some((object, Effect::Writes)),
            Step::Store { place, .. } => Some((place.object, Effect::Stores)),
            Step::Add { object, value } => Some((object, Effect::Adds(value))),
            Step::Table { object, operation, key } => Some((object, Effect::Uses(operation, key))),
            _ => None,
        }
    }

    /// Returns `true` if the step puts a word's value into a register.
    pub(crate) fn looks_at_a_word(&self) -> bool {
        matches!(self, Step::Load { .. } | Step::FetchAdd { .. } | Step::CompareExchange { .. })
    }

    /// Returns the sum of `weight` over `steps`, including steps inside others. A loop counts as
    /// one turn, and all branches count.
    pub(crate) fn sum<N: std::iter::Sum>(steps: &[Step], weight: &impl Fn(&Step) -> N) -> N {
        let of_one = |step: &Step| match (step, step.inner()) {
            (Step::LockedWait { steps, .. }, _) => {
                steps.iter().map(|steps| Step::sum::<N>(steps, weight)).sum()
            }
            (_, Some(steps)) => Step::sum(steps, weight),
            (_, None) => weight(step),
        };
        steps.iter().map(of_one).sum()
    }

    /// Returns the mean sum of `weight` over `steps`, including steps inside others. A branch
    /// counts with its share of the operations.
    pub(crate) fn mean(steps: &[Step], weight: &impl Fn(&Step) -> f64) -> f64 {
        let of_one = |step: &Step| match step {
            Step::Branch { range, steps, .. } => (range.1 - range.0) * Step::mean(steps, weight),
            Step::LockedWait { steps, .. } => {
                steps.iter().map(|steps| Step::mean(steps, weight)).sum()
            }
            step => match step.inner() {
                Some(steps) => Step::mean(steps, weight),
                None => weight(step),
            },
        };
        steps.iter().map(of_one).sum()
    }
}

/// Maximum wait of the last of many tasks, in mean times between requests.
const MOST_INTERVALS: f64 = 1e4;

/// One operation of a random walk: its steps, and the choice of the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// The steps.
    pub steps: Vec<Step>,
    /// The choice of the next visit.
    pub next: Choice,
    /// Number of operations that this visit counts for, at least 1.
    pub operations: u64,
}

/// A random walk. Tasks of different classes walk among different visits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walk {
    /// Visits of each class, at least one.
    pub classes: Vec<Vec<Visit>>,
    /// Places where tasks wait for each other.
    pub meetings: Vec<Meeting>,
    /// Rounds of each class: visits at which all tasks meet come at regular distances. The list is
    /// shorter than the list of classes if the remaining classes have no rounds.
    pub rounds: Vec<Option<Rounds>>,
    /// Class of each task. Task number *n* has the class at index *n* modulo the length.
    pub tasks: Vec<usize>,
    /// Mean local work of an operation, in nanoseconds.
    pub mean_work: f64,
}

/// Distances of the visits where a class meets all other tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Number of visits from one such visit to the next.
    pub lengths: Choice,
    /// Choice of such a visit. [`Visit::next`] chooses among the other visits.
    pub meets: Choice,
}

impl Walk {
    /// Returns the mean time between two requests from outside, of all queues together, in
    /// nanoseconds; `None` if none come.
    pub fn interval_of_requests(&self) -> Option<f64> {
        let visits = self.classes.iter().flatten();
        let mut rates = vec![0.0; self.classes.len()];
        for step in visits.flat_map(|visit| &visit.steps) {
            if let Step::Arrival { queue, interval, .. } = *step {
                rates[queue] = 1.0 / interval;
            }
        }
        let all: f64 = rates.iter().sum();
        (all > 0.0).then(|| 1.0 / all)
    }

    /// Returns the class of a task.
    pub(crate) fn class(&self, task: u64) -> usize {
        self.tasks[(task % self.tasks.len() as u64) as usize]
    }

    /// Returns the longest local work of an operation, in nanoseconds.
    pub(crate) fn longest_work(&self) -> f64 {
        fn longest(steps: &[Step]) -> f64 {
            let of_one = |step: &Step| match step {
                Step::Drawn { times, factor, .. } => times.longest() * factor,
                Step::Sleep { times } => times.longest(),
                Step::LockedWait { steps, .. } => steps.iter().map(|steps| longest(steps)).sum(),
                // Each task may wait for a later request than the previous task.
                Step::Arrival { interval, .. } => interval * MOST_INTERVALS,
                step => step.inner().map_or(0.0, longest),
            };
            steps.iter().map(of_one).sum()
        }
        let visits = self.classes.iter().flatten();
        visits.map(|visit| longest(&visit.steps)).fold(0.0, f64::max)
    }
}
