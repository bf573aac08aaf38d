//! Reading a plan file. An error is one line: the file, line and column, the error, and the allowed
//! values.

use crate::files::{Bundle, Files};
use crate::plan::{Combine, Parameter, Plan, Scenario, Target};
use crate::source::{Result, Source, Value};
use crate::values::{Values, values, whole_numbers};
use lockyard_predict::simulate::RunLength;
use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_support::{InputError, escaped, hint, printable};
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Maximum size of a plan file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of parameters.
const MOST_PARAMETERS: usize = 32;

const KEYS: [&str; 13] = [
    "title",
    "scenarios",
    "variants",
    "machines",
    "threads",
    "seeds",
    "placement",
    "runs",
    "intervals",
    "details",
    "too_many_threads",
    "combine",
    "parameters",
];

impl Plan {
    /// Reads a plan file, and the files that it names. Their paths are relative to the plan's.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or is wrong.
    pub fn load(path: &Path, locks: &LockKinds) -> std::result::Result<Plan, InputError> {
        let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a plan is TOML")
            .map_err(InputError)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        read(
            &lockyard_support::shown(path),
            &name.unwrap_or_default(),
            &text,
            Files::beside(path),
            locks,
        )
    }

    /// Reads the text of a plan. Paths in it are relative to the working directory.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn parse(
        origin: &str,
        text: &str,
        locks: &LockKinds,
    ) -> std::result::Result<Plan, InputError> {
        read(origin, origin, text, Files::beside(Path::new(origin)), locks)
    }

    /// Reads a plan from a bundle. No file is read.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn of_bundle(bundle: &Bundle, locks: &LockKinds) -> std::result::Result<Plan, InputError> {
        // A bundle may come from anywhere: its name is shown as text of one line.
        let origin = escaped(&bundle.origin);
        read(&origin, &bundle.origin, &bundle.text, Files::of(bundle), locks)
    }
}

/// Reads a plan. Errors call it `origin`, and its bundle calls it `name`.
fn read(origin: &str, name: &str, text: &str, files: Files, locks: &LockKinds) -> Result<Plan> {
    let source = Source { origin, text };
    let document = DeTable::parse(text).map_err(|error| {
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        source.error(error.span().unwrap_or(0..0), format!("not TOML: {what}"))
    })?;
    let top = document.get_ref();
    source.check_keys(top, &KEYS, "a plan")?;
    let required = |key: &str, example: &str| {
        top.get(key).ok_or_else(|| source.whole(format!("lacks `{key}`, such as {example}")))
    };
    let scenarios = required("scenarios", "[\"fstat2\"]")?;
    let machines = required("machines", "[\"zen4-7840u\"]")?;
    let threads = required("threads", "[1, 2, \"4-8\"]")?;
    let seeds = top.get("seeds").map(|seeds| whole_numbers(source, "seeds", 1, seeds));
    let (parameters, places) = parameters(source, top)?;
    let combine = [("product", Combine::Product), ("one-at-a-time", Combine::OneAtATime)];
    let mut plan = Plan {
        title: title(source, top, name)?,
        locks: locks.clone(),
        scenarios: read_scenarios(source, top, scenarios, &files, locks)?,
        machines: read_machines(source, machines, &files)?,
        parameters,
        combine: source.choice(top, "combine", &combine)?.unwrap_or_default(),
        threads: whole_numbers(source, "threads", 1, threads)?,
        seeds: seeds.transpose()?.unwrap_or_default().into_iter().map(|s| s as u64).collect(),
        placement: placement(source, top)?,
        length: source
            .choice(top, "runs", &[("full", RunLength::Full), ("quick", RunLength::Quick)])?
            .unwrap_or_default(),
        intervals: source.flag(top, "intervals")?,
        details: source.flag(top, "details")?,
        skip_too_many: source
            .choice(top, "too_many_threads", &[("error", false), ("skip", true)])?
            .unwrap_or_default(),
        kept: None,
        bundle: files.into_bundle(name, text),
    };
    check_seeds(source, top, &plan)?;
    plan.check().map_err(|(parameter, what)| {
        let span = parameter.map_or_else(|| threads.span(), |index| places[index].clone());
        source.error(span, what)
    })?;
    Ok(plan)
}

