//! Reads result files, which are untrusted input. Any bytes give either a list of figures or a
//! one-line error: what is wrong, where, and what is allowed.
//!
//! Memory is bounded by the file size, which has a limit. Unneeded entries are skipped. The entries
//! that are kept have their own limits ([`super::values`]).

use super::values::{List, MAX_REMARK_BYTES, Number, Text, Whole};
use crate::cell_key::CellKey;
use crate::render::SCHEMA;
use lockyard_support::{InputError, printable, shown};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Maximum size of a result file in bytes.
pub const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum number of rows of a result file.
pub const MAX_ROWS: usize = 20_000;
/// Maximum number of rounds of a row. `measure --repeats` has the same limit.
pub const MAX_ROUNDS: usize = 1000;
/// Maximum number of rounds in a file, all rows together.
pub const MAX_ROUNDS_OF_A_FILE: usize = 200_000;
/// Maximum number of entries of the environment.
const MAX_ENVIRONMENT: usize = 500;
/// Maximum number of threads of a row.
const MAX_THREADS: u64 = 100_000;
/// Prefix of every result-file schema name. A number follows it.
const SCHEMA_FAMILY: &str = "lockyard-results-";
/// Minimum figure that can be compared: a ratio to a smaller one is meaningless. A round without
/// finished operations counts as this figure, or as its inverse if the figure is a time.
pub(super) const LEAST: f64 = 1e-18;

/// Origin of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FigureKind {
    /// Simulated machine.
    Simulated,
    /// Measurement on a host.
    Measured,
}

impl FigureKind {
    /// Returns the name of the kind in tables.
    pub fn name(self) -> &'static str {
        match self {
            FigureKind::Simulated => "simulated",
            FigureKind::Measured => "measured",
        }
    }
}

/// Key by which figures of two files are matched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FigureKey {
    /// Published table that the row belongs to; empty if it is in none.
    pub table: String,
    /// Key of the cell.
    pub cell: CellKey,
    /// Origin of the figure.
    pub kind: FigureKind,
}

/// One figure of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Key of the figure.
    pub key: FigureKey,
    /// Value of the figure. For a measured figure it is the median of its rounds.
    pub value: f64,
    /// Rounds; empty if the figure is simulated.
    pub rounds: Vec<f64>,
    /// Reason why the figure cannot be compared.
    pub unusable: Option<String>,
    /// File entries, by name, that tell this figure apart from others with the same key.
    pub identity: BTreeMap<&'static str, String>,
    /// Local work of an operation, in nanoseconds.
    pub local_work: Option<f64>,
}

/// A result file.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// Name of the file in errors.
    pub origin: String,
    /// Environment entries by name. Only texts, numbers and booleans are kept.
    pub environment: BTreeMap<String, String>,
    /// Figures, in the order of the file.
    pub figures: Vec<Figure>,
    /// Number of rows without a figure.
    pub without_figure: usize,
}

/// Reads the results in a file.
///
/// # Errors
///
/// If the path cannot be read or is not a file, or the file is too large or not UTF-8. Also if it
/// is not a result file of this schema.
pub fn load(path: &Path) -> Result<ResultFile, InputError> {
    let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a result file is JSON")
        .map_err(InputError)?;
    parse(&shown(path), &text)
}

/// Parses the text of a result file. Errors call the file `origin`.
///
/// # Errors
///
/// If the text is not JSON, has another schema, or is broken.
pub fn parse(origin: &str, text: &str) -> Result<ResultFile, InputError> {
    let fail = |what: String| InputError(format!("{origin}: {what}"));
    // Check the schema first: with another schema, the rest of the file may have any shape.
    let head: Head = serde_json::from_str(text).map_err(|e| refusal(origin, text, &e))?;
    check_schema(head.schema).map_err(fail)?;
    let raw: RawFile = serde_json::from_str(text).map_err(|e| refusal(origin, text, &e))?;
    let mut results = ResultFile {
        origin: origin.to_owned(),
        environment: raw.environment.0,
        figures: Vec::new(),
        without_figure: 0,
    };
    let mut seen: HashMap<FigureKey, usize> = HashMap::new();
    let mut rounds = 0;
    for (index, row) in raw.rows.0.into_iter().enumerate() {
        let number = index + 1;
        let at = |what: String| fail(format!("row {number}: {what}"));
        let figures = row.figures().map_err(at)?;
        results.without_figure += usize::from(figures.is_empty());
        for figure in figures {
            rounds += figure.rounds.len();
            if rounds > MAX_ROUNDS_OF_A_FILE {
                return Err(at(format!(
                    "more than {MAX_ROUNDS_OF_A_FILE} rounds; no more are allowed in a file"
                )));
            }
            if let Some(first) = seen.insert(figure.key.clone(), number) {
                return Err(at(format!(
                    "a second {} figure of {} in {}; the first is in row {first}, one is allowed",
                    figure.key.kind.name(),
                    printable(&figure.key.cell.to_string()),
                    printable(&figure.key.cell.unit)
                )));
            }
            results.figures.push(figure);
        }
    }
    if results.figures.is_empty() {
        return Err(fail("has no figure, measured or predicted, in its `rows`".to_owned()));
    }
    Ok(results)
}

