//! Reading a machine file, and what it takes over from its family: strict, and with an error that says where, what, and what is allowed.

use super::family::Inherited;
use super::parameters::{Field, Numbers, OPTIONAL, Parameter, SECTIONS, SPECS, Spec, Value};
use super::{Machine, Order};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A machine file may have this many bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// A machine may have this many hardware threads.
const MAX_THREADS: u64 = 4096;

/// What is wrong with a machine file, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(String);

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineError {}

impl From<MachineError> for lockyard_support::InputError {
    fn from(error: MachineError) -> Self {
        lockyard_support::InputError(error.to_string())
    }
}

type Result<T> = std::result::Result<T, MachineError>;

/// Where errors are.
pub(super) struct Source<'a> {
    pub origin: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(
        &self,
        span: Range<usize>,
        message: impl std::fmt::Display,
    ) -> MachineError {
        let line = lockyard_support::line_of(self.text.as_bytes(), span.start);
        MachineError(format!("{}:{line}: {message}", self.origin))
    }

    /// An error about the whole file.
    pub(super) fn missing(&self, message: impl std::fmt::Display) -> MachineError {
        MachineError(format!("{}: {message}", self.origin))
    }
}

pub(super) fn load(path: &std::path::Path) -> Result<Machine> {
    let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a machine file is TOML")
        .map_err(MachineError)?;
    parse(&path.display().to_string(), &text, path.parent())
}

/// `beside`: the directory in which a family's file may be.
pub(super) fn parse(origin: &str, text: &str, beside: Option<&std::path::Path>) -> Result<Machine> {
    let source = Source { origin, text };
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(source
            .missing(format!("is larger than {MAX_FILE_BYTES} bytes; a machine file is small")));
    }
    let document = DeTable::parse(text).map_err(|e| {
        source.error(e.span().unwrap_or(0..0), format!("not TOML: {}", first_line(e.message())))
    })?;
    let top = document.get_ref();

    let mut allowed = vec!["name", "title", "notes", "family", "scale"];
    allowed.extend(SECTIONS);
    check_keys(&source, top, &allowed, "a machine file")?;
    let name = text_of(&source, top, "name")?;
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        return Err(source.error(
            top["name"].span(),
            "`name` must be one or more of a-z, A-Z, 0-9, '-', '_', '.'",
        ));
    }
    let title = text_of(&source, top, "title")?;
    let notes = notes(&source, top)?;

    let mut numbers = Numbers::before_the_file();
    let mut order = Order::Random;
    let mut parameters = Vec::new();
    let family = family_of(&source, top)?;
    let inherited = match &family {
        Some((name, scale)) => {
            parameters.push(scale.clone());
            let Value::Real(factor) = scale.value else { unreachable!("a scale is real") };
            super::family::inherit(name, factor, beside)
                .map_err(|what| source.error(top["family"].span(), what))?
        }
        None => Inherited::default(),
    };
    let said = |section: &str| !OPTIONAL.contains(&section) || top.contains_key(section);
    for &section in SECTIONS.iter().filter(|&&s| s != "checks" && said(s)) {
        let table = section_of(&source, top, section)?;
        let names: Vec<&str> =
            SPECS.iter().filter(|s| s.section == section).map(|s| s.name).collect();
        check_keys(&source, table, &names, &format!("[{section}]"))?;
        for spec in SPECS.iter().filter(|s| s.section == section) {
            let inherited = inherited.get(&format!("{section}.{}", spec.name));
            if let (None, Some(number)) = (table.get(spec.name), inherited) {
                parameters.push(taken_over(&source, spec, number, &mut numbers, &mut order)?);
                continue;
            }
            let Some(entry) = table.get(spec.name) else {
                return Err(source.missing(format!(
                    "[{section}] lacks `{}` ({}); {}",
                    spec.name,
                    spec.meaning,
                    allowed_values(spec)
                )));
            };
            parameters.push(parameter(&source, spec, entry, &mut numbers, &mut order)?);
        }
    }
    let threads = numbers.sockets * numbers.complexes * numbers.cores * numbers.threads;
    if threads > MAX_THREADS {
        return Err(source.missing(format!(
            "[topology] makes {threads} hardware threads; at most {MAX_THREADS} are allowed"
        )));
    }
    if !numbers.line_bytes.is_power_of_two() {
        return Err(source.error(
            section_of(&source, top, "topology")?["line_bytes"].span(),
            format!("`topology.line_bytes` is {}; it must be 64 or 128", numbers.line_bytes),
        ));
    }
    let checks = checks(&source, top)?;
    let family = family.map(|(name, _)| name);
    Ok(Machine { name, title, family, numbers, order, parameters, checks, notes })
}

