//! What a script says of a published profile: which of its symbols is what here, and what the profiler's figures depend on that no run
//! tells.

use crate::figures::Figure;
use crate::file::{Result as Read, Source};
use crate::script::{Part, Script};
use lockyard::platform::Region;
use serde::Deserialize;
use toml::Spanned;

/// A script may have this many symbols.
const MAX_SYMBOLS: usize = 64;

/// A line of a published listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The function, as the listing calls it.
    pub name: String,
    /// The regions, and parts of regions, that are the same here; together they are compared. A region is without its parts.
    pub is: Vec<String>,
    /// Variants whose share of the symbol is an input: numbers of the script were taken from it.
    pub given_by: Vec<String>,
    /// Why it is not modelled, if it is not.
    pub left_out: Option<String>,
}

/// How many samples the published profiler took of a variant, in all.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// An input: it says how long the profiler ran.
    Given(f64),
    /// As many for an operation's CPU time as of another variant, whose run was the same operations.
    WorkOf(String),
}

/// A published profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The machine file that stands for published machines that have none of their own.
    pub machine: Option<String>,
    /// Operations a second at which `softirq-cpu-low` and `softirq-cpu-high` are.
    pub rates: Option<(f64, f64)>,
    /// The number of CPUs of whose time that is a share.
    pub cpus: usize,
    /// Samples in all, by variant.
    pub samples: Vec<(String, Samples)>,
    /// Metrics that gave numbers of the script, beside shares of symbols.
    pub inputs: Vec<&'static str>,
    /// The symbols.
    pub symbols: Vec<Symbol>,
}

/// The metrics of a profile that are of no symbol.
const OTHERS: [&str; 5] =
    ["softirq-cpu-low", "softirq-cpu-high", "rate-ratio", "throughput-ratio", "throughput-change"];

/// What the metrics of listings begin with.
pub const SHARE: &str = "cpu-share:";
/// What the metrics of counts of samples begin with.
pub const COUNT: &str = "samples:";

/// The symbol in a metric's name.
fn symbol_of(metric: &str) -> Option<&str> {
    metric.strip_prefix(SHARE).or_else(|| metric.strip_prefix(COUNT))
}

