//! Facts about a published profile: the regions for which its symbols stand, and the inputs to the
//! profiler's figures that no run can give.

/// A line of a published listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Function, with its name in the listing.
    pub name: String,
    /// Regions, and parts of regions, that model the function. The comparison uses their sum. A
    /// region does not include its parts.
    pub is: Vec<String>,
    /// Variants for which the symbol's share is an input, because numbers of the script come from
    /// it.
    pub given_by: Vec<String>,
    /// Reason why the function is not modelled; `None` if it is.
    pub left_out: Option<String>,
}

/// Total number of samples that the published profiler took for a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleTotal {
    /// An input, because it depends on how long the profiler ran.
    Given(f64),
    /// Follows from another variant, whose run did the same operations. Both runs have the same
    /// number of samples per CPU time.
    WorkOf(String),
}

/// Number of samples of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSamples {
    /// The variant.
    pub variant: String,
    /// Total number of its samples.
    pub total: SampleTotal,
}

/// A published profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Machine file that stands in for published machines which have no file.
    pub machine: Option<String>,
    /// Operations per second for `softirq-cpu-low` and for `softirq-cpu-high`.
    pub rates: Option<(f64, f64)>,
    /// Number of CPUs to whose time the two metrics refer.
    pub cpus: usize,
    /// Total number of samples of each variant.
    pub samples: Vec<VariantSamples>,
    /// Metrics from which numbers of the script come, except shares of symbols.
    pub inputs: Vec<&'static str>,
    /// Symbols of the listing.
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
    /// Returns the symbol that a listing's metric names. Returns `None` if the metric names none,
    /// or the script does not have it.
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

    /// Returns `true` if the published figure is an input. Either numbers of the script come from
    /// it, or it depends on how long the profiler ran.
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
