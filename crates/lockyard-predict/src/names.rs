//! Look-up of machines and scenarios: shipped ones by name, others by the path of a file.

use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_sim::machine::{Rented, rented};
use lockyard_support::{InputError, hint, nearest, printable, read_pipe};
use std::io::Read;
use std::path::Path;

/// Returns true if the name is that of a file: it has a directory or an extension, or the file
/// exists. A link that leads nowhere is a file too, so that its error is told.
fn is_path(name: &str) -> bool {
    let is_there = || {
        let path = Path::new(name);
        std::fs::symlink_metadata(path).is_ok() && !path.is_dir()
    };
    name.contains(['/', '\\', '.']) || is_there()
}

/// Maximum number of files that are looked through for a misspelt name.
const MOST_FILES: usize = 10_000;

/// Returns the error of a file that does not exist, with a name beside it that was probably meant.
fn missing(path: &Path, beside: &str) -> Option<InputError> {
    let error = std::fs::symlink_metadata(path).err()?;
    if error.kind() != std::io::ErrorKind::NotFound {
        return None;
    }
    let shown = printable(&path.display().to_string());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let names = entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name());
    let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hint = match nearest(&name, &names) {
        Some(near) => {
            let near = path.with_file_name(near).display().to_string();
            format!("did you mean `{}`?", printable(&near))
        }
        None => beside.to_owned(),
    };
    Some(InputError(format!("{shown}: there is no such file; {hint}")))
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
    if is_path(name) && Machine::rented(name).is_none() {
        let path = Path::new(name);
        let names: Vec<&str> = Machine::names().collect();
        let rented: Vec<String> = rented().iter().flat_map(Rented::names).collect();
        let rented: Vec<&str> = rented.iter().map(String::as_str).collect();
        let beside = match (nearest(name, &names), nearest(name, &rented)) {
            (Some(near), _) => format!("did you mean the machine `{near}`?"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "`lockyard machines` lists the machines".to_owned(),
        };
        return match missing(path, &beside) {
            Some(missing) => Err(missing),
            None => Ok(Machine::load(path)?),
        };
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
/// If there is none, or its file is broken. A pipe may be slow, but must have a writer.
pub fn scenario(name: &str, locks: &LockKinds) -> Result<Script, InputError> {
    if name == "-" {
        return standard_input(locks);
    }
    if let Some(script) = Script::shipped(name) {
        return Ok(script);
    }
    let names: Vec<&str> = Script::names().collect();
    if is_path(name) {
        let path = Path::new(name);
        if let Some(text) = read_pipe(path, MOST_BYTES) {
            let text = text.map_err(InputError)?;
            return Ok(Script::parse_with(&printable(name), &text, locks)?);
        }
        let beside = match nearest(name, &names) {
            Some(near) => format!("did you mean the scenario `{near}`?"),
            None => "`lockyard scenarios` lists the scenarios".to_owned(),
        };
        return match missing(path, &beside) {
            Some(missing) => Err(missing),
            None => Ok(Script::load_with(path, locks)?),
        };
    }
    let hint = hint(name, &names, "there are");
    Err(InputError(format!("there is no scenario `{}`; {hint} (or name a file)", printable(name))))
}
