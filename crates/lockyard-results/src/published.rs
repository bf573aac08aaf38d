//! Published tables: `published/*.csv`. They are also compiled into the binary.
//!
//! The first line is `# source: ...`, the second is the header. A broken row is an error that names
//! file, line and column. No row is skipped silently, because readers rely on these tables.

use crate::cell_key::CellKey;
use lockyard_scenarios::DIRECTION_PREFIX;
use lockyard_support::InputError;
use std::collections::HashSet;
use std::path::Path;

/// Maximum size of a table in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 5_000;
/// Header of every table.
const COLUMNS: [&str; 7] =
    ["experiment", "machine", "variant", "threads", "metric", "value", "unit"];
/// Units that are allowed in tables.
const UNITS: &[&str] = &[
    "op/s",
    "ns",
    "ms",
    "s",
    "%",
    "MB/s",
    "jobs/min",
    "records/s",
    "ratio",
    "% of native",
    "samples",
    "",
];
/// Prefixes of units for figures relative to another variant.
const OF_ANOTHER: [&str; 2] = ["x of ", "% of "];

/// Shipped tables: name and text.
const SHIPPED: &[(&str, &str)] = &[
    ("lockref-will-it-scale", include_str!("../../../published/lockref-will-it-scale.csv")),
    ("qspinlock-loop", include_str!("../../../published/qspinlock-loop.csv")),
    ("page-ref", include_str!("../../../published/page-ref.csv")),
    ("qspinlock-applications", include_str!("../../../published/qspinlock-applications.csv")),
    ("lock-call-path", include_str!("../../../published/lock-call-path.csv")),
    ("lockref-degradation", include_str!("../../../published/lockref-degradation.csv")),
    ("profiles", include_str!("../../../published/profiles.csv")),
    ("pv-ticketlock-dbench", include_str!("../../../published/pv-ticketlock-dbench.csv")),
    ("id-table-timer-gettime", include_str!("../../../published/id-table-timer-gettime.csv")),
];

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedCell {
    /// Key of the cell.
    pub key: CellKey,
    /// Value of the figure.
    pub value: f64,
}

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// Name of the table: its file name without `.csv`.
    pub name: String,
    /// Source: the publisher, and where the figures appeared.
    pub source: String,
    /// Figures, in the order of the file.
    pub cells: Vec<PublishedCell>,
}

impl PublishedTable {
    /// Returns the experiments of the table, in order of first appearance.
    pub fn experiments(&self) -> Vec<&str> {
        let mut experiments: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !experiments.contains(&cell.key.experiment.as_str()) {
                experiments.push(&cell.key.experiment);
            }
        }
        experiments
    }
}

/// Returns the shipped tables.
///
/// # Errors
///
/// Never in practice: a test parses every shipped table.
pub fn shipped() -> Result<Vec<PublishedTable>, InputError> {
    SHIPPED.iter().map(|(name, text)| parse(name, &format!("{name}.csv"), text)).collect()
}

/// Reads all `*.csv` tables of a directory, sorted by name.
///
/// # Errors
///
/// If the directory cannot be read, contains no table, or a table is broken.
pub fn load_directory(directory: &Path) -> Result<Vec<PublishedTable>, InputError> {
    let fail = |what: String| InputError(format!("{}: {what}", lockyard_support::shown(directory)));
    let entries = std::fs::read_dir(directory).map_err(|e| fail(format!("cannot be read: {e}")))?;
    let mut paths: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "csv"))
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(fail("has no table; a table is a file *.csv".to_owned()));
    }
    paths.iter().map(|path| load(path)).collect()
}

/// Reads the table in a file.
///
/// # Errors
///
/// If it cannot be read, is too large, is not UTF-8, or is broken.
pub fn load(path: &Path) -> Result<PublishedTable, InputError> {
    let text =
        lockyard_support::read_text(path, MAX_FILE_BYTES, "a table is CSV").map_err(InputError)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&name, &lockyard_support::shown(path), &text)
}

