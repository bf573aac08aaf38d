//! The random walk of a recording.

use super::layout::Layout;
use super::open::Requests;
use super::version::{BATCH, Change, HostNumbers, READS, Version};
use crate::model::{
    ClassModel, Group, MeetingModel, Meets, Model, Operation, VisitModel, fastest_and_mean,
    is_at_a_barrier,
};
use crate::recording::{Kind, Recording};
use lockyard_scenarios::{
    Access, Act, Among, Choice, Meeting, Region, Rounds, Step, Times, Visit, Walk,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum length of the list of tasks' classes.
const MOST_TASKS: usize = 256;

/// A kind of visit (its address in the model), one of its operations, and the bits of a correction.
type Key = (*const VisitModel, usize, u64);

/// Times that several variants of a recording share: before the key's operation, corrected.
#[derive(Debug, Default)]
pub(super) struct SharedTimes(RefCell<HashMap<Key, Arc<Times>>>);

impl SharedTimes {
    /// Returns the times of a key, made at its first use.
    fn of(
        &self,
        visit: &VisitModel,
        index: usize,
        correction: f64,
        times: impl Iterator<Item = f64>,
    ) -> Arc<Times> {
        let mut all = self.0.borrow_mut();
        let make = || Arc::new(Times::of(times.map(|time| time + correction).collect()));
        let key = (std::ptr::from_ref(visit), index, correction.to_bits());
        Arc::clone(all.entry(key).or_insert_with(make))
    }
}

/// Returns the walk.
pub(super) fn walk(
    recording: &Recording,
    model: &Model,
    host: HostNumbers,
    version: Version,
    layout: &Layout,
    times: &SharedTimes,
) -> Walk {
    let builder = Builder { recording, model, host, version, layout, times };
    let meeting = |of: &MeetingModel| Meeting { name: of.name.clone(), kind: of.kind };
    let meetings = model.meetings.iter().map(meeting).collect();
    let mut walk = Walk { tasks: tasks(&model.classes), meetings, ..Walk::default() };
    let barriers = model.barriers();
    let all: usize = model.classes.iter().map(|class| class.count).sum();
    let requests = Requests::of(model, version.open);
    for class in &model.classes {
        let queue = walk.classes.len();
        let interval = requests.interval(queue);
        let parts: Vec<&[Part]> = class.visits.iter().map(|visit| builder.parts(visit)).collect();
        let mut visits = Vec::new();
        for (of, parts_of) in class.visits.iter().zip(&parts) {
            let next = builder.next(class, of, &parts);
            for part in *parts_of {
                let mut visit = Visit { next: next.clone(), ..builder.visit(of, *part) };
                if let Some(interval) = interval {
                    await_requests(&mut visit.steps, queue, interval);
                }
                let work: f64 = visit.steps.iter().map(Step::mean_work).sum();
                walk.mean_work += work * part.share() * of.count() as f64 / all.max(1) as f64;
                visits.push(visit);
            }
        }
        walk.rounds.push(builder.rounds(class, &barriers, &parts, &mut visits));
        walk.classes.push(visits);
    }
    walk
}

/// Puts the next request of a queue in place of the sleeps outside of locks.
fn await_requests(steps: &mut [Step], queue: usize, interval: f64) {
    for step in steps {
        if let Step::Sleep { times } = step {
            *step = Step::Arrival { queue, interval, times: Arc::clone(times) };
        }
    }
}

/// Part of a kind of visit. In a batch, most visits leave their work under a lock to a later one,
/// which does it for all. Of a mutex that becomes a reader-writer lock, most sections read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// All that the program does.
    Whole,
    /// Without the locks that are batched, and without the work under them.
    Leaves,
    /// With the work of [`BATCH`] visits under each lock that is batched.
    Does,
    /// With exclusive sections of the locks that are now reader-writer locks.
    Writes,
    /// With shared ones.
    Reads,
}

impl Part {
    /// Returns the share of the visits of a kind.
    fn share(self) -> f64 {
        match self {
            Part::Whole => 1.0,
            Part::Leaves => 1.0 - 1.0 / BATCH as f64,
            Part::Does => 1.0 / BATCH as f64,
            Part::Writes => 1.0 - READS,
            Part::Reads => READS,
        }
    }
}

