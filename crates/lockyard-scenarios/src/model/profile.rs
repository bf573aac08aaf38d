//! Facts about a published profile: the regions that its symbols stand for, and inputs to the
//! profiler's figures that no run gives.

/// A line of a published listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The function, under its name in the listing.
    pub name: String,
    /// The regions, and parts of regions, that model the function. Their sum is compared. A region
    /// does not include its parts.
    pub is: Vec<String>,
    /// Variants for which the symbol's share is an input, because numbers of the script were taken
    /// from it.
    pub given_by: Vec<String>,
    /// The reason why the function is not modelled; `None` if it is.
    pub left_out: Option<String>,
}

/// Total number of samples that the published profiler took of a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleTotal {
    /// An input, because it depends on how long the profiler ran.
    Given(f64),
    /// Follows from another variant, whose run did the same operations. Both have the same number
    /// of samples per CPU time.
    WorkOf(String),
}

/// Number of samples of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSamples {
    /// The variant.
    pub variant: String,
    /// Its samples.
    pub total: SampleTotal,
}

/// A published profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The machine file that stands in for published machines without a file of their own.
    pub machine: Option<String>,
    /// Operations a second for `softirq-cpu-low` and for `softirq-cpu-high`.
    pub rates: Option<(f64, f64)>,
    /// Number of CPUs to whose time these metrics refer.
    pub cpus: usize,
    /// Total number of samples of each variant.
    pub samples: Vec<VariantSamples>,
    /// Metrics, other than shares of symbols, from which numbers of the script were taken.
    pub inputs: Vec<&'static str>,
    /// The symbols.
    pub symbols: Vec<Symbol>,
}

/// Metrics of a profile that belong to no symbol.
pub(crate) const UNNAMED_METRICS: [&str; 5] =
    ["softirq-cpu-low", "softirq-cpu-high", "rate-ratio", "throughput-ratio", "throughput-change"];

/// Prefix of metrics for a symbol's share of the CPU time.
pub const CPU_SHARE_PREFIX: &str = "cpu-share:";
/// Prefix of metrics for a symbol's number of samples.
pub const SAMPLE_COUNT_PREFIX: &str = "samples:";

/// Returns the symbol in a metric's name.
pub(super) fn symbol_of(metric: &str) -> Option<&str> {
    metric.strip_prefix(CPU_SHARE_PREFIX).or_else(|| metric.strip_prefix(SAMPLE_COUNT_PREFIX))
}

impl Profile {
    /// Returns the symbol that a metric of a listing names. `None` if the metric names no symbol,
    /// or the script does not have that symbol.
    pub(super) fn symbol(&self, metric: &str) -> Option<&Symbol> {
        let name = symbol_of(metric)?;
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    pub(super) fn samples_of(&self, variant: &str) -> Option<&SampleTotal> {
        self.samples.iter().find(|of| of.variant == variant).map(|of| &of.total)
    }

    /// Returns the reason why a metric is not modelled, if the script has one.
    pub fn left_out(&self, metric: &str) -> Option<&str> {
        self.symbol(metric)?.left_out.as_deref()
    }

    /// Returns true if the published figure is an input. Either numbers of the script were taken
    /// from it, or it depends on how long the profiler ran.
    pub fn is_input(&self, variant: &str, metric: &str) -> bool {
        if self.inputs.contains(&metric) {
            return true;
        }
        let Some(symbol) = self.symbol(metric) else { return false };
        let given = matches!(self.samples_of(variant), Some(SampleTotal::Given(_)));
        if metric.starts_with(SAMPLE_COUNT_PREFIX) {
            given
        } else {
            symbol.given_by.iter().any(|of| of == variant)
        }
    }
}
