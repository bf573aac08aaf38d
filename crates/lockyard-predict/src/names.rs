//! Look-up of machines and scenarios: shipped ones by name, others by the path of a file.

use lockyard_recording::file::{self, is_recording};
use lockyard_recording::runs::are_recordings;
use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_sim::machine::{Rented, rented};
use lockyard_support::{InputError, files, hint, nearest, printable, read_pipe};
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

/// Returns the error of a file that does not exist, with a name beside it that was probably meant,
/// or else with the hint `otherwise`.
pub fn missing(path: &Path, otherwise: &str) -> Option<InputError> {
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
        None => otherwise.to_owned(),
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
    if let Some(machine) = Machine::rented(name) {
        return Ok(machine);
    }
    let names: Vec<&str> = Machine::names().collect();
    // The clouds' names are too many for a list, so they are only looked through.
    let rented: Vec<String> = rented().iter().flat_map(Rented::names).collect();
    let rented: Vec<&str> = rented.iter().map(String::as_str).collect();
    if !is_path(name) {
        let near = nearest(name, &names).or_else(|| nearest(name, &rented));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => hint(name, &names, "there are"),
        };
        let name = printable(name);
        return Err(InputError(format!("there is no machine `{name}`; {hint} (or name a file)")));
    }
    let path = Path::new(name);
    if let Some(bytes) = read_pipe(path, |_| MOST_BYTES) {
        let origin = printable(name);
        let bytes = bytes.map_err(InputError)?;
        let text = files::text(&origin, bytes, "a machine file is TOML").map_err(InputError)?;
        return Ok(Machine::parse(&origin, &text)?);
    }
    let beside = match (nearest(name, &names), nearest(name, &rented)) {
        (Some(near), _) => format!("did you mean the machine `{near}`?"),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "`lockyard machines` lists the machines".to_owned(),
    };
    match missing(path, &beside) {
        Some(missing) => Err(missing),
        None => Ok(Machine::load(path)?),
    }
}

/// Maximum length of a script from a pipe, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Returns what comes from a pipe of this name: standard input, if it is `-`. Returns `None` if it
/// is none. A script is short, a recording is not.
///
/// # Errors
///
/// The pipe cannot be read, or has too much. It may be slow, but must have a writer.
pub fn piped(name: &str) -> Option<Result<Vec<u8>, InputError>> {
    let most = |bytes: &[u8]| match is_recording(bytes) || are_recordings(bytes) {
        true => file::MOST_BYTES,
        false => MOST_BYTES,
    };
    if name == "-" {
        return Some(standard_input(most));
    }
    let is_wanted = Script::shipped(name).is_none() && is_path(name);
    let read = is_wanted.then(|| read_pipe(Path::new(name), most)).flatten()?;
    Some(read.map_err(InputError))
}

/// Returns what is on standard input.
fn standard_input(most: impl Fn(&[u8]) -> u64) -> Result<Vec<u8>, InputError> {
    let fail = |error| InputError(format!("standard input cannot be read: {error}"));
    let (mut bytes, mut input) = (Vec::new(), std::io::stdin().lock());
    input.by_ref().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    let most = most(&bytes);
    input
        .take((most + 1).saturating_sub(bytes.len() as u64))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > most {
        return Err(InputError(format!("standard input: is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// Returns the name of a pipe in messages.
pub fn pipe_name(name: &str) -> String {
    if name == "-" { "standard input".to_owned() } else { printable(name) }
}

/// Returns the scenario that came from the pipe of this name.
///
/// # Errors
///
/// It is broken, or a recording.
pub fn scenario_of(name: &str, bytes: Vec<u8>, locks: &LockKinds) -> Result<Script, InputError> {
    let origin = pipe_name(name);
    let text = files::text(&origin, bytes, "a script is TOML").map_err(InputError)?;
    Ok(Script::parse_with(&origin, &text, locks)?)
}

/// Returns the scenario of this name, or in this file; `-` is standard input. A file can name the
/// own locks of `locks`.
///
/// # Errors
///
/// If there is none, or its file is broken. A pipe may be slow, but must have a writer.
pub fn scenario(name: &str, locks: &LockKinds) -> Result<Script, InputError> {
    if let Some(bytes) = piped(name) {
        return scenario_of(name, bytes?, locks);
    }
    if let Some(script) = Script::shipped(name) {
        return Ok(script);
    }
    let names: Vec<&str> = Script::names().collect();
    if is_path(name) {
        let path = Path::new(name);
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
