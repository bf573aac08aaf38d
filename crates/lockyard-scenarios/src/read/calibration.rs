//! The section `[calibration]` of a script: a published cell, and the inputs that it provides.

use super::names::Names;
use super::source::{Result, Source};
use crate::model::{Calibration, Gives};
use lockyard::platform::Region;
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrationEntry {
    gives: Option<Spanned<String>>,
    machine: Option<Spanned<String>>,
    machines: Option<Spanned<Vec<Spanned<String>>>>,
    experiment: Option<Spanned<String>>,
    threads: Option<Spanned<u32>>,
    variant: Option<Spanned<String>>,
    metric: Option<Spanned<String>>,
    measured: Option<Spanned<f64>>,
    second: Option<Spanned<String>>,
    #[serde(default)]
    also: Vec<Spanned<String>>,
}

/// Reads the section `[calibration]`.
pub(super) fn calibration(
    source: &Source,
    spanned: &Spanned<CalibrationEntry>,
    names: Names,
) -> Result<Calibration> {
    let entry = spanned.get_ref();
    let threads = entry.threads.as_ref();
    let threads =
        threads.map(|threads| source.count("threads", threads, 1, 100_000)).transpose()?;
    let variant = entry.variant.as_ref().map(|v| names.variant(source, v)).transpose()?;
    let machines = match (&entry.machine, &entry.machines) {
        // A user's machine may be a file.
        (Some(machine), None) if entry.measured.is_some() => vec![source.text("machine", machine)?],
        (Some(machine), None) => vec![source.name("machine", machine)?],
        (None, Some(machines)) if !machines.get_ref().is_empty() => {
            let names = machines.get_ref().iter();
            names.map(|machine| source.name("machines", machine)).collect::<Result<_>>()?
        }
        _ => {
            return Err(source.error(
                spanned.span(),
                "a calibration has either `machine`, or `machines` with at least one",
            ));
        }
    };
    let gives = gives(source, entry)?;
    let measured = measured(source, entry, gives)?;
    // A figure without a number of threads is for one thread.
    let threads = threads.or(measured.map(|_| 1));
    let experiment = entry.experiment.as_ref().map(|e| source.name("experiment", e)).transpose()?;
    Ok(Calibration {
        gives,
        machines,
        experiment,
        threads,
        variant,
        measured,
        metric: entry.metric.as_ref().map(|m| source.name("metric", m)).transpose()?,
        also: entry.also.iter().map(|m| source.name("also", m)).collect::<Result<_>>()?,
    })
}

/// Reads the figure that the user measured.
fn measured(source: &Source, entry: &CalibrationEntry, gives: Gives) -> Result<Option<f64>> {
    let Some(measured) = &entry.measured else { return Ok(None) };
    let figure = source.positive("measured", measured, 1e15, "1e15")?;
    let refuse = |what: &str| Err(source.error(measured.span(), what));
    if gives != Gives::LocalWork {
        return refuse("`measured` is for a calibration that gives `local-work`");
    }
    if entry.experiment.is_some() || entry.metric.is_some() {
        return refuse(
            "`measured` is a figure of this script: `experiment` and `metric` are for published \
             cells",
        );
    }
    if entry.variant.is_none() {
        return refuse("`measured` needs `variant`, of which it is the figure");
    }
    Ok(Some(figure))
}

fn gives(source: &Source, entry: &CalibrationEntry) -> Result<Gives> {
    let region = match &entry.second {
        None => None,
        Some(second) => {
            let table = [("system-time", Region::System), ("user-time", Region::User)];
            Some((second, source.choose("second calibration cell", second, &table)?))
        }
    };
    // The region is a placeholder; `second` gives the right one below.
    let both = Gives::WorkAndUnit { region: Region::default() };
    let table = [
        ("local-work", Gives::LocalWork),
        ("latencies", Gives::Latencies),
        ("numbers", Gives::Numbers),
        ("unit", Gives::Unit),
        ("work-and-unit", both),
    ];
    let gives = match &entry.gives {
        None => Gives::LocalWork,
        Some(gives) => source.choose("`gives` value", gives, &table)?,
    };
    match (gives, region, &entry.gives) {
        (Gives::WorkAndUnit { .. }, Some((_, region)), _) => Ok(Gives::WorkAndUnit { region }),
        (Gives::WorkAndUnit { .. }, None, Some(gives)) => Err(source.error(
            gives.span(),
            "a calibration that gives `work-and-unit` needs `second`, the metric of its second \
             cell",
        )),
        (_, Some((second, _)), _) => {
            Err(source
                .error(second.span(), "`second` is for a calibration that gives `work-and-unit`"))
        }
        _ => Ok(gives),
    }
}
