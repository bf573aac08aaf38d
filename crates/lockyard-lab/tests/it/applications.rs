//! Tests of the table `qspinlock-applications`: each row has one status, and the ticket lock's rows
//! are the calibration. The predictions for the queued lock use no figure from its own rows.

use lockyard_lab::reproduce::{self, ReproduceRequest};
use lockyard_results::details::{CostsDetail, SimulatedDetail};
use lockyard_results::published::{self, PublishedTable};
use lockyard_results::row::{Row, Status};

fn tables() -> Vec<PublishedTable> {
    published::shipped().expect("they are shipped")
}

fn reproduce(tables: &[PublishedTable], jobs: usize) -> Vec<Row> {
    let names = vec!["qspinlock-applications".to_owned()];
    let request = ReproduceRequest { names, jobs, measure: None };
    reproduce::run(&request, tables, &|| ()).expect("it runs").rows
}

fn simulated(row: &Row) -> &SimulatedDetail {
    row.details.simulated.as_ref().expect("it was simulated")
}

fn costs(row: &Row) -> &CostsDetail {
    simulated(row).costs.as_ref().expect("costs were counted")
}

#[test]
fn no_published_figure_of_the_queued_lock_is_in_a_prediction() {
    let rows = reproduce(&tables(), 2);
    let mut changed = tables();
    for cell in changed.iter_mut().flat_map(|table| &mut table.cells) {
        if cell.key.variant == "qspinlock" {
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
        let (calibration, queued) =
            (row.status == Status::Calibration, row.key.variant == "qspinlock");
        // The benchmark's duration is not a figure of a lock.
        assert!(!(calibration && queued) || row.reason.is_some(), "{row:?}");
        match (row.status, &row.reason) {
            (Status::Calibration, Some(reason)) => {
                assert_eq!((&*row.key.experiment, &*row.key.metric), ("ebizzy-m", "real-time"));
                assert!(reason.contains("an input"), "{reason}");
            }
            (Status::NotModelled, _) | (_, Some(_)) => panic!("{row:?}"),
            (Status::Calibration, None) => {
                let miss = row.predicted.expect("it is simulated") / row.published.unwrap() - 1.0;
                let most = if row.key.metric == "throughput" { 1e-9 } else { 0.02 };
                assert!(miss.abs() < most, "{}, {}: {miss}", row.key.experiment, row.key.metric);
            }
            (_, None) => {}
        }
    }

    let find = |experiment: &str, variant: &str| {
        let found = rows.iter().find(|row| {
            (&*row.key.experiment, &*row.key.variant, &*row.key.metric)
                == (experiment, variant, "throughput")
        });
        found.expect("the table has it")
    };
    for experiment in ["aim7-disk/ext4", "ebizzy-m"] {
        let cause = find(experiment, "ticket");
        assert_eq!(costs(cause).dominating_cost, "wake-up storm", "{experiment}");
        assert!(costs(cause).explanation.contains("longer the more threads wait"));
        assert_ne!(costs(find(experiment, "qspinlock")).dominating_cost, "wake-up storm");
    }
    let ratio = |experiment| match find(experiment, "qspinlock").details.pair_ratios.as_slice() {
        [ratio] if ratio.to == "ticket" => ratio,
        other => panic!("{other:?}"),
    };
    let published = ["aim7-disk/xfs", "aim7-disk/ext4", "ebizzy-m"]
        .map(|e| ratio(e).published.expect("it is published"));
    assert_eq!(published.map(|ratio| (ratio * 1e3).round()), [1013.0, 1960.0, 1457.0]);
    let predicted = |experiment| ratio(experiment).predicted.expect("it is predicted");
    assert!(predicted("aim7-disk/ext4") > 1.1 && predicted("ebizzy-m") > 1.1);
    assert!((predicted("aim7-disk/xfs") - 1.0).abs() < 0.02);

    let gap = rows.iter().find(|row| row.key.metric == "gap-to-ticket").expect("the table has it");
    assert_eq!((gap.status, simulated(gap).tasks), (Status::Predicted, Some(5)));
}