fn title(source: Source, top: &DeTable, name: &str) -> Result<String> {
    let Some(value) = top.get("title") else {
        return Ok(name.strip_suffix(".toml").unwrap_or(name).to_owned());
    };
    let text = value.get_ref().as_str();
    let is_line = |text: &&str| (1..=400).contains(&text.len()) && !text.contains(char::is_control);
    let text = text.filter(is_line);
    let wrong = || source.wrong("title", value, "one line of 1 to 400 bytes, in quotes");
    text.map(str::to_owned).ok_or_else(wrong)
}

fn placement(source: Source, top: &DeTable) -> Result<Option<String>> {
    let Some(value) = top.get("placement") else { return Ok(None) };
    let text = value.get_ref().as_str();
    let wrong = || source.wrong("placement", value, "text, such as \"fill\" or \"0,24,1\"");
    text.map(|text| Some(text.to_owned())).ok_or_else(wrong)
}

/// Refuses seeds where a figure is not that of single runs.
fn check_seeds(source: Source, top: &DeTable, plan: &Plan) -> Result<()> {
    let Some(seeds) = top.get("seeds") else { return Ok(()) };
    let wrong = |what: &str| Err(source.error(seeds.span(), what));
    if plan.intervals {
        return wrong(
            "`seeds` makes single runs, and `intervals` need several; allowed: one of both",
        );
    }
    match plan.scenarios.iter().find(|scenario| scenario.script.samples.is_some()) {
        Some(scenario) => {
            let name = &scenario.script.name;
            wrong(&format!("`seeds` is not for scenarios with [samples], such as `{name}`"))
        }
        None => Ok(()),
    }
}

/// Returns true if the name is that of a file.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// Refuses a name that is in the list twice.
fn check_once(source: Source, what: &str, list: &[(&str, Range<usize>)]) -> Result<()> {
    for (index, (name, span)) in list.iter().enumerate() {
        if list[..index].iter().any(|(other, _)| other == name) {
            let message = format!("{what} `{}` is given twice", printable(name));
            return Err(source.error(span.clone(), message));
        }
    }
    Ok(())
}

fn read_scenarios(
    source: Source,
    top: &DeTable,
    value: &Value,
    files: &Files,
    locks: &LockKinds,
) -> Result<Vec<Scenario>> {
    let names = source.texts("scenarios", value)?;
    check_once(source, "scenario", &names)?;
    let mut scenarios = Vec::new();
    for (name, span) in names {
        let failed = |what: String| source.error(span.clone(), what);
        let (origin, text) = if let Some(text) = Script::shipped_text(name) {
            (format!("{name}.toml"), text.to_owned())
        } else if is_path(name) {
            let most = lockyard_scenarios::MAX_FILE_BYTES;
            files.read(name, most, "a script is TOML").map_err(failed)?
        } else {
            let names: Vec<&str> = Script::names().collect();
            let hint = hint(name, &names, "there are");
            let name = printable(name);
            return Err(failed(format!("there is no scenario `{name}`; {hint} (or name a file)")));
        };
        let script = Script::parse_with(&origin, &text, locks)?;
        let variants = script.variants.iter().map(|variant| variant.name.clone()).collect();
        scenarios.push(Scenario { origin, text, script, variants });
    }
    if let Some(value) = top.get("variants") {
        choose_variants(source, value, &mut scenarios)?;
    }
    for (index, scenario) in scenarios.iter().enumerate() {
        let name = &scenario.script.name;
        if scenarios[..index].iter().any(|other| other.script.name == *name) {
            let message =
                format!("two scenarios have the `name` `{name}`; rows need different names");
            return Err(source.error(value.span(), message));
        }
    }
    Ok(scenarios)
}