/// The notes: a list of lines of text.
fn notes(source: &Source, top: &DeTable) -> Result<Vec<String>> {
    const MAX_NOTES: usize = 20;
    let Some(value) = top.get("notes") else { return Ok(Vec::new()) };
    let refuse = |span: Range<usize>| {
        let what = format!("at most {MAX_NOTES} lines of text, each of 1 to 400 bytes");
        source.error(span, format!("`notes` must be a list of {what}, without control characters"))
    };
    let list = value.get_ref().as_array().filter(|list| list.len() <= MAX_NOTES);
    let note = |note: &Spanned<DeValue>| {
        let text = note.get_ref().as_str().filter(|text| (1..=400).contains(&text.len()));
        let text = text.filter(|text| !text.contains(char::is_control));
        text.map(str::to_owned).ok_or_else(|| refuse(note.span()))
    };
    list.ok_or_else(|| refuse(value.span()))?.iter().map(note).collect()
}

/// The name of the family, and the factor on its latencies.
fn family_of(source: &Source, top: &DeTable) -> Result<Option<(String, Parameter)>> {
    if !top.contains_key("family") {
        if let Some(scale) = top.get("scale") {
            return Err(source.error(scale.span(), "`scale` is for a machine that has a `family`"));
        }
        return Ok(None);
    }
    let family = text_of(source, top, "family")?;
    let Some(value) = top.get("scale") else {
        return Err(source.missing("has a `family` and lacks `scale`, the factor on its latencies"));
    };
    let entry = entry_table(source, "scale", value, false)?;
    match number(entry.value.get_ref()) {
        Some(scale) if (0.05..=20.0).contains(&scale) => {
            let scale = Parameter {
                name: "family.scale".to_owned(),
                value: Value::Real(scale),
                unit: String::new(),
                source: entry.source,
                assumed: entry.assumed,
                meaning: "factor on the family's latencies",
                is_input: false,
                at_scale_1: None,
            };
            Ok(Some((family, scale)))
        }
        _ => Err(source.error(
            entry.value.span(),
            format!("`scale` is {}; allowed: 0.05 to 20", written(source, &entry.value.span())),
        )),
    }
}

/// A number that the family gives.
fn taken_over(
    source: &Source,
    spec: &Spec,
    number: &super::family::Number,
    numbers: &mut Numbers,
    order: &mut Order,
) -> Result<Parameter> {
    let name = format!("{}.{}", spec.section, spec.name);
    let text = &number.text;
    let refuse =
        || source.missing(format!("`{name}` from its family is {text}; {}", allowed_values(spec)));
    let value = match spec.field {
        Field::Order => {
            *order = match text.as_str() {
                "random" => Order::Random,
                "fifo" => Order::Fifo,
                _ => return Err(refuse()),
            };
            Value::Word(text.clone())
        }
        Field::Whole { min, max, .. } => match text.parse::<f64>() {
            Ok(x) if x.fract() == 0.0 && x >= min as f64 && x <= max as f64 => {
                super::parameters::set(numbers, &name, x).ok_or_else(refuse)?
            }
            _ => return Err(refuse()),
        },
        Field::Real { min, max, .. } => match text.parse::<f64>() {
            Ok(x) if x >= min && x <= max => {
                super::parameters::set(numbers, &name, x).ok_or_else(refuse)?
            }
            _ => return Err(refuse()),
        },
    };
    Ok(Parameter {
        name,
        value,
        unit: spec.unit.to_owned(),
        source: number.source.clone(),
        assumed: number.assumed.clone(),
        meaning: spec.meaning,
        is_input: false,
        at_scale_1: number.at_scale_1,
    })
}

