//! Lists and ranges of numbers in a plan.

use crate::source::{Result, Source, Value, number};
use lockyard_support::Range;
use toml::de::{DeTable, DeValue};

/// Maximum number of values of one list or range.
const MOST: usize = 10_000;

/// Values of a parameter, as the plan states them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Values {
    pub(crate) numbers: Vec<f64>,
    /// True if the numbers are factors on the machine's own number.
    pub(crate) times: bool,
}

const ALLOWED: &str = "a list of numbers, { from, to, step }, { from, to, count, scale = \
                       \"linear\" or \"log\" }, or { times = [...] }";

/// Reads the values of the parameter `name`.
pub(crate) fn values(source: Source, name: &str, value: &Value) -> Result<Values> {
    let (numbers, times) = match value.get_ref() {
        DeValue::Table(table) if table.contains_key("times") => {
            source.check_keys(table, &["times"], &format!("`{name}`"))?;
            let factors = &table["times"];
            let DeValue::Array(_) = factors.get_ref() else {
                return Err(source.wrong("times", factors, "a list of factors above 0"));
            };
            let numbers = list(source, "times", factors)?;
            if numbers.iter().any(|&factor| factor <= 0.0) {
                return Err(source.error(factors.span(), "`times` is a list of factors above 0"));
            }
            (numbers, true)
        }
        DeValue::Table(table) => (range(source, name, value, table)?, false),
        DeValue::Array(_) => (list(source, name, value)?, false),
        _ => return Err(source.wrong(name, value, ALLOWED)),
    };
    check(source, name, value, &numbers)?;
    Ok(Values { numbers, times })
}

fn list(source: Source, name: &str, value: &Value) -> Result<Vec<f64>> {
    let elements = value.get_ref().as_array().into_iter().flat_map(|list| list.iter());
    let one = |element: &Value| {
        number(element.get_ref()).ok_or_else(|| source.wrong(name, element, "numbers"))
    };
    elements.map(one).collect()
}

fn check(source: Source, name: &str, value: &Value, numbers: &[f64]) -> Result<()> {
    if numbers.is_empty() || numbers.len() > MOST {
        let found = numbers.len();
        let message = format!("`{name}` has {found} values; allowed: 1 to {MOST}");
        return Err(source.error(value.span(), message));
    }
    for (index, number) in numbers.iter().enumerate() {
        if numbers[..index].contains(number) {
            let message = format!("`{name}` has the value {number} twice");
            return Err(source.error(value.span(), message));
        }
    }
    Ok(())
}

/// Reads `{ from, to, step }` or `{ from, to, count, scale }`.
fn range(source: Source, name: &str, value: &Value, table: &DeTable) -> Result<Vec<f64>> {
    source.check_keys(table, &["from", "to", "step", "count", "scale"], &format!("`{name}`"))?;
    let get = |key: &str| -> Result<Option<f64>> {
        let Some(found) = table.get(key) else { return Ok(None) };
        let found = number(found.get_ref()).ok_or_else(|| source.wrong(key, found, "a number"))?;
        Ok(Some(found))
    };
    let wrong = |message: &str| source.error(value.span(), format!("`{name}` {message}"));
    let (Some(from), Some(to)) = (get("from")?, get("to")?) else {
        return Err(wrong("lacks `from` or `to`"));
    };
    if from >= to {
        return Err(wrong(&format!("goes from {from} to {to}; `from` must be below `to`")));
    }
    let log = source.choice(table, "scale", &[("linear", false), ("log", true)])?;
    match (get("step")?, get("count")?) {
        (Some(step), None) if log.is_none() => {
            if step <= 0.0 || (to - from) / step > MOST as f64 {
                let message = format!("has `step` {step}; allowed: above 0, at most {MOST} values");
                return Err(wrong(&message));
            }
            // The tolerance is for steps such as 0.1, whose sums are not exact.
            let last = ((to - from) / step + 1e-9).floor() as usize;
            Ok((0..=last).map(|index| tidy(from + index as f64 * step)).collect())
        }
        (None, Some(count)) => {
            if count.fract() != 0.0 || !(2.0..=MOST as f64).contains(&count) {
                return Err(wrong(&format!("has `count` {count}; allowed: 2 to {MOST}")));
            }
            let log = log == Some(true);
            if log && from <= 0.0 {
                return Err(wrong("has `scale = \"log\"`; then `from` must be above 0"));
            }
            let last = count - 1.0;
            let at = |index: usize| {
                let share = index as f64 / last;
                match index {
                    0 => from,
                    _ if share >= 1.0 => to,
                    _ if log => tidy(from * libm::pow(to / from, share)),
                    _ => tidy(from + share * (to - from)),
                }
            };
            Ok((0..count as usize).map(at).collect())
        }
        _ => Err(wrong("needs either `step`, or `count` (and perhaps `scale`)")),
    }
}

