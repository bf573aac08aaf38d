//! Several recordings of one program.

use super::*;
use lockyard_recording::runs::{Run, Runs};

/// Returns runs with 1, 2 and 4 threads, which do these operations a second without the recorder.
fn runs(rates: [f64; 3]) -> Runs {
    let run = |(threads, rate): (u32, f64)| {
        let mut of = recording(1_145.0, skylake());
        let one = of.windows.clone();
        let thread = |number| one.iter().map(move |of| Window { thread: number, ..of.clone() });
        of.windows = (1..=threads).flat_map(thread).collect();
        Run { threads: threads as usize, rates: vec![rate], recording: of }
    };
    let all = [1, 2, 4].into_iter().zip(rates).map(run).collect();
    Runs::of(vec!["made".to_owned()], all).expect("they are one program's")
}

fn of(rates: [f64; 3]) -> (Recorded, Gate) {
    let recorded = Recorded::of_runs(runs(rates), None).expect("they are replayed");
    let gate = recorded.gate().expect("it runs");
    (recorded, gate)
}

/// Returns the rates that the replay of one recorded thread has, each divided by a factor.
fn replayed(factors: [f64; 3]) -> [f64; 3] {
    let (_, gate) = of([1e6, 1.9e6, 3e6]);
    let growth = gate.fitted.expect("they are compared").growth;
    let of = |index: usize| {
        let recorded = growth.recorded[index];
        // The growth that is not explained is the replay's rate over the measured one.
        recorded.measured_per_s * (1.0 + recorded.not_explained_share) / factors[index]
    };
    [of(0), of(1), of(2)]
}

/// Returns the predicted rows of the host.
fn rows(recorded: &Recorded, gate: &Gate, threads: &[usize]) -> Vec<Row> {
    let machine = recorded.host().expect("it has one").clone();
    let request = PredictRequest {
        variants: vec![RECORDED.to_owned()],
        jobs: 2,
        ..PredictRequest::new(recorded.script.clone(), machine.clone(), threads.to_vec())
    };
    let mut rows = request::run(&request, &[], &|| {}).expect("it runs").rows;
    let fitted = gate.fitted.as_ref().expect("they are compared");
    fitted.correct(&mut rows, &recorded.script, &machine);
    rows
}

#[test]
fn measured_rates_stay_and_growth_outside_of_locks_goes_on() {
    let rates = replayed([1.0, 1.05, 1.15]);
    let (recorded, gate) = of(rates);
    let growth = &gate.fitted.as_ref().expect("they are compared").growth;
    assert_eq!((growth.law, growth.unit), (Law::Threads, "operations/s"));
    assert!((growth.recorded[2].not_explained_share - 0.15).abs() < 1e-9, "{growth:?}");
    assert_eq!(gate.refused, None, "{growth:?}");
    let of_gate = growth.gate.as_ref().expect("there are several");
    assert_eq!((of_gate.from.as_slice(), of_gate.to), ([1, 2].as_slice(), 4));
    // 5 % with two threads stay 5 % with four, and it is 15 %. Four do at most twice as much.
    assert!(of_gate.error > 0.05 && of_gate.error <= 1.15 / 1.05 - 1.0, "{of_gate:?}");
    assert!(of_gate.predicted_per_s <= 2.0 * rates[1] + 1.0, "{of_gate:?}");
    let outside = &growth.parts[0];
    assert!(outside.lock.is_none() && outside.not_explained_ns > 50.0, "{outside:?}");
    for (row, rate) in rows(&recorded, &gate, &[1, 2, 4]).iter().zip(rates) {
        let predicted = row.predicted.expect("it is predicted");
        assert!((predicted / rate - 1.0).abs() < 1e-9, "{predicted} {rate}");
    }
    // Nothing saturates the lock of 100 ns with four threads; the growth goes on elsewhere too.
    let answers = recorded.answers(&[], &gate);
    assert_eq!((answers.gate, answers.growth.as_ref()), (None, Some(growth)));
    assert!(recorded.script.operation.contains("given rates"), "{}", recorded.script.operation);
}

#[test]
fn a_largest_number_that_the_smaller_ones_do_not_foresee_is_refused() {
    let (recorded, gate) = of(replayed([1.0, 1.0, 1.3]));
    let why = gate.refused.as_deref().expect("it is refused");
    assert!(why.starts_with("the prediction of 4 threads from 1 and 2: +28 %"), "{why}");
    assert!(why.ends_with("operations/s measured; allowed: 15 %"), "{why}");
    assert!(!recorded.answers(&[], &gate).gated);
}

