//! Facts about a published profile: what its symbols are here, and what the profiler's figures
//! depend on that no run tells.

/// A line of a published listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The function, under its name in the listing.
    pub name: String,
    /// The regions, and parts of regions, that the function is here. Their sum is compared. A
    /// region is without its parts.
    pub is: Vec<String>,
    /// Variants whose share of the symbol is an input: numbers of the script were taken from it.
    pub given_by: Vec<String>,
    /// The reason for which it is not modelled, if it is not.
    pub left_out: Option<String>,
}

/// Number of samples that the published profiler took of a variant, in all.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleTotal {
    /// An input: it says how long the profiler ran.
    Given(f64),
    /// The same number for an operation's CPU time as of another variant. The other variant's run
    /// was the same operations.
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
    /// The machine file that stands for published machines that have none of their own.
    pub machine: Option<String>,
    /// Operations a second of `softirq-cpu-low` and of `softirq-cpu-high`.
    pub rates: Option<(f64, f64)>,
    /// Number of CPUs of whose time that is a share.
    pub cpus: usize,
    /// Samples in all, by variant.
    pub samples: Vec<VariantSamples>,
    /// Metrics that gave numbers of the script, beside shares of symbols.
    pub inputs: Vec<&'static str>,
    /// The symbols.
    pub symbols: Vec<Symbol>,
}

/// The metrics of a profile that belong to no symbol.
pub(crate) const UNNAMED_METRICS: [&str; 5] =
    ["softirq-cpu-low", "softirq-cpu-high", "rate-ratio", "throughput-ratio", "throughput-change"];

/// Prefix of the metrics that are a symbol's share of the CPU time.
pub const CPU_SHARE_PREFIX: &str = "cpu-share:";
/// Prefix of the metrics that are a symbol's number of samples.
pub const SAMPLE_COUNT_PREFIX: &str = "samples:";

/// The symbol in a metric's name.
pub(super) fn symbol_of(metric: &str) -> Option<&str> {
    metric.strip_prefix(CPU_SHARE_PREFIX).or_else(|| metric.strip_prefix(SAMPLE_COUNT_PREFIX))
}

impl Profile {
    /// The symbol of a metric of a listing. `None` if it is no such metric, or the script does not
    /// name the symbol.
    pub(super) fn symbol(&self, metric: &str) -> Option<&Symbol> {
        let name = symbol_of(metric)?;
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    pub(super) fn samples_of(&self, variant: &str) -> Option<&SampleTotal> {
        self.samples.iter().find(|of| of.variant == variant).map(|of| &of.total)
    }

    /// The reason for which a metric is not modelled, if the script has one.
    pub fn left_out(&self, metric: &str) -> Option<&str> {
        self.symbol(metric)?.left_out.as_deref()
    }

    /// Returns true if the published figure is an input: numbers of the script were taken from it,
    /// or it says how long the profiler ran.
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
