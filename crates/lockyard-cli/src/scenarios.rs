//! `lockyard scenarios`: the shipped scripts, and a template for new ones.

use crate::arguments::{self, NewScenario, Scenarios, ScenariosCommand};
use crate::errors::Failure;
use crate::new_file::NewFile;
use crate::output;
use crate::screen::screen;
use lockyard_results::render::Screen;
use lockyard_scenarios::{LockKinds, OwnLock, Script};
use lockyard_support::{hint, printable};
use std::path::Path;

pub(crate) fn run(options: &Scenarios, locks: &LockKinds) -> Result<(), Failure> {
    match &options.command {
        None | Some(ScenariosCommand::List) => output::write(&list(locks)),
        Some(ScenariosCommand::Show { scenario }) => show(scenario),
        Some(ScenariosCommand::New(options)) => new(options, locks),
    }
}

/// Returns a list of the shipped scripts with their titles, commands that use a script, and the own
/// locks that scripts can name.
fn list(locks: &LockKinds) -> String {
    let names: Vec<&str> = Script::names().collect();
    let widest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for name in names {
        let Some(script) = Script::shipped(name) else { continue };
        let indent = widest + 2;
        // Narrower than the minimum of a screen, because the titles are one column of two.
        let column = Screen { width: screen().width.saturating_sub(indent), ..screen() };
        for (index, line) in column.wrap(&script.title).lines().enumerate() {
            let first = if index == 0 { name } else { "" };
            text.push_str(&format!("{first:indent$}{line}\n"));
        }
    }
    let more = "lockyard scenarios show NAME prints one. lockyard scenarios new writes a \
                template for a program of your own. lockyard predict NAME --machine MACHINE \
                --threads LIST runs one.";
    text.push_str(&format!("\n{}\n", screen().wrap(more)));
    if let Some(own) = arguments::own_locks(locks) {
        text.push_str(&format!("\n{}\n", screen().wrap(&own)));
    }
    text
}

fn show(name: &str) -> Result<(), Failure> {
    match Script::shipped_text(name) {
        Some(text) => output::write(text),
        None if Path::new(name).is_file() => Err(Failure::Input(format!(
            "`{}` is a file; allowed: a name that `lockyard scenarios` lists",
            printable(name)
        ))),
        None => {
            let names: Vec<&str> = Script::names().collect();
            let hint = hint(name, &names, "there are");
            Err(Failure::Input(format!("there is no scenario `{}`; {hint}", printable(name))))
        }
    }
}

fn new(options: &NewScenario, locks: &LockKinds) -> Result<(), Failure> {
    check_times(options)?;
    let file = options.out.as_deref().map(|path| NewFile::at("--out", path, options.force));
    let file = file.transpose()?;
    let shown = file.as_ref().map_or("mine.toml", NewFile::shown);
    let text = filled(options, locks, shown);
    // The name is the only unchecked text in the script that the user chooses.
    Script::parse_with("--name", &text, locks).map_err(|_| {
        Failure::Input(format!(
            "--name `{}`: allowed: 1 to 64 of a-z A-Z 0-9 - _ . + / @",
            printable(&options.name)
        ))
    })?;
    match file {
        Some(file) => file.write(text),
        None => output::write(&text),
    }
}

/// Maximum number of nanoseconds in a step that works.
const MOST_WORK: f64 = 1e7;

/// Refuses times between which no step can work.
fn check_times(options: &NewScenario) -> Result<(), Failure> {
    let (held, every) = (options.held, options.every);
    if every <= held {
        return Err(Failure::Input(format!(
            "--every {every}: allowed: more than --held ({held}), because it includes the work \
             under the lock"
        )));
    }
    if every - held > MOST_WORK {
        return Err(Failure::Input(format!(
            "--every {every}: allowed: at most {MOST_WORK} more than --held ({held})"
        )));
    }
    Ok(())
}

/// Returns the template with the user's times, and with a variant for each own lock, unless it has
/// readers: own locks have no shared mode. `file` is the file name in its comments.
fn filled(options: &NewScenario, locks: &LockKinds, file: &str) -> String {
    let variant = |lock: &OwnLock| {
        let name = lock.name();
        format!(
            "[[variants]]\nname = \"{name}\"\ntitle = \"a lock of your own\"\n\
             set = [{{ object = \"m\", lock = \"{name}\" }}]\n\n"
        )
    };
    let template = match options.readers {
        Some(_) => include_str!("template_readers.toml"),
        None => include_str!("template.toml"),
    };
    let readers = options.readers.unwrap_or_default();
    template
        .replace("@READERS@", &readers.to_string())
        .replace("@OWN@\n", &locks.own().iter().map(variant).collect::<String>())
        .replace("@FILE@", file)
        .replace("@NAME@", &options.name)
        .replace("@OUTSIDE@", &(options.every - options.held).to_string())
        .replace("@HELD@", &options.held.to_string())
}
