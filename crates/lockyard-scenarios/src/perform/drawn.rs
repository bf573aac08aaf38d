//! Steps that a task draws: steps of random walks, and branches.

use super::prepared::Prepared;
use super::stage::Stage;
use super::task::Task;
use crate::model::{Among, Step};
use lockyard::platform::{Host, Ordering, Region, Word};
use std::time::Duration;

impl<S: Stage> Prepared<S> {
    /// Performs a branch, if the operation's draw is in its range.
    pub(super) fn perform_branch(
        &self,
        (draws, (from, to), steps): (bool, (f64, f64), &[Step]),
        factor: f64,
        task: &mut Task,
    ) {
        if draws {
            task.drawn = task.numbers.uniform();
        }
        if (from..to).contains(&task.drawn) {
            task.in_branch = true;
            self.perform(steps, factor, task);
            task.in_branch = false;
        }
    }

    /// Waits for the next request of a queue.
    fn wait_for_request(&self, queue: usize, interval: f64, task: &mut Task) {
        let comes = self.arrivals.take(queue, interval * task.numbers.exponential());
        let now = S::Host::now();
        if comes > now {
            S::request_awaited();
            self.sleep((comes - now).as_nanos() as f64);
        }
        S::request_begins(S::Host::now().saturating_sub(comes));
    }

    /// Sleeps for this many nanoseconds.
    fn sleep(&self, nanoseconds: f64) {
        if let Some(bed) = self.bed().filter(|_| nanoseconds > 0.0) {
            let before = S::Host::begin_activity(Region::Idle.into());
            // No thread wakes the task before its time.
            S::Host::park(bed, 0, Some(Duration::from_nanos(nanoseconds as u64)));
            S::Host::resume_activity(before);
        }
    }

    /// Performs a step that draws its time, its lock or its steps.
    pub(super) fn perform_drawn(&self, step: &Step, factor: f64, task: &mut Task) {
        match *step {
            Step::Drawn { ref times, factor: own, activity } => {
                let time = times.quantile(task.numbers.uniform()) * own * factor;
                if time > 0.0 {
                    S::work_in(activity, false, time);
                }
            }
            Step::Sleep { ref times } => {
                self.sleep(times.quantile(task.numbers.uniform()));
            }
            Step::Arrival { queue, interval, ref times } => {
                if times.quantile(task.numbers.uniform()) > 0.0 {
                    self.wait_for_request(queue, interval, task);
                }
            }
            Step::LockedAmong { among: Among(ref among), access, wait, ref steps } => {
                let object = among.at(task.numbers.uniform());
                self.perform_locked((object, access, wait, steps), factor, task);
            }
            Step::LockedWait { object, wait, meeting, steps: [ref before, ref after] } => {
                self.perform_waiting((object, wait, meeting), (before, after), factor, task);
            }
            Step::Meet { meeting, act } => self.perform_met(meeting, act, task),
            Step::Touch { object } => {
                let word = self.word(object);
                // Relaxed: the word publishes no other memory. Its value never changes.
                let value = word.load(Ordering::Relaxed);
                word.store(value, Ordering::Relaxed);
            }
            Step::Walk { ref walk, factor: own } => {
                let class = walk.class(task.number);
                let visits = &walk.classes[class];
                let Some(visit) = visits.get(task.visit) else { return };
                self.perform(&visit.steps, factor * own, task);
                (1..visit.operations).for_each(|_| S::operation_done());
                task.visit = match walk.rounds.get(class).and_then(Option::as_ref) {
                    Some(rounds) => {
                        if task.until_meeting == 0 {
                            task.until_meeting = rounds.lengths.at(task.numbers.uniform()).max(1);
                        }
                        task.until_meeting -= 1;
                        let is_next = task.until_meeting == 0;
                        if is_next { &rounds.meets } else { &visit.next }
                    }
                    None => &visit.next,
                }
                .at(task.numbers.uniform());
            }
            _ => unreachable!("the interpreter performs all other steps"),
        }
    }
}