/// Parses the text of a table. Errors call the file `origin`.
///
/// # Errors
///
/// If the table is broken.
pub fn parse(name: &str, origin: &str, text: &str) -> Result<PublishedTable, InputError> {
    let at = |line: u64, what: String| InputError(format!("{origin}:{line}: {what}"));
    let (first, body) = text.split_once('\n').unwrap_or((text, ""));
    let Some(source) = first.trim_end_matches('\r').strip_prefix("# source: ") else {
        return Err(at(1, "the first line must be `# source: ...`".to_owned()));
    };
    if source.contains(char::is_control) {
        return Err(at(1, "the source must have no control characters".to_owned()));
    }
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(body.as_bytes());
    let mut cells: Vec<PublishedCell> = Vec::new();
    let mut places = HashSet::new();
    let mut header_seen = false;
    for record in reader.records() {
        let record = record.map_err(|e| {
            let line = line_of(body, e.position());
            at(line, "not a row of comma-separated values".to_owned())
        })?;
        let line = line_of(body, record.position());
        if !header_seen {
            if !record.iter().eq(COLUMNS) {
                return Err(at(line, format!("the header must be `{}`", COLUMNS.join(","))));
            }
            header_seen = true;
            continue;
        }
        if record[0].starts_with('#') {
            return Err(at(line, "a comment; only the first line may be a comment".to_owned()));
        }
        if record.len() != COLUMNS.len() {
            let (found, wanted) = (record.len(), COLUMNS.join(","));
            let wanted_count = COLUMNS.len();
            return Err(at(line, format!("{found} columns; a row has {wanted_count}: {wanted}")));
        }
        let cell = cell(&record).map_err(|what| at(line, what))?;
        if cells.len() == MAX_ROWS {
            return Err(at(line, format!("more than {MAX_ROWS} rows; no more are allowed")));
        }
        if !places.insert(place(&cell)) {
            return Err(at(
                line,
                "a second figure for the same experiment, machine, variant, threads and metric"
                    .to_owned(),
            ));
        }
        cells.push(cell);
    }
    if cells.is_empty() {
        return Err(at(1, "the table has no row".to_owned()));
    }
    Ok(PublishedTable { name: name.to_owned(), source: source.to_owned(), cells })
}

/// Returns the line of the file where a record begins. `body` is the file without its first
/// line. The CSV reader's own position is wrong here: it precedes any blank lines that the reader
/// skips.
fn line_of(body: &str, position: Option<&csv::Position>) -> u64 {
    let begin = position.map_or(0, |position| position.byte() as usize);
    let rest = body.get(begin..).unwrap_or_default();
    let begin = begin + rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    let ends = body.bytes().take(begin).filter(|&byte| byte == b'\n').count();
    2 + ends as u64
}

/// Returns the fields that identify a figure. They are unique within a table.
fn place(cell: &PublishedCell) -> [String; 5] {
    let threads = cell.key.threads.map(|threads| threads.to_string()).unwrap_or_default();
    [&cell.key.experiment, &cell.key.machine, &cell.key.variant, &threads, &cell.key.metric]
        .map(Clone::clone)
}

