//! Output of fitted laws, for readers and for programs.

use super::cells::{figure, new_table};
use crate::scaling::{Fit, VariantFit};
use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// Returns a table of the fits, and their remarks. `lay_out` turns the table into text.
pub(super) fn render(
    fits: &[VariantFit],
    heading: &str,
    lay_out: &dyn Fn(&Table) -> String,
) -> String {
    let Some(first) = fits.first() else { return String::new() };
    let fitted = || fits.iter().filter_map(|of| Some((of, of.fit.as_ref().ok()?)));
    let intervals = fitted().any(|(_, fit)| fit.intervals.is_some());
    let mut header = vec!["variant"];
    for name in ["lambda, op/s", "sigma", "kappa", "knee, threads"] {
        header.push(name);
        header.extend(intervals.then_some("interval"));
    }
    header.extend(["most, op/s", "R squared", "worst"]);
    let mut table = new_table(&presets::NOTHING, &header, 1);
    for (of, fit) in fitted() {
        let mut cells = vec![of.variant.clone()];
        let mut put = |value: f64, interval: Option<(f64, f64)>, write: fn(f64) -> String| {
            cells.push(write(value));
            let text = |(low, high)| format!("{} .. {}", write(low), write(high));
            cells.extend(intervals.then(|| interval.map(text).unwrap_or_default()));
        };
        let (law, of_each) = (fit.law, fit.intervals);
        put(law.lambda, of_each.map(|i| i.lambda), figure);
        put(law.sigma, of_each.map(|i| i.sigma), parameter);
        put(law.kappa, of_each.map(|i| i.kappa), parameter);
        put(law.knee(), of_each.map(|i| i.knee), knee);
        let (threads, off) = fit.worst;
        cells.extend([
            if law.most().is_finite() { figure(law.most()) } else { "no limit".to_owned() },
            fit.r_squared.map(|r| format!("{r:.4}")).unwrap_or_default(),
            format!("{:+.1} % at {threads}", off * 100.0),
        ]);
        table.add_row(cells);
    }
    let mut text = format!(
        "{heading}Universal Scalability Law: {} on {}\n\n",
        first.experiment, first.machine
    );
    if fits.iter().any(|of| of.fit.is_ok()) {
        text.push_str(&format!("{}\n\n", lay_out(&table)));
    }
    for of in fits {
        for remark in of.remarks() {
            text.push_str(&format!("{}: {remark}.\n", of.variant));
        }
    }
    text.push_str(
        "X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)); \
         the knee is the N at which X is greatest. Intervals: \
         95 %, bootstrap over rounds (none for fewer than 6 rounds, or for predictions, \
         which do not vary). Worst: the greatest residual, law / figure - 1, \
         and its number of threads.\n\n",
    );
    text
}

/// Returns a fit as JSON. Infinite figures, such as the knee of a law without a knee, become null.
pub(super) fn json(of: &VariantFit) -> Value {
    let mut object = json!({
        "experiment": of.experiment,
        "machine": of.machine,
        "variant": of.variant,
        "remarks": of.remarks(),
    });
    let more = match &of.fit {
        Ok(fit) => parameters(fit),
        Err(reason) => json!({ "reason": reason }),
    };
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}

fn parameters(fit: &Fit) -> Value {
    let pair = |of: Option<(f64, f64)>| of.map(|(low, high)| [low, high]);
    let of = fit.intervals;
    json!({
        "law": "usl",
        "lambda": fit.law.lambda,
        "sigma": fit.law.sigma,
        "kappa": fit.law.kappa,
        "knee": fit.law.knee(),
        "most": fit.law.most(),
        "lambda_interval": pair(of.map(|i| i.lambda)),
        "sigma_interval": pair(of.map(|i| i.sigma)),
        "kappa_interval": pair(of.map(|i| i.kappa)),
        "knee_interval": pair(of.map(|i| i.knee)),
        "r_squared": fit.r_squared,
        "worst_threads": fit.worst.0,
        "worst_residual": fit.worst.1,
        "describes": fit.describes(),
    })
}

/// Formats a number that may be small.
fn parameter(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 0.0005 => format!("{value:.4}"),
        value => format!("{value:.2e}"),
    }
}

fn knee(threads: f64) -> String {
    if threads.is_finite() { format!("{threads:.1}") } else { "none".to_owned() }
}
