//! Families: the numbers of a coherence protocol, fitted once for the processors that share it.
//!
//! A family is a TOML file (in `machines/families/`, and in the binary). It has the entries of
//! `[cycles]` and `[protocol]` that its members share. A machine names its family, and the factor
//! by which the family's latencies are multiplied. A number in the machine's own file takes
//! precedence. So a machine file holds only the differences.

use super::parameters::{Field, SCALED, SPECS, Spec, scaled};
use super::source::{
    Result, Source, allowed_values, check_keys, entry_table, first_line, number, section_of, shown,
    text_of,
};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The shipped families, by name: the files of `machines/families/`, which `build.rs` lists.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// Numbers that a machine takes from its family.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// The numbers, by `section.name`.
    numbers: BTreeMap<String, Number>,
}

/// A number of a family, scaled.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// The number as a machine file would have it.
    pub text: String,
    /// Value at scale 1, for a latency.
    pub at_scale_1: Option<f64>,
    pub source: Option<String>,
    pub assumed: Option<String>,
}

impl Inherited {
    pub(super) fn get(&self, name: &str) -> Option<&Number> {
        self.numbers.get(name)
    }
}

/// Finds the file of a family by the name that a machine file gives it. Returns its path for
/// errors, and its text.
pub type Beside<'a> = dyn Fn(&str) -> std::result::Result<(String, String), String> + 'a;

/// Text of the family `name`: a shipped one, or a file in the machine's directory.
fn text(name: &str, beside: Option<&Beside>) -> std::result::Result<(String, String), String> {
    if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Ok((format!("families/{name}.toml"), (*text).to_owned()));
    }
    if let (Some(beside), true) = (beside, name.ends_with(".toml")) {
        return beside(name);
    }
    let all: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let found = lockyard_support::printable(name);
    let hint = lockyard_support::hint(name, &all, "there are");
    Err(format!(
        "there is no family `{found}`; {hint}, or give a file *.toml in the directory of the \
         machine file"
    ))
}

/// Reads the family `name`, with its latencies multiplied by `scale`.
///
/// # Errors
///
/// A message that says what is wrong. It has no position if the family does not exist.
pub(super) fn inherit(
    name: &str,
    scale: f64,
    beside: Option<&Beside>,
) -> std::result::Result<Inherited, String> {
    let (origin, text) = text(name, beside)?;
    let shared = Shared { what: "family", name, sections: &["cycles", "protocol"] };
    shared.read(&origin, &text, scale).map_err(|error| error.to_string())
}

/// A file of numbers that machines share.
pub(super) struct Shared<'a> {
    /// Kind of file, as sources and errors name it.
    pub what: &'a str,
    pub name: &'a str,
    pub sections: &'a [&'a str],
}

impl Shared<'_> {
    /// Reads the file, with its latencies multiplied by `scale`.
    pub(super) fn read(&self, origin: &str, text: &str, scale: f64) -> Result<Inherited> {
        let source = Source { origin, text };
        let document = DeTable::parse(text).map_err(|e| {
            source.error(e.span().unwrap_or(0..0), format!("not TOML: {}", first_line(e.message())))
        })?;
        let top = document.get_ref();
        let allowed: Vec<&str> = ["title"].iter().chain(self.sections).copied().collect();
        check_keys(&source, top, &allowed, &format!("a {}", self.what))?;
        text_of(&source, top, "title")?;
        let how = format!("{} {}", self.what, self.name);
        let mut inherited = Inherited::default();
        for &section in self.sections {
            let specs = || SPECS.iter().filter(|spec| spec.section == section);
            let names: Vec<&str> = specs().map(|spec| spec.name).collect();
            let table = section_of(&source, top, section)?;
            check_keys(&source, table, &names, &format!("[{section}]"))?;
            for spec in specs() {
                let Some(value) = table.get(spec.name) else { continue };
                let name = format!("{section}.{}", spec.name);
                inherited.numbers.insert(name, one(&source, spec, value, &how, scale)?);
            }
        }
        Ok(inherited)
    }
}

fn one(
    source: &Source,
    spec: &Spec,
    value: &Spanned<DeValue>,
    shared: &str,
    scale: f64,
) -> Result<Number> {
    let name = &*format!("{}.{}", spec.section, spec.name);
    let entry = entry_table(source, name, value, false)?;
    let refuse = || {
        let (found, allowed) = (shown(source, entry.value), allowed_values(spec));
        source.error(entry.value.span(), format!("`{name}` is {found}; {allowed}"))
    };
    let found = number(entry.value.get_ref());
    let is_scaled = SCALED.contains(&name);
    // NaN is outside every range.
    let is_allowed = match (&spec.field, found) {
        (Field::Order, _) => matches!(entry.value.get_ref().as_str(), Some("random" | "fifo")),
        (Field::Whole { min, max, .. }, Some(found)) => {
            (is_scaled || found.fract() == 0.0) && (*min as f64..=*max as f64).contains(&found)
        }
        (Field::Real { min, max, .. }, Some(found)) => (*min..=*max).contains(&found),
        (_, None) => false,
    };
    if !is_allowed {
        return Err(refuse());
    }
    let (text, how) = match found {
        Some(found) if is_scaled => {
            (scaled(found, scale).to_string(), format!("{shared}, {found} x {scale}"))
        }
        Some(found) => (found.to_string(), shared.to_owned()),
        None => {
            let word = entry.value.get_ref().as_str().unwrap_or_default();
            (word.to_owned(), shared.to_owned())
        }
    };
    let said = |what: Option<String>| what.map(|what| format!("{how}: {what}"));
    let at_scale_1 = found.filter(|_| is_scaled);
    Ok(Number { text, at_scale_1, source: said(entry.source), assumed: said(entry.assumed) })
}
