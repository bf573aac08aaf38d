//! The scenario that a recording is: a random walk of each thread over its visits, with the
//! recorded times less the cost of recording, and locks of the library. And its changes: other
//! locks, shorter holds, split locks, locks in lines of their own.

mod layout;
mod open;
mod version;
mod walk;
pub mod what_if;

pub use open::{LEAST_SLEPT, OPEN, offered};
pub use version::{BATCH, Change, Changed, HostNumbers, PARTS, READS, Version};

use crate::model::{ClassModel, Group, Model};
use crate::recording::{Kind, Recording};
use layout::Layout;
use lockyard_scenarios::{LockKind, Object, ObjectKind, Script, Step, Variant, Visit};
use std::sync::Arc;
use walk::SharedTimes;

/// Name of the variant with the locks of the recorded program.
pub const RECORDED: &str = "recorded";

/// Variants with other locks in place of all locks: name, title, lock.
pub const OTHER_LOCKS: [(&str, &str, LockKind); 9] = [
    ("pthread-like", "as a plain pthread_mutex_t", LockKind::PthreadLike),
    ("std-like", "as Rust's std::sync::Mutex", LockKind::StdLike),
    ("parking-lot-like", "as parking_lot's Mutex", LockKind::ParkingLike),
    ("mutex", "lockyard's Mutex", LockKind::Adaptive),
    ("queued", "lockyard's queued lock", LockKind::Queued),
    ("pv-queued", "lockyard's queued lock that parks", LockKind::PvQueued),
    ("mcs", "lockyard's MCS lock", LockKind::Mcs),
    ("ticket", "lockyard's ticket lock", LockKind::Ticket),
    ("test-and-set", "a test-and-set lock", LockKind::TestAndSet),
];

/// Variants with other locks in place of all reader-writer locks.
pub const OTHER_READ_WRITE_LOCKS: [(&str, &str, LockKind); 4] = [
    ("std-rwlock", "reader-writer locks as Rust's std::sync::RwLock", LockKind::StdReadWrite),
    ("parking-rwlock", "reader-writer locks as parking_lot's RwLock", LockKind::ParkingReadWrite),
    ("rwlock", "reader-writer locks as lockyard's RwLock", LockKind::ReadWrite),
    ("rwlock-as-mutex", "reader-writer locks as a pthread_mutex_t", LockKind::PthreadLike),
];

/// Returns the script of a recording, with all variants.
///
/// # Errors
///
/// The recording has no visits.
pub fn script(recording: &Recording, model: &Model, host: HostNumbers) -> Result<Script, String> {
    // Most changes leave most times as they are.
    let times = SharedTimes::default();
    let of = |name: &str, title: String, change: Change| {
        let version = Version { change, ..Version::default() };
        variant_with(recording, model, host, (name, title), version, &times)
    };
    let recorded = of(RECORDED, "as recorded".to_owned(), Change::None)?;
    let mut variants = vec![recorded.clone()];
    let has = |read_write: bool| {
        model.groups.iter().any(|group| (group.kind == Kind::RwLock) == read_write)
    };
    for (locks, read_write) in [(&OTHER_LOCKS[..], false), (&OTHER_READ_WRITE_LOCKS, true)] {
        let each = locks.iter().filter(|_| has(read_write));
        variants.extend(each.map(|lock| with_lock(&recorded, lock, read_write)));
    }
    for what_if in changes(recording, model, host) {
        variants.push(of(&what_if.name, what_if.title, what_if.change)?);
    }
    let script = empty()?;
    let program = program(recording);
    Ok(Script {
        name: name(&program),
        title: format!("{program}, recorded"),
        operation: "an operation is an acquisition of a lock".to_owned(),
        variants,
        ..script
    })
}

/// Returns a script to be filled.
fn empty() -> Result<Script, String> {
    let text = "name = \"recording\"\nwork_varies = false\n[[steps]]\ndo = \"pause\"\n\
                [[variants]]\nname = \"v\"\n";
    Script::parse("recording", text).map_err(|error| error.to_string())
}

/// Returns a variant with another lock in place of all reader-writer locks, or of all others.
fn with_lock(
    recorded: &Variant,
    &(name, title, lock): &(&str, &str, LockKind),
    read_write: bool,
) -> Variant {
    let mut variant =
        Variant { name: name.to_owned(), title: title.to_owned(), ..recorded.clone() };
    for object in &mut variant.objects {
        if let ObjectKind::Lock { lock: of_object } = &mut object.kind
            && of_object.has_shared() == read_write
        {
            *of_object = lock;
        }
    }
    variant
}

/// Returns the name of the recorded program.
fn program(recording: &Recording) -> String {
    let first = recording.about.command.first().map_or("program", String::as_str);
    first.rsplit('/').next().unwrap_or(first).to_owned()
}

/// Returns a text as a name that results may have.
fn name(text: &str) -> String {
    let letter = |letter: char| {
        let letter = letter.to_ascii_lowercase();
        if letter.is_alphanumeric() || "-_.+".contains(letter) { letter } else { '-' }
    };
    let name: String = text.chars().map(letter).take(64).collect();
    if name.is_empty() { "program".to_owned() } else { name }
}

