//! Made-up results: all kinds of rows and details, and a scenario with a hostile name.

use lockyard_report::page;
use lockyard_results::cell_key::CellKey;
use lockyard_results::compare::{self, Comparison, Options, ResultFile};
use lockyard_results::details::{
    CostsDetail, Details, HandoversDetail, LineDetail, MeasuredDetail, Range, SimulatedDetail,
    TransfersDetail,
};
use lockyard_results::fairness::Waits;
use lockyard_results::growth::{Growth, GrowthPart, Law, RecordedRate};
use lockyard_results::histogram::Bucket;
use lockyard_results::recorded::{
    AccessToday, Accesses, BestChange, LockSaturation, LockToday, LockUse, RecordedProgram, Replay,
    Today,
};
use lockyard_results::render::{Document, Format, render};
use lockyard_results::row::{Measured, Row, Status};
use lockyard_results::summary::summarise;
use lockyard_sim::Machine;
use serde_json::json;

/// Name of an experiment, as a script may give it.
pub(crate) const HOSTILE: &str = "<script>alert('1')</script> & \"more\"";

fn key(experiment: &str, variant: &str, threads: usize) -> CellKey {
    CellKey {
        experiment: experiment.to_owned(),
        machine: "a-machine".to_owned(),
        variant: variant.to_owned(),
        threads: Some(threads),
        metric: "throughput".to_owned(),
        unit: "op/s".to_owned(),
    }
}

fn simulated(threads: usize, figure: f64) -> SimulatedDetail {
    let far = threads as f64 / 100.0;
    let line = LineDetail {
        line: "entry".to_owned(),
        hand_overs_per_operation: TransfersDetail {
            same_complex: 1.5 - far,
            another_socket: far,
            ..TransfersDetail::default()
        },
        ..LineDetail::default()
    };
    let share = [("working", 1.0 / threads as f64), ("moving_lines", 1.0 - 1.0 / threads as f64)];
    SimulatedDetail {
        interval: Some(Range { low: figure * 0.9, high: figure * 1.2 }),
        waits: Some(waits(threads as u64 * 100)),
        costs: Some(CostsDetail {
            share: share.map(|(name, share)| (name.to_owned(), share)).into(),
            lines: vec![line],
            ..CostsDetail::default()
        }),
        notes: vec!["a note </script> of a row".to_owned()],
        ..SimulatedDetail::default()
    }
}

fn waits(ns: u64) -> Waits {
    let multiple = |times| Some(ns * times);
    let (p50, p90, p99, p999) = (multiple(1), multiple(3), multiple(9), multiple(20));
    Waits { p50, p90, p99, p999, maximum: ns * 50, count: 20_000 }
}

fn measured() -> MeasuredDetail {
    let bucket = |from, to, count| Bucket { from, to, count };
    MeasuredDetail {
        waits: Some(waits(60)),
        wait_histogram_ns: vec![bucket(32, 40, 500), bucket(40, 48, 9000), bucket(96, 112, 7)],
        handovers: Some(HandoversDetail {
            count: 1000,
            same_thread: Some(0.25),
            same_core: Some(0.5),
            remote: Some(0.25),
            ..HandoversDetail::default()
        }),
        ..MeasuredDetail::default()
    }
}

