//! Tasks that wait for each other for ever.
//!
//! A wait may end while a task that could end it goes on, or waits for something that may come
//! itself. Tasks for which this is not so stand still, and a run with such tasks has no figure:
//! that of the rest would pass for the program's.

use crate::model::{Act, MeetingKind, Step, Walk};
use std::collections::{BTreeMap, BTreeSet};

/// Part of a task in the meetings of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    /// Meetings where the task waits now and then.
    pub(super) comes: BTreeSet<usize>,
    /// Meetings that it gives to.
    pub(super) gives: BTreeSet<usize>,
    /// Meeting where it waits now.
    pub(super) waits: Option<usize>,
}

impl Member {
    /// Returns the part of a task of this class.
    pub(super) fn of(walk: &Walk, class: usize) -> Member {
        let mut member = Member::default();
        for visit in &walk.classes[class] {
            member.add(&visit.steps);
        }
        member
    }

    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Meet { meeting, act: Act::Wait } => drop(self.comes.insert(*meeting)),
                Step::Meet { meeting, act: Act::Give { .. } } => drop(self.gives.insert(*meeting)),
                Step::LockedWait { meeting, steps, .. } => {
                    self.comes.insert(*meeting);
                    steps.iter().for_each(|steps| self.add(steps));
                }
                step => self.add(step.inner().unwrap_or_default()),
            }
        }
    }
}

/// Returns the tasks that wait for ever. `may_go_on` tells if some wait at a meeting is over,
/// although its task has not noticed.
pub(super) fn tasks(
    members: &BTreeMap<u64, Member>,
    kind: impl Fn(usize) -> MeetingKind,
    may_go_on: impl Fn(usize) -> bool,
) -> BTreeSet<u64> {
    let waits = |task: &u64| members[task].waits;
    let mut still: BTreeSet<u64> =
        members.keys().copied().filter(|of| waits(of).is_some()).collect();
    loop {
        let goes_on = |task: &u64| {
            let Some(meeting) = waits(task) else { return true };
            let of = || members.iter().filter(|(task, _)| !still.contains(task));
            may_go_on(meeting)
                || match kind(meeting) {
                    MeetingKind::Kept { .. } | MeetingKind::Lost => {
                        of().any(|(_, member)| member.gives.contains(&meeting))
                    }
                    // All others have to come, and one that stands still elsewhere does not.
                    MeetingKind::Barrier => {
                        still.iter().all(|other| {
                            let member = &members[other];
                            !member.comes.contains(&meeting) || member.waits == Some(meeting)
                        }) && of().any(|(_, member)| member.comes.contains(&meeting))
                    }
                }
        };
        let before = still.len();
        let left: BTreeSet<u64> = still.iter().copied().filter(|task| !goes_on(task)).collect();
        if left.len() == before {
            return left;
        }
        still = left;
    }
}
