//! Fits for the variants of some rows, and the details that they add to the rows.

use super::{Fit, Point, Usl};
use crate::details::LawDetail;
use crate::row::Row;

/// Fit of one variant, or the reason why there is no fit.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantFit {
    /// Experiment.
    pub experiment: String,
    /// Machine.
    pub machine: String,
    /// Variant.
    pub variant: String,
    /// Fit, or the reason why there is none.
    pub fit: Result<Fit, String>,
    /// Number of CPUs in the placement. Set only if the fit includes more threads than CPUs.
    pub shared: Option<u64>,
}

impl VariantFit {
    /// Returns remarks on the fit: sentences without a full stop.
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

/// Fits the law to each variant of `rows`, which share one experiment and machine. Measured rows
/// are fitted by their rounds, simulated rows by their throughput. Adds the law to the details of
/// each row, with its throughput for the row's number of threads.
pub fn of_rows(rows: &mut [Row]) -> Vec<VariantFit> {
    let mut variants: Vec<String> = Vec::new();
    for row in rows.iter() {
        if !variants.contains(&row.key.variant) {
            variants.push(row.key.variant.clone());
        }
    }
    let mut fits = Vec::new();
    for variant in variants {
        let of_variant = || rows.iter().filter(|row| row.key.variant == variant);
        let points: Vec<Point> = of_variant().filter_map(point).collect();
        let Some(first) = of_variant().next() else { continue };
        let fit = super::fit(&points);
        fits.push(VariantFit {
            experiment: first.key.experiment.clone(),
            machine: first.key.machine.clone(),
            variant: variant.clone(),
            fit: fit.clone(),
            shared: of_variant().find_map(shared),
        });
        let Ok(fit) = fit else { continue };
        for row in rows.iter_mut().filter(|row| row.key.variant == variant) {
            let throughput = row.key.threads.map(|n| fit.law.throughput(n as f64));
            let knee = Some(fit.law.knee()).filter(|knee| knee.is_finite());
            let Usl { lambda, sigma, kappa } = fit.law;
            row.details.law = Some(LawDetail { throughput, lambda, sigma, kappa, knee });
        }
    }
    fits
}

/// Returns the number of CPUs in the row's placement, if the row has more threads than that.
fn shared(row: &Row) -> Option<u64> {
    let cpus = row.details.measured.as_ref()?.placement_cpus?;
    (row.key.threads? as u64 > cpus).then_some(cpus)
}

fn point(row: &Row) -> Option<Point> {
    let measured = row.details.measured.as_ref().filter(|measured| !measured.rounds.is_empty());
    let simulated = || row.details.simulated.as_ref()?.throughput;
    let rounds = match measured {
        Some(measured) => measured.rounds.clone(),
        None => vec![simulated()?],
    };
    Some(Point { threads: row.key.threads?, rounds })
}
