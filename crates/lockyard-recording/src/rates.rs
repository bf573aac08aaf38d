//! Rates of a program that was not recorded, as CSV: a number of threads and the operations a
//! second in each row. A number may have several rows.

use crate::runs::{MOST_RATES, MOST_THREADS};
use lockyard_support::{InputError, printable, read_text, shown};
use std::path::Path;

/// Columns of the file.
const COLUMNS: [&str; 2] = ["threads", "operations_per_second"];

/// Maximum size of a file in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the rates of a file: the number of threads and the rate of each row.
///
/// # Errors
///
/// The file cannot be read, or a line is wrong: one line.
pub fn load(path: &Path) -> Result<Vec<(usize, f64)>, InputError> {
    let what = "rates are CSV: threads,operations_per_second";
    let text = read_text(path, MOST_BYTES, what).map_err(InputError)?;
    parse(&shown(path), &text).map_err(InputError)
}

/// Parses rates. Errors call the file `origin`.
///
/// # Errors
///
/// A line is wrong: its number, and what is allowed.
pub fn parse(origin: &str, text: &str) -> Result<Vec<(usize, f64)>, String> {
    let header = COLUMNS.join(",");
    let mut rates = Vec::new();
    let mut is_first = true;
    for (line, number) in text.lines().zip(1..) {
        let fail = |what: String| Err(format!("{origin}:{number}: {what}"));
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if std::mem::take(&mut is_first) {
            if cells != COLUMNS {
                return fail(format!("`{}`; the header must be `{header}`", printable(line)));
            }
            continue;
        }
        let [threads, rate] = cells[..] else {
            return fail(format!("{} columns; a row has 2: {header}", cells.len()));
        };
        let Some(threads) = threads.parse().ok().filter(|n| (1..=MOST_THREADS).contains(n)) else {
            let threads = printable(threads);
            return fail(format!(
                "`threads` is `{threads}`; allowed: a whole number, 1 to {MOST_THREADS}"
            ));
        };
        let Some(rate) = rate.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1e15) else {
            let rate = printable(rate);
            return fail(format!(
                "`operations_per_second` is `{rate}`; allowed: a number above 0, at most 1e15"
            ));
        };
        if rates.iter().filter(|(other, _)| *other == threads).count() == MOST_RATES {
            return fail(format!(
                "{MOST_RATES} rates with {} already; no more are allowed",
                lockyard_support::threads(threads)
            ));
        }
        rates.push((threads, rate));
    }
    if rates.is_empty() {
        return Err(format!("{origin}:1: no rate; a row has {header}"));
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_in_their_order() {
        let text = "# of an idle host\nthreads,operations_per_second\n1,3e6\n1, 2.5e6\n\n4,17\n";
        assert_eq!(parse("r.csv", text), Ok(vec![(1, 3e6), (1, 2.5e6), (4, 17.0)]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let wrong = |rows: &str| {
            let text = format!("threads,operations_per_second\n1,5\n{rows}\n");
            parse("r.csv", &text).expect_err("it is wrong")
        };
        let allowed = "allowed: a whole number, 1 to 65536";
        assert_eq!(wrong("0,5"), format!("r.csv:3: `threads` is `0`; {allowed}"));
        assert_eq!(wrong("\nx\u{7},5"), format!("r.csv:4: `threads` is `x\\u{{7}}`; {allowed}"));
        assert_eq!(
            wrong("2,5,6"),
            "r.csv:3: 3 columns; a row has 2: threads,operations_per_second"
        );
        for rate in ["0", "-1", "nan", "inf", "1e16", "fast", ""] {
            assert_eq!(
                wrong(&format!("2,{rate}")),
                format!(
                    "r.csv:3: `operations_per_second` is `{rate}`; allowed: a number above 0, at \
                     most 1e15"
                )
            );
        }
        let of = |text: &str| parse("r.csv", text).expect_err("it is wrong");
        assert_eq!(
            of("threads,rate\n"),
            "r.csv:1: `threads,rate`; the header must be `threads,operations_per_second`"
        );
        for text in ["", "\n", "threads,operations_per_second\n"] {
            assert!(of(text).starts_with("r.csv:1: no rate; a row has"), "{text:?}");
        }
    }
}