/// Returns results with a row for each variant and number of threads.
pub(crate) fn document() -> Document {
    let mut rows = Vec::new();
    for (variant, slope) in [("fast", 0.9), ("slow", 0.4)] {
        for threads in [1, 2, 8, 24] {
            let published = 1_234_567.0 * (threads as f64).powf(slope);
            let predicted = published * (1.0 + 0.01 * threads as f64);
            let status = if threads == 1 { Status::Calibration } else { Status::Predicted };
            let (value, is_small) = (published * 0.8, threads <= 2);
            let found = Measured { value, ci_low: value * 0.9, ci_high: value * 1.05, samples: 9 };
            rows.push(Row {
                table: "a-table".to_owned(),
                published: Some(published),
                predicted: Some(predicted),
                trivial: Some(1_234_567.0),
                measured: is_small.then_some(found),
                details: Details {
                    simulated: Some(simulated(threads, predicted)),
                    measured: is_small.then(measured),
                    ..Details::default()
                },
                ..Row::new(key("an-experiment", variant, threads), status)
            });
        }
    }
    rows.push(Row {
        published: Some(12.5),
        reason: Some("there is <no> scenario".to_owned()),
        ..Row::new(key(HOSTILE, HOSTILE, 4), Status::NotModelled)
    });
    let summaries = vec![summarise("a-table", &rows.iter().collect::<Vec<_>>())];
    Document {
        rows,
        summaries,
        environment: vec![("lockyard".to_owned(), "1.2.3".to_owned())],
        explanations: vec!["A text, as wide as it is.\n".to_owned()],
        notes: vec![format!("A note of {HOSTILE}.")],
        ..Document::default()
    }
}

/// Returns what grows with the threads of a recorded program.
fn growth() -> Growth {
    let part = |lock: Option<&str>| GrowthPart {
        lock: lock.map(str::to_owned),
        sites: vec!["put (<a.c>:7)".to_owned()],
        from_ns: 901.0,
        to_ns: 1302.0,
        explained_ns: 61.0,
        not_explained_ns: 343.0,
        law: Law::Threads,
    };
    Growth {
        unit: "operations/s",
        recorded: vec![1, 4]
            .into_iter()
            .map(|threads| RecordedRate { threads, ..RecordedRate::default() })
            .collect(),
        law: Law::Threads,
        operation_ns: 1600.0,
        not_explained_ns: 686.0,
        parts: vec![part(None), part(Some("m"))],
        ..Growth::default()
    }
}

/// Returns results of a recorded program: the same, with answers.
pub(crate) fn recorded() -> Document {
    let lock = |number: usize| LockToday {
        lock: format!("{HOSTILE} {number}"),
        site: HOSTILE.to_owned(),
        acquisitions_per_s: 1234.5,
        share_held: 0.2,
        share_waited: 0.1,
        held_ns_each_time: 320.0,
        waited_ns_each_time: 160.5,
        accesses: (number == 0).then(|| Accesses {
            reads: AccessToday { share_held: 0.15, ..AccessToday::default() },
            writes: AccessToday { share_held: 0.05, share_waited: 0.1, ..AccessToday::default() },
        }),
    };
    let uses = |threads: usize| LockUse {
        threads,
        share_held: 0.01 * threads as f64,
        share_busy: 0.04 * threads as f64,
    };
    let saturation = |number: usize| LockSaturation {
        machine: "a-machine".to_owned(),
        lock: format!("{HOSTILE} {number}"),
        saturated_at_threads: (number == 0).then_some(24),
        knee_threads: 19.5,
        at_most: uses(24),
        use_by_threads: [2, 8, 24].map(uses).into(),
    };
    let best = BestChange {
        machine: "a-machine".to_owned(),
        threads: 24,
        compared: 2,
        variant: "slow".to_owned(),
        title: HOSTILE.to_owned(),
        operations_per_s: 2000.0,
        interval: Some(Range { low: 1800.0, high: 2200.0 }),
        recorded_operations_per_s: 1600.0,
        recorded_interval: Some(Range { low: 1500.0, high: 1700.0 }),
        gain_share: 0.25,
        within_intervals: false,
    };
    let today = Today {
        threads: 2.0,
        acquisitions_per_s: 2469.0,
        share_outside: 0.3,
        share_asleep: 0.1,
        share_without_cpu: 0.0,
        share_held: 0.4,
        share_waited: 0.2,
        locks: vec![lock(0), lock(1)],
    };
    let recorded = RecordedProgram {
        gated: true,
        gate: Some(Replay {
            threads: 2,
            recorded_acquisitions_per_s: 2469.0,
            outside_windows: true,
            predicted_acquisitions_per_s: Some(2420.0),
            error_share: Some(2420.0 / 2469.0 - 1.0),
            allowed_share: 0.1,
            sleeps: None,
            passed: true,
        }),
        growth: Some(growth()),
        today,
        saturation: vec![saturation(0), saturation(1)],
        best_changes: vec![best],
        ..RecordedProgram::default()
    };
    Document { recorded: Some(recorded), ..document() }
}

