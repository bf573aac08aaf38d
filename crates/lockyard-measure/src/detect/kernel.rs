//! Kernel: its release, its mitigations of processor flaws, and settings that may disturb a run.

use super::tree::{Tree, clean};
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of flaws to read.
const MOST_FLAWS: usize = 64;

/// Kernel of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Release of the kernel.
    pub release: Option<String>,
    /// State of each processor flaw: `Not affected`, `Vulnerable`, `Mitigation: ...`.
    pub flaws: BTreeMap<String, String>,
    /// True if the kernel moves memory to the NUMA nodes whose CPUs use it.
    pub moves_memory: Option<bool>,
    /// True if the host runs on battery.
    pub on_battery: Option<bool>,
}

impl Kernel {
    /// Returns the flaws on one line; `None` if the kernel reports none.
    pub fn flaws(&self) -> Option<String> {
        let count = |sign: &str| self.flaws.values().filter(|said| said.starts_with(sign)).count();
        (!self.flaws.is_empty()).then(|| {
            format!(
                "{} mitigated, {} vulnerable, of {}",
                count("Mitigation"),
                count("Vulnerable"),
                self.flaws.len()
            )
        })
    }
}

pub(super) fn read(tree: &Tree) -> Kernel {
    let flaws = "sys/devices/system/cpu/vulnerabilities";
    let said = |name: String| {
        let what = tree.line(&format!("{flaws}/{name}"))?;
        Some((clean(&name)?, what))
    };
    Kernel {
        release: tree.line("proc/sys/kernel/osrelease"),
        flaws: tree.names(flaws).into_iter().take(MOST_FLAWS).filter_map(said).collect(),
        // 1 means balancing, 2 moving between kinds of memory.
        moves_memory: tree.number::<u32>("proc/sys/kernel/numa_balancing").map(|mode| mode != 0),
        on_battery: on_battery(tree),
    }
}

/// Returns true if there is a mains supply, but none is delivering power.
fn on_battery(tree: &Tree) -> Option<bool> {
    let supplies = "sys/class/power_supply";
    let mains: Vec<u32> = tree
        .names(supplies)
        .into_iter()
        .filter(|name| tree.line(&format!("{supplies}/{name}/type")).as_deref() == Some("Mains"))
        .filter_map(|name| tree.number(&format!("{supplies}/{name}/online")))
        .collect();
    (!mains.is_empty()).then(|| mains.iter().all(|&online| online == 0))
}
