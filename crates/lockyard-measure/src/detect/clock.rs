//! Clock: the speed of the CPUs, the settings that affect it, and the kernel's clock source.
//!
//! Files do not tell everything. If the described host is the running one, the processor is asked
//! too (`cpuid`).

use super::list::CpuList;
use super::processor::Instruction;
use super::tree::Tree;
use serde::Serialize;
use std::collections::BTreeMap;

/// A frequency and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frequency {
    /// Frequency in MHz.
    pub mhz: f64,
    /// Source of the frequency.
    pub source: &'static str,
}

/// Turbo mode, and the file that controls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turbo {
    /// True if CPUs may exceed their nominal frequency.
    pub on: bool,
    /// File that controls turbo mode.
    pub file: &'static str,
    /// Text that switches turbo mode off when it is written to the file.
    pub off: &'static str,
}

/// Clock of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clock {
    /// Nominal frequency of the processor.
    pub nominal: Option<Frequency>,
    /// Highest frequency.
    pub maximum: Option<Frequency>,
    /// Frequency of the process's first CPU when it was read.
    pub current: Option<Frequency>,
    /// Rate of the time-stamp counter.
    pub tsc: Option<Frequency>,
    /// True if the time-stamp counter has a constant rate in every state of the CPU.
    pub tsc_constant: Option<bool>,
    /// Clock source used by the kernel.
    pub source: Option<String>,
    /// Governors of the process's CPUs, each with the CPUs that use it.
    pub governors: Vec<(String, CpuList)>,
    /// Driver that controls the frequency.
    pub driver: Option<String>,
    /// Energy-performance preference, on hardware that chooses the frequency itself.
    pub preference: Option<String>,
    /// Turbo mode.
    pub turbo: Option<Turbo>,
}

impl Clock {
    /// Returns the governors on one line: `performance`, or `performance (CPUs 0-3), powersave
    /// (CPUs 4-7)`.
    pub fn governor(&self) -> Option<String> {
        match self.governors.as_slice() {
            [] => None,
            [(governor, _)] => Some(governor.clone()),
            several => {
                let each: Vec<String> = several
                    .iter()
                    .map(|(name, cpus)| format!("{name} (CPUs {})", cpus.brief()))
                    .collect();
                Some(each.join(", "))
            }
        }
    }
}

/// Files that control turbo: path, value if turbo is on, and text that switches it off.
const TURBO: [(&str, u32, &str); 3] = [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", 0, "1"),
    ("/sys/devices/system/cpu/cpufreq/boost", 1, "0"),
    ("/sys/devices/system/cpu/cpufreq/policy0/boost", 1, "0"),
];

/// Reads the clock for the CPUs in `allowed`.
pub(super) fn read(
    tree: &Tree,
    allowed: &CpuList,
    flags: Option<&[String]>,
    current_mhz: Option<f64>,
    instruction: &Instruction,
) -> Clock {
    let first = allowed.first().unwrap_or(0);
    let at = format!("sys/devices/system/cpu/cpu{first}");
    let file = |path: &str, per_mhz: f64, source| {
        let path = format!("{at}/{path}");
        // The file is missing if the kernel lacks the feature. Firmware without the value reports
        // 0.
        frequency(tree.number::<f64>(&path)? / per_mhz, source)
    };
    let asked = |mhz: Option<f64>, source| mhz.and_then(|mhz| frequency(mhz, source));
    let mut governors: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &cpu in allowed.numbers() {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        if let Some(governor) = tree.line(&path) {
            governors.entry(governor).or_default().push(cpu);
        }
    }
    let turbo = TURBO.iter().find_map(|&(file, on, off)| {
        let value = tree.number::<u32>(file.trim_start_matches('/'))?;
        (value <= 1).then_some(Turbo { on: value == on, file, off })
    });
    let constant = |flags: &[String]| {
        ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.iter().any(|f| f == flag))
    };
    Clock {
        nominal: file("cpufreq/base_frequency", 1e3, "cpufreq/base_frequency")
            .or_else(|| file("acpi_cppc/nominal_freq", 1.0, "acpi_cppc/nominal_freq"))
            .or_else(|| asked(instruction.base_mhz, "cpuid leaf 0x16")),
        maximum: file("cpufreq/cpuinfo_max_freq", 1e3, "cpufreq/cpuinfo_max_freq")
            .or_else(|| asked(instruction.max_mhz, "cpuid leaf 0x16")),
        current: file("cpufreq/scaling_cur_freq", 1e3, "cpufreq/scaling_cur_freq")
            .or_else(|| asked(current_mhz, "/proc/cpuinfo")),
        tsc: asked(instruction.tsc_mhz, "cpuid leaf 0x15"),
        tsc_constant: flags.map(constant),
        source: tree.line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governors: governors.into_iter().map(|(name, cpus)| (name, CpuList::new(cpus))).collect(),
        driver: tree.line(&format!("{at}/cpufreq/scaling_driver")),
        preference: tree.line(&format!("{at}/cpufreq/energy_performance_preference")),
        turbo,
    }
}

/// Returns a frequency if the value is plausible for a CPU.
fn frequency(mhz: f64, source: &'static str) -> Option<Frequency> {
    (1.0..100_000.0).contains(&mhz).then_some(Frequency { mhz, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cpu_has_a_frequency_of_nothing_or_of_a_terahertz() {
        for mhz in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
            assert_eq!(frequency(mhz, ""), None);
        }
        assert_eq!(frequency(2300.0, "x"), Some(Frequency { mhz: 2300.0, source: "x" }));
    }

    #[test]
    fn governors_that_differ_are_named_with_their_cpus() {
        let mut clock = Clock::default();
        assert_eq!(clock.governor(), None);
        clock.governors.push(("performance".to_owned(), CpuList::new(vec![0, 1])));
        assert_eq!(clock.governor().as_deref(), Some("performance"));
        clock.governors.push(("powersave".to_owned(), CpuList::new(vec![2])));
        assert_eq!(clock.governor().as_deref(), Some("performance (CPUs 0-1), powersave (CPUs 2)"));
    }
}
