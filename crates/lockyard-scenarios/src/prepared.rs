//! A variant of a script, laid out in memory and ready to be performed.
//!
//! The interpreter walks a list of steps; each step on a lock or lockref is one indirect call, each
//! other step a direct one. Nothing is allocated or looked up while an operation runs. On a simulated
//! machine the interpreter itself takes no time; on the host it takes a few nanoseconds a step, which
//! the measured figures contain (a script with an empty list of steps shows how much).

use crate::draws::Draws;
use crate::kinds::{LockObject, LockRefObject};
use crate::pages::PageObject;
use crate::script::{ObjectKind, Step, Variant};
use crate::stage::Stage;
use crate::tables::{Key, Of, Operation, TableObject};
use lockyard::platform::{Cell, DataCell, Host, HostWithSlots, Ordering, Region, U32, U64, Word};
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// What ought to hold after a run, and does not: the primitives did not do their work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// An object in memory.
enum Shared<H: HostWithSlots> {
    Lock(Box<dyn LockObject>),
    LockRef(Box<dyn LockRefObject>),
    Page(Box<dyn PageObject>),
    Word(NonNull<U64<H>>),
    Data(NonNull<Cell<H, u64>>),
    /// And how many entries it has.
    Table(Box<dyn TableObject>, u64),
}

/// A variant of a script, laid out in memory: objects of one line one after another, objects of
/// different lines in different lines. Shared by all tasks of a run.
pub struct Prepared<S: Stage> {
    // Before `blocks`: the objects point into them.
    objects: Vec<(String, ObjectKind, Shared<S::Host>)>,
    steps: Vec<Step>,
    disturbances: Vec<Vec<Step>>,
    /// How many steps insert into tables.
    inserts: usize,
    work_varies: bool,
    seed: u64,
    /// How many tasks have begun.
    tasks: AtomicU64,
    local_work: f64,
    blocks: Blocks<S>,
}

/// What is a task's own.
struct Task {
    number: u64,
    draws: Draws,
    /// What it has inserted into tables and not removed: the object, and what it is found by, unless it was refused.
    inserted: Vec<(usize, Option<u64>)>,
    /// How much it has inserted so far.
    insertions: u32,
}

/// The memory, which is given back to the host.
struct Blocks<S: Stage> {
    blocks: Vec<(NonNull<u8>, Layout)>,
    _stage: PhantomData<fn() -> S>,
}

impl<S: Stage> Drop for Blocks<S> {
    fn drop(&mut self) {
        for &(memory, layout) in &self.blocks {
            // SAFETY: allocated with this layout in `new`; the objects are not used any more: those that have a
            // destructor, the foreign locks, were dropped before the blocks (order of the fields).
            unsafe { S::Host::deallocate(memory, layout) };
        }
    }
}

// SAFETY: the objects behind the pointers are words, cells, primitives and foreign locks, which are
// `Send` and `Sync` themselves; data is written only under a lock (the script's checks demand it).
unsafe impl<S: Stage> Send for Prepared<S> {}
// SAFETY: as above.
unsafe impl<S: Stage> Sync for Prepared<S> {}

