//! Check of a run that has not begun: its results will be compared with earlier ones. A long run
//! whose results could not be compared need not begin.
//!
//! Only what is known before the run is checked. Numbers of machine files, seeds, metrics and units
//! are compared after it.

use super::read::{Figure, FigureKey, FigureKind, ResultFile};
use super::{comparable, join};
use crate::cell_key::CellKey;
use lockyard_support::InputError;
use std::collections::BTreeMap;

/// A run that has not begun.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Origin of its figures.
    pub kind: FigureKind,
    /// Environment of its results, as far as it is known.
    pub environment: Vec<(String, String)>,
    /// Cells that it runs. Their metrics and units are not compared. If empty, no cell is known.
    pub cells: Vec<CellKey>,
}

/// Checks that results of the run will be comparable with `a`, as far as is known.
///
/// # Errors
///
/// If they will not be. The message names the difference.
pub fn check_planned(a: &ResultFile, planned: &Planned) -> Result<(), InputError> {
    let kind = planned.kind;
    let figure = |cell: &CellKey| Figure {
        key: FigureKey { table: String::new(), cell: cell.clone(), kind },
        value: 1.0,
        rounds: Vec::new(),
        unusable: None,
        identity: BTreeMap::new(),
        local_work: None,
    };
    let b = ResultFile {
        origin: "this run".to_owned(),
        environment: planned.environment.iter().cloned().collect(),
        figures: planned.cells.iter().map(figure).collect(),
        without_figure: 0,
    };
    check(a, &b, kind).map_err(|what| InputError(format!("{} and {}: {what}", a.origin, b.origin)))
}

fn check(a: &ResultFile, b: &ResultFile, kind: FigureKind) -> Result<(), String> {
    let is_common = |figure: &Figure| {
        let mut planned = b.figures.iter().map(|figure| &figure.key.cell);
        figure.key.kind == kind && planned.any(|cell| cell.is_of_run(&figure.key.cell))
    };
    if !b.figures.is_empty() && !a.figures.iter().any(is_common) {
        return Err(join::nothing_in_common(a, b));
    }
    comparable::same_way(a, b, &[kind], &mut Vec::new())?;
    match comparable::another_host(a, b, &mut Vec::new()) {
        Some(host) if kind == FigureKind::Measured => Err(format!(
            "not comparable: {host}; `lockyard compare --anyway` compares kept results nevertheless"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;

    const FILE: &str = r#"{"schema": "lockyard-results-2",
        "environment": {"cpu": "x", "placement": "fill"},
        "rows": [{"experiment": "e", "machine": "this-host", "variant": "v", "threads": 2,
                  "metric": "throughput", "unit": "op/s", "measured": 5}]}"#;

    fn refusal(environment: [&str; 2], cells: &[CellKey]) -> Result<(), String> {
        let a = compare::parse("a", FILE).expect("it is valid");
        let names = ["cpu", "placement"].map(str::to_owned).into_iter();
        let planned = Planned {
            kind: FigureKind::Measured,
            environment: names.zip(environment.map(str::to_owned)).collect(),
            cells: cells.to_vec(),
        };
        check_planned(&a, &planned).map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_compared_is_known_before_the_run() {
        let cell = |experiment, threads| CellKey::here(experiment, "v", threads, "", "");
        let cells = [cell("e", 1), cell("e", 2)];
        assert_eq!(refusal(["x", "fill"], &cells), Ok(()));
        assert_eq!(refusal(["x", "fill"], &[]), Ok(()));
        let of = |environment, cells: &[CellKey]| refusal(environment, cells).expect_err("differs");
        let begin = "a and this run: n";
        let other = of(["x", "fill"], &[cell("f", 2)]);
        assert_eq!(other, format!("{begin}othing in common: experiments: A has e, B f"));
        let other = of(["x", "fill"], &[cell("e", 4)]);
        assert_eq!(other, format!("{begin}othing in common: numbers of threads: A has 2, B 4"));
        let other = of(["x", "spread"], &cells);
        assert!(other.contains("not run in the same way: placement: A `fill`, B `spread`"));
        let other = of(["y", "fill"], &cells);
        assert!(other.contains("another host: cpu: A `x`, B `y`; `lockyard compare --anyway`"));
    }
}
