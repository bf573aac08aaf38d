//! Tests of comparisons in pairs. The stated error rate holds on a host that drifts, and a slower
//! program is found. All random numbers come from fixed seeds.

use crate::synthetic::{Host, Noise, THRESHOLD};
use lockyard_results::compare::comparison::{Verdict, compare};
use lockyard_results::compare::{Comparison, Method, Options, ResultFile, join_rounds, parse};

/// A host whose speed changes slowly over many runs, and whose runs have outliers.
const DRIFTS: Noise = Noise { host: 0.3, stays: 0.95, row: 0.05 };

/// Number of comparisons. At most a twentieth of them, 100, may be wrong.
const TRIES: usize = 2000;

/// Three standard deviations above the permitted 100.
const MOST: usize = 100 + 30;

fn has_verdict(found: &Comparison) -> bool {
    found.count(Verdict::Faster) + found.count(Verdict::Slower) > 0
}

#[test]
fn the_same_program_gets_a_verdict_in_at_most_a_twentieth_of_all_comparisons() {
    for (seed, rows, rounds) in [(1, 1, 9), (2, 6, 9), (3, 30, 12), (4, 4, 12)] {
        let mut host = Host::new(seed, DRIFTS);
        let speeds = vec![1e6; rows];
        let all: Vec<Comparison> =
            (0..TRIES).map(|_| host.pairs(rounds, &speeds, &speeds)).collect();
        let wrong = all.iter().filter(|found| has_verdict(found)).count();
        assert!(wrong <= MOST, "{rows} rows of {rounds} rounds: {wrong} of {TRIES}");
        // Also fails if no comparison ever reaches a verdict.
        assert!(wrong >= 10, "{rows} rows of {rounds} rounds: {wrong} of {TRIES}");
        let failed = all.iter().filter(|found| found.slower_beyond_threshold() > 0).count();
        assert!(failed <= wrong);
    }
}

#[test]
fn a_program_that_is_slower_by_just_the_threshold_seldom_fails() {
    let mut host = Host::new(5, DRIFTS);
    let (a, b) = (vec![1e6; 6], vec![1e6 * (1.0 - THRESHOLD); 6]);
    let failed = (0..TRIES).filter(|_| host.pairs(9, &a, &b).slower_beyond_threshold() > 0).count();
    assert!(failed <= MOST, "{failed} of {TRIES}");
}

#[test]
fn two_separate_runs_on_such_a_host_are_wrong_far_more_often() {
    let mut host = Host::new(6, DRIFTS);
    let speeds = vec![1e6; 2];
    let wrong = (0..100).filter(|_| has_verdict(&host.separate(9, &speeds, &speeds))).count();
    assert!(wrong > 30, "{wrong} of 100");
}

#[test]
fn too_few_rounds_for_many_rows_are_said() {
    let speeds = vec![1e6; 30];
    let note = |rounds: usize| {
        let found = Host::new(8, DRIFTS).pairs(rounds, &speeds, &speeds);
        found.notes.into_iter().find(|note| note.contains("--rounds"))
    };
    let said = note(6).expect("six are too few");
    assert_eq!(
        said,
        "6 rounds may be too few for a verdict among 30 rows: compare with --rounds 11 or more."
    );
    assert_eq!(note(11), None);
}

#[test]
fn a_slower_row_is_found_among_others_although_the_host_drifts() {
    let mut host = Host::new(7, Noise { row: 0.02, ..DRIFTS });
    // Runs differ by far more than the two programs do.
    let (a, mut b) = (vec![1e6; 8], vec![1e6; 8]);
    b[3] = 5e5;
    let found = host.pairs(30, &a, &b);
    assert_eq!(found.method, Method::Pairs);
    assert_eq!((found.rows[3].verdict, found.rows[3].beyond), (Verdict::Slower, true));
    assert!((found.rows[3].difference + 0.5).abs() < 0.1, "{:?}", found.rows[3]);
    assert_eq!(found.slower_beyond_threshold(), 1);
    let found = host.pairs(30, &b, &a);
    assert_eq!(found.rows[3].verdict, Verdict::Faster);
    assert_eq!(found.means[0].rows, 8);
    let (low, high) = found.means[0].interval.expect("thirty rounds are enough");
    assert!(low <= found.means[0].speed && found.means[0].speed <= high);
}