/// Returns the classes of tasks, in proportion to the classes' threads: any number of tasks from
/// the first one on has nearly these proportions.
fn tasks(classes: &[ClassModel]) -> Vec<usize> {
    let all: usize = classes.iter().map(|class| class.threads.len()).sum();
    let share = |class: &ClassModel| class.threads.len() as f64 / all.max(1) as f64;
    let mut given = vec![0.0; classes.len()];
    let mut tasks = Vec::new();
    for number in 1..=all.min(MOST_TASKS) {
        let lack = |index: usize| share(&classes[index]) * number as f64 - given[index];
        let next = (0..classes.len()).max_by(|a, b| lack(*a).total_cmp(&lack(*b)).then(b.cmp(a)));
        let Some(next) = next else { break };
        given[next] += 1.0;
        tasks.push(next);
    }
    tasks
}

/// Adds the time of a visit in which nobody else can have each group's locks: under an exclusive
/// one, with all that is nested, and for `word` at each acquisition of a reader-writer lock, whose
/// word moves twice.
pub(super) fn serial_times(visit: &VisitModel, groups: &[Group], word: f64, serial: &mut [f64]) {
    let mut open: Vec<Option<u32>> = Vec::new();
    for (index, operation) in visit.shape.iter().enumerate() {
        let time: f64 = visit.segments.iter().map(|times| times[index].busy).sum();
        open.iter().flatten().for_each(|group| serial[*group as usize] += time);
        match *operation {
            Operation::Enter { lock, shared, .. } => {
                open.push((!shared).then_some(lock));
                if groups[lock as usize].kind == Kind::RwLock {
                    serial[lock as usize] += word * visit.count() as f64;
                }
            }
            Operation::Leave => drop(open.pop()),
            Operation::Meet { .. } => {}
        }
    }
}

/// Returns the steps of a batch under its lock.
fn repeated(steps: &[Step]) -> Vec<Step> {
    (0..BATCH).flat_map(|_| steps.iter().cloned()).collect()
}

struct Builder<'a> {
    recording: &'a Recording,
    model: &'a Model,
    host: HostNumbers,
    version: Version,
    layout: &'a Layout,
    times: &'a SharedTimes,
}

