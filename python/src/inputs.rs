//! Scenarios and machines as Python gives them: a name, a path, or for a scenario its text.

use lockyard_predict::names;
use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_support::InputError;
use lockyard_sweep::change;

/// Parameters to change: names as in plans, and values.
pub(crate) type Changes = Vec<(String, f64)>;

/// Returns the scenario with this name, in this file or of this text, with changes.
pub(crate) fn scenario(name: &str, changes: &Changes) -> Result<Script, InputError> {
    let locks = LockKinds::default();
    let changes: Vec<&(String, f64)> =
        changes.iter().filter(|(name, _)| !name.starts_with("machine.")).collect();
    if changes.is_empty() && !name.contains('\n') {
        return names::scenario(name, &locks);
    }
    let (origin, mut text) = if name.contains('\n') {
        ("scenario".to_owned(), name.to_owned())
    } else if let Some(text) = Script::shipped_text(name) {
        (format!("{name}.toml"), text.to_owned())
    } else {
        // Reading it first gives the error of a wrong name.
        names::scenario(name, &locks)?;
        let most = lockyard_scenarios::MAX_FILE_BYTES;
        let path = std::path::Path::new(name);
        let text = lockyard_support::read_text(path, most, "a script is TOML");
        (name.to_owned(), text.map_err(InputError)?)
    };
    for (parameter, value) in changes {
        let path: Vec<String> = parameter.split('.').map(str::to_owned).collect();
        text = change::scenario(&text, &path, *value)
            .map_err(|what| InputError(format!("parameters: {what}")))?;
    }
    Ok(Script::parse_with(&origin, &text, &locks)?)
}

/// Returns the machine with this name or in this file, with changes.
pub(crate) fn machine(name: &str, changes: &Changes) -> Result<Machine, InputError> {
    let mut machine = names::machine(name)?;
    for (parameter, value) in changes {
        let Some(number) = parameter.strip_prefix("machine.") else { continue };
        machine = change::machine(&machine, number, *value, false)
            .map_err(|what| InputError(format!("parameters: {what}")))?;
    }
    Ok(machine)
}
