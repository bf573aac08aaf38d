//! The interpreter of steps.
//!
//! The interpreter walks a list of steps. A step reaches a lock, lockref, page or table by one
//! indirect call; other steps are direct calls. While an operation runs, the interpreter allocates
//! no memory and looks up no names.
//!
//! On a simulated machine, the interpreter itself takes no time. On the host it takes a few
//! nanoseconds per step, which the measured figures include. A script without steps shows this
//! overhead.

use super::objects::Shared;
use super::prepared::Prepared;
use super::stage::Stage;
use super::tables::Of;
use super::task::{Inserted, Task};
use crate::model::{Access, KeyChoice, Step, TableOperation};
use lockyard::platform::{Activity, DataCell, Host, Ordering, Region, U64, Word};

impl<S: Stage> Prepared<S> {
    /// Performs operations until the run is over. After each operation, calls `done` with the
    /// number of operations so far.
    pub fn run_task(&self, mut done: impl FnMut(u64)) {
        let mut count = 0;
        let mut task = self.begin_task();
        while !S::stopping() {
            self.operation(&mut task);
            count += 1;
            S::operation_done();
            done(count);
        }
        self.ended.add(task);
    }

    /// Performs exactly `count` operations.
    pub fn run_operations(&self, count: u64) {
        self.run_operations_after(|| true, || (), count);
    }

    /// Performs operations until `ready` returns `true`. Then calls `begins` and performs `count`
    /// more operations.
    pub fn run_operations_after(
        &self,
        ready: impl Fn() -> bool,
        begins: impl FnOnce(),
        count: u64,
    ) {
        let mut task = self.begin_task();
        while !ready() {
            self.operation(&mut task);
            S::operation_done();
        }
        begins();
        for _ in 0..count {
            self.operation(&mut task);
            S::operation_done();
        }
        self.ended.add(task);
    }

    /// Performs the steps of disturbance `number` once.
    ///
    /// # Panics
    ///
    /// If the variant has no such disturbance.
    pub fn disturb(&self, number: usize) {
        self.perform(&self.disturbances[number], 1.0, &mut self.begin_task());
    }

    /// Takes the lock of each lockref in turn, and holds it for `nanoseconds`.
    ///
    /// The effect is the same as that of an operation that exhausts its compare-exchange retries
    /// and takes the lock. Tasks that arrive while the lock is held queue behind it.
    pub fn hold_lockrefs(&self, nanoseconds: f64) {
        for object in &self.objects {
            if let Shared::LockRef(lockref) = &object.shared {
                lockref.locked(&mut || S::work(nanoseconds));
            }
        }
    }

    /// Performs one operation.
    fn operation(&self, task: &mut Task) {
        if task.is_faulty {
            return self.idle();
        }
        task.turns = 0;
        let factor = if self.work_varies { task.numbers.exponential() } else { 1.0 };
        self.perform(&self.steps, factor, task);
    }

    /// Performs steps, with local work multiplied by `factor`. Stops after a step that no script
    /// may do.
    pub(super) fn perform(&self, steps: &[Step], factor: f64, task: &mut Task) {
        for step in steps {
            if task.is_faulty {
                return;
            }
            match *step {
                Step::Work { nanoseconds, activity, ahead } => {
                    S::work_in(activity, ahead, nanoseconds * factor);
                }
                Step::CalibratedWork { share, activity, ahead } => {
                    S::work_in(activity, ahead, self.local_work * share * factor);
                }
                Step::Drawn { .. }
                | Step::Sleep { .. }
                | Step::Arrival { .. }
                | Step::LockedAmong { .. }
                | Step::LockedWait { .. }
                | Step::Meet { .. }
                | Step::Touch { .. }
                | Step::Walk { .. } => self.perform_drawn(step, factor, task),
                Step::Pause => S::Host::relax(),
                Step::WaitForOthers { one_in } => {
                    if one_in == 1 || S::random_below(u64::from(one_in)) == 0 {
                        S::wait_for_others();
                    }
                }
                Step::Locked { object, access, wait, ref steps } => {
                    self.perform_locked((object, access, wait, steps), factor, task);
                }
                Step::Get { object, operation } => {
                    S::wait_begins();
                    match &self.objects[object].shared {
                        Shared::LockRef(lockref) => lockref.get(operation),
                        Shared::Page(page) => page.get(),
                        _ => unreachable!("checked by the parser"),
                    }
                    S::wait_ends();
                }
                Step::Put { object, operation } => {
                    S::wait_begins();
                    match &self.objects[object].shared {
                        Shared::LockRef(lockref) => lockref.put(operation),
                        Shared::Page(page) => page.put(),
                        _ => unreachable!("checked by the parser"),
                    }
                    S::wait_ends();
                }
                Step::Read { object } => self.read(object, task),
                Step::Write { object } => self.write(object, task),
                Step::Table { object, operation, key } => {
                    S::wait_begins();
                    self.use_table(object, operation, key, task);
                    S::wait_ends();
                }
                Step::Add { object, value } => {
                    // Relaxed: the addition publishes no other memory.
                    self.word(object).fetch_add(i64::from(value) as u64, Ordering::Relaxed);
                }
                Step::When { ref conditions, ref step } => {
                    self.perform_when(conditions, step, factor, task);
                }
                Step::Branch { draws, range, ref steps } => {
                    self.perform_branch((draws, range, steps), factor, task);
                }
                Step::Repeat { ref steps, ref until, outermost, line } => {
                    if outermost {
                        S::wait_begins();
                    }
                    self.repeat((steps, until, line), factor, task);
                    if outermost {
                        S::wait_ends();
                    }
                }
                Step::Load { .. }
                | Step::Store { .. }
                | Step::FetchAdd { .. }
                | Step::CompareExchange { .. }
                | Step::Set { .. } => self.perform_on_words(step, task),
            }
        }
    }