/// Rounds a computed value to six significant digits, so that it is short in results, and equal on
/// every host.
fn tidy(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Reads whole numbers: a number, a text such as `"1-4,8,16-96:16"`, or a list of both.
pub(crate) fn whole_numbers(
    source: Source,
    name: &str,
    least: usize,
    value: &Value,
) -> Result<Vec<usize>> {
    let allowed = format!("whole numbers from {least}, such as [1, 2, \"4-8\", \"16-96:16\"]");
    let mut found: Vec<usize> = Vec::new();
    let mut add = |value: &Value| -> Result<()> {
        let wrong = || source.wrong(name, value, &allowed);
        let mut push = |number: usize| {
            if number < least || found.len() == MOST {
                return Err(wrong());
            }
            if !found.contains(&number) {
                found.push(number);
            }
            Ok(())
        };
        match value.get_ref() {
            DeValue::String(text) => text.split(',').try_for_each(|part| {
                let range = Range::parse(part.trim()).ok_or_else(wrong)?;
                range.numbers().try_for_each(&mut push)
            }),
            other => {
                let number = number(other).filter(|n| n.fract() == 0.0 && (0.0..=1e15).contains(n));
                push(number.ok_or_else(wrong)? as usize)
            }
        }
    };
    match value.get_ref() {
        DeValue::Array(list) if !list.is_empty() => list.iter().try_for_each(&mut add)?,
        _ => add(value)?,
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Values, String> {
        let source = Source { origin: "p.toml", text };
        let table = DeTable::parse(text).expect("it is TOML");
        values(source, "v", &table.get_ref()["v"]).map_err(|error| error.0)
    }

    #[test]
    fn a_range_has_both_ends() {
        let numbers = |text| read(text).expect("it is right").numbers;
        assert_eq!(numbers("v = { from = 0, to = 1, step = 0.25 }"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(numbers("v = { from = 0.1, to = 0.5, step = 0.1 }"), [0.1, 0.2, 0.3, 0.4, 0.5]);
        assert_eq!(
            numbers("v = { from = 10, to = 10000, count = 4, scale = \"log\" }"),
            [10.0, 100.0, 1000.0, 10_000.0]
        );
        assert_eq!(numbers("v = { from = 1, to = 2, count = 3 }"), [1.0, 1.5, 2.0]);
    }

    #[test]
    fn factors_are_not_values() {
        let values = read("v = { times = [0.5, 1, 2] }").expect("it is right");
        assert_eq!(values, Values { numbers: vec![0.5, 1.0, 2.0], times: true });
    }

    #[test]
    fn an_error_has_line_and_column() {
        let wrong = [
            ("\nv = [1, \"x\"]", "p.toml:2:9: `v` is `x`; allowed: numbers"),
            ("v = []", "p.toml:1:5: `v` has 0 values; allowed: 1 to 10000"),
            ("v = [1, 2, 1]", "p.toml:1:5: `v` has the value 1 twice"),
            ("v = { from = 2, to = 1, step = 1 }", "`v` goes from 2 to 1"),
            ("v = { from = 1, to = 2 }", "needs either `step`, or `count`"),
            ("v = { from = 1, to = 2, stop = 1 }", "p.toml:1:25: `v` has no `stop`"),
            ("v = { from = 0, to = 2, count = 3, scale = \"log\" }", "`from` must be above 0"),
            ("v = { times = [0] }", "factors above 0"),
            ("v = 3", "`v` is 3; allowed: a list of numbers"),
            ("v = [inf]", "allowed: numbers"),
        ];
        for (text, expected) in wrong {
            let found = read(text).expect_err(text);
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn threads_are_numbers_and_ranges() {
        let read = |text: &str| {
            let source = Source { origin: "p.toml", text };
            let table = DeTable::parse(text).expect("it is TOML");
            whole_numbers(source, "threads", 1, &table.get_ref()["t"]).map_err(|error| error.0)
        };
        assert_eq!(read("t = 3"), Ok(vec![3]));
        assert_eq!(read("t = [1, \"2-4\", \"8-24:8\", 2]"), Ok(vec![1, 2, 3, 4, 8, 16, 24]));
        for wrong in ["t = 0", "t = [1.5]", "t = \"4-1\"", "t = []", "t = true"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
