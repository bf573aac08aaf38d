//! Look-up of machines and scenarios, by the name of a shipped one or by the path of a file.

use lockyard_scenarios::Script;
use lockyard_sim::Machine;
use lockyard_support::{InputError, hint, printable};
use std::path::Path;

/// Returns `true` if the name means a file: it has a directory or an extension, or it exists.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml") || Path::new(name).is_file()
}

/// Returns the machine with that name, or from that file.
///
/// # Errors
///
/// If it does not exist, or its file is broken.
pub fn machine(name: &str) -> Result<Machine, InputError> {
    if let Some(machine) = Machine::shipped(name) {
        return Ok(machine);
    }
    if is_path(name) {
        return Ok(Machine::load(Path::new(name))?);
    }
    let names: Vec<&str> = Machine::names().collect();
    let hint = hint(name, &names, "there are");
    Err(InputError(format!("there is no machine `{}`; {hint} (or name a file)", printable(name))))
}

/// Returns the scenario with that name, or from that file.
///
/// # Errors
///
/// If it does not exist, or its file is broken.
pub fn scenario(name: &str) -> Result<Script, InputError> {
    if let Some(script) = Script::shipped(name) {
        return Ok(script);
    }
    if is_path(name) {
        return Ok(Script::load(Path::new(name))?);
    }
    let names: Vec<&str> = Script::names().collect();
    let hint = hint(name, &names, "there are");
    Err(InputError(format!("there is no scenario `{}`; {hint} (or name a file)", printable(name))))
}
