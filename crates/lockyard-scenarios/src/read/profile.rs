//! The section `[profile]`, and the entries `[[symbols]]`.

use super::names::Names;
use super::source::{Result, Source};
use crate::model::{Profile, SampleTotal, Symbol, UNNAMED_METRICS, VariantSamples};
use lockyard::platform::Region;
use serde::Deserialize;
use toml::Spanned;

/// Maximum number of symbols of a script.
const MAX_SYMBOLS: usize = 64;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileEntry {
    machine: Option<Spanned<String>>,
    rates: Option<Spanned<(f64, f64)>>,
    cpus: Option<Spanned<u32>>,
    #[serde(default)]
    samples: Vec<Spanned<SamplesEntry>>,
    #[serde(default)]
    inputs: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplesEntry {
    variant: Spanned<String>,
    total: Option<Spanned<f64>>,
    work_of: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymbolEntry {
    name: Spanned<String>,
    #[serde(default)]
    is: Vec<Spanned<String>>,
    #[serde(default)]
    given_by: Vec<Spanned<String>>,
    left_out: Option<Spanned<String>>,
}

/// Reads the section `[profile]` and the entries `[[symbols]]`.
pub(super) fn profile(
    source: &Source,
    entry: &ProfileEntry,
    symbols: &[Spanned<SymbolEntry>],
    names: Names,
) -> Result<Profile> {
    let rates = rates(source, entry)?;
    let cpus = entry.cpus.as_ref().map(|cpus| source.count("cpus", cpus, 1, 4096)).transpose()?;
    let samples = samples(source, &entry.samples, names)?;
    let symbols = self::symbols(source, symbols, names)?;
    let metrics = UNNAMED_METRICS.map(|name| (name, name));
    let inputs = entry.inputs.iter().map(|found| source.choose("profile metric", found, &metrics));
    Ok(Profile {
        inputs: inputs.collect::<Result<_>>()?,
        machine: entry.machine.as_ref().map(|name| source.name("machine", name)).transpose()?,
        rates,
        cpus: cpus.unwrap_or(1),
        samples,
        symbols,
    })
}

fn rates(source: &Source, entry: &ProfileEntry) -> Result<Option<(f64, f64)>> {
    let Some(rates) = &entry.rates else { return Ok(None) };
    let (low, high) = *rates.get_ref();
    if !(low > 0.0 && low <= high && high <= 1e15) {
        let message =
            format!("`rates` are {low} and {high}; allowed: above 0, the lower one first");
        return Err(source.error(rates.span(), message));
    }
    Ok(Some((low, high)))
}

fn samples(
    source: &Source,
    entries: &[Spanned<SamplesEntry>],
    names: Names,
) -> Result<Vec<VariantSamples>> {
    let mut samples: Vec<VariantSamples> = Vec::new();
    for spanned in entries {
        let entry = spanned.get_ref();
        let total = match (&entry.total, &entry.work_of) {
            (Some(total), None) => {
                SampleTotal::Given(source.positive("total", total, 1e15, "1e15")?)
            }
            (None, Some(other)) => {
                let name = names.variant(source, other)?;
                let known = samples
                    .iter()
                    .any(|of| of.variant == name && matches!(of.total, SampleTotal::Given(_)));
                if !known {
                    let message = format!(
                        "`work_of` is `{name}`, but no entry above gives the `total` of that \
                         variant"
                    );
                    return Err(source.error(other.span(), message));
                }
                SampleTotal::WorkOf(name)
            }
            _ => {
                let message =
                    "samples of a variant have either `total` or `work_of` (another variant)";
                return Err(source.error(spanned.span(), message));
            }
        };
        samples.push(VariantSamples { variant: names.variant(source, &entry.variant)?, total });
    }
    Ok(samples)
}

fn symbols(source: &Source, entries: &[Spanned<SymbolEntry>], names: Names) -> Result<Vec<Symbol>> {
    source.limit("symbols", entries, MAX_SYMBOLS)?;
    let regions = Region::ALL.iter().map(|region| region.name());
    let parts = names.parts.iter().map(|part| part.name.as_str());
    let table: Vec<(&str, &str)> = regions.chain(parts).map(|name| (name, name)).collect();
    let mut symbols: Vec<Symbol> = Vec::new();
    for spanned in entries {
        let entry = spanned.get_ref();
        let name = source.text("name", &entry.name)?;
        if symbols.iter().any(|symbol| symbol.name == name) {
            let message = format!("there are two symbols `{name}`");
            return Err(source.error(entry.name.span(), message));
        }
        if entry.is.is_empty() != entry.left_out.is_some() {
            let message = "a symbol has either `is` (a list of regions and step names) or \
                           `left_out` (the reason)";
            return Err(source.error(spanned.span(), message));
        }
        let is = entry
            .is
            .iter()
            .map(|found| source.choose("region or step name", found, &table).map(str::to_owned));
        let given_by = entry.given_by.iter().map(|found| names.variant(source, found));
        let left_out = entry.left_out.as_ref();
        symbols.push(Symbol {
            name,
            is: is.collect::<Result<_>>()?,
            given_by: given_by.collect::<Result<_>>()?,
            left_out: left_out.map(|why| source.text("left_out", why)).transpose()?,
        });
    }
    Ok(symbols)
}