impl<S: Stage> Prepared<S> {
    /// Lays out the objects of `variant` in lines of `line_bytes` bytes whose home is NUMA node
    /// `node`. `local_work` is the calibrated local work of one operation, in nanoseconds.
    ///
    /// `None` if the host has no memory.
    ///
    /// # Panics
    ///
    /// If the variant has a foreign lock, or waits for others, and the stage is not one where that is.
    pub fn new(
        variant: &Variant,
        line_bytes: usize,
        node: Option<u32>,
        local_work: f64,
    ) -> Option<Self> {
        assert!(S::OTHERS || !variant.waits_for_others(), "nobody to wait for on this stage");
        let lines = variant.objects.iter().map(|o| o.line + 1).max().unwrap_or(0);
        let mut blocks = Blocks { blocks: Vec::new(), _stage: PhantomData };
        let mut places = Vec::new();
        for line in 0..lines {
            let mut block = Layout::from_size_align(0, line_bytes).ok()?;
            for (index, object) in variant.objects.iter().enumerate() {
                if object.line == line {
                    let (extended, offset) = block.extend(Self::layout_of(object.kind)).ok()?;
                    block = extended;
                    places.push((index, line, offset));
                }
            }
            let block = block.pad_to_align();
            blocks.blocks.push((S::Host::allocate(block, node)?, block));
        }
        places.sort_unstable();
        let objects = places.into_iter().map(|(index, line, offset)| {
            let object = &variant.objects[index];
            // SAFETY: the offset is within the block, by the layouts above.
            let memory = unsafe { blocks.blocks[line].0.add(offset) };
            // SAFETY: the place has the object's layout, no other object is there, and the blocks
            // live longer than the objects (order of the fields).
            let shared = unsafe { Self::make(object.kind, memory) }?;
            Some((object.name.clone(), object.kind, shared))
        });
        let objects = objects.collect::<Option<Vec<_>>>()?;
        Some(Prepared {
            objects,
            steps: variant.steps.clone(),
            disturbances: variant.disturbances.iter().map(|d| d.steps.clone()).collect(),
            inserts: count_steps(&variant.steps, &|step| {
                i64::from(matches!(step, Step::Table { operation: Operation::Insert, .. }))
            }) as usize,
            work_varies: variant.work_varies,
            seed: 0,
            tasks: AtomicU64::new(0),
            local_work,
            blocks,
        })
    }

