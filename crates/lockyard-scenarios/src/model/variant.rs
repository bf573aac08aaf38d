//! Variants of a scenario.

use super::access::Access;
use super::conserved::Conserved;
use super::foreign::ForeignLock;
use super::object::{Object, ObjectKind};
use super::region_parts::RegionPart;
use super::samples::Disturbance;
use super::starts::Starts;
use super::step::{Step, Walk};
use super::table::Table;
use super::value::FirstValue;
use lockyard::platform::Activity;

/// Upper bound of the factors by which operations differ, if they do.
pub(crate) const LARGEST_FACTOR: f64 = 37.0;

/// A variant: its objects and steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Name, as in the published table.
    pub name: String,
    /// Title for display.
    pub title: String,
    /// Name of the script's file, for errors.
    pub origin: String,
    /// Objects of the variant.
    pub objects: Vec<Object>,
    /// The steps of one operation.
    pub steps: Vec<Step>,
    /// First values of the tasks' registers.
    pub first_values: Vec<FirstValue>,
    /// Chains that must have the same elements after a run as before it.
    pub conserved: Vec<Conserved>,
    /// Parts of regions that the steps name. Part 1 is the first element.
    pub parts: Vec<RegionPart>,
    /// Steps of additional tasks during a run with samples.
    pub disturbances: Vec<Disturbance>,
    /// Number of guests that share the CPUs. Each guest has separate objects, and a full set of
    /// tasks. With `None`, tasks do not share CPUs.
    pub guests: Option<usize>,
    /// `true` if operations differ in their local work. Each operation draws a factor from the
    /// exponential distribution with mean 1, and multiplies all its work steps by this factor.
    pub work_varies: bool,
    /// Start times of the tasks in a simulated run.
    pub starts: Starts,
}

impl Variant {
    /// Returns `true` if a step waits for answers of other processors.
    pub fn waits_for_others(&self) -> bool {
        let waits = |step: &Step| usize::from(matches!(step, Step::WaitForOthers { .. }));
        Step::sum(&self.steps, &waits) > 0
    }

    /// Returns `true` if a step takes a lock.
    pub fn takes_a_lock(&self) -> bool {
        fn takes(steps: &[Step]) -> bool {
            let takes_one = |step: &Step| match step {
                Step::Locked { .. } | Step::LockedAmong { .. } | Step::LockedWait { .. } => true,
                Step::Walk { walk, .. } => {
                    walk.classes.iter().flatten().any(|visit| takes(&visit.steps))
                }
                step => step.inner().is_some_and(takes),
            };
            steps.iter().any(takes_one)
        }
        takes(&self.steps)
    }

    /// Returns `true` if a step takes a lock with shared access.
    pub fn takes_shared(&self) -> bool {
        fn takes(steps: &[Step]) -> bool {
            let takes_one = |step: &Step| match step {
                Step::Locked { access: Access::Shared, .. }
                | Step::LockedAmong { access: Access::Shared, .. } => true,
                Step::Walk { walk, .. } => {
                    walk.classes.iter().flatten().any(|visit| takes(&visit.steps))
                }
                step => step.inner().is_some_and(takes),
            };
            steps.iter().any(takes_one)
        }
        takes(&self.steps)
    }

    /// Returns the walk that gives operations their steps and times, if there is one.
    pub(crate) fn walk(&self) -> Option<&Walk> {
        self.steps.iter().find_map(Step::walk)
    }

    /// Returns `true` if operations draw their steps and times from a walk.
    pub fn walks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Walk { .. }))
    }

    /// Returns the mean time between two requests from outside, of all queues together, in
    /// nanoseconds; `None` if none come.
    pub fn interval_of_requests(&self) -> Option<f64> {
        let of_step = |step: &Step| match step {
            Step::Walk { walk, .. } => walk.interval_of_requests(),
            _ => None,
        };
        self.steps.iter().find_map(of_step)
    }

    /// Returns `true` if a step is a compare-exchange that the script names.
    pub fn compares_and_exchanges(&self) -> bool {
        let is = |step: &Step| usize::from(matches!(step, Step::CompareExchange { .. }));
        Step::sum(&self.steps, &is) > 0
    }

    /// Returns `true` if a step has a share of the calibrated local work.
    pub fn is_calibrated(&self) -> bool {
        let shares = |step: &Step| usize::from(matches!(step, Step::CalibratedWork { .. }));
        Step::sum(&self.steps, &shares) > 0
    }

    /// Returns the mean local work of one operation, in nanoseconds. `calibrated` is its calibrated
    /// part.
    pub fn work_of_operation(&self, calibrated: f64) -> f64 {
        Step::mean(&self.steps, &|step| step.work(calibrated))
    }

    /// Returns the longest local work, in nanoseconds, of one operation or one disturbance.
    /// `calibrated` is the calibrated local work of an operation.
    pub fn longest_work(&self, calibrated: f64) -> f64 {
        let factor = if self.work_varies { LARGEST_FACTOR } else { 1.0 };
        let of_disturbance =
            |one: &Disturbance| Step::sum(&one.steps, &|step| step.work(calibrated));
        let disturbances = self.disturbances.iter().map(of_disturbance);
        let of_walk = |step: &Step| match step {
            Step::Walk { walk, factor } => walk.longest_work() * factor,
            _ => 0.0,
        };
        let of_walk: f64 = self.steps.iter().map(of_walk).sum();
        let of_operation = Step::sum(&self.steps, &|step| step.work(calibrated));
        let longest = of_walk.max(factor * of_operation);
        disturbances.fold(longest, f64::max)
    }

    /// Returns the name of an activity: the name of its part or of its region.
    pub fn name_of(&self, activity: Activity) -> &str {
        RegionPart::of(&self.parts, activity).map_or(activity.region.name(), |part| &part.name)
    }

    /// Tables of the variant.
    pub fn tables(&self) -> impl Iterator<Item = Table> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Table { table } => Some(table),
            _ => None,
        })
    }

    /// Returns the total number of tasks, with `threads` tasks in each guest.
    pub fn tasks(&self, threads: usize) -> usize {
        threads * self.guests.unwrap_or(1)
    }

    /// Returns this variant with the name `name`, and with `lock` in place of each of its locks.
    /// Lockrefs keep their locks, which are part of their words. Returns `None` if no lock has a
    /// separate word.
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

    /// Returns `true` if all locks are known to serve in order of arrival. The order of foreign
    /// locks is unknown here.
    pub fn is_fifo(&self) -> bool {
        self.objects.iter().all(|object| match object.kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.is_fifo(),
            ObjectKind::Foreign { .. } => false,
            ObjectKind::Page { .. }
            | ObjectKind::Word { .. }
            | ObjectKind::Words { .. }
            | ObjectKind::Data
            | ObjectKind::Table { .. } => true,
        })
    }

    /// Returns the names of the foreign locks.
    pub fn foreign_locks(&self) -> impl Iterator<Item = &'static str> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Foreign { lock } => Some(lock.name()),
            _ => None,
        })
    }
}
