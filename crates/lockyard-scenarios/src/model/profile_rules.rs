//! Rules that map the names of a profile's metrics to figures.

use super::figure::Figure;
use super::profile::{CPU_SHARE_PREFIX, Profile, SampleTotal, Symbol, symbol_of};

/// Returns the figure if the table's unit is `right`.
fn in_unit(metric: &str, unit: &str, right: &str, figure: Figure) -> Result<Figure, String> {
    if unit == right { Ok(figure) } else { Err(format!("the scenario gives {metric} in {right}")) }
}

impl Profile {
    /// Returns the figure that a published table calls `metric`, if that is a metric of a profile.
    /// Ratios to another variant are included.
    pub(super) fn figure(
        &self,
        has_variant: impl Fn(&str) -> bool,
        variant: &str,
        metric: &str,
        unit: &str,
    ) -> Option<Result<Figure, String>> {
        if let Some(name) = symbol_of(metric) {
            return Some(match self.symbol(metric) {
                Some(symbol) => self.figure_of_symbol(symbol, variant, metric, unit),
                None => Err(format!("the scenario does not say what `{name}` is")),
            });
        }
        let rate = match metric {
            "softirq-cpu-low" => Some(self.rates.map(|(low, _)| low)),
            "softirq-cpu-high" => Some(self.rates.map(|(_, high)| high)),
            _ => None,
        };
        if let Some(rate) = rate {
            return Some(match rate {
                Some(rate) => {
                    in_unit(metric, unit, "%", Figure::CpuAtRate { rate, cpus: self.cpus })
                }
                None => {
                    Err(format!("the scenario does not say at which rate {metric} was measured"))
                }
            });
        }
        let (change, of) = match metric {
            "rate-ratio" | "throughput-ratio" => (false, unit.strip_prefix("x of ")),
            "throughput-change" => (true, unit.strip_prefix("% of ")),
            _ => return None,
        };
        Some(match of {
            Some(reference) if has_variant(reference) => {
                Ok(Figure::Ratio { reference: reference.to_owned(), change })
            }
            Some(reference) => Err(format!("the scenario has no variant `{reference}`")),
            None => Err(format!("the scenario gives {metric} of another variant, not in `{unit}`")),
        })
    }

    fn figure_of_symbol(
        &self,
        symbol: &Symbol,
        variant: &str,
        metric: &str,
        unit: &str,
    ) -> Result<Figure, String> {
        if let Some(reason) = &symbol.left_out {
            return Err(reason.clone());
        }
        let names = symbol.is.clone();
        if metric.starts_with(CPU_SHARE_PREFIX) {
            return in_unit(metric, unit, "%", Figure::CpuShare { names });
        }
        let figure = |total, work_of| Figure::SampleCount { names, total, work_of };
        let figure = match self.samples_of(variant) {
            Some(SampleTotal::Given(total)) => figure(*total, None),
            Some(SampleTotal::WorkOf(other)) => match self.samples_of(other) {
                Some(SampleTotal::Given(total)) => figure(*total, Some(other.clone())),
                _ => unreachable!("checked by the parser"),
            },
            None => {
                let reason = "a count of samples depends on how long the profiler ran, which is \
                              not published; compare the share of the symbol instead";
                return Err(reason.to_owned());
            }
        };
        in_unit(metric, unit, "samples", figure)
    }
}
