//! The contended scenarios, and their results on the machine derived from a host.

use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_predict::{local_work, placement};
use lockyard_scenarios::{Order, Region, Script, Step, Variant};
use lockyard_sim::Machine;

/// Script with the scenarios.
const SCRIPT: &str = include_str!("contended.toml");

/// Script with more scenarios, for a standard measurement.
const MORE: &str = include_str!("standard.toml");

/// Variant for the experiment on siblings, see `docs/evidence/assumptions.md`.
const SIBLINGS: (&str, &str) = ("fstat2", "lockref-pause");

/// Returns the variants of the scenarios.
///
/// # Panics
///
/// If the script is broken. A test parses it.
pub(super) fn variants() -> Vec<Variant> {
    Script::parse("contended.toml", SCRIPT).expect("it is a script").variants
}

/// Returns the variants of a standard measurement: the scenarios' variants, and the same number of
/// variants with local work.
///
/// # Panics
///
/// If the script is broken. A test parses it.
pub fn standard_variants() -> Vec<Variant> {
    let more = Script::parse("standard.toml", MORE).expect("it is a script").variants;
    variants().into_iter().chain(more).collect()
}

/// Returns the variant for the experiment on siblings.
///
/// # Panics
///
/// If there is no such variant. A test checks that there is one.
pub(super) fn siblings_variant() -> Variant {
    let script = Script::shipped(SIBLINGS.0).expect("it is shipped");
    script.variant(SIBLINGS.1).expect("it has the variant").clone()
}

/// A variant on a machine, with local work determined by the single-task figure.
pub(super) struct Performed {
    variant: Variant,
    work: f64,
}

impl Performed {
    /// Prepares a variant. `alone` is the number of operations per second of a single task on the
    /// host.
    ///
    /// # Errors
    ///
    /// If a run fails.
    pub(super) fn new(
        machine: &Machine,
        variant: &Variant,
        alone: f64,
    ) -> Result<Performed, SimulationError> {
        let mut variant = variant.clone();
        if !variant.steps.iter().any(|step| matches!(step, Step::CalibratedWork { .. })) {
            variant.steps.push(Step::CalibratedWork {
                share: 1.0,
                activity: Region::System.into(),
                ahead: false,
            });
        }
        let place = placement::MachinePlacement::Order(Order::SiblingsLast);
        let cell = CellSpec {
            machine,
            variant: &variant,
            placement: &place,
            home: 0,
            threads: 1,
            local_work: 0.0,
        };
        let work = local_work::solve(&cell, alone)?;
        Ok(Performed { variant, work: work.nanoseconds })
    }

    /// Predicts the operations per second of tasks on these hardware threads.
    ///
    /// # Errors
    ///
    /// If a run fails.
    pub(super) fn predict(
        &self,
        machine: &Machine,
        places: Vec<usize>,
    ) -> Result<f64, SimulationError> {
        let tasks = places.len();
        let place = placement::MachinePlacement::List(places);
        let cell = CellSpec {
            machine,
            variant: &self.variant,
            placement: &place,
            home: 0,
            threads: tasks,
            local_work: self.work,
        };
        let found = simulate(&cell, &RunPlan::of_windows(SimulationEffort::SEARCH))?;
        Ok(found.throughput)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_are_there_and_each_variant_does_one_thing() {
        let variants = variants();
        let names: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(
            names,
            ["fetch-and-add", "ticket", "queued", "test-and-set", "lockref", "lockref-pause"]
        );
        assert!(variants.iter().all(|v| (1..=2).contains(&v.steps.len())), "{variants:?}");
        assert_eq!(siblings_variant().name, "lockref-pause");
        let standard = standard_variants();
        assert_eq!(standard.len(), 12);
        let mut names: Vec<&str> = standard.iter().map(|v| v.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 12, "{names:?}");
    }

    #[test]
    fn one_task_is_met_by_its_local_work() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        for variant in variants() {
            let performed = Performed::new(&machine, &variant, 1e7).expect("it runs");
            let alone = performed.predict(&machine, vec![0]).expect("it runs");
            assert!((alone / 1e7 - 1.0).abs() < 0.02, "{}: {alone}", variant.name);
            let two = performed.predict(&machine, vec![0, 1]).expect("it runs");
            assert!(two < 2.0 * alone, "{}: {two}", variant.name);
        }
    }
}