    /// Takes a lock, performs steps, and releases it.
    pub(super) fn perform_locked(
        &self,
        (object, access, wait, steps): (usize, Access, Activity, &[Step]),
        factor: f64,
        task: &mut Task,
    ) {
        let lock = (object, access, wait);
        self.perform_locked_by(lock, task, |task| self.perform(steps, factor, task));
    }

    /// Takes a lock, calls `inside`, and releases it.
    pub(super) fn perform_locked_by(
        &self,
        (object, access, wait): (usize, Access, Activity),
        task: &mut Task,
        mut inside: impl FnMut(&mut Task),
    ) {
        let before = S::Host::begin_activity(wait);
        let mut body = || {
            S::wait_ends();
            match access {
                Access::Exclusive => S::hold_begins(object),
                Access::Shared => S::shared_hold_begins(object),
            }
            self.entered(object, access, task);
            S::Host::begin_activity(Region::LockHold.into());
            inside(task);
            S::Host::resume_activity(before);
            self.leaves(object, access, task);
            S::hold_ends();
        };
        S::wait_begins();
        S::lock_wait_begins(object);
        match &self.objects[object].shared {
            Shared::Lock(lock) if access == Access::Shared => lock.locked_shared(&mut body),
            Shared::Lock(lock) => lock.locked(&mut body),
            Shared::LockRef(lockref) => lockref.locked(&mut body),
            _ => unreachable!("checked by the parser"),
        }
        S::release_ends(object);
    }

    fn use_table(&self, object: usize, operation: TableOperation, key: KeyChoice, task: &mut Task) {
        let Shared::Table { table, entries } = &self.objects[object].shared else {
            unreachable!("checked by the parser")
        };
        match operation {
            TableOperation::Insert => {
                task.insertions += 1;
                // A number that only this task uses. It is larger than the numbers of all entries.
                let number = (task.number + 1) << 32 | u64::from(task.insertions);
                let found_by = table.insert(number);
                task.inserted.push(Inserted { object, found_by });
            }
            TableOperation::Remove => {
                let Some((index, found_by)) = task.last_inserted(object) else {
                    unreachable!("checked by the parser")
                };
                task.inserted.remove(index);
                // A refused entry is not in the table. `verify` reports the refusal.
                if let Some(found_by) = found_by {
                    table.remove(found_by);
                }
            }
            TableOperation::LookUp | TableOperation::Update | TableOperation::Read => {
                let of = match key {
                    KeyChoice::Own => Of::Entry(task.number % entries),
                    KeyChoice::Random => Of::Entry(task.numbers.below(*entries)),
                    KeyChoice::Inserted => match task.last_inserted(object) {
                        Some((_, Some(found_by))) => Of::Inserted(found_by),
                        _ => return,
                    },
                };
                table.perform(operation, of);
            }
        }
    }

    pub(super) fn word(&self, object: usize) -> &U64<S::Host> {
        match &self.objects[object].shared {
            // SAFETY: the word was written in `Shared::make` and lives as long as `self`.
            Shared::Word(word) => unsafe { word.as_ref() },
            _ => unreachable!("checked by the parser"),
        }
    }

    fn read(&self, object: usize, task: &mut Task) {
        let value = match &self.objects[object].shared {
            // SAFETY: the cell was written in `Shared::make` and lives as long as `self`. The
            // parser allows a read of data only if it holds the writers' lock, or if no step writes
            // the data.
            Shared::Data(cell) => unsafe { cell.as_ref() }.with(|data| unsafe { data.read() }),
            _ => {
                std::hint::black_box(self.word(object).load(Ordering::Relaxed));
                return;
            }
        };
        self.compare((object, value), task);
        std::hint::black_box(value);
    }

    fn write(&self, object: usize, task: &mut Task) {
        match &self.objects[object].shared {
            Shared::Data(cell) => {
                // SAFETY: as in `read`. The parser allows a write of data only under a lock that
                // all its writers share.
                let cell = unsafe { cell.as_ref() };
                // Two accesses, as in a program: a lock without mutual exclusion loses updates
                // here. SAFETY: as above.
                let value = cell.with(|data| unsafe { data.read() });
                // SAFETY: as above.
                cell.with_mut(|data| unsafe { data.write(value + 1) });
                if task.in_branch {
                    task.changed(object, 1);
                }
            }
            _ => self.word(object).store(1, Ordering::Relaxed),
        }
    }
}
