//! Variants of a scenario.

use super::foreign::ForeignLock;
use super::object::{Object, ObjectKind};
use super::region_parts::RegionPart;
use super::samples::Disturbance;
use super::starts::Starts;
use super::step::Step;
use super::table::Table;
use lockyard::platform::Activity;

/// A variant: its objects and steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name, as in the published table.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// Its objects.
    pub objects: Vec<Object>,
    /// The steps of one operation.
    pub steps: Vec<Step>,
    /// The parts of regions that its steps name: part 1 is the first.
    pub parts: Vec<RegionPart>,
    /// Steps of other tasks in the course of a run with samples.
    pub disturbances: Vec<Disturbance>,
    /// Number of guests that share the CPUs, each with objects and all tasks of its own. `None`:
    /// tasks do not share CPUs.
    pub guests: Option<usize>,
    /// True if operations differ in their local work: all work steps of an operation are multiplied
    /// by a number of its own, exponentially distributed with mean 1.
    pub work_varies: bool,
    /// The moments at which its tasks begin in a simulated run.
    pub starts: Starts,
}

impl Variant {
    /// Returns true if a step waits for the answers of other processors.
    pub fn waits_for_others(&self) -> bool {
        let waits = |step: &Step| usize::from(matches!(step, Step::WaitForOthers { .. }));
        Step::sum(&self.steps, &waits) > 0
    }

    /// The name of an activity: that of the part, or of the region.
    pub fn name_of(&self, activity: Activity) -> &str {
        RegionPart::of(&self.parts, activity).map_or(activity.region.name(), |part| &part.name)
    }

    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = Table> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Table { table } => Some(table),
            _ => None,
        })
    }

    /// Number of tasks in all, with `threads` in each guest.
    pub fn tasks(&self, threads: usize) -> usize {
        threads * self.guests.unwrap_or(1)
    }

    /// This variant under the name `name`, with `lock` in place of each of its locks. A lockref
    /// keeps its own, which is a part of a word. `None` if no lock has a word of its own.
    pub fn with_foreign_lock(&self, name: &str, title: &str, lock: ForeignLock) -> Option<Variant> {
        let mut variant = self.clone();
        variant.name = name.to_owned();
        variant.title = title.to_owned();
        let mut found = false;
        for object in &mut variant.objects {
            if let ObjectKind::Lock { .. } = object.kind {
                object.kind = ObjectKind::Foreign { lock };
                found = true;
            }
        }
        found.then_some(variant)
    }

    /// Returns true if all its locks are known to serve in the order of arrival. The order of a
    /// foreign lock is not known here.
    pub fn is_fifo(&self) -> bool {
        self.objects.iter().all(|object| match object.kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.is_fifo(),
            ObjectKind::Foreign { .. } => false,
            ObjectKind::Page { .. }
            | ObjectKind::Word
            | ObjectKind::Data
            | ObjectKind::Table { .. } => true,
        })
    }

    /// The names of its foreign locks.
    pub fn foreign_locks(&self) -> impl Iterator<Item = &'static str> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Foreign { lock } => Some(lock.name()),
            _ => None,
        })
    }
}