/// Returns the changes that a script has: of the group of locks that keeps others out for longest.
pub fn changes(recording: &Recording, model: &Model, host: HostNumbers) -> Vec<what_if::WhatIf> {
    what_if::of(recording, model, most_serial(model, host).as_slice())
}

/// Adds the changes of other groups than the most serial one to a script of a recording. Variants
/// that it has already are replaced.
///
/// # Errors
///
/// The recording has no visits.
pub fn change(
    script: &mut Script,
    recording: &Recording,
    model: &Model,
    host: HostNumbers,
    groups: &[usize],
) -> Result<Vec<what_if::WhatIf>, String> {
    let times = SharedTimes::default();
    let all = what_if::of(recording, model, groups);
    for of in &all {
        let version = Version { change: of.change, ..Version::default() };
        let about = (of.name.as_str(), of.title.clone());
        let made = variant_with(recording, model, host, about, version, &times)?;
        script.variants.retain(|variant| variant.name != of.name);
        script.variants.push(made);
    }
    Ok(all)
}

/// Returns the variant whose requests come from outside, this many a second.
///
/// # Errors
///
/// Bad input: the recorded threads hardly sleep for input. One line.
pub fn open(
    recording: &Recording,
    model: &Model,
    host: HostNumbers,
    rate: f64,
) -> Result<Variant, String> {
    if let Some(why) = open::refusal(&program(recording), model) {
        return Err(why);
    }
    let version = Version { open: Some(rate), ..Version::default() };
    variant(recording, model, host, OPEN, open::title(rate), version)
}

/// Returns the group whose busiest lock keeps others out for the longest time in all. A shared
/// section keeps nobody out, but the word of its lock moves to its core and away again.
pub fn most_serial(model: &Model, host: HostNumbers) -> Option<usize> {
    let mut held = vec![0.0; model.groups.len()];
    for visit in model.classes.iter().flat_map(|class| &class.visits) {
        walk::serial_times(visit, &model.groups, 2.0 * host.line, &mut held);
    }
    let busiest = |index: usize| {
        let locks = &model.groups[index].locks;
        let all: u64 = locks.iter().map(|(_, count)| count).sum();
        let most = locks.first().map_or(0, |first| first.1);
        held[index] * most as f64 / all.max(1) as f64
    };
    (0..held.len()).max_by(|a, b| busiest(*a).total_cmp(&busiest(*b)))
}

/// Returns the names of each group's locks in the variant of the recorded program, [`RECORDED`].
pub fn lock_groups<'v>(model: &Model, recorded: &'v Variant) -> Vec<Vec<&'v str>> {
    let is_lock = |object: &&Object| matches!(object.kind, ObjectKind::Lock { .. });
    let mut names = recorded.objects.iter().filter(is_lock).map(|object| object.name.as_str());
    let of_group = |group: &Group| names.by_ref().take(group.replayed().len()).collect();
    model.groups.iter().map(of_group).collect()
}

/// Mean times of a visit of a class, in nanoseconds, without the cost of recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassTimes {
    /// Number of threads.
    pub threads: usize,
    /// Time outside of locks, on a CPU.
    pub outside: f64,
    /// Time outside of locks, asleep.
    pub slept: f64,
    /// Time under locks.
    pub held: f64,
}

/// Returns the times of each class.
pub fn class_times(model: &Model, variant: &Variant) -> Vec<ClassTimes> {
    let Some(Step::Walk { walk, .. }) = variant.steps.first() else { return Vec::new() };
    let of_class = |(class, visits): (&ClassModel, &Vec<Visit>)| {
        let mut times = ClassTimes { threads: class.threads.len(), ..ClassTimes::default() };
        for (visit, of) in visits.iter().zip(&class.visits) {
            let share = of.count() as f64 / class.count.max(1) as f64;
            for step in &visit.steps {
                let time = step.mean_work() * share;
                match step {
                    Step::Drawn { .. } => times.outside += time,
                    Step::Sleep { .. } => times.slept += time,
                    _ => times.held += time,
                }
            }
        }
        times
    };
    model.classes.iter().zip(&walk.classes).map(of_class).collect()
}

/// Returns a variant of the recorded program.
///
/// # Errors
///
/// The recording has no visits.
pub fn variant(
    recording: &Recording,
    model: &Model,
    host: HostNumbers,
    name: &str,
    title: String,
    version: Version,
) -> Result<Variant, String> {
    variant_with(recording, model, host, (name, title), version, &SharedTimes::default())
}

/// Returns a variant, as [`variant`] does, with times that others may have made.
fn variant_with(
    recording: &Recording,
    model: &Model,
    host: HostNumbers,
    (name, title): (&str, String),
    version: Version,
    times: &SharedTimes,
) -> Result<Variant, String> {
    let layout = Layout::of(recording, model, host, version);
    let walk = walk::walk(recording, model, host, version, &layout, times);
    if walk.classes.iter().any(Vec::is_empty) || walk.tasks.is_empty() {
        return Err("the recording has no visits to locks".to_owned());
    }
    let empty = empty()?.variants.into_iter().next().ok_or("the script has no variant")?;
    Ok(Variant {
        name: name.to_owned(),
        title,
        objects: layout.objects,
        steps: vec![Step::Walk { walk: Arc::new(walk), factor: 1.0 }],
        ..empty
    })
}
