//! Steps of tasks of random walks that wait for each other, with a lock that is released meanwhile
//! or without one. A waiting task looks now and then if the run is over.

use super::meetings::Ticket;
use super::prepared::Prepared;
use super::stage::Stage;
use super::task::Task;
use crate::model::{Access, Act, Step};
use lockyard::platform::{Activity, Host, Ordering, Region, Word};
use std::time::Duration;

/// Time until a waiting task looks if the run is over.
const LOOK: Duration = Duration::from_millis(5);

impl<S: Stage> Prepared<S> {
    /// Performs what a task does at a meeting, without a lock.
    pub(super) fn perform_met(&self, meeting: usize, act: Act, task: &mut Task) {
        let Some(meetings) = self.meetings() else { return };
        match act {
            Act::Give { units, all } => {
                let part = task.numbers.uniform() < units.fract();
                let wakes = meetings.give(meeting, units as u64 + u64::from(part), all);
                meetings.wake(meeting, wakes);
            }
            Act::Wait => match meetings.come(meeting, task.number, None) {
                Ok(wakes) if wakes > 0 => meetings.wake(meeting, wakes),
                Ok(_) => {}
                Err(ticket) => self.sleep_until_met(meeting, ticket, task),
            },
        }
    }

    /// Takes a lock, performs the steps before a wait, waits without the lock if it has to, and
    /// performs the steps after it with the lock.
    pub(super) fn perform_waiting(
        &self,
        (object, wait, meeting): (usize, Activity, usize),
        (before, after): (&[Step], &[Step]),
        factor: f64,
        task: &mut Task,
    ) {
        let Some(meetings) = self.meetings() else { return };
        let mut ticket = None;
        let mut wakes = 0;
        let lock = (object, Access::Exclusive, wait);
        self.perform_locked_by(lock, task, |task| {
            self.perform(before, factor, task);
            match meetings.come(meeting, task.number, None) {
                Ok(woken) => {
                    wakes = woken;
                    self.perform(after, factor, task);
                }
                Err(has_to_wait) => ticket = Some(has_to_wait),
            }
        });
        if wakes > 0 {
            meetings.wake(meeting, wakes);
        }
        while let Some(waits) = ticket.take() {
            let Some(again) = self.park(meeting, waits, task.number) else { return };
            self.perform_locked_by(lock, task, |task| {
                match meetings.come(meeting, task.number, Some(again)) {
                    Ok(_) => self.perform(after, factor, task),
                    Err(waits) => ticket = Some(waits),
                }
            });
        }
    }

    /// Sleeps until a wait is over, or the run is.
    fn sleep_until_met(&self, meeting: usize, ticket: Ticket, task: &Task) {
        let Some(meetings) = self.meetings() else { return };
        let mut waits = Err(ticket);
        while let Err(ticket) = waits {
            let Some(again) = self.park(meeting, ticket, task.number) else { return };
            waits = meetings.come(meeting, task.number, Some(again));
        }
    }

    /// Parks until the meeting has changed. Returns `None` if the run is over; then the task has
    /// left the meeting.
    fn park(&self, meeting: usize, ticket: Ticket, task: u64) -> Option<Ticket> {
        let meetings = self.meetings()?;
        let word = meetings.word(meeting);
        let mut changes = None;
        let before = S::Host::begin_activity(Region::Idle.into());
        let goes_on = loop {
            if S::stopping() || meetings.is_stuck() {
                meetings.leave(meeting, task);
                break false;
            }
            S::Host::park(word, ticket.word, Some(LOOK));
            // Relaxed: what the program publishes is under its locks.
            if word.load(Ordering::Relaxed) != ticket.word {
                break true;
            }
            changes = Some(meetings.look(changes));
        };
        S::Host::resume_activity(before);
        goes_on.then_some(ticket)
    }
}
