//! Look-up of machines and scenarios: shipped ones by name, others by the path of a file.

use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_sim::machine::{Rented, rented};
use lockyard_support::{InputError, hint, nearest, printable};
use std::io::Read;
use std::path::Path;

/// Returns true if the name is that of a file: it has a directory or an extension, or the file
/// exists.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml") || Path::new(name).is_file()
}

/// Returns the machine of this name, or in this file. A cloud's name for a machine is one too.
///
/// # Errors
///
/// If there is none, or its file is broken.
pub fn machine(name: &str) -> Result<Machine, InputError> {
    if let Some(machine) = Machine::shipped(name) {
        return Ok(machine);
    }
    if is_path(name) {
        return Ok(Machine::load(Path::new(name))?);
    }
    if let Some(machine) = Machine::rented(name) {
        return Ok(machine);
    }
    let names: Vec<&str> = Machine::names().collect();
    let rented: Vec<String> = rented().iter().flat_map(Rented::names).collect();
    let rented: Vec<&str> = rented.iter().map(String::as_str).collect();
    // The clouds' names are too many for a list, so they are only looked through.
    let near = nearest(name, &names).or_else(|| nearest(name, &rented));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => hint(name, &names, "there are"),
    };
    Err(InputError(format!("there is no machine `{}`; {hint} (or name a file)", printable(name))))
}

/// Maximum length of a script from standard input, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the script on standard input.
fn standard_input(locks: &LockKinds) -> Result<Script, InputError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| InputError(format!("standard input cannot be read: {error}")))?;
    Ok(Script::parse_with("standard input", &text, locks)?)
}

/// Returns the scenario of this name, or in this file; `-` is standard input. A file can name the
/// own locks of `locks`.
///
/// # Errors
///
/// If there is none, or its file is broken.
pub fn scenario(name: &str, locks: &LockKinds) -> Result<Script, InputError> {
    if name == "-" {
        return standard_input(locks);
    }
    if let Some(script) = Script::shipped(name) {
        return Ok(script);
    }
    if is_path(name) {
        return Ok(Script::load_with(Path::new(name), locks)?);
    }
    let names: Vec<&str> = Script::names().collect();
    let hint = hint(name, &names, "there are");
    Err(InputError(format!("there is no scenario `{}`; {hint} (or name a file)", printable(name))))
}