#[test]
fn a_busy_host_of_any_run_and_a_missing_host_are_refused() {
    let mut all = runs([1e6, 1.9e6, 3.5e6]);
    let seconds = all.runs[2].recording.about.seconds;
    all.runs[2].recording.about.cpu_time =
        Some(CpuTime { ran: 2.0 * seconds, waited: 2.0 * seconds });
    let gate = Recorded::of_runs(all, None).expect("they are replayed").gate().expect("it runs");
    let why = gate.refused.expect("it is refused");
    assert!(why.starts_with("the run with 4 threads had 50 % of the CPUs"), "{why}");
    let mut nowhere = runs([1e6, 1.9e6, 3.5e6]);
    nowhere.runs[0].recording.about.host = None;
    let gate = Recorded::of_runs(nowhere, None).expect("they are replayed");
    let gate = gate.gate().expect("nothing runs");
    assert!(gate.refused.is_some_and(|why| why.contains("no machine file")));
    assert_eq!(gate.fitted, None);
}

#[test]
fn without_rates_the_recordings_own_are_taken() {
    let mut all = runs([1e6, 1.9e6, 3.5e6]);
    all.runs[1].rates.clear();
    let own = Model::of(&all.runs[0].recording).expect("it is replayed").undisturbed_rate();
    let (_, some) = {
        let recorded = Recorded::of_runs(all.clone(), None).expect("they are replayed");
        let gate = recorded.gate().expect("it runs");
        (recorded, gate.fitted.expect("they are compared").growth)
    };
    assert_eq!((some.without_rate.as_slice(), some.unit), ([2].as_slice(), "operations/s"));
    // Its acquisitions, with as many for an operation as with one thread.
    let expected = 2.0 * own / (own / 1e6);
    assert!((some.recorded[1].measured_per_s / expected - 1.0).abs() < 1e-6, "{some:?}");
    all.runs.iter_mut().for_each(|run| run.rates.clear());
    let recorded = Recorded::of_runs(all, None).expect("they are replayed");
    let none = recorded.gate().expect("it runs").fitted.expect("they are compared").growth;
    assert_eq!((none.without_rate.len(), none.unit), (0, "acquisitions/s"));
    assert!((none.recorded[0].measured_per_s / own - 1.0).abs() < 1e-9, "{none:?}");
}

#[test]
fn one_recording_says_that_growth_was_not_measured() {
    let mut one = runs([1e6, 1.9e6, 3.5e6]);
    one.runs.truncate(1);
    let recorded = Recorded::of_runs(one, None).expect("it is replayed");
    assert!(recorded.several.is_none());
    let said = recorded.assumptions().join("\n");
    assert!(said.contains("What grows with threads was not measured"), "{said}");
    let (several, _) = of([1e6, 1.9e6, 3.5e6]);
    assert!(!several.assumptions().join("\n").contains("not measured"));
}

#[test]
fn intervals_are_errors_of_measured_programs() {
    let (recorded, gate) = of(replayed([1.0, 1.0, 1.0]));
    let mut rows = rows(&recorded, &gate, &[4]);
    rows[0].details.simulated.as_mut().expect("it is simulated").interval =
        Some(lockyard_results::details::Range { low: 1.0, high: 2.0 });
    let interval = |rows: &[Row]| rows[0].details.simulated.as_ref().and_then(|of| of.interval);
    let before = interval(&rows);
    widen(&mut rows, true, 4);
    assert_eq!(interval(&rows), before, "this number was measured");
    widen(&mut rows, true, 2);
    let (figure, found) = (rows[0].predicted.expect("one"), interval(&rows).expect("one"));
    let spread = crate::growth::spread::of(true, 1).expect("it is known");
    assert_eq!((found.low, found.high), (figure * spread.low, figure * spread.high));
}

/// Makes the waits of a run's first thread waits for a condition.
fn wait_for_a_condition(run: &mut Run) {
    for window in run.recording.windows.iter_mut().filter(|window| window.thread == 1) {
        for event in &mut window.events {
            if let Event::Acquired { after, how, wait, .. } = event {
                (*how, *wait) = (How::Condition, *after / 2);
            }
        }
    }
}

#[test]
fn who_waits_for_whom_is_told_by_the_run_with_the_most_threads() {
    for (waits, expected) in [(0, None), (2, Some(4))] {
        let mut runs = runs([1e6, 1.9e6, 3e6]);
        wait_for_a_condition(&mut runs.runs[waits]);
        let recorded = Recorded::of_runs(runs, None).expect("they are replayed");
        let gate = recorded.gate().expect("it runs");
        let found = recorded.answers(&[], &gate).waits_for;
        assert_eq!(found.first().map(|of| of.of_threads), expected, "{found:?}");
    }
}
