//! Reading a machine file, and the numbers that it takes from its family. Reading is strict: an
//! error says where it is, what is wrong, and what is allowed.

use super::checks::unknown;
use super::description::{Machine, ServiceOrder};
use super::family::{self, Beside, Inherited};
use super::kernel;
use super::parameters::{
    self, FORMER_WAKEUP, Field, Numbers, OPTIONAL, Parameter, SECTIONS, SPECS, Spec, Value,
};
use super::source::{
    MAX_FILE_BYTES, MachineError, Result, Source, allowed_values, check_keys, entry_table,
    first_line, kind, number, section_of, text_of, written,
};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum number of a machine's hardware threads.
const MAX_THREADS: u64 = 4096;

pub(super) fn load(path: &std::path::Path) -> Result<Machine> {
    let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a machine file is TOML")
        .map_err(MachineError)?;
    let Some(directory) = path.parent() else {
        return parse(&lockyard_support::shown(path), &text, None);
    };
    let family = |name: &str| {
        let path = directory.join(name);
        let text = lockyard_support::read_text(&path, MAX_FILE_BYTES, "a family is TOML")?;
        Ok((lockyard_support::shown(&path), text))
    };
    parse(&lockyard_support::shown(path), &text, Some(&family))
}

/// Parses a machine file. `beside` finds the file of a family that is not shipped.
pub(super) fn parse(origin: &str, text: &str, beside: Option<&Beside>) -> Result<Machine> {
    let source = Source { origin, text };
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(source.whole_file_error(format!(
            "is larger than {MAX_FILE_BYTES} bytes; a machine file is small"
        )));
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

    let (numbers, order) = (Numbers::before_the_file(), ServiceOrder::Random);
    let mut parameters = Vec::new();
    let family = family_of(&source, top)?;
    let inherited = match &family {
        Some((name, scale)) => {
            parameters.push(scale.clone());
            let Value::Real(factor) = scale.value else { unreachable!("a scale is real") };
            family::inherit(name, factor, beside)
                .map_err(|what| source.error(top["family"].span(), what))?
        }
        None => Inherited::default(),
    };
    let mut found = Found { numbers, order, parameters };
    let borrowed = found.parameters.first().and_then(|scale| scale.assumed.clone());
    read_sections(&source, top, (&inherited, borrowed.as_deref()), &mut found)?;
    read_kernel(&source, top, &mut found)?;
    let Found { numbers, order, parameters } = found;
    let threads = numbers.sockets * numbers.complexes * numbers.cores * numbers.threads;
    if threads > MAX_THREADS {
        return Err(source.whole_file_error(format!(
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

/// The numbers read so far.
struct Found {
    numbers: Numbers,
    order: ServiceOrder,
    parameters: Vec<Parameter>,
}

/// Reads the sections of numbers. Takes the numbers that the file leaves out from its family. If
/// the scale has a reason for an assumption, the family is borrowed, and so its numbers are
/// assumed.
fn read_sections(
    source: &Source,
    top: &DeTable,
    (inherited, borrowed): (&Inherited, Option<&str>),
    found: &mut Found,
) -> Result<()> {
    let said = |section: &str| !OPTIONAL.contains(&section) || top.contains_key(section);
    let other = |section: &str| matches!(section, "kernel" | "checks");
    for &section in SECTIONS.iter().filter(|&&s| !other(s) && said(s)) {
        let table = section_of(source, top, section)?;
        let mut names: Vec<&str> =
            SPECS.iter().filter(|s| s.section == section).map(|s| s.name).collect();
        if section == "cycles" {
            names.push(FORMER_WAKEUP);
        }
        check_keys(source, table, &names, &format!("[{section}]"))?;
        for spec in SPECS.iter().filter(|s| s.section == section) {
            let inherited = inherited.get(&format!("{section}.{}", spec.name));
            if let (None, Some(number)) = (table.get(spec.name), inherited) {
                let mut parameter = inherited_parameter(
                    source,
                    spec,
                    number,
                    &mut found.numbers,
                    &mut found.order,
                )?;
                if let (None, Some(why)) = (&parameter.assumed, borrowed) {
                    parameter.assumed = Some(format!("borrowed; {why}"));
                }
                found.parameters.push(parameter);
                continue;
            }
            let Some(entry) = table.get(spec.name) else {
                return Err(source.whole_file_error(format!(
                    "[{section}] lacks `{}` ({}); {}",
                    spec.name,
                    spec.meaning,
                    allowed_values(spec)
                )));
            };
            found.parameters.push(parameter(
                source,
                spec,
                entry,
                &mut found.numbers,
                &mut found.order,
            )?);
        }
    }
    Ok(())
}

/// Reads the costs of system calls. Costs that the file leaves out come from the kernel that it
/// names. A file without `[kernel]` may have one cost under its former name.
fn read_kernel(source: &Source, top: &DeTable, found: &mut Found) -> Result<()> {
    let table =
        top.contains_key("kernel").then(|| section_of(source, top, "kernel")).transpose()?;
    let specs = || SPECS.iter().filter(|spec| spec.section == "kernel");
    if let Some(table) = table {
        let names: Vec<&str> = specs().map(|spec| spec.name).chain([kernel::AS]).collect();
        check_keys(source, table, &names, "[kernel]")?;
    }
    let of_kernel = kernel::of(source, table)?;
    for spec in specs() {
        let (numbers, order) = (&mut found.numbers, &mut found.order);
        let parameter = match table.and_then(|table| table.get(spec.name)) {
            Some(entry) => parameter(source, spec, entry, numbers, order)?,
            None => {
                let name = format!("kernel.{}", spec.name);
                let Some(number) = of_kernel.numbers.get(&name) else {
                    return Err(source.whole_file_error(format!("its kernel lacks `{name}`")));
                };
                let mut parameter = inherited_parameter(source, spec, number, numbers, order)?;
                if let Some(why) = &of_kernel.assumed {
                    let said = parameter.assumed.or(parameter.source.take()).unwrap_or_default();
                    parameter.assumed = Some(format!("{why}; {said}"));
                }
                parameter
            }
        };
        found.parameters.push(parameter);
    }
    match section_of(source, top, "cycles")?.get(FORMER_WAKEUP) {
        Some(entry) => former_wakeup(source, entry, table.is_some(), found),
        None => Ok(()),
    }
}

/// Takes the time of a wake-up from its former place, in cycles, unless the file has a section for
/// it.
fn former_wakeup(
    source: &Source,
    entry: &Spanned<DeValue>,
    is_replaced: bool,
    found: &mut Found,
) -> Result<()> {
    const CYCLES: std::ops::RangeInclusive<f64> = 1.0..=1e7;
    let entry = entry_table(source, "cycles.wakeup", entry, false)?;
    let cycles = number(entry.value.get_ref()).filter(|cycles| CYCLES.contains(cycles));
    let Some(cycles) = cycles.filter(|cycles| cycles.fract() == 0.0) else {
        let written = super::source::shown(source, entry.value);
        let message = format!("`cycles.wakeup` is {written}; allowed: 1 to 10000000 cycles");
        return Err(source.error(entry.value.span(), message));
    };
    if is_replaced {
        return Ok(());
    }
    let nanoseconds = cycles / found.numbers.ghz;
    let deep = found.numbers.kernel.deep_wakeup.max(nanoseconds);
    for (name, nanoseconds) in [("kernel.wakeup", nanoseconds), ("kernel.deep_wakeup", deep)] {
        let value = parameters::set(&mut found.numbers, name, nanoseconds);
        let parameter = found.parameters.iter_mut().find(|parameter| parameter.name == name);
        if let (Some(value), Some(parameter)) = (value, parameter) {
            parameter.value = value;
            if name == "kernel.wakeup" {
                parameter.source.clone_from(&entry.source);
                parameter.assumed.clone_from(&entry.assumed);
            }
        }
    }
    Ok(())
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

/// Returns the name of the family, and the factor on its latencies.
fn family_of(source: &Source, top: &DeTable) -> Result<Option<(String, Parameter)>> {
    if !top.contains_key("family") {
        if let Some(scale) = top.get("scale") {
            return Err(source.error(scale.span(), "`scale` is for a machine that has a `family`"));
        }
        return Ok(None);
    }
    let family = text_of(source, top, "family")?;
    let Some(value) = top.get("scale") else {
        return Err(source
            .whole_file_error("has a `family` and lacks `scale`, the factor on its latencies"));
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

/// Returns a number that comes from the family.
fn inherited_parameter(
    source: &Source,
    spec: &Spec,
    number: &family::Number,
    numbers: &mut Numbers,
    order: &mut ServiceOrder,
) -> Result<Parameter> {
    let name = format!("{}.{}", spec.section, spec.name);
    let text = &number.text;
    let refuse = || {
        source.whole_file_error(format!(
            "`{name}` from its family is {text}; {}",
            allowed_values(spec)
        ))
    };
    let value = match spec.field {
        Field::Order => {
            *order = match text.as_str() {
                "random" => ServiceOrder::Random,
                "fifo" => ServiceOrder::Fifo,
                _ => return Err(refuse()),
            };
            Value::Word(text.clone())
        }
        Field::Whole { min, max, .. } => match text.parse::<f64>() {
            Ok(x) if x.fract() == 0.0 && x >= min as f64 && x <= max as f64 => {
                parameters::set(numbers, &name, x).ok_or_else(refuse)?
            }
            _ => return Err(refuse()),
        },
        Field::Real { min, max, .. } => match text.parse::<f64>() {
            Ok(x) if x >= min && x <= max => {
                parameters::set(numbers, &name, x).ok_or_else(refuse)?
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

fn parameter(
    source: &Source,
    spec: &Spec,
    value: &Spanned<DeValue>,
    numbers: &mut Numbers,
    order: &mut ServiceOrder,
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
                Some("random") => ServiceOrder::Random,
                Some("fifo") => ServiceOrder::Fifo,
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

fn checks(source: &Source, top: &DeTable) -> Result<Vec<Parameter>> {
    const MAX_CHECKS: usize = 100;
    if !top.contains_key("checks") {
        return Ok(Vec::new());
    }
    let table = section_of(source, top, "checks")?;
    if table.len() > MAX_CHECKS {
        return Err(source.whole_file_error(format!("[checks] has more than {MAX_CHECKS} entries")));
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
        if let Some(hint) = unknown(name) {
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
