//! Changed numbers of scenarios and machines.
//!
//! A parameter is named by its place: `machine.cycles.leg`, `steps.work.ns`, `objects.entry.count`.
//! A number of a scenario is changed in the scenario's text. So a changed scenario is read, checked
//! and hashed like any other one.

use crate::source::number;
use lockyard_sim::Machine;
use lockyard_support::{hint, printable};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Maximum number of a machine's hardware threads, as in machine files.
const MOST_THREADS: usize = 4096;

/// Returns the text of a scenario with another value of the number at `path`, for example
/// `["steps", "work", "ns"]`.
///
/// A step is named by its `name` or by what it does (`do`). If there are several such steps with
/// the field, a number from 1 follows: `["steps", "work", "2", "ns"]`.
///
/// # Errors
///
/// If there is no such number, or there are several.
pub fn scenario(text: &str, path: &[String], value: f64) -> Result<String, String> {
    let span = locate(text, path)?;
    let (Some(before), Some(after)) = (text.get(..span.start), text.get(span.end..)) else {
        return Err(format!("`{}` cannot be found in the scenario", shown(path)));
    };
    Ok(format!("{before}{value}{after}"))
}

fn shown(path: &[String]) -> String {
    printable(&path.join("."))
}

/// Returns the position of a number in the text of a scenario.
fn locate(text: &str, path: &[String]) -> Result<Range<usize>, String> {
    let document = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["steps", label, rest @ ..] => step(document.get_ref(), path, label, rest),
        ["objects", name, rest @ ..] => object(document.get_ref(), path, name, rest),
        [section, ..] => Err(format!(
            "there is no parameter `{}`; {}",
            shown(path),
            hint(section, &["steps", "objects", "machine"], "it begins with one of")
        )),
        [] => Err("a parameter has a name".to_owned()),
    }
}

/// Returns the tables of a list of tables, such as `[[steps]]`.
fn tables<'t, 'i>(document: &'t DeTable<'i>, name: &str) -> Vec<&'t DeTable<'i>> {
    let list = document.get(name).and_then(|value| value.get_ref().as_array());
    list.into_iter().flat_map(|list| list.iter()).filter_map(|e| e.get_ref().as_table()).collect()
}

fn text_of<'t>(table: &'t DeTable, key: &str) -> Option<&'t str> {
    table.get(key)?.get_ref().as_str()
}

fn number_at(table: &DeTable, field: &str) -> Option<Range<usize>> {
    let value = table.get(field)?;
    number(value.get_ref()).map(|_| value.span())
}

fn step(
    document: &DeTable,
    path: &[String],
    label: &str,
    rest: &[&str],
) -> Result<Range<usize>, String> {
    let (which, field) = match rest {
        [field] => (None, *field),
        [which, field] => (Some(*which), *field),
        _ => {
            let what = "a step's number is `steps.STEP.FIELD` or `steps.STEP.NUMBER.FIELD`";
            return Err(format!("there is no parameter `{}`; {what}", shown(path)));
        }
    };
    let steps = tables(document, "steps");
    let is = |step: &&&DeTable| [text_of(step, "name"), text_of(step, "do")].contains(&Some(label));
    let found: Vec<Range<usize>> =
        steps.iter().filter(is).filter_map(|step| number_at(step, field)).collect();
    match (which, found.as_slice()) {
        (_, []) => {
            let mut labels: Vec<&str> = Vec::new();
            for step in steps.iter().filter(|step| number_at(step, field).is_some()) {
                labels.extend(text_of(step, "name").or(text_of(step, "do")));
            }
            labels.dedup();
            let hint = hint(label, &labels, &format!("steps with a number `{field}`"));
            Err(format!("no step `{}` has a number `{field}`; {hint}", printable(label)))
        }
        (None, [one]) => Ok(one.clone()),
        (None, some) => Err(format!(
            "{} steps `{label}` have a number `{field}`; name one: `steps.{label}.1.{field}` to \
             `steps.{label}.{}.{field}`",
            some.len(),
            some.len()
        )),
        (Some(which), some) => {
            let index = which.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            index.and_then(|index| some.get(index)).cloned().ok_or_else(|| {
                let which = printable(which);
                format!("there is no step `{label}` number {which}; allowed: 1 to {}", some.len())
            })
        }
    }
}

