//! Kernels: the costs of calls by which threads sleep and wake each other.
//!
//! The costs depend on the kernel, and on whether it is a guest, more than on the processor. So
//! they are in files that machines share (in `machines/kernels/`, and in the binary). A machine's
//! section `[kernel]` names one of them by `as`, and gives the numbers that differ. A number that
//! neither gives is assumed to be as on bare metal, and is marked as assumed. A part of a machine
//! that is rented as a guest has a guest's kernel costs, whatever the machine's file says.

use super::description::Machine;
use super::family::{Inherited, Shared};
use super::parameters;
use super::source::{Result, Source, text_of};
use toml::de::DeTable;

/// The shipped kernels, by name: the files of `machines/kernels/`, which `build.rs` lists.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The kernel of a machine file that names none.
const ON_HARDWARE: &str = "linux-metal";

/// The kernel of a virtual machine.
pub(super) const GUEST: &str = "linux-guest";

/// Key that names the kernel in `[kernel]`.
pub(super) const AS: &str = "as";

/// Numbers that a machine's section leaves out.
pub(super) struct Kernel {
    pub numbers: Inherited,
    /// Reason for assuming them, if the file names no kernel.
    pub assumed: Option<String>,
}

/// Returns the numbers of the kernel that a section names. `table` is `None` for a file without
/// the section.
///
/// # Errors
///
/// Fails if there is no such kernel.
pub(super) fn of(source: &Source, table: Option<&DeTable>) -> Result<Kernel> {
    let named = table.filter(|table| table.contains_key(AS));
    let name = named.map(|table| text_of(source, table, AS)).transpose()?;
    let wanted = name.as_deref().unwrap_or(ON_HARDWARE);
    let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == wanted) else {
        let all: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        let hint = lockyard_support::hint(wanted, &all, "there are");
        let found = lockyard_support::printable(wanted);
        let span = table.map_or(0..0, |table| table[AS].span());
        return Err(source.error(span, format!("there is no kernel `{found}`; {hint}")));
    };
    let numbers = read(name, text)?;
    let assumed = named.is_none().then(|| "the machine file does not give it".to_owned());
    Ok(Kernel { numbers, assumed })
}

/// Reads a shipped kernel.
fn read(name: &str, text: &str) -> Result<Inherited> {
    let shared = Shared { what: "kernel", name, sections: &["kernel"] };
    shared.read(&format!("kernels/{name}.toml"), text, 1.0)
}

/// Gives a machine the numbers of a virtual machine's kernel, with their sources. Returns `None` if
/// the machine lacks one of them.
pub(super) fn make_guest(machine: &mut Machine) -> Option<()> {
    let (name, text) = SHIPPED.iter().find(|(name, _)| *name == GUEST)?;
    let kernel = read(name, text).ok()?;
    for parameter in machine.parameters.iter_mut().filter(|p| p.name.starts_with("kernel.")) {
        let number = kernel.get(&parameter.name)?;
        let value = number.text.parse().ok()?;
        parameter.value = parameters::set(&mut machine.numbers, &parameter.name, value)?;
        parameter.source.clone_from(&number.source);
        parameter.assumed.clone_from(&number.assumed);
    }
    Some(())
}
