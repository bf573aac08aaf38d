//! Curves from a file: CSV with one row for each figure, as `measure --format csv` writes it, or a
//! standard measurement.

use crate::calibrate_host::standard_variants;
use crate::standard;
use lockyard_predict::names;
use lockyard_scenarios::{LockKinds, Order, Script, Variant};
use lockyard_support::printable;
use std::collections::BTreeMap;

/// Maximum size of a file.
pub const MAX_BYTES: u64 = standard::MAX_BYTES;

/// Maximum number of rows.
const MOST_ROWS: usize = 10_000;

/// A scenario and variant, measured at several numbers of threads.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name of the scenario.
    pub scenario: String,
    /// Variant.
    pub variant: Variant,
    /// Placement of the tasks.
    pub order: Order,
    /// Home of the objects.
    pub home: usize,
    /// Numbers of threads, ascending, each with the operations per second of all threads together.
    pub points: Vec<(usize, f64)>,
}

impl Curve {
    /// Returns a name for display.
    pub fn name(&self) -> String {
        format!("{}: {}", self.scenario, self.variant.name)
    }
}

/// Reads the curves of a file. Errors call it `origin`.
///
/// # Errors
///
/// One line that says where the error is, what is wrong, and what is allowed.
pub fn curves(origin: &str, text: &str, locks: &LockKinds) -> Result<Vec<Curve>, String> {
    let mut all = match standard::is_standard(text) {
        true => of_standard(origin, text)?,
        false => of_csv(origin, text, locks)?,
    };
    for curve in &mut all {
        curve.points.sort_by_key(|(threads, _)| *threads);
        if let Some(twice) = curve.points.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let threads = lockyard_support::threads(twice[0].0);
            return Err(format!("{origin}: {} has two figures at {threads}", curve.name()));
        }
    }
    all.retain(|curve| curve.points.len() > 1);
    if all.is_empty() {
        return Err(format!(
            "{origin}: has no variant with two numbers of threads: one gives the local work, and \
             the others are scored"
        ));
    }
    Ok(all)
}

fn of_standard(origin: &str, text: &str) -> Result<Vec<Curve>, String> {
    let measurements = standard::read(origin, text)?;
    let variants = standard_variants().into_iter();
    let curve = |variant: Variant| {
        let of_variant = measurements.contended.iter().filter(|of| of.variant == variant.name);
        let points = of_variant.map(|of| (of.tasks.len(), of.figure.value)).collect();
        let (scenario, order) = ("standard".to_owned(), Order::SiblingsLast);
        Curve { scenario, variant, order, home: 0, points }
    };
    Ok(variants.map(curve).collect())
}

/// The columns of a CSV file.
struct Columns {
    scenario: usize,
    variant: usize,
    threads: usize,
    measured: usize,
}

impl Columns {
    fn of(origin: &str, header: &csv::StringRecord) -> Result<Columns, String> {
        let find = |names: &[&str]| {
            let found = names.iter().find_map(|name| header.iter().position(|h| h.trim() == *name));
            found.ok_or_else(|| {
                format!(
                    "{origin}: has no column `{}`; needed: scenario (or experiment), variant, \
                     threads, measured",
                    names[0]
                )
            })
        };
        Ok(Columns {
            scenario: find(&["scenario", "experiment"])?,
            variant: find(&["variant"])?,
            threads: find(&["threads"])?,
            measured: find(&["measured"])?,
        })
    }
}