impl Profile {
    /// The symbol of a metric of a listing; `None` if it is no such metric, or the script does not name the symbol.
    fn symbol(&self, metric: &str) -> Option<&Symbol> {
        let name = symbol_of(metric)?;
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    fn samples_of(&self, variant: &str) -> Option<&Samples> {
        self.samples.iter().find(|(of, _)| of == variant).map(|(_, samples)| samples)
    }

    /// Why a metric is not modelled, if the script says so.
    pub fn left_out(&self, metric: &str) -> Option<&str> {
        self.symbol(metric)?.left_out.as_deref()
    }

    /// Whether the published figure is an input: numbers of the script were taken from it, or it says how long the profiler ran.
    pub fn is_input(&self, variant: &str, metric: &str) -> bool {
        if self.inputs.contains(&metric) {
            return true;
        }
        let Some(symbol) = self.symbol(metric) else { return false };
        let given = matches!(self.samples_of(variant), Some(Samples::Given(_)));
        if metric.starts_with(COUNT) {
            given
        } else {
            symbol.given_by.iter().any(|of| of == variant)
        }
    }

    /// The figure that a published table calls `metric`, if it is one of a profile, or one that is a share of another variant's.
    pub(crate) fn figure(
        &self,
        script: &Script,
        variant: &str,
        metric: &str,
        unit: &str,
    ) -> Option<Result<Figure, String>> {
        let in_unit = |right: &str, figure: Figure| {
            if unit == right {
                Ok(figure)
            } else {
                Err(format!("the scenario gives {metric} in {right}"))
            }
        };
        if let Some(name) = symbol_of(metric) {
            let Some(symbol) = self.symbol(metric) else {
                return Some(Err(format!("the scenario does not say what `{name}` is")));
            };
            if let Some(reason) = &symbol.left_out {
                return Some(Err(reason.clone()));
            }
            let names = symbol.is.clone();
            if metric.starts_with(SHARE) {
                return Some(in_unit("%", Figure::CpuShare { names }));
            }
            let figure = |total, work_of| Figure::SampleCount { names, total, work_of };
            let figure = match self.samples_of(variant) {
                Some(Samples::Given(total)) => figure(*total, None),
                Some(Samples::WorkOf(other)) => match self.samples_of(other) {
                    Some(Samples::Given(total)) => figure(*total, Some(other.clone())),
                    _ => unreachable!("checked by the parser"),
                },
                None => {
                    let reason = "a count of samples says how long the profiler ran, which nobody says; the row of \
                                  its share is what can be compared";
                    return Some(Err(reason.to_owned()));
                }
            };
            return Some(in_unit("samples", figure));
        }
        let rate = match metric {
            "softirq-cpu-low" => Some(self.rates.map(|(low, _)| low)),
            "softirq-cpu-high" => Some(self.rates.map(|(_, high)| high)),
            _ => None,
        };
        if let Some(rate) = rate {
            let unknown = || format!("the scenario does not say at which rate {metric} is");
            return Some(match rate {
                Some(rate) => in_unit("%", Figure::CpuAtRate { rate, cpus: self.cpus }),
                None => Err(unknown()),
            });
        }
        let (change, of) = match metric {
            "rate-ratio" | "throughput-ratio" => (false, unit.strip_prefix("x of ")),
            "throughput-change" => (true, unit.strip_prefix("% of ")),
            _ => return None,
        };
        Some(match of {
            Some(reference) if script.variant(reference).is_some() => {
                Ok(Figure::Ratio { reference: reference.to_owned(), change })
            }
            Some(reference) => Err(format!("the scenario has no variant `{reference}`")),
            None => Err(format!("the scenario gives {metric} of another variant, not in `{unit}`")),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileEntry {
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
pub(crate) struct SymbolEntry {
    name: Spanned<String>,
    #[serde(default)]
    is: Vec<Spanned<String>>,
    #[serde(default)]
    given_by: Vec<Spanned<String>>,
    left_out: Option<Spanned<String>>,
}

/// The section `[profile]` and the entries `[[symbols]]`.
pub(crate) fn profile(
    source: &Source,
    entry: &ProfileEntry,
    symbols: &[Spanned<SymbolEntry>],
    (variants, parts): (&[String], &[Part]),
) -> Read<Profile> {
    let variant = |found: &Spanned<String>| {
        if variants.contains(found.get_ref()) {
            return Ok(found.get_ref().clone());
        }
        let names: Vec<&str> = variants.iter().map(String::as_str).collect();
        Err(source.unknown("variant", found, &names))
    };
    let positive = |found: &Spanned<f64>, what: &str| match *found.get_ref() {
        value if value > 0.0 && value <= 1e15 => Ok(value),
        value => {
            let message = format!("`{what}` is {value}; allowed: above 0, at most 1e15");
            Err(source.error(found.span(), message))
        }
    };
    let rates = match &entry.rates {
        Some(rates) => {
            let (low, high) = *rates.get_ref();
            if !(low > 0.0 && low <= high && high <= 1e15) {
                let message =
                    format!("`rates` are {low} and {high}; allowed: above 0, the lower one first");
                return Err(source.error(rates.span(), message));
            }
            Some((low, high))
        }
        None => None,
    };
    let cpus = match &entry.cpus {
        Some(cpus) if !(1..=4096).contains(cpus.get_ref()) => {
            let message = format!("`cpus` is {}; allowed: 1 to 4096", cpus.get_ref());
            return Err(source.error(cpus.span(), message));
        }
        Some(cpus) => *cpus.get_ref() as usize,
        None => 1,
    };
    let mut samples: Vec<(String, Samples)> = Vec::new();
    for spanned in &entry.samples {
        let one = spanned.get_ref();
        let of = match (&one.total, &one.work_of) {
            (Some(total), None) => Samples::Given(positive(total, "total")?),
            (None, Some(other)) => {
                let name = variant(other)?;
                let known =
                    samples.iter().any(|(of, s)| *of == name && matches!(s, Samples::Given(_)));
                if !known {
                    let message =
                        format!("`work_of` is `{name}`, whose `total` does not stand before it");
                    return Err(source.error(other.span(), message));
                }
                Samples::WorkOf(name)
            }
            _ => {
                let message =
                    "samples of a variant have either `total`, or `work_of`, another variant";
                return Err(source.error(spanned.span(), message));
            }
        };
        samples.push((variant(&one.variant)?, of));
    }
    if let Some(entry) = symbols.get(MAX_SYMBOLS) {
        let message = format!("{} symbols; at most {MAX_SYMBOLS} are allowed", symbols.len());
        return Err(source.error(entry.span(), message));
    }
    let regions = Region::ALL.iter().map(|region| region.name());
    let names: Vec<&str> = regions.chain(parts.iter().map(|part| part.name.as_str())).collect();
    let mut known: Vec<Symbol> = Vec::new();
    for spanned in symbols {
        let entry = spanned.get_ref();
        let name = source.text("name", &entry.name)?;
        if known.iter().any(|symbol| symbol.name == name) {
            let message = format!("there are two symbols `{name}`");
            return Err(source.error(entry.name.span(), message));
        }
        if entry.is.is_empty() != entry.left_out.is_some() {
            let message = "a symbol is either something here (`is`: regions, or names of steps), or `left_out`, with the reason";
            return Err(source.error(spanned.span(), message));
        }
        let table: Vec<(&str, &str)> = names.iter().map(|&name| (name, name)).collect();
        let is = entry.is.iter().map(|found| {
            source.choose("region or name of a step", found, &table).map(str::to_owned)
        });
        known.push(Symbol {
            name,
            is: is.collect::<Read<_>>()?,
            given_by: entry.given_by.iter().map(variant).collect::<Read<_>>()?,
            left_out: entry
                .left_out
                .as_ref()
                .map(|why| source.text("left_out", why))
                .transpose()?,
        });
    }
    let others = OTHERS.map(|name| (name, name));
    let inputs =
        entry.inputs.iter().map(|found| source.choose("figure of a profile", found, &others));
    Ok(Profile {
        inputs: inputs.collect::<Read<_>>()?,
        machine: entry.machine.as_ref().map(|name| source.name("machine", name)).transpose()?,
        rates,
        cpus,
        samples,
        symbols: known,
    })
}