/// Returns a machine for pages.
pub(crate) fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Returns the page of results.
pub(crate) fn page_of(document: &Document, in_detail: bool) -> String {
    page::document(&page::Report {
        title: "A title",
        command: "lockyard predict <x>",
        document,
        verdicts: &["The fast one wins.".to_owned()],
        machines: &[machine()],
        in_detail,
    })
}

/// Returns a comparison of two files with measured rows: one faster, one slower, one unchanged.
pub(crate) fn comparison() -> Comparison {
    let [a, b] = compared_files();
    compare::compare(&a, &b, OPTIONS).expect("comparable")
}

/// Returns the comparison of two programs that gave those files in pairs.
pub(crate) fn comparison_in_pairs() -> Comparison {
    let [a, b] = compared_files();
    compare::compare_pairs(&a, &b, OPTIONS).expect("comparable")
}

const OPTIONS: Options = Options { threshold: 0.05, anyway: true };

fn compared_files() -> [ResultFile; 2] {
    let file = |factors: [f64; 3]| {
        let row = |(index, factor): (usize, f64)| {
            let rounds: Vec<f64> =
                (0..12).map(|round| factor * (1000.0 + f64::from(round * 7 % 12))).collect();
            let measured = Measured {
                value: rounds[5],
                ci_low: rounds[0],
                ci_high: rounds[11],
                samples: rounds.len(),
            };
            let detail = MeasuredDetail { rounds, ..MeasuredDetail::default() };
            let key = CellKey::throughput_here(HOSTILE, "a-variant", index + 1);
            Row::measured(key, measured, Details::of_measured(detail))
        };
        let rows = factors.into_iter().enumerate().map(row).collect();
        let document = Document { rows, ..Document::default() };
        render(&document, Format::Json)
    };
    let parsed = |name: &str, factors| compare::parse(name, &file(factors)).expect("it is valid");
    [parsed("a.json", [1.0; 3]), parsed("b.json", [1.2, 0.7, 1.0])]
}

/// Returns the page of that comparison.
pub(crate) fn page_of_comparison() -> String {
    page::comparison(&comparison(), "1.2.3")
}

/// Returns the page of a sweep: two variants, three hold times, two numbers of threads, two seeds,
/// and a cell that failed.
pub(crate) fn page_of_sweep() -> String {
    let mut cells = Vec::new();
    for variant in ["a", HOSTILE] {
        for (hold, threads, seed) in [10, 20, 40]
            .into_iter()
            .flat_map(|hold| [1, 8].map(|threads| (hold, threads)))
            .flat_map(|(hold, threads)| [1, 2].map(|seed| (hold, threads, seed)))
        {
            let figure = 1e9 / f64::from(hold + threads + seed)
                * if variant == "a" { 1.0 } else { f64::from(hold) / 20.0 };
            cells.push(json!({
                "id": "0123", "number": cells.len(),
                "inputs": {
                    "scenario": "s", "machine": "m", "variant": variant, "threads": threads,
                    "seed": seed, "parameters": { "steps.held.ns": hold },
                },
                "row": {
                    "metric": "throughput", "unit": "op/s", "predicted": figure,
                    "fairness": { "jain": 0.5 }, "waits": { "p50_ns": 10.0 },
                    "dominating_cost": "waiting",
                },
            }));
        }
    }
    let inputs = cells[0]["inputs"].clone();
    cells.push(json!({ "id": "4567", "number": 24, "inputs": inputs, "error": HOSTILE }));
    lockyard_report::page::sweep(&json!({
        "schema": "lockyard-sweep-1", "program": "0.1.0", "title": HOSTILE, "count": 26,
        "parameters": ["steps.held.ns"], "missing": 1, "cells": cells,
    }))
}