fn of_csv(origin: &str, text: &str, locks: &LockKinds) -> Result<Vec<Curve>, String> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| format!("{origin}: not CSV: {error}"))?.clone();
    let columns = Columns::of(origin, &header)?;
    let mut scripts: BTreeMap<String, Script> = BTreeMap::new();
    let mut found: Vec<Curve> = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let row = row.map_err(|error| format!("{origin}: not CSV: {error}"))?;
        let at = format!("{origin}:{}", row.position().map_or(0, csv::Position::line));
        if index >= MOST_ROWS {
            return Err(format!("{at}: more than {MOST_ROWS} rows"));
        }
        let field = |column: usize| row.get(column).unwrap_or_default().trim();
        let scenario = field(columns.scenario);
        if !scripts.contains_key(scenario) {
            let script =
                names::scenario(scenario, locks).map_err(|what| format!("{at}: {what}"))?;
            scripts.insert(scenario.to_owned(), script);
        }
        let script = &scripts[scenario];
        let Some(variant) = script.variant(field(columns.variant)) else {
            let names: Vec<&str> = script.variants.iter().map(|v| v.name.as_str()).collect();
            let (of, name) = (printable(scenario), field(columns.variant));
            let hint = lockyard_support::hint(name, &names, "there are");
            return Err(format!("{at}: `{of}` has no variant `{}`; {hint}", printable(name)));
        };
        let threads = field(columns.threads);
        let Some(threads) = threads.parse().ok().filter(|n| (1..=4096).contains(n)) else {
            let threads = printable(threads);
            return Err(format!("{at}: `threads` is `{threads}`; allowed: 1 to 4096"));
        };
        let figure = field(columns.measured);
        // Rows without a figure belong to other metrics, or to a run that ended early.
        if figure.is_empty() {
            continue;
        }
        let Some(figure) = figure.parse().ok().filter(|x| *x > 0.0 && *x < 1e15) else {
            let figure = printable(figure);
            return Err(format!("{at}: `measured` is `{figure}`; allowed: above 0, below 1e15"));
        };
        let point = (threads, script.metric.throughput(figure, threads));
        let same = |c: &&mut Curve| c.scenario == scenario && c.variant.name == variant.name;
        match found.iter_mut().find(same) {
            Some(curve) => curve.points.push(point),
            None => found.push(Curve {
                scenario: scenario.to_owned(),
                variant: variant.clone(),
                order: script.order,
                home: script.home,
                points: vec![point],
            }),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Curve>, String> {
        curves("d.csv", text, &LockKinds::default())
    }

    #[test]
    fn rows_are_curves() {
        let text = "# mine\nscenario,variant,threads,measured\npage-ref,xadd,4,20\n\
                    page-ref,xadd,1,5\nfstat2,lockref,1,1e6\nfstat2,lockref,2,1500000\n\
                    fstat2,lockref-pause,2,1500000\n";
        let found = read(text).unwrap();
        let names: Vec<String> = found.iter().map(Curve::name).collect();
        assert_eq!(names, ["page-ref: xadd", "fstat2: lockref"]);
        // The unit of page-ref is nanoseconds of one task.
        assert_eq!(found[0].points, [(1, 2e8), (4, 2e8)]);
        assert_eq!(found[1].points, [(1, 1e6), (2, 1.5e6)]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = |rows: &str| {
            let error = read(&format!("scenario,variant,threads,measured\n{rows}")).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
            error
        };
        assert!(read("a,b\n").unwrap_err().contains("has no column `scenario`; needed: "));
        assert!(error("").contains("has no variant with two numbers of threads"));
        assert_eq!(
            error("fstat,lockref,1,1\n"),
            "d.csv:2: there is no scenario `fstat`; did you mean `fstat2`? (or name a file)"
        );
        assert!(error("fstat2,lockerf,1,1\n").contains("did you mean `lockref`?"));
        assert!(error("fstat2,lockref,0,1\n").contains("`threads` is `0`; allowed: 1 to 4096"));
        for wrong in ["-1", "0", "x", "inf", "nan"] {
            let error = error(&format!("fstat2,lockref,1,{wrong}\n"));
            assert!(error.starts_with("d.csv:2: `measured` is `"), "{error}");
        }
        assert!(
            error("fstat2,lockref,1,1\nfstat2,lockref,1,2\n").contains("two figures at 1 thread")
        );
    }
}
