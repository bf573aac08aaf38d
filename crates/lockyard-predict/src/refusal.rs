//! Cells that have no figure, because the model cannot be right about them. The reason stands in
//! the cell's row.

use crate::simulate::{CellSpec, Prediction};
use lockyard_scenarios::{Object, ObjectKind, Variant};

/// Returns the reason for which a cell is not simulated, if there is one.
///
/// Waiters of a lock that serves in order of arrival spin, and the next one may have no CPU. With
/// more threads than CPUs of one program, each hand-over then takes a time slice of the operating
/// system. The simulated scheduler is that of a hypervisor, which notices spinning and runs another
/// thread. It is right for several guests, and their runs last for many slices.
pub(crate) fn before(cell: &CellSpec) -> Option<String> {
    if !is_crowded(cell) || !spins_in_turn(cell.variant) {
        return None;
    }
    Some(
        "more threads than CPUs, and a lock whose waiters spin in order of arrival: each hand-over \
         may take a time slice (docs/model/guests.md), some hundred operations a second in all"
            .to_owned(),
    )
}

/// Returns the reason for which a simulated cell has no figure, if there is one.
pub(crate) fn after(cell: &CellSpec, prediction: &Prediction) -> Option<String> {
    let never_ran = cell.threads > 1 && prediction.fairness.minimum == 0.0;
    // Without a scheduler, and without sleep, an unfair lock is the reason: a result.
    (never_ran && (cell.variant.guests.is_some() || cell.variant.walks())).then(|| {
        "a thread did no operation in the simulated time, so the figure is that of fewer threads"
            .to_owned()
    })
}

/// Returns a note on a figure of which one thread has no part.
pub(crate) fn note(cell: &CellSpec, prediction: &Prediction) -> Option<String> {
    (cell.threads > 1 && prediction.fairness.minimum == 0.0).then(|| {
        "a thread did no operation in the simulated time: the lock starves it, or the time is too \
         short; do not quote the figure as that of all threads"
            .to_owned()
    })
}

/// Returns true if there are more threads of one program than places for them.
fn is_crowded(cell: &CellSpec) -> bool {
    cell.variant.guests == Some(1) && cell.of_place() > 1
}