fn object(
    document: &DeTable,
    path: &[String],
    name: &str,
    rest: &[&str],
) -> Result<Range<usize>, String> {
    let objects = tables(document, "objects");
    let Some(object) = objects.iter().find(|object| text_of(object, "name") == Some(name)) else {
        let names: Vec<&str> = objects.iter().filter_map(|o| text_of(o, "name")).collect();
        let hint = hint(name, &names, "there are");
        return Err(format!("the scenario has no object `{}`; {hint}", printable(name)));
    };
    let found = match rest {
        [field] => number_at(object, field),
        ["with", field] => {
            let with = object.get("with").and_then(|with| with.get_ref().as_table());
            with.and_then(|with| number_at(with, field))
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let mut names = numbers_of(object, "");
        if let Some(DeValue::Table(with)) = object.get("with").map(|with| with.get_ref()) {
            names.extend(numbers_of(with, "with."));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = hint(&rest.join("."), &names, "it has");
        format!("object `{name}` has no number for `{}`; {hint}", shown(path))
    })
}

fn numbers_of(table: &DeTable, before: &str) -> Vec<String> {
    let is_number = |key: &str| number_at(table, key).is_some();
    let names = table.keys().map(|key| key.get_ref().to_string()).filter(|key| is_number(key));
    names.map(|key| format!("{before}{key}")).collect()
}

/// Returns a machine with another value of the number `name`, for example `cycles.leg`. With
/// `times`, the value is a factor on the machine's own number, and the result is rounded if the
/// number is whole.
///
/// # Errors
///
/// If machines have no such number, or it cannot have this value.
pub fn machine(machine: &Machine, name: &str, value: f64, times: bool) -> Result<Machine, String> {
    let Some(allowed) = machine.allowed(name) else {
        let names = machine.number_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = hint(name, &names, "there are");
        let (of, name) = (machine.name(), printable(name));
        return Err(format!("machine `{of}` has no number `{name}`; {hint}"));
    };
    let wanted = if times {
        let own = machine.number(name);
        let Some(own) = own else {
            let of = machine.name();
            return Err(format!("machine `{of}` does not state `{name}`, so it has no multiple"));
        };
        own * value
    } else {
        value
    };
    let refuse =
        || format!("`{name}` of machine `{}` would be {wanted}; {allowed}", machine.name());
    if name == "family.scale" && !(0.05..=20.0).contains(&wanted) {
        return Err(refuse());
    }
    let changed = machine.clone().with(name, wanted).ok_or_else(refuse)?;
    let is = changed.number(name);
    let off = is.map_or(f64::INFINITY, |is| (is - wanted).abs());
    if off > if times { 0.5 } else { 0.0 } {
        return Err(refuse());
    }
    if name == "topology.line_bytes" && !changed.line_bytes().is_power_of_two() {
        return Err(format!("`{name}` would be {wanted}; allowed: 64, 128"));
    }
    if changed.hardware_threads() > MOST_THREADS {
        let made = changed.hardware_threads();
        return Err(format!(
            "`{name}` = {wanted} makes {made} hardware threads; allowed: at most {MOST_THREADS}"
        ));
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"s\"\n[[objects]]\nname = \"m\"\nkind = \"lock\"\ncount = 2\n\
                        [[steps]]\ndo = \"work\"\nns = 10\n[[steps]]\ndo = \"work\"\n\
                        name = \"held\"\nns = 300.0 # hold\n[[steps]]\ndo = \"lock\"\n";

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn a_number_is_changed_in_its_place() {
        let changed = scenario(TEXT, &path("steps.held.ns"), 25.0).expect("it is there");
        assert_eq!(changed, TEXT.replace("300.0", "25"));
        let changed = scenario(TEXT, &path("steps.work.1.ns"), 0.5).expect("it is there");
        assert_eq!(changed, TEXT.replace("10", "0.5"));
        let changed = scenario(TEXT, &path("objects.m.count"), 7.0).expect("it is there");
        assert_eq!(changed, TEXT.replace("count = 2", "count = 7"));
    }

    #[test]
    fn a_wrong_name_is_answered_with_those_that_there_are() {
        let wrong = [
            ("steps.work.ns", "2 steps `work` have a number `ns`"),
            ("steps.work.3.ns", "allowed: 1 to 2"),
            ("steps.hel.ns", "did you mean `held`?"),
            ("steps.lock.ns", "no step `lock` has a number `ns`"),
            ("objects.x.count", "no object `x`"),
            ("objects.m.cuont", "did you mean `count`?"),
            ("step.work.ns", "did you mean `steps`?"),
        ];
        for (name, expected) in wrong {
            let found = scenario(TEXT, &path(name), 1.0).expect_err(name);
            assert!(found.contains(expected), "{name}: {found}");
        }
    }

    #[test]
    fn a_machine_takes_what_its_file_may_say() {
        let of = Machine::shipped("zen4-7840u").expect("it is shipped");
        let leg = |machine: &Machine| machine.parameter("cycles.leg").unwrap().value.number();
        let changed = machine(&of, "cycles.leg", 30.0, false).expect("it is allowed");
        assert_eq!(leg(&changed), Some(30.0));
        let own = leg(&of).expect("it has one");
        let changed = machine(&of, "cycles.leg", 1.5, true).expect("it is allowed");
        assert_eq!(leg(&changed), Some((own * 1.5).round()));
        let wrong = [
            ("cycles.leg", 0.0, false, "allowed: 1 to 1000 cycles, whole numbers"),
            ("cycles.leg", 20.5, false, "whole numbers"),
            ("cycles.leg", 1e6, true, "allowed: 1 to 1000"),
            ("cycles.legs", 1.0, false, "did you mean `cycles.leg`?"),
            ("topology.line_bytes", 96.0, false, "allowed: 64, 128"),
            ("protocol.order", 1.0, false, "allowed: "),
        ];
        for (name, value, times, expected) in wrong {
            let found = machine(&of, name, value, times).expect_err(name);
            assert!(found.contains(expected), "{name}: {found}");
        }
    }
}
