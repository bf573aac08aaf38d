//! Families: the numbers of a protocol, fitted once for processors that speak the same one.
//!
//! A family is a TOML file (`machines/families/`; in the binary too) with the entries of `[cycles]` and `[protocol]` that
//! its members share. A machine names its family, and the one factor by which the family's latencies are multiplied; what
//! the machine's file says itself goes before. So a machine file holds only what differs.

use super::file::{Source, check_keys, entry_table, first_line, number, section_of, text_of};
use super::parameters::{SCALED, SPECS};
use super::{MAX_FILE_BYTES, MachineError};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Result<T> = std::result::Result<T, MachineError>;

/// The shipped families: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("intel-mesh", include_str!("../../../../machines/families/intel-mesh.toml")),
    ("intel-ring", include_str!("../../../../machines/families/intel-ring.toml")),
];

/// What a machine takes over from its family.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// By `section.name`.
    numbers: BTreeMap<String, Number>,
}

/// A number of a family, scaled.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// What a machine file would say.
    pub text: String,
    pub source: Option<String>,
    pub assumed: Option<String>,
}

impl Inherited {
    pub(super) fn get(&self, name: &str) -> Option<&Number> {
        self.numbers.get(name)
    }
}

/// The text of the family `name`: a shipped one, or a file beside the machine's.
fn text(name: &str, beside: Option<&Path>) -> std::result::Result<(String, String), String> {
    if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Ok((format!("families/{name}.toml"), (*text).to_owned()));
    }
    if let (Some(directory), true) = (beside, name.ends_with(".toml")) {
        let path = directory.join(name);
        let text = lockyard_input::read_text(&path, MAX_FILE_BYTES, "a family is TOML")?;
        return Ok((path.display().to_string(), text));
    }
    let all: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let found = lockyard_input::printable(name);
    let hint = lockyard_input::hint(name, &all, "there are");
    Err(format!(
        "there is no family `{found}`; {hint}, or give a file *.toml beside a machine file"
    ))
}

/// Reads the family `name`, with its latencies multiplied by `scale`.
///
/// # Errors
///
/// What is wrong, without a place if the family is not there.
pub(super) fn inherit(
    name: &str,
    scale: f64,
    beside: Option<&Path>,
) -> std::result::Result<Inherited, String> {
    let (origin, text) = text(name, beside)?;
    read(&origin, &text, name, scale).map_err(|error| error.to_string())
}

fn read(origin: &str, text: &str, family: &str, scale: f64) -> Result<Inherited> {
    let source = Source { origin, text };
    let document = DeTable::parse(text).map_err(|e| {
        source.error(e.span().unwrap_or(0..0), format!("not TOML: {}", first_line(e.message())))
    })?;
    let top = document.get_ref();
    check_keys(&source, top, &["title", "cycles", "protocol"], "a family")?;
    text_of(&source, top, "title")?;
    let mut inherited = Inherited::default();
    for section in ["cycles", "protocol"] {
        let names: Vec<&str> =
            SPECS.iter().filter(|s| s.section == section).map(|s| s.name).collect();
        let table = section_of(&source, top, section)?;
        check_keys(&source, table, &names, &format!("[{section}]"))?;
        for (key, value) in table {
            let name = format!("{section}.{}", key.get_ref());
            inherited.numbers.insert(name.clone(), one(&source, &name, value, family, scale)?);
        }
    }
    Ok(inherited)
}

fn one(
    source: &Source,
    name: &str,
    value: &Spanned<DeValue>,
    family: &str,
    scale: f64,
) -> Result<Number> {
    let entry = entry_table(source, name, value, false)?;
    let (text, how) = match number(entry.value.get_ref()) {
        Some(found) if SCALED.contains(&name) => {
            // A latency that is there does not vanish.
            let scaled = (found * scale).round().max(found.min(1.0));
            (scaled.to_string(), format!("family {family}, {found} x {scale}"))
        }
        Some(found) => (found.to_string(), format!("family {family}")),
        None => {
            let word = entry.value.get_ref().as_str().unwrap_or_default();
            (word.to_owned(), format!("family {family}"))
        }
    };
    let said = |what: Option<String>| what.map(|what| format!("{how}: {what}"));
    Ok(Number { text, source: said(entry.source), assumed: said(entry.assumed) })
}