pub(super) fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

pub(super) fn check_keys(
    source: &Source,
    table: &DeTable,
    allowed: &[&str],
    place: &str,
) -> Result<()> {
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !allowed.contains(&name) {
            let hint = lockyard_support::hint(name, allowed, "allowed");
            let name = lockyard_support::printable(name);
            return Err(source.error(key.span(), format!("{place} has no `{name}`; {hint}")));
        }
    }
    Ok(())
}

pub(super) fn text_of(source: &Source, table: &DeTable, name: &str) -> Result<String> {
    let Some(value) = table.get(name) else {
        return Err(source.missing(format!("lacks `{name}`, a line of text")));
    };
    match value.get_ref().as_str() {
        Some(text) if text.len() <= 400 && !text.contains(char::is_control) => Ok(text.to_owned()),
        Some(_) => {
            let message = "must be one line of at most 400 bytes, without control characters";
            Err(source.error(value.span(), format!("`{name}` {message}")))
        }
        None => Err(source.error(
            value.span(),
            format!("`{name}` is {}; it must be text in quotes", kind(value.get_ref())),
        )),
    }
}

pub(super) fn section_of<'t, 'i>(
    source: &Source,
    top: &'t DeTable<'i>,
    section: &str,
) -> Result<&'t DeTable<'i>> {
    let Some(value) = top.get(section) else {
        return Err(source.missing(format!("lacks the section [{section}]")));
    };
    value.get_ref().as_table().ok_or_else(|| {
        source.error(
            value.span(),
            format!("`{section}` is {}; it must be a section, [{section}]", kind(value.get_ref())),
        )
    })
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn allowed_values(spec: &Spec) -> String {
    let unit = if spec.unit.is_empty() { String::new() } else { format!(" {}", spec.unit) };
    match spec.field {
        Field::Whole { min, max, .. } => format!("allowed: {min} to {max}{unit}"),
        Field::Real { min, max, .. } => format!("allowed: {min} to {max}{unit}"),
        Field::Order => "allowed: \"random\", \"fifo\"".to_owned(),
    }
}

/// The parts of `{ value = ..., source = "...", assumed = "..." }`.
pub(super) struct Entry<'t, 'i> {
    pub value: &'t Spanned<DeValue<'i>>,
    pub source: Option<String>,
    pub assumed: Option<String>,
    unit: Option<String>,
    is_input: bool,
}

pub(super) fn entry_table<'t, 'i>(
    source: &Source,
    name: &str,
    value: &'t Spanned<DeValue<'i>>,
    with_unit: bool,
) -> Result<Entry<'t, 'i>> {
    let Some(table) = value.get_ref().as_table() else {
        return Err(source.error(
            value.span(),
            format!(
                "`{name}` is {}; it must be {{ value = ..., source = \"...\" }}, or `assumed` \
                 instead of `source`",
                kind(value.get_ref())
            ),
        ));
    };
    let mut allowed = vec!["value", "source", "assumed"];
    if with_unit {
        allowed.extend(["unit", "input"]);
    }
    check_keys(source, table, &allowed, &format!("`{name}`"))?;
    let optional = |key: &str| table.get(key).map(|_| text_of(source, table, key)).transpose();
    let (from, assumed, unit) = (optional("source")?, optional("assumed")?, optional("unit")?);
    if from.is_none() && assumed.is_none() {
        return Err(source.error(
            value.span(),
            format!(
                "`{name}` has neither `source` nor `assumed`; every number says where it is from"
            ),
        ));
    }
    let Some(value) = table.get("value") else {
        return Err(source.error(value.span(), format!("`{name}` lacks `value`")));
    };
    let is_input = match table.get("input") {
        None => false,
        Some(found) => found.get_ref().as_bool().ok_or_else(|| {
            let found_kind = kind(found.get_ref());
            source.error(
                found.span(),
                format!("`input` of `{name}` is {found_kind}; it must be true or false"),
            )
        })?,
    };
    Ok(Entry { value, source: from, assumed, unit, is_input })
}

fn parameter(
    source: &Source,
    spec: &Spec,
    value: &Spanned<DeValue>,
    numbers: &mut Numbers,
    order: &mut Order,
) -> Result<Parameter> {
    let name = format!("{}.{}", spec.section, spec.name);
    let entry = entry_table(source, &name, value, false)?;
    let span = entry.value.span();
    let refuse = |found: &str| {
        source.error(span.clone(), format!("`{name}` is {found}; {}", allowed_values(spec)))
    };
    let found = entry.value.get_ref();
    let value = match spec.field {
        Field::Whole { field, min, max } => match number(found) {
            Some(x) if x.fract() == 0.0 && x >= min as f64 && x <= max as f64 => {
                *field(numbers) = x as u64;
                Value::Whole(x as u64)
            }
            Some(_) => return Err(refuse(written(source, &span))),
            None => return Err(refuse(kind(found))),
        },
        Field::Real { field, min, max } => match number(found) {
            Some(x) if x >= min && x <= max => {
                *field(numbers) = x;
                Value::Real(x)
            }
            Some(_) => return Err(refuse(written(source, &span))),
            None => return Err(refuse(kind(found))),
        },
        Field::Order => {
            *order = match found.as_str() {
                Some("random") => Order::Random,
                Some("fifo") => Order::Fifo,
                _ => return Err(refuse(written(source, &span))),
            };
            Value::Word(found.as_str().unwrap_or_default().to_owned())
        }
    };
    Ok(Parameter {
        name,
        value,
        unit: spec.unit.to_owned(),
        source: entry.source,
        assumed: entry.assumed,
        meaning: spec.meaning,
        is_input: false,
        at_scale_1: None,
    })
}

/// A value as an error names it: a number as it is written, of other things the kind.
pub(super) fn shown(source: &Source, value: &Spanned<DeValue>) -> String {
    match number(value.get_ref()) {
        Some(_) => written(source, &value.span()).to_owned(),
        None => kind(value.get_ref()).to_owned(),
    }
}

/// What the file says there, shortened.
fn written<'a>(source: &Source<'a>, span: &Range<usize>) -> &'a str {
    let text = source.text.get(span.clone()).unwrap_or("?");
    let end = text.char_indices().nth(40).map_or(text.len(), |(i, _)| i);
    text[..end].lines().next().unwrap_or("?")
}

