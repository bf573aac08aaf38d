//! Figures in CSV and JSON: published tables, data of `fit`, result files.

use crate::errors::{ORIGIN, check, check_in, text};
use lockyard_lab::fit;
use lockyard_results::compare::{self, report};
use lockyard_results::published::{self, PublishedTable};
use lockyard_results::render::Format;
use lockyard_scenarios::LockKinds;
use std::fmt::Write as _;

/// Maximum number of rounds of a result file that is compared, so that a comparison is quick.
const ROUNDS: usize = 40;

const OPTIONS: compare::Options = compare::Options { threshold: 0.05, anyway: false };

/// A published table is the same after it was written and read.
pub(crate) fn published(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match published::parse("table", ORIGIN, text) {
        Err(error) => check_in(text, &error.to_string()),
        Ok(table) => {
            let written = written(&table);
            let again = published::parse("table", ORIGIN, &written);
            assert_eq!(again.as_ref(), Ok(&table), "{written}");
        }
    }
}

fn written(table: &PublishedTable) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut all = format!(
        "# source: {}\nexperiment,machine,variant,threads,metric,value,unit\n",
        table.source
    );
    for cell in &table.cells {
        let key = &cell.key;
        let threads = key.threads.map(|threads| threads.to_string()).unwrap_or_default();
        let texts = [&key.experiment, &key.machine, &key.variant].map(|text| quoted(text));
        let (metric, unit) = (quoted(&key.metric), quoted(&key.unit));
        let _ = writeln!(all, "{},{threads},{metric},{},{unit}", texts.join(","), cell.value);
    }
    all
}

/// Each curve of `fit` has two or more points, by rising numbers of threads.
pub(crate) fn fit_data(input: &[u8]) {
    let Some(text) = text(input) else { return };
    // Data may name files with scenarios. A search must not read arbitrary files.
    if text.contains(['/', '\\']) || text.contains(".toml") {
        return;
    }
    match fit::curves(ORIGIN, text, &LockKinds::default()) {
        Err(error) => check_in(text, &error),
        Ok(curves) => {
            assert!(!curves.is_empty(), "no curve and no error");
            for curve in curves {
                check(&curve.name());
                let points = &curve.points;
                assert!(points.len() > 1 && points.is_sorted_by(|a, b| a.0 < b.0), "{points:?}");
                assert!(points.iter().all(|point| point.0 > 0 && point.1 > 0.0), "{points:?}");
            }
        }
    }
}

/// A result file that is compared with itself has no change.
pub(crate) fn results(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let results = match compare::parse(ORIGIN, text) {
        Err(error) => return check_in(text, &error.to_string()),
        Ok(results) => results,
    };
    for figure in &results.figures {
        assert!(figure.value.is_finite(), "{figure:?}");
    }
    if results.figures.iter().map(|figure| figure.rounds.len()).sum::<usize>() > ROUNDS {
        return;
    }
    match compare::compare(&results, &results, OPTIONS) {
        Err(error) => check(&error.to_string()),
        Ok(comparison) => {
            let slower = comparison.slower_beyond_threshold();
            assert_eq!(slower, 0, "a file is slower than itself: {comparison:?}");
            for format in [Format::Table, Format::Json] {
                let shown = report::render(&comparison, format);
                let control = |letter: char| letter.is_control() && letter != '\n';
                assert!(!shown.contains(control), "a control character: {shown:?}");
            }
        }
    }
}