/// Keeps the named variants. Each scenario has some of them, and each is in some scenario.
fn choose_variants(source: Source, value: &Value, scenarios: &mut [Scenario]) -> Result<()> {
    let wanted = source.texts("variants", value)?;
    check_once(source, "variant", &wanted)?;
    for (name, span) in &wanted {
        let all: Vec<&str> =
            scenarios.iter().flat_map(|s| &s.script.variants).map(|v| v.name.as_str()).collect();
        if !all.contains(name) {
            let hint = hint(name, &all, "there are");
            let message = format!("no scenario has a variant `{}`; {hint}", printable(name));
            return Err(source.error(span.clone(), message));
        }
    }
    for scenario in scenarios {
        let has = |name: &str| scenario.script.variant(name).is_some();
        scenario.variants = wanted
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| has(name))
            .map(str::to_owned)
            .collect();
        if scenario.variants.is_empty() {
            let name = &scenario.script.name;
            let message = format!("scenario `{name}` has none of these variants");
            return Err(source.error(value.span(), message));
        }
    }
    Ok(())
}

fn read_machines(source: Source, value: &Value, files: &Files) -> Result<Vec<Machine>> {
    let all: Vec<&str> = Machine::names().collect();
    let mut names = source.texts("machines", value)?;
    if let [("all", span)] = names.as_slice() {
        names = all.iter().map(|name| (*name, span.clone())).collect();
    }
    check_once(source, "machine", &names)?;
    let mut machines: Vec<Machine> = Vec::new();
    for (name, span) in names {
        let failed = |what: String| source.error(span.clone(), what);
        let machine = if let Some(machine) = Machine::shipped(name) {
            machine
        } else if is_path(name) {
            let most = lockyard_sim::machine::MAX_FILE_BYTES;
            let (origin, text) =
                files.read(name, most, "a machine file is TOML").map_err(failed)?;
            let beside = |family: &str| {
                let path = Path::new(name).with_file_name(family);
                files.read(&path.to_string_lossy(), most, "a family is TOML")
            };
            Machine::parse_beside(&origin, &text, &beside)?
        } else {
            let hint = hint(name, &all, "there are");
            let name = printable(name);
            let message = format!("there is no machine `{name}`; {hint} (or \"all\", or a file)");
            return Err(failed(message));
        };
        if machines.iter().any(|other| other.name() == machine.name()) {
            let name = machine.name();
            return Err(failed(format!(
                "two machines have the `name` `{name}`; rows need different names"
            )));
        }
        machines.push(machine);
    }
    Ok(machines)
}

/// Reads the parameters and their positions in the plan.
fn parameters(source: Source, top: &DeTable) -> Result<(Vec<Parameter>, Vec<Range<usize>>)> {
    let Some(value) = top.get("parameters") else { return Ok((Vec::new(), Vec::new())) };
    let DeValue::Table(table) = value.get_ref() else {
        return Err(source.wrong("parameters", value, "a section, [parameters]"));
    };
    source.check_keys(table, &["machine", "steps", "objects"], "[parameters]")?;
    let mut found = Vec::new();
    collect(source, table, &mut Vec::new(), &mut found)?;
    // The order of the file, so that the cells are in an order that a reader expects.
    found.sort_by_key(|(_, span): &(Parameter, Range<usize>)| span.start);
    if found.len() > MOST_PARAMETERS {
        let message = format!("{} parameters; at most {MOST_PARAMETERS} are allowed", found.len());
        return Err(source.error(found[MOST_PARAMETERS].1.clone(), message));
    }
    Ok(found.into_iter().unzip())
}

/// Collects the parameters of a table and of the tables in it.
fn collect(
    source: Source,
    table: &DeTable,
    path: &mut Vec<String>,
    found: &mut Vec<(Parameter, Range<usize>)>,
) -> Result<()> {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) if !is_range(inner) => collect(source, inner, path, found)?,
            _ => {
                let mut name = path.join(".");
                let Values { numbers, times } = values(source, &name, value)?;
                let target = if path[0] == "machine" {
                    Target::Machine(path[1..].join("."), times)
                } else if times {
                    let what = "`times` is for numbers of machines; name the values";
                    return Err(source.error(value.span(), what));
                } else {
                    Target::Scenario(path.clone())
                };
                if times {
                    name.push_str(" (times)");
                }
                found.push((Parameter { name, values: numbers, target }, value.span()));
            }
        }
        path.pop();
    }
    Ok(())
}

/// Returns true for the table of a range, and false for a part of a parameter's name.
fn is_range(table: &DeTable) -> bool {
    ["from", "to", "times"].iter().any(|key| table.contains_key(*key))
}
