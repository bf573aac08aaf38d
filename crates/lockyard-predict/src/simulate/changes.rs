//! Changes in a run, as a trace shows them: the threads' steps, the lines for which their
//! operations wait, and the core that has each line.
//!
//! The steps come from the scenario's [stage](super::stage). The rest comes from the engine,
//! through an observer. Both append to one list, in the order of simulated time.

use lockyard::platform::Region;
use lockyard_sim::{CyclePhase, LineHolder, Observer};
use std::cell::RefCell;
use std::rc::Rc;

/// A change in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Cycle of the change.
    pub time: u64,
    /// Number of the thread or of the line.
    pub of: u32,
    /// Kind of the change.
    pub what: Changed,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A thread begins a step, inside its open steps.
    Begins(StepKind),
    /// A thread ends its innermost step.
    Ends,
    /// A thread spends its cycles on a phase from now on, and waits for a line in that phase.
    Spends(Option<CyclePhase>, Option<u32>),
    /// A line has another holder from now on.
    Moves(LineHolder),
}

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Local work in a region.
    Work(Region),
    /// An operation on a reference count or a table.
    Access,
    /// The wait for a lock.
    Waits(u32),
    /// The hold of a lock.
    Holds(u32),
}

/// List of changes that a stage and an observer share.
pub(super) type Changes = Rc<RefCell<Vec<Change>>>;

/// Open steps of each thread, and the list of changes once it has begun.
#[derive(Debug)]
pub(super) struct Steps {
    open: Vec<Vec<StepKind>>,
    changes: Option<Changes>,
}

impl Steps {
    pub(super) fn new(threads: usize) -> Steps {
        Steps { open: vec![Vec::new(); threads], changes: None }
    }

    /// Appends to `changes` from now on. The first entries are the steps that are open at `time`.
    pub(super) fn begin_list(&mut self, time: u64, changes: Changes) {
        {
            let mut list = changes.borrow_mut();
            for (thread, steps) in self.open.iter().enumerate() {
                let begins =
                    |&step| Change { time, of: thread as u32, what: Changed::Begins(step) };
                list.extend(steps.iter().map(begins));
            }
        }
        self.changes = Some(changes);
    }

    fn append(&mut self, time: u64, thread: usize, what: Changed) {
        if let Some(changes) = &self.changes {
            changes.borrow_mut().push(Change { time, of: thread as u32, what });
        }
    }

    pub(super) fn begins(&mut self, time: u64, thread: usize, step: StepKind) {
        self.open[thread].push(step);
        self.append(time, thread, Changed::Begins(step));
    }

    /// Records that the step that the thread has just begun is the wait for a lock.
    pub(super) fn is_wait(&mut self, thread: usize, lock: usize) {
        let step = StepKind::Waits(lock as u32);
        if let Some(open) = self.open[thread].last_mut() {
            *open = step;
        }
        if let Some(changes) = &self.changes
            && let Some(last) = changes.borrow_mut().last_mut()
        {
            debug_assert_eq!(
                (last.of, last.what),
                (thread as u32, Changed::Begins(StepKind::Access))
            );
            last.what = Changed::Begins(step);
        }
    }

    pub(super) fn ends(&mut self, time: u64, thread: usize) {
        if self.open[thread].pop().is_some() {
            self.append(time, thread, Changed::Ends);
        }
    }
}

/// Observer that appends the engine's reports to a list.
pub(super) struct Follower {
    /// List to which it appends.
    pub(super) changes: Changes,
    /// Cycle at which the list begins. The engine's clock still shows the last event, which is
    /// earlier.
    pub(super) begin: u64,
}

impl Follower {
    fn append(&self, time: u64, of: usize, what: Changed) {
        let time = time.max(self.begin);
        self.changes.borrow_mut().push(Change { time, of: of as u32, what });
    }
}

impl Observer for Follower {
    fn phase(&mut self, time: u64, thread: usize, phase: Option<CyclePhase>, line: Option<usize>) {
        self.append(time, thread, Changed::Spends(phase, line.map(|line| line as u32)));
    }

    fn line(&mut self, time: u64, line: usize, holder: LineHolder) {
        self.append(time, line, Changed::Moves(holder));
    }
}
