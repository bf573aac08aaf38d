//! The fits of the variants of some rows, and what the rows then say.

use super::{Fit, Point};
use crate::row::keys::{PLACES, ROUNDS};
use crate::row::{Detail, Row};

/// The fit of one variant, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantFit {
    /// Experiment.
    pub experiment: String,
    /// Machine.
    pub machine: String,
    /// Variant.
    pub variant: String,
    /// The fit.
    pub fit: Result<Fit, String>,
    /// The CPUs of the placement, if more threads than these are in the fit.
    pub shared: Option<u64>,
}

impl VariantFit {
    /// What is to be said about it, in sentences without an end.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = match &self.fit {
            Ok(fit) => fit.remarks(),
            Err(reason) => vec![format!("no fit: {reason}")],
        };
        if let (Ok(_), Some(cpus)) = (&self.fit, self.shared) {
            let s = if cpus == 1 { "" } else { "s" };
            remarks.push(format!(
                "more threads than the {cpus} CPU{s} of the placement are in the fit: \
                 for those it describes the scheduler, not the lock; \
                 fit thread counts for which there are CPUs"
            ));
        }
        remarks
    }
}

/// Fits the law to each variant of `rows`, of one experiment on one machine: measured ones by their
/// rounds, predicted ones by their predicted throughput. Each row then says in its details what the
/// law makes of it.
pub fn of_rows(rows: &mut [Row]) -> Vec<VariantFit> {
    let mut variants: Vec<String> = Vec::new();
    for row in rows.iter() {
        if !variants.contains(&row.variant) {
            variants.push(row.variant.clone());
        }
    }
    let mut fits = Vec::new();
    for variant in variants {
        let of_variant = || rows.iter().filter(|row| row.variant == variant);
        let points: Vec<Point> = of_variant().filter_map(point).collect();
        let Some(first) = of_variant().next() else { continue };
        let fit = super::fit(&points);
        fits.push(VariantFit {
            experiment: first.experiment.clone(),
            machine: first.machine.clone(),
            variant: variant.clone(),
            fit: fit.clone(),
            shared: of_variant().find_map(shared),
        });
        let Ok(fit) = fit else { continue };
        for row in rows.iter_mut().filter(|row| row.variant == variant) {
            let mut number = |name: &str, value: f64| {
                row.detail.insert(name.to_owned(), Detail::Number(value));
            };
            if let Some(threads) = row.threads {
                number("usl_throughput", fit.law.throughput(threads as f64));
            }
            number("usl_lambda", fit.law.lambda);
            number("usl_sigma", fit.law.sigma);
            number("usl_kappa", fit.law.kappa);
            if fit.law.knee().is_finite() {
                number("usl_knee", fit.law.knee());
            }
        }
    }
    fits
}

/// The CPUs of the row's placement, if it has more threads.
fn shared(row: &Row) -> Option<u64> {
    match row.detail.get(PLACES) {
        Some(Detail::Count(cpus)) if row.threads? as u64 > *cpus => Some(*cpus),
        _ => None,
    }
}

fn point(row: &Row) -> Option<Point> {
    let rounds = match (row.detail.get(ROUNDS), row.detail.get("predicted_throughput")) {
        (Some(Detail::Numbers(rounds)), _) => rounds.clone(),
        (_, Some(Detail::Number(throughput))) => vec![*throughput],
        _ => return None,
    };
    Some(Point { threads: row.threads?, rounds })
}
