//! A variant of a script, laid out in memory and ready to be performed.

use super::arrivals::Arrivals;
use super::ended::Ended;
use super::exchanges::Exchanges;
use super::inside::Inside;
use super::meetings::{self, Meetings, Stuck};
use super::objects::{Placed, Shared, line_layout};
use super::stage::Stage;
use super::standstill::Member;
use super::task::{Begun, Task};
use super::violation::Violation;
use crate::model::{Conserved, FirstValue, Object, Step, TableOperation, Variant};
use lockyard::platform::{Host, U32, Word};
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A variant of a script, laid out in memory. Objects of one line are adjacent, and objects of
/// different lines are in different lines. All tasks of a run share this value.
pub struct Prepared<S: Stage> {
    // Dropped before `blocks`, because the objects point into them.
    pub(super) objects: Vec<Placed<S::Host>>,
    pub(super) steps: Vec<Step>,
    pub(super) disturbances: Vec<Vec<Step>>,
    /// Number of steps that insert into tables.
    inserts: usize,
    pub(super) work_varies: bool,
    seed: u64,
    begun: Begun,
    pub(super) arrivals: Arrivals,
    pub(super) ended: Ended,
    pub(super) first_values: Vec<FirstValue>,
    pub(super) conserved: Vec<Conserved>,
    /// The first step of the run that no script may do.
    pub(super) fault: OnceLock<Violation>,
    /// The first time that readers and writers of a lock were inside together.
    pub(super) not_excluded: OnceLock<Violation>,
    /// Name of the script's file.
    pub(super) origin: String,
    pub(super) local_work: f64,
    /// Word on which sleeping tasks park, in a separate line, if operations walk.
    bed: Option<NonNull<U32<S::Host>>>,
    /// Places where walking tasks wait for each other.
    meetings: Option<Meetings<S::Host>>,
    blocks: Blocks<S>,
}

/// Blocks of memory, returned to the host on drop.
struct Blocks<S: Stage> {
    blocks: Vec<(NonNull<u8>, Layout)>,
    _stage: PhantomData<fn() -> S>,
}

impl<S: Stage> Drop for Blocks<S> {
    fn drop(&mut self) {
        for &(memory, layout) in &self.blocks {
            // SAFETY: the block was allocated with this layout in `new`. The objects are no longer
            // used. Those with a destructor, such as foreign locks and tables, were dropped before
            // the blocks (field order).
            unsafe { S::Host::deallocate(memory, layout) };
        }
    }
}

// SAFETY: the objects behind the pointers are words, cells, primitives and foreign locks, which are
// `Send` and `Sync` themselves. For loaded locks, the caller of `ForeignLock::loaded` promises the
// same. Data is written only under a lock, which the parser checks.
unsafe impl<S: Stage> Send for Prepared<S> {}
// SAFETY: as above.
unsafe impl<S: Stage> Sync for Prepared<S> {}

impl<S: Stage> Prepared<S> {
    /// Lays out the objects of `variant` in lines of `line_bytes` bytes whose home is NUMA node
    /// `node`. `local_work` is the calibrated local work of one operation, in nanoseconds.
    ///
    /// Returns `None` if memory, or a resource of a foreign lock, is not available.
    ///
    /// # Panics
    ///
    /// If the variant has a foreign lock or waits for others, but the stage does not support that.
    pub fn new(
        variant: &Variant,
        line_bytes: usize,
        node: Option<u32>,
        local_work: f64,
    ) -> Option<Self> {
        let can_wait = S::OTHERS || !variant.waits_for_others();
        assert!(can_wait, "a task has no others to wait for on this stage");
        let arrivals = Arrivals::of(variant);
        assert!(S::ARRIVALS || !arrivals.exist(), "this stage has no clock for requests");
        let lines = variant.objects.iter().map(|o| o.line + 1).max().unwrap_or(0);
        let mut blocks = Blocks { blocks: Vec::new(), _stage: PhantomData };
        let mut places = Vec::new();
        for line in 0..lines {
            let in_line = |object: &&Object| object.line == line;
            let kinds = variant.objects.iter().filter(in_line).map(|object| object.kind);
            let (block, offsets, stride) = line_layout::<S::Host>(kinds, line_bytes)?;
            let indices = variant.objects.iter().enumerate();
            let indices = indices.filter(|(_, object)| object.line == line).map(|(index, _)| index);
            let places_of =
                indices.zip(offsets).map(|(index, offset)| (index, line, offset, stride));
            places.extend(places_of);
            blocks.blocks.push((S::Host::allocate(block, node)?, block));
        }
        places.sort_unstable();
        let objects = places.into_iter().map(|(index, line, offset, stride)| {
            let object = &variant.objects[index];
            // SAFETY: the offset is within the block, by the layouts above.
            let memory = unsafe { blocks.blocks[line].0.add(offset) };
            // SAFETY: the memory has the object's layout, and no other object is there. The blocks
            // outlive the objects (field order).
            let shared = unsafe { Shared::make::<S>(object.kind, memory, stride) }?;
            let (name, kind) = (object.name.clone(), object.kind);
            Some(Placed { name, kind, shared, inside: Inside::default() })
        });
        let objects = objects.collect::<Option<Vec<_>>>()?;
        let bed = match variant.walks() {
            true => Some(bed::<S>(&mut blocks, line_bytes, node)?),
            false => None,
        };
        let meetings = match variant.walk().filter(|walk| !walk.meetings.is_empty()) {
            Some(walk) => {
                let line = meetings::line(line_bytes)?;
                let allocate = || {
                    let memory = S::Host::allocate(line, node)?;
                    blocks.blocks.push((memory, line));
                    Some(memory)
                };
                Some(meetings::place(&walk.meetings, allocate)?)
            }
            None => None,
        };
        let inserts = |step: &Step| {
            usize::from(matches!(step, Step::Table { operation: TableOperation::Insert, .. }))
        };
        Some(Prepared {
            objects,
            steps: variant.steps.clone(),
            disturbances: variant.disturbances.iter().map(|d| d.steps.clone()).collect(),
            inserts: Step::sum(&variant.steps, &inserts),
            work_varies: variant.work_varies,
            seed: 0,
            begun: Begun::default(),
            arrivals,
            ended: Ended::default(),
            first_values: variant.first_values.clone(),
            conserved: variant.conserved.clone(),
            fault: OnceLock::new(),
            not_excluded: OnceLock::new(),
            origin: variant.origin.clone(),
            local_work,
            bed,
            meetings,
            blocks,
        })
    }