impl Builder<'_> {
    /// Returns true if a group's locks are taken once for several visits.
    fn is_batched(&self, group: u32) -> bool {
        matches!(self.version.change, Change::Batched(of) if of.has(group as usize))
    }

    /// Returns the parts into which a kind of visit is divided.
    fn parts(&self, visit: &VisitModel) -> &'static [Part] {
        let any = |is_one: &dyn Fn(u32) -> bool| {
            visit.shape.iter().any(|operation| match operation {
                Operation::Enter { lock, .. } => is_one(*lock),
                Operation::Leave | Operation::Meet { .. } => false,
            })
        };
        if any(&|lock| self.is_batched(lock)) {
            &[Part::Leaves, Part::Does]
        } else if any(&|lock| self.version.change.reads_mostly(lock as usize)) {
            &[Part::Writes, Part::Reads]
        } else {
            &[Part::Whole]
        }
    }

    /// Returns the choice of the visit that follows a visit, among all parts of all kinds.
    fn next(&self, class: &ClassModel, visit: &VisitModel, parts: &[&[Part]]) -> Choice {
        let mut firsts = Vec::with_capacity(parts.len());
        let mut count = 0;
        for of in parts {
            firsts.push(count);
            count += of.len();
        }
        let each = |(index, weight): (usize, f64)| {
            let numbered = parts[index].iter().zip(firsts[index]..);
            numbered.map(move |(part, place)| (place, weight * part.share()))
        };
        let seen = visit.next.iter().map(|(index, count)| (*index, *count as f64));
        let next = Choice::of(seen.flat_map(each));
        if next != Choice::default() {
            return next;
        }
        // Nothing was seen to follow it.
        let all = class.visits.iter().enumerate().map(|(index, of)| (index, of.count() as f64));
        Choice::of(all.flat_map(each))
    }

    /// Returns the rounds of a class that comes to a barrier. Its visits at barriers are taken out
    /// of what follows others.
    fn rounds(
        &self,
        class: &ClassModel,
        barriers: &[u32],
        parts: &[&[Part]],
        visits: &mut [Visit],
    ) -> Option<Rounds> {
        let lengths = Choice::of(class.rounds.iter().map(|(length, seen)| (*length, *seen as f64)));
        if lengths == Choice::default() {
            return None;
        }
        let of_parts = class.visits.iter().zip(parts);
        let weights: Vec<(bool, f64)> = of_parts
            .flat_map(|(visit, parts)| {
                let meets = is_at_a_barrier(&visit.shape, barriers);
                parts.iter().map(move |part| (meets, visit.count() as f64 * part.share()))
            })
            .collect();
        let among = |meets: bool| {
            let each = weights.iter().enumerate().filter(move |(_, (of, _))| *of == meets);
            Choice::of(each.map(|(place, (_, weight))| (place, *weight)))
        };
        let (others, meets) = (among(false), among(true));
        for visit in visits {
            let next = visit.next.probabilities().filter(|(place, _)| !weights[*place].0);
            let next = Choice::of(next);
            visit.next = if next == Choice::default() { others.clone() } else { next };
            if visit.next == Choice::default() {
                visit.next = meets.clone();
            }
        }
        Some(Rounds { lengths, meets })
    }

    /// Returns a part of a kind of visit, without what follows it.
    fn visit(&self, visit: &VisitModel, part: Part) -> Visit {
        // The steps of each lock that is open, outside first.
        let mut open: Vec<((u32, Access), Vec<Step>)> = Vec::new();
        let mut steps = Vec::new();
        // The wait of the outermost section, and the steps before it.
        let mut waits: Option<(usize, Vec<Step>)> = None;
        for (index, operation) in visit.shape.iter().enumerate() {
            let change = self.version.change;
            let is_halved =
                |group: u32| matches!(change, Change::HoldHalved(of) if of.has(group as usize));
            let is_halved = open.iter().any(|((group, _), _)| is_halved(*group));
            let factor = if is_halved { 0.5 } else { 1.0 };
            let into = open.last_mut().map_or(&mut steps, |(_, steps)| steps);
            self.pass(visit, index, factor, into);
            match *operation {
                Operation::Meet { meeting, what } => {
                    let meeting = meeting as usize;
                    if what == Meets::WaitsInside && open.len() == 1 {
                        waits = Some((meeting, std::mem::take(&mut open[0].1)));
                        continue;
                    }
                    let units = self.model.meetings[meeting].units;
                    let act = match what {
                        // The last thread of a barrier gives nothing, and where some sections do
                        // not signal, the sections give.
                        Meets::Gives | Meets::GivesAll if units <= 0.0 => continue,
                        Meets::Gives => Act::Give { units, all: false },
                        Meets::GivesAll => Act::Give { units, all: true },
                        Meets::GivesInside => Act::Give { units: 1.0, all: false },
                        Meets::Waits | Meets::WaitsInside => Act::Wait,
                    };
                    let into = open.last_mut().map_or(&mut steps, |(_, steps)| steps);
                    into.push(Step::Meet { meeting, act });
                }
                Operation::Enter { lock, shared, .. } => {
                    let is_changed = change.reads_mostly(lock as usize);
                    let shared = shared || is_changed && part == Part::Reads;
                    let access = if shared { Access::Shared } else { Access::Exclusive };
                    let data = self.layout.data(lock, shared).iter();
                    let data = data.map(|&object| match access {
                        Access::Shared => Step::Read { object },
                        Access::Exclusive => Step::Touch { object },
                    });
                    open.push(((lock, access), data.collect()));
                }
                Operation::Leave => {
                    let Some((section, inner)) = open.pop() else { continue };
                    let (group, _) = section;
                    // Of several batched locks, the outermost one has the work of all.
                    let is_inner = open.iter().any(|((outer, _), _)| self.is_batched(*outer));
                    let is_batched = self.is_batched(group) && !is_inner;
                    let is_outermost = open.is_empty();
                    let into = open.last_mut().map_or(&mut steps, |(_, steps)| steps);
                    match part {
                        _ if change.removes(group as usize) => {
                            if let Some((meeting, before)) = waits.take() {
                                into.extend(before);
                                into.push(Step::Meet { meeting, act: Act::Wait });
                            }
                            into.extend(inner);
                        }
                        _ if is_outermost && waits.is_some() => {
                            let Some((meeting, before)) = waits.take() else { continue };
                            into.push(self.waiting(group, meeting, [before, inner]));
                        }
                        Part::Leaves if is_batched => {}
                        Part::Does if is_batched => {
                            into.push(self.locked(section, repeated(&inner)));
                        }
                        _ => into.push(self.locked(section, inner)),
                    }
                }
            }
        }
        let enters = visit.shape.iter();
        let enters =
            enters.filter(|operation| matches!(operation, Operation::Enter { .. })).count();
        Visit { steps, next: Choice::default(), operations: enters as u64 }
    }

    fn locked(&self, (group, access): (u32, Access), steps: Vec<Step>) -> Step {
        let wait = Region::LockWait.into();
        match self.layout.locks[group as usize].as_slice() {
            [(object, _)] => Step::Locked { object: *object, access, wait, steps },
            many => {
                let among = Among(Arc::new(Choice::of(many.iter().copied())));
                Step::LockedAmong { among, access, wait, steps }
            }
        }
    }

    /// Returns a section that waits for other threads.
    fn waiting(&self, group: u32, meeting: usize, steps: [Vec<Step>; 2]) -> Step {
        let wait = Region::LockWait.into();
        // Locks of a group do not wait.
        let object = self.layout.locks[group as usize].first().map_or(0, |first| first.0);
        Step::LockedWait { object, wait, meeting, steps }
    }

    /// Adds the time before an operation.
    fn pass(&self, visit: &VisitModel, index: usize, factor: f64, steps: &mut Vec<Step>) {
        // What is no lock has no cost of its own.
        let is_lock = |of: &Operation| !matches!(of, Operation::Meet { .. });
        let before = visit.shape[..index].iter().copied().rfind(is_lock);
        let correction = match is_lock(&visit.shape[index]) {
            true => self.correction(before, visit.shape[index]),
            false => 0.0,
        };
        let of = |time: fn(&crate::model::Segment) -> f64| {
            visit.segments.iter().map(move |times| time(&times[index]))
        };
        let slept: Vec<f64> = of(|segment| segment.slept).collect();
        if slept.iter().any(|time| *time > 0.0) {
            steps.push(Step::Sleep { times: Arc::new(Times::of(slept)) });
        }
        let count = |is_one: fn(&Operation) -> bool| {
            visit.shape[..index].iter().filter(|of| is_one(of)).count()
        };
        let enters = count(|of| matches!(of, Operation::Enter { .. }));
        let is_outside = enters == count(|of| matches!(of, Operation::Leave));
        let squeezed = self.squeeze(visit, index);
        let busy = of(|segment| segment.busy).map(squeezed);
        let busy = self.times.of(visit, index, correction, busy);
        if busy.longest() > 0.0 {
            let region = if is_outside { Region::System } else { Region::LockHold };
            let activity = region.into();
            steps.push(Step::Drawn { times: busy, factor, activity });
        }
    }

    /// Returns a function of the recorded times before an operation. It takes the time of the calls
    /// of a reader-writer lock off that the replay has itself, from the slower times.
    fn squeeze(&self, visit: &VisitModel, index: usize) -> impl Fn(f64) -> f64 {
        let taken_off = match visit.shape[index] {
            Operation::Enter { lock, shared, .. } => {
                self.model.groups[lock as usize].calls[usize::from(shared)].taken_off
            }
            Operation::Leave | Operation::Meet { .. } => 0.0,
        };
        let (fastest, mean) = match taken_off > 0.0 {
            true => fastest_and_mean(visit.segments.iter().map(|times| times[index].busy)),
            false => (0.0, 0.0),
        };
        let slower = mean - fastest;
        let factor = if slower > 0.0 { (1.0 - taken_off / slower).max(0.0) } else { 1.0 };
        move |time| if time > fastest { fastest + (time - fastest) * factor } else { time }
    }

    /// Returns the time that is added to a recorded one: less the cost of events, more what the
    /// replay does not have.
    fn correction(&self, before: Option<Operation>, after: Operation) -> f64 {
        let costs = self.recording.about.costs;
        let recorder = if self.version.recorder { costs.counted / 2.0 } else { 0.0 };
        let hold = recorder - costs.hold;
        let call = match after {
            Operation::Enter { lock, shared, .. } => self.call(lock, shared),
            Operation::Leave | Operation::Meet { .. } => self.host.call,
        };
        let think = recorder + call - costs.think;
        match (before, after) {
            (None | Some(Operation::Leave), Operation::Enter { .. }) => think,
            (Some(Operation::Enter { lock, shared, .. }), after) => {
                let moved = self.model.groups[lock as usize].moved(shared);
                // The replay moves the data itself. Without the lock, none is moved: that is the
                // ceiling.
                let is_moved = !self.layout.data(lock, shared).is_empty();
                let data = match is_moved || self.version.change.removes(lock as usize) {
                    false => 0.0,
                    true => moved.data.unwrap_or(0.0) * moved.share,
                };
                let own = match after {
                    Operation::Leave => hold,
                    _ => (hold + think) / 2.0,
                };
                own - data
            }
            _ => (hold + think) / 2.0,
        }
    }

    /// Returns the cost of the recorded program's plain calls beyond that of the simulated lock.
    fn call(&self, group: u32, shared: bool) -> f64 {
        match self.model.groups[group as usize].kind {
            Kind::RwLock => self.host.read_write_calls[usize::from(shared)],
            Kind::Mutex | Kind::Spin => self.host.call,
        }
    }
}
