//! Description of the measuring host for results. It suffices to judge whether two results can be
//! compared.

use super::description::Description;
use super::limits::Quota;
use super::warnings::warnings;
use serde::{Serialize, Serializer};

/// Text that replaces a value that the system does not report.
pub const NOT_AVAILABLE: &str = "not available here";

/// Description of a host in a result: texts by name, taken at the start. Even numbers are texts,
/// because [`NOT_AVAILABLE`] may replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment(Vec<(&'static str, String)>);

impl Environment {
    /// Creates the description of `host` for results.
    pub fn of(host: &Description) -> Environment {
        let said = |text: Option<String>| text.unwrap_or_else(|| NOT_AVAILABLE.to_owned());
        let number =
            |value: Option<f64>, digits| said(value.map(|value| format!("{value:.digits$}")));
        let switch = |value: Option<bool>, on: &str, off: &str| {
            said(value.map(|value| if value { on } else { off }.to_owned()))
        };
        let Description {
            processor, topology, clock, virtualisation, limits, load, kernel, ..
        } = host;
        let names: Vec<&str> = warnings(host).iter().map(|warning| warning.name).collect();
        let hypervisor = match virtualisation.virtual_machine {
            Some(false) => Some("none".to_owned()),
            _ => virtualisation.hypervisor.clone(),
        };
        let quota = limits.quota.map(|quota| match quota {
            Quota::Unlimited => "unlimited".to_owned(),
            Quota::Cpus(cpus) => format!("{cpus:.2}"),
        });
        Environment(vec![
            ("cpu", said(processor.model.clone())),
            ("cpus", topology.allowed.len().to_string()),
            ("cpu_list", topology.allowed.to_string()),
            ("sockets", said(topology.packages().map(|p| p.len().to_string()))),
            ("cores", said(topology.cores().map(|c| c.len().to_string()))),
            (
                "nodes",
                number((!topology.nodes.is_empty()).then_some(topology.nodes.len() as f64), 0),
            ),
            ("smt", switch(topology.threads_per_core().map(|threads| threads > 1), "on", "off")),
            ("virtualised", switch(virtualisation.virtual_machine, "yes", "no")),
            ("virtualisation", said(hypervisor)),
            ("container", virtualisation.container.clone().unwrap_or("none seen".to_owned())),
            ("cgroup_cpu_quota", said(quota)),
            ("governor", said(clock.governor())),
            ("turbo", switch(clock.turbo.as_ref().map(|turbo| turbo.on), "on", "off")),
            ("nominal_mhz", number(clock.nominal.as_ref().map(|f| f.mhz), 0)),
            ("clock_source", said(clock.source.clone())),
            ("busy_cpus_at_start", number(load.busy_cpus, 2)),
            ("load_at_start", number(load.averages.map(|[minute, ..]| minute), 2)),
            ("steal_at_start", number(load.steal_now, 3)),
            ("kernel", said(kernel.release.clone())),
            ("flaws", said(kernel.flaws())),
            ("architecture", said(processor.architecture.map(str::to_owned))),
            ("warnings", if names.is_empty() { "none".to_owned() } else { names.join(",") }),
        ])
    }

    /// Returns all values, by name.
    pub fn pairs(&self) -> &[(&'static str, String)] {
        &self.0
    }

    /// Returns the value with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }
}

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
