//! Processor: its model and flags as the kernel reports them, and values that only the processor
//! reports.

use super::tree::{Tree, clean};
use serde::Serialize;

/// Processor of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Processor {
    /// Model, as the processor reports it.
    pub model: Option<String>,
    /// Architecture for which this program was compiled, if the described host is the running one.
    pub architecture: Option<&'static str>,
    /// Version of the microcode.
    pub microcode: Option<String>,
    /// Processor features, if the kernel lists them as it does for x86.
    #[serde(skip)]
    pub flags: Option<Vec<String>>,
    /// Current frequency of the first CPU, from `/proc/cpuinfo`.
    #[serde(skip)]
    pub current_mhz: Option<f64>,
}

/// Reads the entry of the first CPU in `/proc/cpuinfo`.
pub(super) fn read(tree: &Tree, live: bool) -> Processor {
    let text = tree.text("proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.trim() == name).and_then(|(_, value)| clean(value))
    };
    // AArch64 reports implementer and part instead of a model name.
    let arm = || {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("implementer {maker}, part {part}"))
    };
    // The flags are too long for the printable form of a line.
    let flags = text.lines().filter_map(|line| line.split_once(':')).find_map(|(key, value)| {
        (key.trim() == "flags").then(|| value.split_whitespace().map(str::to_owned).collect())
    });
    Processor {
        model: field("model name").or_else(arm).or_else(|| field("cpu")).or_else(|| field("uarch")),
        architecture: live.then_some(std::env::consts::ARCH),
        microcode: field("microcode"),
        flags,
        current_mhz: field("cpu MHz").and_then(|mhz| mhz.parse().ok()),
    }
}

/// Values of the `cpuid` instruction on the running processor. Empty on other architectures, and
/// for recorded hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Instruction {
    pub(super) base_mhz: Option<f64>,
    pub(super) max_mhz: Option<f64>,
    pub(super) tsc_mhz: Option<f64>,
    pub(super) hypervisor: Option<String>,
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn ask() -> Instruction {
    Instruction::default()
}

#[cfg(target_arch = "x86_64")]
pub(super) fn ask() -> Instruction {
    use raw_cpuid::{CpuId, Hypervisor};
    let cpuid = CpuId::new();
    let frequencies = cpuid.get_processor_frequency_info();
    // 0 means unknown. Under some hypervisors, processors without this leaf also report 0.
    let known = |mhz: u16| (mhz > 0).then_some(f64::from(mhz));
    let tsc = cpuid.get_tsc_info().filter(|tsc| tsc.numerator() > 0 && tsc.denominator() > 0);
    let hypervisor = cpuid.get_hypervisor_info().map(|info| match info.identify() {
        Hypervisor::Xen => "Xen".to_owned(),
        Hypervisor::VMware => "VMware".to_owned(),
        Hypervisor::HyperV => "Hyper-V".to_owned(),
        Hypervisor::KVM => "KVM".to_owned(),
        Hypervisor::QEMU => "QEMU".to_owned(),
        Hypervisor::Bhyve => "bhyve".to_owned(),
        Hypervisor::QNX => "QNX".to_owned(),
        Hypervisor::ACRN => "ACRN".to_owned(),
        Hypervisor::Unknown(b, c, d) => {
            let bytes: Vec<u8> = [b, c, d].iter().flat_map(|word| word.to_le_bytes()).collect();
            let name = String::from_utf8_lossy(&bytes).replace('\0', "");
            clean(&name).map_or("one that does not give its name".to_owned(), |n| format!("`{n}`"))
        }
    });
    Instruction {
        base_mhz: frequencies.as_ref().and_then(|f| known(f.processor_base_frequency())),
        max_mhz: frequencies.as_ref().and_then(|f| known(f.processor_max_frequency())),
        // A crystal frequency of 0 means unknown. The product is then also 0.
        tsc_mhz: tsc
            .and_then(|tsc| tsc.tsc_frequency())
            .filter(|&hz| hz > 0)
            .map(|hz| hz as f64 / 1e6),
        hypervisor,
    }
}