/// Returns a JSON reader's error as one line.
fn refusal(origin: &str, text: &str, error: &serde_json::Error) -> InputError {
    let line = error.line().max(1);
    let message = error.to_string();
    let last = text.lines().count().max(1);
    // If a file ends right after a decimal point, the JSON reader reports an invalid number.
    let at_end = line == last && text.lines().last().is_none_or(|l| error.column() >= l.len());
    if error.classify() == Category::Eof || at_end && message.starts_with("invalid number") {
        let line = last;
        let what = "ends in the middle of its JSON: it is empty or cut off";
        return InputError(format!("{origin}:{line}: {what}"));
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let message: String = message.chars().take(300).flat_map(char::escape_debug).collect();
    // `escape_debug` also escapes quotes, which is not needed here.
    let message = message.replace("\\\"", "\"").replace("\\'", "'");
    let column = error.column();
    let what = match error.classify() {
        Category::Syntax => "not JSON: ",
        _ => "",
    };
    InputError(format!("{origin}:{line}: column {column}: {what}{message}"))
}

fn check_schema(schema: Option<Text>) -> Result<(), String> {
    let Some(Text(schema)) = schema else {
        return Err(format!(
            "has no `schema`; a result file has `{SCHEMA}`: \
             what measure, predict and reproduce write with --format json"
        ));
    };
    if schema == SCHEMA {
        return Ok(());
    }
    let version = |name: &str| name.strip_prefix(SCHEMA_FAMILY)?.parse::<u64>().ok();
    let shown = printable(&schema);
    Err(match (version(&schema), version(SCHEMA)) {
        (Some(found), Some(ours)) if found > ours => format!(
            "its schema is `{shown}`, which is newer than this lockyard's `{SCHEMA}`: \
             compare with the lockyard that wrote it, or a later one"
        ),
        (Some(_), Some(_)) => format!(
            "its schema is `{shown}`, which is older than this lockyard's `{SCHEMA}`: \
             run it again, or compare with the lockyard that wrote it"
        ),
        _ => format!(
            "its schema is `{shown}`; allowed: `{SCHEMA}`, what measure, \
             predict and reproduce write"
        ),
    })
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `schema`")]
struct Head {
    schema: Option<Text>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `rows`")]
struct RawFile {
    #[serde(default)]
    environment: Environment,
    rows: List<RawRow, MAX_ROWS>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object: a row")]
struct RawRow {
    table: Option<Text>,
    experiment: Text,
    machine: Text,
    variant: Text,
    threads: Option<Whole<MAX_THREADS>>,
    metric: Text,
    unit: Text,
    predicted: Option<Number>,
    measured: Option<Number>,
    #[serde(default)]
    detail: RawDetail,
}

/// The part of a row's details that a comparison needs. The full type is
/// [`Details`](crate::details::Details).
#[derive(Default, Deserialize)]
#[serde(expecting = "an object: details of a row")]
struct RawDetail {
    local_work: Option<RawLocalWork>,
    simulated: Option<RawSimulated>,
    measured: Option<RawMeasured>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `ns`")]
struct RawLocalWork {
    ns: Option<Number>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object: simulated details")]
struct RawSimulated {
    machine_hash: Option<Text>,
    seeds: Option<Whole<{ u64::MAX }>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object: measured details")]
struct RawMeasured {
    rounds: Option<List<Option<Number>, MAX_ROUNDS>>,
    note: Option<Text<MAX_REMARK_BYTES>>,
}

impl RawRow {
    /// Returns the figures of the row: measured, simulated, both, or neither.
    fn figures(self) -> Result<Vec<Figure>, String> {
        let table = self.table.map(|table| table.0).unwrap_or_default();
        let cell = CellKey {
            experiment: self.experiment.0,
            machine: self.machine.0,
            variant: self.variant.0,
            threads: self.threads.map(|threads| threads.0 as usize),
            metric: self.metric.0,
            unit: self.unit.0,
        };
        let key = |kind| FigureKey { table: table.clone(), cell: cell.clone(), kind };
        let RawDetail { local_work, simulated, measured } = self.detail;
        let (simulated, measured) = (simulated.unwrap_or_default(), measured.unwrap_or_default());
        let local_work = local_work.and_then(|work| work.ns).map(|ns| ns.0);
        let mut figures = Vec::new();
        if let Some(Number(value)) = self.predicted {
            let seeds = simulated.seeds.map(|seeds| seeds.0.to_string());
            let hash = simulated.machine_hash.map(|hash| hash.0);
            let identity = [("machine_hash", hash), ("seeds", seeds)];
            figures.push(Figure {
                key: key(FigureKind::Simulated),
                value,
                rounds: Vec::new(),
                unusable: (value < LEAST).then(|| "the figure is 0".to_owned()),
                identity: identity.into_iter().filter_map(|(n, v)| Some((n, v?))).collect(),
                local_work,
            });
        }
        if let Some(Number(value)) = self.measured {
            let rounds = measured.rounds.map(|rounds| rounds.0).unwrap_or_default();
            // An infinite time is stored as null.
            let round = |round: Option<Number>| round.map_or(1.0 / LEAST, |r| r.0.max(LEAST));
            let rounds: Vec<f64> = rounds.into_iter().map(round).collect();
            let value = within(value, &rounds)?;
            let unusable = if rounds.is_empty() {
                Some("it has no `rounds`: measure it again with this lockyard".to_owned())
            } else if value <= LEAST || value >= 1.0 / LEAST {
                Some("in half of its rounds no operation was finished".to_owned())
            } else {
                None
            };
            let note = measured.note.map(|note| note.0);
            figures.push(Figure {
                key: key(FigureKind::Measured),
                value,
                rounds,
                unusable,
                identity: note.into_iter().map(|note| ("note", note)).collect(),
                local_work,
            });
        }
        Ok(figures)
    }
}

/// Returns the median of `rounds`, or `value` if there are none. Refuses a `value` outside the
/// range of the rounds, because it cannot be their median.
fn within(value: f64, rounds: &[f64]) -> Result<f64, String> {
    // With an even number of rounds, converting the median differs slightly from the median of
    // converted rounds.
    const ROUNDING: f64 = 1e-9;
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rounds.iter().copied().fold(0.0, f64::max);
    if rounds.is_empty() {
        return Ok(value);
    }
    let value = value.clamp(LEAST, 1.0 / LEAST);
    if value < least * (1.0 - ROUNDING) || value > most * (1.0 + ROUNDING) {
        return Err(format!(
            "`measured` is {value}, and its `rounds` are {least} to {most}; \
             it must be their median"
        ));
    }
    Ok(super::bootstrap::median(&mut rounds.to_vec()))
}

/// Environment entries that are texts, numbers or booleans. Others are skipped.
#[derive(Default)]
struct Environment(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Environment;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object, such as {\"cpu\": \"...\"}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environment, A::Error> {
                let mut found = BTreeMap::new();
                while let Some(Text::<{ super::values::MAX_TEXT_BYTES }>(name)) = map.next_key()? {
                    if found.len() == MAX_ENVIRONMENT {
                        let what = format!("an environment of more than {MAX_ENVIRONMENT} entries");
                        return Err(serde::de::Error::custom(what));
                    }
                    if let Scalar(Some(value)) = map.next_value()? {
                        found.insert(name, value);
                    }
                }
                Ok(Environment(found))
            }
        }
        deserializer.deserialize_map(Of)
    }
}

/// Environment value as text; `None` for a list, an object, or an overlong text.
struct Scalar(Option<String>);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Scalar;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("any value")
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar((text.len() <= MAX_REMARK_BYTES).then(|| text.to_owned())))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(Some(value.to_string())))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(Some(value.to_string())))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(Some(value.to_string())))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(Some(value.to_string())))
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Scalar, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
        }
        deserializer.deserialize_any(Of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_no_names_of_types_and_origins_no_control_characters() {
        let details = |text: &str| {
            format!(
                r#"{{"schema": "{SCHEMA}", "rows": [{{"experiment": "e", "machine": "m",
                "variant": "v", "metric": "t", "unit": "s", "detail": {text}}}]}}"#
            )
        };
        let row = format!(r#"{{"schema": "{SCHEMA}", "rows": [5]}}"#);
        let texts = ["[]", "5", "null", &row, &details("[]"), &details(r#"{"simulated": [1]}"#)];
        for text in texts.iter().map(|text| (*text).to_owned()).chain([details("7")]) {
            let error = parse("f", &text).expect_err("it is no result file").to_string();
            let names = ["struct", "Head", "Raw"];
            assert!(!names.iter().any(|name| error.contains(name)), "{text}: {error}");
        }
        let error = parse("f", "[]").expect_err("a list").to_string();
        assert!(error.contains("an object with `schema`"), "{error}");
        assert_eq!(shown(Path::new("a\u{1b}[31m b\u{e4}\"")), "a\\u{1b}[31m b\u{e4}\"");
    }
}
