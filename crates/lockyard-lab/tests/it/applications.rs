//! The table `qspinlock-applications`: each row has one status, the ticket lock's rows calibrate,
//! and nothing of the queued lock's rows is in their predictions.

use lockyard_lab::reproduce::{self, Request};
use lockyard_results::published::{self, Table};
use lockyard_results::row::{Detail, Row, Status};

fn tables() -> Vec<Table> {
    published::shipped().expect("they are shipped")
}

fn reproduce(tables: &[Table], jobs: usize) -> Vec<Row> {
    let names = vec!["qspinlock-applications".to_owned()];
    let request = Request { names, jobs, measure: None };
    reproduce::run(&request, tables, &|| ()).expect("it runs").rows
}

fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    match &row.detail[name] {
        Detail::Text(text) => text,
        other => panic!("{name}: {other:?}"),
    }
}

fn number(row: &Row, name: &str) -> f64 {
    match row.detail[name] {
        Detail::Number(number) => number,
        ref other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn no_published_figure_of_the_queued_lock_is_in_a_prediction() {
    let rows = reproduce(&tables(), 2);
    let mut changed = tables();
    for cell in changed.iter_mut().flat_map(|table| &mut table.cells) {
        if cell.variant == "qspinlock" {
            cell.value *= 1.7;
        }
    }
    let others = reproduce(&changed, 1);
    assert_eq!(rows.len(), 25);
    assert_eq!(rows.len(), others.len());
    for (row, other) in rows.iter().zip(&others) {
        let same = (row.predicted, row.status) == (other.predicted, other.status);
        assert!(same, "{row:?}");
    }

    let count = |status: Status| rows.iter().filter(|row| row.status == status).count();
    assert_eq!(
        (count(Status::Calibration), count(Status::Predicted), count(Status::NotModelled)),
        (13, 12, 0)
    );
    for row in &rows {
        let (calibration, queued) = (row.status == Status::Calibration, row.variant == "qspinlock");
        // The duration of the benchmark is no figure of a lock.
        assert!(!(calibration && queued) || row.reason.is_some(), "{row:?}");
        match (row.status, &row.reason) {
            (Status::Calibration, Some(reason)) => {
                assert_eq!((&*row.experiment, &*row.metric), ("ebizzy-m", "real-time"));
                assert!(reason.contains("an input"), "{reason}");
            }
            (Status::NotModelled, _) | (_, Some(_)) => panic!("{row:?}"),
            (Status::Calibration, None) => {
                let miss = row.predicted.expect("it is simulated") / row.published.unwrap() - 1.0;
                let most = if row.metric == "throughput" { 1e-9 } else { 0.02 };
                assert!(miss.abs() < most, "{}, {}: {miss}", row.experiment, row.metric);
            }
            (_, None) => {}
        }
    }

    let find = |experiment: &str, variant: &str| {
        let found = rows.iter().find(|row| {
            (&*row.experiment, &*row.variant, &*row.metric) == (experiment, variant, "throughput")
        });
        found.expect("the table has it")
    };
    for experiment in ["aim7-disk/ext4", "ebizzy-m"] {
        let cause = find(experiment, "ticket");
        assert_eq!(text(cause, "dominating_cost"), "wake-up storm", "{experiment}");
        assert!(text(cause, "explanation").contains("longer the more threads wait"));
        assert_ne!(text(find(experiment, "qspinlock"), "dominating_cost"), "wake-up storm");
    }
    let ratio = |experiment, what| number(find(experiment, "qspinlock"), what);
    let published = ["aim7-disk/xfs", "aim7-disk/ext4", "ebizzy-m"]
        .map(|e| ratio(e, "ratio_to_ticket_published"));
    assert_eq!(published.map(|ratio| (ratio * 1e3).round()), [1013.0, 1960.0, 1457.0]);
    let predicted = |experiment| ratio(experiment, "ratio_to_ticket_predicted");
    assert!(predicted("aim7-disk/ext4") > 1.1 && predicted("ebizzy-m") > 1.1);
    assert!((predicted("aim7-disk/xfs") - 1.0).abs() < 0.02);

    let gap = rows.iter().find(|row| row.metric == "gap-to-ticket").expect("the table has it");
    assert_eq!(
        (gap.status, gap.detail.get("simulated_tasks")),
        (Status::Predicted, Some(&Detail::Count(5)))
    );
}
