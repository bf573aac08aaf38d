//! The processor: its model as the kernel says it, its flags, and what only the processor itself
//! can be asked.

use super::tree::{Tree, clean};
use serde::Serialize;

/// The processor of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Processor {
    /// Its model, as it says.
    pub model: Option<String>,
    /// The architecture that this program is compiled for, if it describes the host that it runs
    /// on.
    pub architecture: Option<&'static str>,
    /// The version of its microcode.
    pub microcode: Option<String>,
    /// Its features, where the kernel lists them in the way of x86.
    #[serde(skip)]
    pub flags: Option<Vec<String>>,
    /// The present frequency of the first CPU, as `/proc/cpuinfo` says.
    #[serde(skip)]
    pub current_mhz: Option<f64>,
}

/// The first CPU's part of `/proc/cpuinfo`.
pub(super) fn read(tree: &Tree, live: bool) -> Processor {
    let text = tree.text("proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.trim() == name).and_then(|(_, value)| clean(value))
    };
    // AArch64 says who made it, and which part it is.
    let arm = || {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("implementer {maker}, part {part}"))
    };
    // The flags are too many to be one printable line.
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

/// What `cpuid` says of the processor that runs this program; nothing on other architectures, and
/// nothing of a host that is only recorded.
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
    // 0 is said where it is not known; so do processors without the leaf, through some hypervisors.
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
            clean(&name).map_or("one that does not say its name".to_owned(), |n| format!("`{n}`"))
        }
    });
    Instruction {
        base_mhz: frequencies.as_ref().and_then(|f| known(f.processor_base_frequency())),
        max_mhz: frequencies.as_ref().and_then(|f| known(f.processor_max_frequency())),
        // The crystal's frequency is 0 where it is not said; then so is the product.
        tsc_mhz: tsc
            .and_then(|tsc| tsc.tsc_frequency())
            .filter(|&hz| hz > 0)
            .map(|hz| hz as f64 / 1e6),
        hypervisor,
    }
}