fn cell(record: &csv::StringRecord) -> Result<PublishedCell, String> {
    let show = |text: &str| lockyard_support::printable(text);
    let text = |index: usize| {
        let text = &record[index];
        if text.is_empty() || text.len() > 200 {
            Err(format!("column `{}` must have 1 to 200 bytes", COLUMNS[index]))
        } else if text.contains(char::is_control) {
            let found = show(text);
            Err(format!(
                "column `{}` is `{found}`; it must have no control characters",
                COLUMNS[index]
            ))
        } else {
            Ok(text.to_owned())
        }
    };
    let (experiment, machine, variant) = (text(0)?, text(1)?, text(2)?);
    let threads = match record[3].parse::<usize>() {
        Ok(threads @ 1..=100_000) => Some(threads),
        _ if record[3].is_empty() => None,
        _ => {
            let found = show(&record[3]);
            return Err(format!(
                "`threads` is `{found}`; allowed: a whole number, 1 to 100000, or nothing"
            ));
        }
    };
    let value = match record[5].parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e15 => value,
        // Zero is allowed here: a gap may be closed, or a change may have no effect.
        Ok(0.0) if record[6].starts_with(DIRECTION_PREFIX) || record[6].starts_with("% of ") => 0.0,
        _ => {
            let found = show(&record[5]);
            return Err(format!("`value` is `{found}`; allowed: a number above 0, at most 1e15"));
        }
    };
    let beginnings = OF_ANOTHER.iter().chain([&DIRECTION_PREFIX]);
    let in_words =
        |unit: &str| beginnings.clone().any(|begin| unit.starts_with(begin)) && text(6).is_ok();
    if !UNITS.contains(&&record[6]) && !in_words(&record[6]) {
        let (found, units) = (show(&record[6]), UNITS.join("; "));
        return Err(format!(
            "`unit` is `{found}`; allowed: {units}`x of ...`, `% of ...`, \
             `{DIRECTION_PREFIX}...`, or nothing"
        ));
    }
    let (metric, unit) = (text(4)?, record[6].to_owned());
    Ok(PublishedCell {
        key: CellKey { experiment, machine, variant, threads, metric, unit },
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# source: somebody\nexperiment,machine,variant,threads,metric,value,unit\n";

    fn error_of(rows: &str) -> String {
        parse("t", "t.csv", &format!("{HEAD}{rows}")).unwrap_err().to_string()
    }

    #[test]
    fn shipped_tables_are_read() {
        let tables = shipped().unwrap();
        assert_eq!(tables[0].cells.len(), 27);
        assert_eq!(tables[0].experiments(), ["open3", "fstat2", "access2"]);
        assert_eq!(tables[0].cells[0].value, 805_603.0);
        let cells: Vec<(&str, usize)> =
            tables.iter().map(|t| (t.name.as_str(), t.cells.len())).collect();
        assert_eq!(
            cells,
            [
                ("lockref-will-it-scale", 27),
                ("qspinlock-loop", 32),
                ("page-ref", 90),
                ("qspinlock-applications", 25),
                ("lock-call-path", 30),
                ("lockref-degradation", 15),
                ("profiles", 93),
                ("pv-ticketlock-dbench", 17),
                ("id-table-timer-gettime", 7)
            ]
        );
    }

    #[test]
    fn a_broken_row_is_named_with_its_line_and_what_is_allowed() {
        assert_eq!(
            error_of("a,m,v,1,throughput,5,op/s\na,m,v,0,throughput,5,op/s\n"),
            "t.csv:4: `threads` is `0`; allowed: a whole number, 1 to 100000, or nothing"
        );
        for value in ["-1", "NaN", "inf", "1e99", "", "x"] {
            let error = error_of(&format!("a,m,v,1,throughput,{value},op/s\n"));
            assert_eq!(
                error,
                format!("t.csv:3: `value` is `{value}`; allowed: a number above 0, at most 1e15")
            );
        }
        assert_eq!(
            error_of("a,m,v,1,throughput,5\n"),
            "t.csv:3: 6 columns; a row has 7: experiment,machine,variant,threads,metric,value,unit"
        );
        assert!(error_of("a,m,v,1,t,5,furlong\n").starts_with("t.csv:3: `unit` is `furlong`"));
        assert!(error_of(",m,v,1,t,5,ns\n").starts_with("t.csv:3: column `experiment`"));
        assert!(error_of("a,m,v,1,t,0,ratio\n").starts_with("t.csv:3: `value` is `0`"));
        let twice = error_of("a,m,v,1,t,5,ns\na,m,v,1,t,6,ns\n");
        assert!(twice.starts_with("t.csv:4: a second figure"));
    }

    #[test]
    fn a_table_may_leave_the_number_of_threads_out_and_state_a_direction() {
        let rows = "a,m,v,,throughput,5,records/s\na,m,v,2,gap-to-x,0,direction: closed\n";
        let cells = parse("t", "t.csv", &format!("{HEAD}{rows}")).unwrap().cells;
        assert_eq!((cells[0].key.threads, cells[1].key.threads), (None, Some(2)));
        assert_eq!((cells[1].value, cells[1].key.unit.as_str()), (0.0, "direction: closed"));
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let begins = |rows: &str, line: usize| {
            let error = error_of(rows);
            assert!(error.starts_with(&format!("t.csv:{line}: `threads` is `x`")), "{error}");
        };
        let (good, bad) = ("a,m,v,1,t,5,ns", "a,m,v,x,t,5,ns");
        begins(&format!("{good}\n{bad}\n"), 4);
        begins(&format!("{good}\n\n\n{bad}\n"), 6);
        begins(&format!("{good}\r\n{bad}\r\n"), 4);
        begins(&format!("a,m,\"v\",1,t,5,ns\n\n{bad}"), 5);
        let windows = format!("{HEAD}{bad}\n").replace('\n', "\r\n");
        assert!(parse("t", "t.csv", &windows).unwrap_err().0.starts_with("t.csv:3: `threads`"));
    }

    #[test]
    fn nothing_is_skipped_and_nothing_speaks_to_the_terminal() {
        assert!(error_of("#a,m,v,1,t,5,ns\n").starts_with("t.csv:3: a comment"));
        assert_eq!(
            error_of("a,m,v\u{1b}[31m,1,t,5,ns\n"),
            "t.csv:3: column `variant` is `v\\u{1b}[31m`; it must have no control characters"
        );
        let source = format!("# source: \u{1b}[31m\n{HEAD}");
        assert!(parse("t", "t.csv", &source).unwrap_err().0.starts_with("t.csv:1: the source"));
    }

    #[test]
    fn a_table_needs_its_source_its_header_and_a_row() {
        assert!(parse("t", "t.csv", "").unwrap_err().0.starts_with("t.csv:1: the first line"));
        assert!(parse("t", "t.csv", "# source: x\na,b\n").unwrap_err().0.contains("the header"));
        assert!(error_of("").contains("has no row"));
    }
}
