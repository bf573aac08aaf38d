//! The machines in the binary, and reading others from files.

use super::description::Machine;
use super::family::Beside;
use super::file;
use super::source::MachineError;

/// The shipped machines: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("broadwell-ep-2s22c2t", include_str!("../../../../machines/broadwell-ep-2s22c2t.toml")),
    ("broadwell-ex-8s10c2t", include_str!("../../../../machines/broadwell-ex-8s10c2t.toml")),
    ("cascade-lake-2s24c2t", include_str!("../../../../machines/cascade-lake-2s24c2t.toml")),
    ("ivy-bridge-ex-4s15c", include_str!("../../../../machines/ivy-bridge-ex-4s15c.toml")),
    ("nehalem-2s4c2t", include_str!("../../../../machines/nehalem-2s4c2t.toml")),
    ("sandy-bridge-32c-kvm", include_str!("../../../../machines/sandy-bridge-32c-kvm.toml")),
    ("sapphire-rapids", include_str!("../../../../machines/sapphire-rapids.toml")),
    ("skylake-client-4c", include_str!("../../../../machines/skylake-client-4c.toml")),
    ("skylake-sp-1s24c2t", include_str!("../../../../machines/skylake-sp-1s24c2t.toml")),
    ("skylake-sp-2s14c", include_str!("../../../../machines/skylake-sp-2s14c.toml")),
    ("westmere-ex-4s10c", include_str!("../../../../machines/westmere-ex-4s10c.toml")),
    ("xen", include_str!("../../../../machines/xen.toml")),
    ("zen1-8x4c2t", include_str!("../../../../machines/zen1-8x4c2t.toml")),
    ("zen3-5825u", include_str!("../../../../machines/zen3-5825u.toml")),
    ("zen4-7840u", include_str!("../../../../machines/zen4-7840u.toml")),
];

impl Machine {
    /// Reads the text of a machine file. Errors call the file `origin`.
    ///
    /// # Errors
    ///
    /// One line that says where the error is, what is wrong, and what is allowed.
    pub fn parse(origin: &str, text: &str) -> Result<Machine, MachineError> {
        file::parse(origin, text, None)
    }

    /// Reads the text of a machine file, as [`parse`](Self::parse) does. `beside` finds the file of
    /// a family that is not shipped.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse).
    pub fn parse_beside(
        origin: &str,
        text: &str,
        beside: &Beside,
    ) -> Result<Machine, MachineError> {
        file::parse(origin, text, Some(beside))
    }

    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than
    /// [`MAX_FILE_BYTES`](crate::machine::MAX_FILE_BYTES), is not UTF-8, or is not a machine.
    pub fn load(path: &std::path::Path) -> Result<Machine, MachineError> {
        file::load(path)
    }

    /// The names of the shipped machines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Returns a shipped machine.
    ///
    /// # Panics
    ///
    /// If the shipped file is broken. A test reads all of them.
    pub fn shipped(name: &str) -> Option<Machine> {
        let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        Some(Machine::parse(&format!("{name}.toml"), text).expect("a shipped machine is valid"))
    }
}