/// Reads the results of one round.
fn round(rows: &[(&str, &str, f64)]) -> ResultFile {
    let rows: Vec<String> = rows
        .iter()
        .map(|(variant, kind, value)| {
            format!(
                r#"{{"experiment": "e", "machine": "m", "variant": "{variant}", "threads": 1,
                    "metric": "throughput", "unit": "op/s", "{kind}": {value},
                    "detail": {{"measured": {{"rounds": [{value}]}}}}}}"#
            )
        })
        .collect();
    let schema = lockyard_results::render::SCHEMA;
    let text = format!(r#"{{"schema": "{schema}", "rows": [{}]}}"#, rows.join(","));
    parse("round", &text).expect("it is a result file")
}

#[test]
fn rounds_are_joined_in_their_order() {
    let runs = [3.0, 1.0, 2.0].map(|value| round(&[("v", "measured", value)]));
    let joined = join_rounds("P", &runs).expect("they have the same figures");
    assert_eq!(joined.origin, "P");
    assert_eq!(
        (joined.figures[0].value, &joined.figures[0].rounds[..]),
        (2.0, &[3.0, 1.0, 2.0][..])
    );
    let idle = [0.0, 1.0, 0.0].map(|value| round(&[("v", "measured", value)]));
    let joined = join_rounds("P", &idle).expect("they have the same figures");
    assert!(joined.figures[0].unusable.is_some());
}

#[test]
fn a_row_that_a_round_lacks_is_left_out_and_the_others_are_compared() {
    let run = |rows: &[(&str, f64)]| {
        let rows: Vec<_> = rows.iter().map(|&(name, value)| (name, "measured", value)).collect();
        round(&rows)
    };
    let whole = || run(&[("v", 1.0), ("w", 1.0)]);
    let joined = |runs: [ResultFile; 6]| join_rounds("P", &runs).expect("there are rounds");
    let all = || joined([whole(), whole(), whole(), whole(), whole(), whole()]);
    let last = joined([whole(), whole(), whole(), whole(), whole(), run(&[("v", 1.0)])]);
    let first = joined([run(&[("v", 1.0)]), whole(), whole(), whole(), whole(), whole()]);
    let middle = joined([whole(), whole(), run(&[("v", 1.0)]), whole(), whole(), whole()]);
    let options = Options { threshold: THRESHOLD, anyway: false };
    for (other, lacks) in [(last, 6), (first, 1), (middle, 3)] {
        for (a, b, name) in [(all(), other.clone(), "B"), (other.clone(), all(), "A")] {
            let found = lockyard_results::compare::compare_pairs(&a, &b, options).expect("one row");
            assert_eq!(found.rows.len(), 1);
            assert_eq!(found.rows[0].key.cell.variant, "v");
            let [(key, reason)] = found.left_out.as_slice() else { panic!("one row is left out") };
            assert_eq!(key.cell.variant, "w");
            assert_eq!(*reason, format!("{name}: round {lacks} lacks it"));
        }
    }
}

#[test]
fn simulated_figures_that_differ_between_rounds_are_refused() {
    let error = |runs: &[ResultFile]| join_rounds("P", runs).expect_err("refused").to_string();
    assert_eq!(error(&[]), "P: there is no round");
    let simulated = [1.0, 1.0, 2.0].map(|value| round(&[("v", "predicted", value)]));
    let said = error(&simulated);
    assert!(said.contains("the same in all rounds; round 1 has 1, round 3 has 2"), "{said}");
    // Zeros are the same too: a row cannot be compared with them, and the others can.
    let idle = [0.0; 3].map(|value| round(&[("v", "predicted", value), ("w", "predicted", 1.0)]));
    let joined = join_rounds("P", &idle).expect("they have the same figures");
    assert!(joined.figures[0].unusable.is_some() && joined.figures[1].unusable.is_none());
}

#[test]
fn simulated_figures_in_pairs_are_the_same_or_not() {
    let same = || [1.0; 6].map(|value| round(&[("v", "predicted", value)]));
    let joined = |runs: &[ResultFile]| join_rounds("P", runs).expect("they have the same figures");
    let options = Options { threshold: THRESHOLD, anyway: false };
    let (a, b) = (joined(&same()), joined(&same()));
    let found = lockyard_results::compare::compare_pairs(&a, &b, options).expect("comparable");
    assert_eq!(found.rows[0].verdict, Verdict::Same);
    assert_eq!(found.rows, compare(&a, &b, options).expect("comparable").rows);
}
