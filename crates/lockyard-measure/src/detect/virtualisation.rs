//! Virtual machines and containers.

use super::processor::Instruction;
use super::tree::Tree;
use serde::Serialize;

/// Layers between the process and the hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Virtualisation {
    /// True if the host is a virtual machine.
    pub virtual_machine: Option<bool>,
    /// Name of the hypervisor.
    pub hypervisor: Option<String>,
    /// Manufacturer and name of the machine, as reported by its firmware.
    pub product: Option<String>,
    /// Kind of container, if one is detected.
    pub container: Option<String>,
}

/// Firmware texts of hypervisors in lower case, with the name of the hypervisor. Names of cloud
/// providers are not included, because their bare-metal machines report them too.
const FIRMWARE: [(&str, &str); 8] = [
    ("vmware virtual", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("kvm", "KVM"),
    ("qemu", "QEMU"),
    ("hvm domu", "Xen"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("bhyve", "bhyve"),
    ("parallels virtual", "Parallels"),
];

/// Clock sources that exist only in guests.
const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];

/// Parts of control-group names, and of file names, that identify containers.
const GROUPS: [(&str, &str); 5] = [
    ("kubepods", "Kubernetes"),
    ("docker", "Docker"),
    ("libpod", "Podman"),
    ("containerd", "containerd"),
    ("/lxc", "LXC"),
];
const MARKS: [(&str, &str); 2] = [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")];

pub(super) fn read(
    tree: &Tree,
    flags: Option<&[String]>,
    instruction: &Instruction,
) -> Virtualisation {
    let firmware = |name: &str| tree.line(&format!("sys/class/dmi/id/{name}"));
    let product = match (firmware("sys_vendor"), firmware("product_name")) {
        (Some(vendor), Some(name)) => Some(format!("{vendor} {name}")),
        (vendor, name) => vendor.or(name),
    };
    let lower = product.as_deref().map(str::to_lowercase).unwrap_or_default();
    let of_firmware = FIRMWARE.iter().find(|(sign, _)| lower.contains(sign)).map(|(_, name)| *name);
    let clocks = tree
        .line("sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let of_clock = CLOCKS.iter().find(|(sign, _)| clocks.contains(sign)).map(|(_, name)| *name);
    let xen = tree.line("sys/hypervisor/type");
    let named = instruction
        .hypervisor
        .clone()
        .or_else(|| (xen.as_deref() == Some("xen")).then(|| "Xen".to_owned()))
        .or_else(|| of_clock.or(of_firmware).map(str::to_owned));
    let flagged = flags.map(|flags| flags.iter().any(|flag| flag == "hypervisor"));
    let virtual_machine = match (flagged, &named) {
        (_, Some(_)) | (Some(true), _) => Some(true),
        (other, None) => other,
    };
    Virtualisation { virtual_machine, hypervisor: named, product, container: container(tree) }
}

fn container(tree: &Tree) -> Option<String> {
    let group = tree.text("proc/self/cgroup").unwrap_or_default();
    let of_group = GROUPS.iter().find(|(sign, _)| group.contains(sign));
    let of_mark = MARKS.iter().find(|(file, _)| tree.exists(file));
    let said = || tree.line("run/systemd/container");
    of_group.or(of_mark).map(|(_, name)| (*name).to_owned()).or_else(said)
}