/// Returns true if a lock of the variant has waiters that spin in order of arrival.
fn spins_in_turn(variant: &Variant) -> bool {
    let takes = variant.takes_a_lock();
    let is = |object: &Object| match object.kind {
        ObjectKind::Lock { lock } => lock.spins_in_turn(),
        ObjectKind::LockRef { lock, .. } => takes && lock.spins_in_turn(),
        _ => false,
    };
    variant.objects.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use crate::request::{self, PredictRequest};
    use lockyard_results::row::{Row, Status};
    use lockyard_scenarios::Script;
    use lockyard_sim::Machine;

    /// Locks whose waiters spin in order of arrival, and others.
    const IN_TURN: [&str; 6] =
        ["ticket", "ticket-portable", "queued", "queued-portable", "mcs", "clh"];
    const OTHERS: [&str; 4] = ["mutex", "futex-mutex", "pthread-like-mutex", "pv-ticket"];

    /// A control. After its first uses no thread gets it, so it has a figure nowhere.
    const STALLED: &str = "ticket-as-queued";

    /// Returns a script with a variant for each lock: 200 ns under it, 1,000 ns outside.
    fn script(guests: usize, locks: impl IntoIterator<Item = &'static str>) -> Script {
        let mut text = format!(
            "name = \"crowd\"\nwork_varies = false\n[guests]\ncount = {guests}\n[[objects]]\n\
             name = \"a\"\nkind = \"lock\"\nlock = \"mutex\"\n[[steps]]\ndo = \"lock\"\n\
             object = \"a\"\n[[steps]]\ndo = \"work\"\nns = 200\n[[steps]]\ndo = \"unlock\"\n\
             object = \"a\"\n[[steps]]\ndo = \"work\"\nns = 1000\n"
        );
        for lock in locks {
            text.push_str(&format!(
                "[[variants]]\nname = \"{lock}\"\nset = [{{ object = \"a\", lock = \"{lock}\" }}]\n"
            ));
        }
        Script::parse("crowd.toml", &text).expect("it is a script")
    }

    fn rows(placement: Option<&str>, threads: usize) -> Vec<Row> {
        rows_of(IN_TURN.into_iter().chain(OTHERS), placement, threads)
    }

    fn rows_of(
        locks: impl IntoIterator<Item = &'static str>,
        placement: Option<&str>,
        threads: usize,
    ) -> Vec<Row> {
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        let placement = placement.map(|text| MachinePlacement::parse(text, &machine));
        let placement = placement.transpose().expect("it is a placement");
        let request = PredictRequest {
            placement,
            jobs: 2,
            ..PredictRequest::new(script(1, locks), machine, vec![threads])
        };
        request::run(&request, &[], &|| {}).expect("it runs").rows
    }

    #[test]
    fn locks_in_turn_have_no_figure_with_more_threads_than_cpus_and_others_have_one() {
        for (placement, threads) in [(None, 8), (Some("0,1"), 3)] {
            for row in rows(placement, threads) {
                let is_refused = IN_TURN.contains(&row.key.variant.as_str());
                assert_eq!(row.predicted.is_none(), is_refused, "{row:?}");
                assert_eq!(row.status == Status::NotModelled, is_refused, "{row:?}");
                if is_refused {
                    let why = row.reason.expect("it says why");
                    assert!(why.contains("more threads than CPUs"), "{why}");
                    continue;
                }
                // Each thread had its turn.
                let fairness = row.details.simulated.and_then(|detail| detail.fairness);
                assert!(fairness.is_some_and(|of| of.minimum > 0.0), "{}", row.key.variant);
            }
        }
        assert_eq!(rows_of([STALLED], None, 8)[0].status, Status::NotModelled);
        assert!(rows(None, 4).iter().all(|row| row.predicted.is_some()), "a CPU for each");
        assert!(rows(Some("0,1"), 2).iter().all(|row| row.predicted.is_some()));
    }

    #[test]
    fn a_lock_that_makes_no_progress_costs_the_others_no_figure() {
        // Two guests, so that nothing is refused before: a hand-over may take all of the time.
        let script = script(2, [STALLED, "mutex"]);
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        let request = PredictRequest { jobs: 2, ..PredictRequest::new(script, machine, vec![16]) };
        let found = request::run(&request, &[], &|| {}).expect("a row has a figure");
        let [stalled, mutex] = found.rows.as_slice() else { panic!("{:?}", found.rows) };
        assert_eq!((stalled.predicted.is_none(), stalled.status), (true, Status::NotModelled));
        let why = stalled.reason.as_deref().expect("it says why");
        assert!(why.contains("no operation finished within"), "{why}");
        assert!(mutex.predicted.is_some() && mutex.reason.is_none(), "{mutex:?}");
    }

    #[test]
    fn guests_of_a_hypervisor_are_simulated() {
        let machine = Machine::shipped("sandy-bridge-32c-kvm").expect("it is shipped");
        for (name, threads) in [("dbench/overcommit-1x", 32), ("dbench/overcommit-4x", 32)] {
            let script = Script::shipped(name).expect("it is shipped");
            let placement = MachinePlacement::Order(script.order);
            for variant in &script.variants {
                let cell = CellSpec {
                    variant,
                    ..CellSpec::first_of(&machine, &script, &placement, threads)
                };
                assert_eq!(before(&cell), None, "{name} {}", variant.name);
            }
        }
        let two = script(2, IN_TURN);
        let placement = MachinePlacement::Order(two.order);
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        assert_eq!(before(&CellSpec::first_of(&machine, &two, &placement, 8)), None);
    }
}