    /// Sets the seed, which determines varying work and random keys.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Prepared { seed, ..self }
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the number of memory blocks of the objects. Each group of objects with the same line
    /// index has one block.
    pub fn lines(&self) -> usize {
        self.blocks.blocks.len()
    }

    /// Returns the name, the address and the size in bytes of each object.
    pub fn places(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.objects.iter().map(|object| {
            (object.name.as_str(), object.shared.address(), object.shared.bytes(object.kind))
        })
    }

    /// Returns the addresses of the lockrefs.
    pub fn lockrefs(&self) -> impl Iterator<Item = usize> {
        self.objects.iter().filter_map(|object| match &object.shared {
            Shared::LockRef(lockref) => Some(lockref.address()),
            _ => None,
        })
    }

    /// Returns the word where sleeping tasks park. Its value is always 0.
    pub(super) fn bed(&self) -> Option<&U32<S::Host>> {
        // SAFETY: the word was written in `bed` and lives as long as `self`.
        self.bed.map(|bed| unsafe { bed.as_ref() })
    }

    /// Returns the places where walking tasks wait for each other.
    pub(super) fn meetings(&self) -> Option<&Meetings<S::Host>> {
        self.meetings.as_ref()
    }

    /// Returns the tasks that wait for each other for ever, after all have begun. A run with such
    /// tasks has no figure.
    pub fn stuck(&self) -> Option<&Stuck> {
        self.meetings.as_ref()?.stuck()
    }

    /// Begins a task, and returns its state.
    pub(super) fn begin_task(&self) -> Task {
        let task = self.begun.task(self.seed, self.objects.len(), self.inserts, &self.first_values);
        let walks = self.steps.iter().find_map(Step::walk);
        if let (Some(meetings), Some(walk)) = (&self.meetings, walks) {
            meetings.begins(task.number, Member::of(walk, walk.class(task.number)));
        }
        task
    }

    /// Returns the first step so far that no script may do, and its place in the script. The task
    /// that did it does nothing more, so other tasks may wait for it for ever.
    pub fn fault(&self) -> Option<&Violation> {
        self.fault.get()
    }

    /// Returns the compare-exchanges of the steps of all tasks that have ended.
    pub fn exchanges(&self) -> Exchanges {
        self.ended.sums().exchanges
    }
}

/// Makes the word where sleeping tasks park, in a separate line.
fn bed<S: Stage>(
    blocks: &mut Blocks<S>,
    line_bytes: usize,
    node: Option<u32>,
) -> Option<NonNull<U32<S::Host>>> {
    let line = Layout::from_size_align(line_bytes, line_bytes).ok()?;
    let memory = S::Host::allocate(line, node)?;
    blocks.blocks.push((memory, line));
    let word = memory.cast::<U32<S::Host>>();
    // SAFETY: a line has room for the word, and nothing else is in it.
    unsafe { word.write(Word::new(0)) };
    Some(word)
}

impl<S: Stage> fmt::Debug for Prepared<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("steps", &self.steps).finish_non_exhaustive()
    }
}
