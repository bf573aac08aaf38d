//! The machines in the binary, and reading others from files.

use super::description::Machine;
use super::family::Beside;
use super::file;
use super::source::MachineError;

/// The shipped machines: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("altra-q80-80c", include_str!("../../../../machines/altra-q80-80c.toml")),
    ("apple-m1-pro-6p", include_str!("../../../../machines/apple-m1-pro-6p.toml")),
    ("bergamo-9754-2s128c2t", include_str!("../../../../machines/bergamo-9754-2s128c2t.toml")),
    ("broadwell-ep-2s22c2t", include_str!("../../../../machines/broadwell-ep-2s22c2t.toml")),
    ("broadwell-ex-8s10c2t", include_str!("../../../../machines/broadwell-ex-8s10c2t.toml")),
    ("cascade-lake-2s24c2t", include_str!("../../../../machines/cascade-lake-2s24c2t.toml")),
    ("genoa-9654-2s96c2t", include_str!("../../../../machines/genoa-9654-2s96c2t.toml")),
    ("graviton2-64c", include_str!("../../../../machines/graviton2-64c.toml")),
    ("graviton3-64c", include_str!("../../../../machines/graviton3-64c.toml")),
    ("ice-lake-8375c-2s32c2t", include_str!("../../../../machines/ice-lake-8375c-2s32c2t.toml")),
    ("ivy-bridge-ex-4s15c", include_str!("../../../../machines/ivy-bridge-ex-4s15c.toml")),
    ("milan-7763-2s64c2t", include_str!("../../../../machines/milan-7763-2s64c2t.toml")),
    ("milan-7r13-2s48c2t", include_str!("../../../../machines/milan-7r13-2s48c2t.toml")),
    ("naples-7601-2s32c2t", include_str!("../../../../machines/naples-7601-2s32c2t.toml")),
    ("nehalem-2s4c2t", include_str!("../../../../machines/nehalem-2s4c2t.toml")),
    ("rome-7742-2s64c2t", include_str!("../../../../machines/rome-7742-2s64c2t.toml")),
    ("sandy-bridge-32c-kvm", include_str!("../../../../machines/sandy-bridge-32c-kvm.toml")),
    ("sapphire-rapids", include_str!("../../../../machines/sapphire-rapids.toml")),
    ("skylake-client-4c", include_str!("../../../../machines/skylake-client-4c.toml")),
    ("skylake-sp-1s24c2t", include_str!("../../../../machines/skylake-sp-1s24c2t.toml")),
    ("skylake-sp-2s14c", include_str!("../../../../machines/skylake-sp-2s14c.toml")),
    ("skylake-sp-8180-2s28c2t", include_str!("../../../../machines/skylake-sp-8180-2s28c2t.toml")),
    ("westmere-ex-4s10c", include_str!("../../../../machines/westmere-ex-4s10c.toml")),
    ("xen", include_str!("../../../../machines/xen.toml")),
    ("zen1-8x4c2t", include_str!("../../../../machines/zen1-8x4c2t.toml")),
    ("zen3-5825u", include_str!("../../../../machines/zen3-5825u.toml")),
    ("zen3-5950x", include_str!("../../../../machines/zen3-5950x.toml")),
    ("zen4-7840u", include_str!("../../../../machines/zen4-7840u.toml")),
    ("zen4-7950x", include_str!("../../../../machines/zen4-7950x.toml")),
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