    /// The same, where the work that varies is another one for each seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Prepared { seed, ..self }
    }

    /// An object in `memory`; `None` if what it needs beyond that cannot be had.
    ///
    /// # Safety
    ///
    /// `memory` has room for the object, and outlives it.
    unsafe fn make(kind: ObjectKind, memory: NonNull<u8>) -> Option<Shared<S::Host>> {
        Some(match kind {
            // SAFETY: the caller's promise.
            ObjectKind::Lock { lock } => Shared::Lock(unsafe { lock.make_lock::<S::Host>(memory) }),
            ObjectKind::Foreign { lock } => {
                assert!(S::FOREIGN_LOCKS, "`{}` cannot run on this stage", lock.name());
                // SAFETY: the caller's promise.
                Shared::Lock(unsafe { lock.make(memory) }?)
            }
            ObjectKind::LockRef { lock, pause, trywait, count } => {
                // SAFETY: the caller's promise; a lockref has the size of its word.
                let lockref =
                    unsafe { lock.make_lockref::<S::Host>(pause, trywait, count, memory) };
                Shared::LockRef(lockref)
            }
            ObjectKind::Page { page, count } => {
                // SAFETY: the caller's promise; a count has the size of its word.
                Shared::Page(unsafe { page.make::<S::Host>(count, memory) })
            }
            ObjectKind::Word => {
                let word = memory.cast::<U64<S::Host>>();
                // SAFETY: the caller's promise.
                unsafe { word.write(Word::new(0)) };
                Shared::Word(word)
            }
            ObjectKind::Data => {
                let cell = memory.cast::<Cell<S::Host, u64>>();
                // SAFETY: the caller's promise.
                unsafe { cell.write(DataCell::new(0)) };
                Shared::Data(cell)
            }
            ObjectKind::Table { table } => {
                // SAFETY: the caller's promise.
                let made = unsafe { table.make::<S::Host>(memory, S::GIVES_BACK) }?;
                Shared::Table(made, table.entries())
            }
        })
    }

    /// How many blocks of memory the objects are in: one for each line group.
    pub fn lines(&self) -> usize {
        self.blocks.blocks.len()
    }

    /// Where each object lies: its name, its address and its size in bytes.
    pub fn places(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.objects.iter().map(|(name, kind, shared)| {
            let address = match shared {
                Shared::Lock(lock) => lock.address(),
                Shared::LockRef(lockref) => lockref.address(),
                Shared::Page(page) => page.address(),
                Shared::Word(word) => word.as_ptr() as usize,
                Shared::Data(cell) => cell.as_ptr() as usize,
                Shared::Table(table, _) => table.address(),
            };
            (name.as_str(), address, Self::layout_of(*kind).size())
        })
    }

    fn layout_of(kind: ObjectKind) -> Layout {
        match kind {
            ObjectKind::Lock { lock } => lock.layout::<S::Host>(),
            ObjectKind::Foreign { lock } => lock.layout(),
            ObjectKind::LockRef { .. } | ObjectKind::Word => Layout::new::<U64<S::Host>>(),
            ObjectKind::Page { .. } => Layout::new::<U32<S::Host>>(),
            ObjectKind::Data => Layout::new::<Cell<S::Host, u64>>(),
            ObjectKind::Table { table } => table.layout::<S::Host>(),
        }
    }

    /// Performs operations until the run is over; `done` is told how many, after each.
    pub fn run_task(&self, mut done: impl FnMut(u64)) {
        let mut count = 0;
        let mut task = self.task();
        while !S::stopping() {
            self.operation(&mut task);
            count += 1;
            S::operation_done();
            done(count);
        }
    }

    /// Performs `count` operations.
    pub fn run_operations(&self, count: u64) {
        self.run_operations_after(|| true, || (), count);
    }

    /// Performs operations until `ready`, then calls `begins`, then performs `count` more.
    pub fn run_operations_after(
        &self,
        ready: impl Fn() -> bool,
        begins: impl FnOnce(),
        count: u64,
    ) {
        let mut task = self.task();
        while !ready() {
            self.operation(&mut task);
            S::operation_done();
        }
        begins();
        for _ in 0..count {
            self.operation(&mut task);
            S::operation_done();
        }
    }

    /// Does what the disturbance with this number does, once.
    ///
    /// # Panics
    ///
    /// If the variant has no such disturbance.
    pub fn disturb(&self, number: usize) {
        self.perform(&self.disturbances[number], 1.0, &mut self.task());
    }

    /// Takes the locks of all lockrefs, one after another, and holds each for so many nanoseconds: long enough for others to come by, they
    /// queue up. Disturbs a run as an operation does that gives up its compare-exchange.
    pub fn hold_lockrefs(&self, nanoseconds: f64) {
        for (_, _, shared) in &self.objects {
            if let Shared::LockRef(lockref) = shared {
                lockref.locked(&mut || S::work(nanoseconds));
            }
        }
    }

    /// The addresses of the lockrefs.
    pub fn lockrefs(&self) -> impl Iterator<Item = usize> {
        self.objects.iter().filter_map(|(_, _, shared)| match shared {
            Shared::LockRef(lockref) => Some(lockref.address()),
            _ => None,
        })
    }

    /// The numbers of a task that begins.
    fn task(&self) -> Task {
        // Relaxed: tasks only have to get different numbers.
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        let inserted = Vec::with_capacity(self.inserts);
        Task { number, draws: Draws::new(self.seed, number), inserted, insertions: 0 }
    }

    fn operation(&self, task: &mut Task) {
        let factor = if self.work_varies { task.draws.exponential() } else { 1.0 };
        self.perform(&self.steps, factor, task);
    }

    fn use_table(&self, object: usize, operation: Operation, key: Key, task: &mut Task) {
        let Shared::Table(table, entries) = &self.objects[object].2 else {
            unreachable!("checked by the parser")
        };
        let last = |task: &Task| {
            let all = task.inserted.iter().enumerate();
            all.rev().find(|(_, (of, _))| *of == object).map(|(index, (_, what))| (index, *what))
        };
        match operation {
            Operation::Insert => {
                task.insertions += 1;
                // Of this task, above all entries.
                let number = (task.number + 1) << 32 | u64::from(task.insertions);
                let what = table.insert(number);
                task.inserted.push((object, what));
            }
            Operation::Remove => {
                let Some((index, what)) = last(task) else { unreachable!("checked by the parser") };
                task.inserted.remove(index);
                // What was refused is not there; `verify` says so.
                if let Some(what) = what {
                    table.remove(what);
                }
            }
            Operation::LookUp | Operation::Update | Operation::Read => {
                let of = match key {
                    Key::Own => Of::Entry(task.number % entries),
                    Key::Random => Of::Entry(task.draws.below(*entries)),
                    Key::Inserted => match last(task) {
                        Some((_, Some(what))) => Of::Inserted(what),
                        _ => return,
                    },
                };
                table.perform(operation, of);
            }
        }
    }

    /// Performs steps; local work is multiplied by `factor`.
    fn perform(&self, steps: &[Step], factor: f64, task: &mut Task) {
        for step in steps {
            match *step {
                Step::Work { nanoseconds, activity } => {
                    S::work_in(activity, nanoseconds * factor);
                }
                Step::CalibratedWork { share, activity } => {
                    S::work_in(activity, self.local_work * share * factor);
                }
                Step::Pause => S::Host::relax(),
                Step::WaitForOthers { one_in } => {
                    if one_in == 1 || S::random_below(u64::from(one_in)) == 0 {
                        S::wait_for_others();
                    }
                }
                Step::Locked { object, wait, ref steps } => {
                    let before = S::Host::begin_activity(wait);
                    let mut body = || {
                        S::wait_ends();
                        S::hold_begins(object);
                        S::Host::begin_activity(Region::LockHold.into());
                        self.perform(steps, factor, task);
                        S::Host::resume_activity(before);
                        S::hold_ends();
                    };
                    S::wait_begins();
                    S::lock_wait_begins(object);
                    match &self.objects[object].2 {
                        Shared::Lock(lock) => lock.locked(&mut body),
                        Shared::LockRef(lockref) => lockref.locked(&mut body),
                        _ => unreachable!("checked by the parser"),
                    }
                }
                Step::Get { object, operation } => {
                    S::wait_begins();
                    match &self.objects[object].2 {
                        Shared::LockRef(lockref) => lockref.get(operation),
                        Shared::Page(page) => page.get(),
                        _ => unreachable!("checked by the parser"),
                    }
                    S::wait_ends();
                }
                Step::Put { object, operation } => {
                    S::wait_begins();
                    match &self.objects[object].2 {
                        Shared::LockRef(lockref) => lockref.put(operation),
                        Shared::Page(page) => page.put(),
                        _ => unreachable!("checked by the parser"),
                    }
                    S::wait_ends();
                }
                Step::Read { object } => self.read(object),
                Step::Write { object } => self.write(object),
                Step::Table { object, operation, key } => {
                    S::wait_begins();
                    self.use_table(object, operation, key, task);
                    S::wait_ends();
                }
                Step::Add { object, value } => {
                    // Relaxed: nothing is published by it.
                    self.word(object).fetch_add(i64::from(value) as u64, Ordering::Relaxed);
                }
            }
        }
    }

    fn word(&self, object: usize) -> &U64<S::Host> {
        match &self.objects[object].2 {
            // SAFETY: the word was written in `make` and lives as long as `self`.
            Shared::Word(word) => unsafe { word.as_ref() },
            _ => unreachable!("checked by the parser"),
        }
    }

    fn read(&self, object: usize) {
        let value = match &self.objects[object].2 {
            // SAFETY: the cell was written in `make` and lives as long as `self`. The parser allows
            // a read of data only under the lock that its writers hold, or where nobody writes it.
            Shared::Data(cell) => unsafe { cell.as_ref() }.with(|data| unsafe { data.read() }),
            _ => self.word(object).load(Ordering::Relaxed),
        };
        std::hint::black_box(value);
    }

    fn write(&self, object: usize) {
        match &self.objects[object].2 {
            Shared::Data(cell) => {
                // SAFETY: as in `read`; the parser allows a write of data only under a lock, the
                // same for all its writers.
                let cell = unsafe { cell.as_ref() };
                // Two accesses, as in a program: a lock that does not exclude loses updates here.
                // SAFETY: as above.
                let value = cell.with(|data| unsafe { data.read() });
                // SAFETY: as above.
                cell.with_mut(|data| unsafe { data.write(value + 1) });
            }
            _ => self.word(object).store(1, Ordering::Relaxed),
        }
    }

    /// Checks, after all tasks have finished `operations` operations together, that locks are free,
    /// counts are what they were, and no update of protected data was lost. Adds no shared traffic
    /// to the run.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn verify(&self, operations: u64) -> Result<(), Violation> {
        for (index, (name, kind, shared)) in self.objects.iter().enumerate() {
            let wrong = |what: String| Err(Violation(format!("`{name}` {what}")));
            match shared {
                Shared::Lock(lock) if lock.is_held() => return wrong("is still held".to_owned()),
                Shared::LockRef(lockref) => {
                    if lockref.is_held() {
                        return wrong("is still locked".to_owned());
                    }
                    let ObjectKind::LockRef { count, .. } = *kind else { continue };
                    self.verify_count(index, operations, count, lockref.count()).or_else(wrong)?;
                }
                Shared::Page(page) => {
                    let ObjectKind::Page { count, .. } = *kind else { continue };
                    self.verify_count(index, operations, count, page.count()).or_else(wrong)?;
                }
                Shared::Word(word) => {
                    let added = count_steps(&self.steps, &|step| match *step {
                        Step::Add { object, value } if object == index => i64::from(value),
                        _ => 0,
                    });
                    let written = count_steps(&self.steps, &|step| {
                        i64::from(matches!(*step, Step::Write { object } if object == index))
                    });
                    // SAFETY: as in `word`.
                    let value = unsafe { word.as_ref() }.load(Ordering::Relaxed);
                    let expected = (added as u64).wrapping_mul(operations);
                    if written == 0 && value != expected {
                        return wrong(format!(
                            "is {value} after {operations} operations, not {expected}"
                        ));
                    }
                }
                Shared::Data(cell) => {
                    let written = count_steps(&self.steps, &|step| {
                        i64::from(matches!(*step, Step::Write { object } if object == index))
                    });
                    // SAFETY: as in `read`; all tasks have finished.
                    let value = unsafe { cell.as_ref() }.with(|data| unsafe { data.read() });
                    let expected = written as u64 * operations;
                    if value != expected {
                        return wrong(format!(
                            "was changed {value} times in {operations} operations, not {expected} \
                             times: updates were lost, so its lock did not exclude"
                        ));
                    }
                }
                Shared::Table(table, _) => {
                    let performed = |wanted: Operation| {
                        let each = count_steps(&self.steps, &|step| match *step {
                            Step::Table { object, operation, key } if object == index => {
                                i64::from(operation == wanted && key != Key::Inserted)
                            }
                            _ => 0,
                        });
                        each as u64 * operations
                    };
                    table.verify(&performed).or_else(wrong)?;
                }
                Shared::Lock(_) => {}
            }
        }
        Ok(())
    }
}

impl<S: Stage> Prepared<S> {
    /// Whether a count that began with `first` references is `found` after `operations` operations.
    fn verify_count(
        &self,
        index: usize,
        operations: u64,
        first: u32,
        found: Option<u32>,
    ) -> Result<(), String> {
        let per_operation = count_steps(&self.steps, &|step| match *step {
            Step::Get { object, .. } if object == index => 1,
            Step::Put { object, .. } if object == index => -1,
            _ => 0,
        });
        let expected = i128::from(first) + i128::from(per_operation) * i128::from(operations);
        if found.map(i128::from) == Some(expected) {
            return Ok(());
        }
        Err(format!("counts {found:?} references after {operations} operations, not {expected}"))
    }
}

impl<S: Stage> fmt::Debug for Prepared<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// The sum of `weight` over all steps, those under locks too.
fn count_steps(steps: &[Step], weight: &impl Fn(&Step) -> i64) -> i64 {
    steps
        .iter()
        .map(|step| match step {
            Step::Locked { steps, .. } => count_steps(steps, weight),
            step => weight(step),
        })
        .sum()
}
