//! The machines in the binary, and reading others from files.

use super::description::Machine;
use super::family::Beside;
use super::file;
use super::source::MachineError;

/// The shipped machines, by name: the files of `machines/`, which `build.rs` lists.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/machines.rs"));

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