pub(super) fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix())
            .ok()
            .map(|i| i as f64)
            .or(Some(f64::INFINITY)),
        DeValue::Float(f) => Some(f.as_str().parse().unwrap_or(f64::NAN)),
        _ => None,
    }
}

fn checks(source: &Source, top: &DeTable) -> Result<Vec<Parameter>> {
    const MAX_CHECKS: usize = 100;
    if !top.contains_key("checks") {
        return Ok(Vec::new());
    }
    let table = section_of(source, top, "checks")?;
    if table.len() > MAX_CHECKS {
        return Err(source.missing(format!("[checks] has more than {MAX_CHECKS} entries")));
    }
    let mut checks = Vec::new();
    for (key, value) in table {
        let name: &str = key.get_ref();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            let found = lockyard_support::printable(name);
            let message = format!("[checks] has `{found}`; a name is 1 to 64 of a-z, 0-9, '_'");
            return Err(source.error(key.span(), message));
        }
        if let Some(hint) = super::checks::unknown(name) {
            return Err(
                source.error(key.span(), format!("[checks] has no figure `{name}`; {hint}"))
            );
        }
        let name = format!("checks.{name}");
        let entry = entry_table(source, &name, value, true)?;
        match number(entry.value.get_ref()) {
            Some(x) if x > 0.0 && x <= 1e9 => checks.push(Parameter {
                name,
                value: Value::Real(x),
                unit: entry.unit.unwrap_or_default(),
                source: entry.source,
                assumed: entry.assumed,
                meaning: "a figure to compare with",
                is_input: entry.is_input,
                at_scale_1: None,
            }),
            _ => {
                return Err(source.error(
                    entry.value.span(),
                    format!(
                        "`{name}` is {}; it must be a number above 0 and at most 1e9",
                        written(source, &entry.value.span())
                    ),
                ));
            }
        }
    }
    Ok(checks)
}
