//! The experiments on the buffer cache show the published effects. They are simulated, so every run
//! gives the same figures. The asserted ranges describe each effect.

use lockyard_lab::reproduce::{self, ReproduceRequest};
use lockyard_results::published;
use lockyard_results::row::{Row, Status};
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let tables = published::shipped().expect("they are shipped");
    let names =
        vec!["buffer-cache/16-way-create".to_owned(), "buffer-cache/8-way-unlink".to_owned()];
    let request = ReproduceRequest { names, jobs: 2, measure: None };
    reproduce::run(&request, &tables, &|| ()).expect("it runs").rows
});

fn row(experiment: &str, variant: &str, metric: &str) -> &'static Row {
    let is = |row: &&Row| {
        row.key.experiment == experiment && row.key.variant == variant && row.key.metric == metric
    };
    ROWS.iter().find(is).unwrap_or_else(|| panic!("no row {experiment} {variant} {metric}"))
}

fn predicted(experiment: &str, variant: &str, metric: &str) -> f64 {
    let row = row(experiment, variant, metric);
    let predicted = row.predicted.unwrap_or_else(|| panic!("not simulated: {row:?}"));
    println!(
        "{experiment} {variant} {metric}: {predicted:.2}, published {:?}, {:?}",
        row.published, row.status
    );
    predicted
}

#[test]
fn look_ups_in_a_wide_hash_take_seven_tenths_less_cpu_time_and_throughput_stays() {
    const CREATE: &str = "buffer-cache/16-way-create";
    let of = |variant, metric| predicted(CREATE, variant, metric);
    let (before, after) = ("256-buckets+promote", "wide-hash+no-promote");
    let given = of(before, "cpu-share:_xfs_buf_find");
    assert!((given - 19.3).abs() < 1.0, "an input that does not come out: {given}");
    let find = "samples:_xfs_buf_find";
    let saved = 1.0 - of(after, find) / of(before, find);
    println!("look-up: {:.0} % less CPU time; published 71", saved * 100.0);
    assert!(saved > 0.5, "{saved}");
    let wait = "cpu-share:__ticket_spin_lock";
    assert!(of(after, wait) > of(before, wait), "the other lock takes up the time");
    let change = of(after, "throughput-change");
    assert!(change.abs() < 4.0, "{change} %");
}

#[test]
fn allocations_share_falls_when_only_misses_allocate() {
    const UNLINK: &str = "buffer-cache/8-way-unlink";
    let of = |variant, metric| predicted(UNLINK, variant, metric);
    let (before, after) = ("allocate-before-lookup", "allocate-on-miss");
    for metric in ["cpu-share:kmem_cache_alloc", "cpu-share:kmem_cache_free"] {
        assert_eq!(row(UNLINK, after, metric).status, Status::Predicted);
        assert!(of(after, metric) < 0.9 * of(before, metric), "{metric}");
    }
    of(before, "cpu-share:_xfs_buf_find");
    of(after, "cpu-share:_xfs_buf_find");
    // A row without a prediction must have a reason.
    for row in ROWS.iter().filter(|row| row.predicted.is_none()) {
        assert_eq!(row.status, Status::NotModelled);
        assert!(row.reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{row:?}");
    }
}
