//! The text of a standard file as measurements. The text is checked, because another program may
//! have written it: an error says which entry is wrong, and what is allowed.

use crate::calibrate_host::{
    Alone, CalibratedProcessor, Contended, CpuAt, Given, Layout, Measurements, Pair, PairFigure,
};
use lockyard_measure::kernel::Cost;
use lockyard_results::row::Measured;
use serde_json::Value;

/// Version of the format.
pub(super) const SCHEMA: &str = "lockyard-standard-1";

/// Maximum size of a file.
pub const MAX_BYTES: u64 = 64 << 20;

/// Maximum number of CPUs: the most hardware threads of a machine.
const MOST_CPUS: usize = 4096;

/// Returns true if the text says that it is a standard file.
pub fn is_standard(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"lockyard-standard-")
}

/// A text to which errors refer.
struct Source<'a> {
    origin: &'a str,
}

impl Source<'_> {
    fn error<T>(&self, message: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}: {message}", self.origin))
    }

    /// Returns a list; a field that is not there is an empty list.
    fn list<'v>(&self, of: &'v Value, name: &str) -> Result<&'v [Value], String> {
        match &of[name] {
            Value::Null => Ok(&[]),
            Value::Array(all) => Ok(all),
            _ => self.error(format!("`{name}` must be a list")),
        }
    }

    fn whole(&self, of: &Value, at: &str, name: &str) -> Result<usize, String> {
        match of[name].as_u64().filter(|number| *number < 1 << 20) {
            Some(number) => Ok(number as usize),
            None => self.error(format!("{at}: `{name}` must be a whole number below 1048576")),
        }
    }

    fn text(&self, of: &Value, at: &str, name: &str) -> Result<String, String> {
        match of[name].as_str().filter(|text| text.len() <= 400) {
            Some(text) => Ok(text.to_owned()),
            None => self.error(format!("{at}: `{name}` must be text of at most 400 bytes")),
        }
    }

    /// Returns a figure: a number above 0, with its interval.
    fn figure(&self, of: &Value, at: &str) -> Result<Measured, String> {
        let number = |name: &str| of[name].as_f64().filter(|n| *n > 0.0 && *n < 1e15);
        let samples = of["samples"].as_u64().unwrap_or(1) as usize;
        match (number("value"), number("ci_low"), number("ci_high")) {
            (Some(value), Some(ci_low), Some(ci_high)) => {
                Ok(Measured { value, ci_low, ci_high, samples })
            }
            _ => self.error(format!(
                "{at}: `value`, `ci_low` and `ci_high` must be numbers above 0 and below 1e15"
            )),
        }
    }

    /// Returns the indices of the CPUs that an entry names.
    fn tasks(&self, of: &Value, at: &str, cpus: &[usize]) -> Result<Vec<usize>, String> {
        let numbers = self.list(of, "cpus")?.iter().map(Value::as_u64);
        let task = |cpu: Option<u64>| cpus.iter().position(|known| Some(*known as u64) == cpu);
        let tasks: Option<Vec<usize>> = numbers.map(task).collect();
        match tasks.filter(|tasks| !tasks.is_empty()) {
            Some(tasks) => Ok(tasks),
            None => self.error(format!("{at}: `cpus` must name CPUs of the list `cpus`")),
        }
    }
}

/// Reads a standard file. Errors call it `origin`.
///
/// # Errors
///
/// One line that says what is wrong, where, and what is allowed.
pub fn read(origin: &str, text: &str) -> Result<Measurements, String> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| format!("{origin}:{}: not JSON: {error}", error.line()))?;
    let source = Source { origin };
    if json["schema"] != SCHEMA {
        let found = lockyard_support::printable(json["schema"].as_str().unwrap_or("nothing"));
        return source.error(format!("`schema` is {found}; allowed: {SCHEMA}"));
    }
    let layout = layout(&source, &json)?;
    let cpus = layout.cpus();
    let each = |name: &str| -> Result<Vec<(String, Value)>, String> {
        let all = source.list(&json, name)?.iter().enumerate();
        Ok(all.map(|(index, of)| (format!("entry {index} of `{name}`"), of.clone())).collect())
    };
    let mut alone = Vec::new();
    for (at, of) in each("alone")? {
        let name = source.text(&of, &at, "what")?;
        // A later version may measure more.
        if let Some(what) = Alone::ALL.into_iter().find(|what| what.name() == name) {
            alone.push((what, source.figure(&of, &at)?));
        }
    }
    // Files before 2026-11-27 have no such costs.
    let mut kernel = Vec::new();
    for (at, of) in each("kernel")? {
        let name = source.text(&of, &at, "what")?;
        if let Some(what) = Cost::ALL.into_iter().find(|what| what.name() == name) {
            kernel.push((what, source.figure(&of, &at)?));
        }
    }
    let mut pairs = Vec::new();
    for (at, of) in each("pairs")? {
        let name = source.text(&of, &at, "what")?;
        let Some(what) = Pair::ALL.into_iter().find(|what| what.name() == name) else { continue };
        let [a, b] = source.tasks(&of, &at, &cpus)?[..] else {
            return source.error(format!("{at}: `cpus` must be two CPUs"));
        };
        if a == b {
            return source.error(format!("{at}: `cpus` must be two CPUs"));
        }
        let series = source.list(&of, "rounds_ns")?.iter().filter_map(Value::as_f64).collect();
        let figure = source.figure(&of, &at)?;
        pairs.push(PairFigure { what, tasks: (a, b), figure, series });
    }
    let curves = |name: &str| -> Result<Vec<Contended>, String> {
        let one = |(at, of): (String, Value)| {
            Ok(Contended {
                variant: source.text(&of, &at, "variant")?,
                tasks: source.tasks(&of, &at, &cpus)?,
                figure: source.figure(&of, &at)?,
            })
        };
        each(name)?.into_iter().map(one).collect()
    };
    let (contended, siblings) = (curves("curves")?, curves("siblings")?);
    let beside = &json["beside_sibling"];
    let beside_sibling =
        (!beside.is_null()).then(|| source.figure(beside, "`beside_sibling`")).transpose()?;
    let notes = source.list(&json, "notes")?.iter().filter_map(Value::as_str);
    Ok(Measurements {
        given: Given::default(),
        processor: processor(&source, &json["processor"])?,
        layout,
        date: source.text(&json, "the file", "date")?,
        seconds: json["seconds"].as_f64().unwrap_or_default(),
        rounds: json["rounds"].as_u64().unwrap_or_default() as usize,
        alone,
        pairs,
        contended,
        beside_sibling,
        siblings,
        kernel,
        lost: json["tries_lost"].as_f64().unwrap_or_default(),
        notes: notes.map(str::to_owned).collect(),
    })
}

fn layout(source: &Source, json: &Value) -> Result<Layout, String> {
    let all = source.list(json, "cpus")?;
    if !(1..=MOST_CPUS).contains(&all.len()) {
        return source.error(format!("has {} CPUs; allowed: 1 to {MOST_CPUS}", all.len()));
    }
    let mut cpus = Vec::new();
    for (index, of) in all.iter().enumerate() {
        let at = format!("entry {index} of `cpus`");
        let number = |name: &str| source.whole(of, &at, name);
        cpus.push(CpuAt {
            cpu: number("cpu")?,
            package: number("package")?,
            complex: number("complex")?,
            core: number("core")?,
        });
    }
    let mut numbers: Vec<usize> = cpus.iter().map(|at| at.cpu).collect();
    numbers.sort_unstable();
    if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        return source.error(format!("`cpus` has CPU {} twice", twice[0]));
    }
    Ok(Layout::new(&cpus))
}

fn processor(source: &Source, of: &Value) -> Result<CalibratedProcessor, String> {
    let number = |name: &str| of[name].as_u64().and_then(|number| number.try_into().ok());
    Ok(CalibratedProcessor {
        name: source.text(of, "`processor`", "name")?,
        vendor: source.text(of, "`processor`", "vendor")?,
        family: number("family"),
        model: number("model"),
        virtualised: of["virtualised"].as_bool().unwrap_or(false),
        line_bytes: number("line_bytes"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Partial, write};
    use super::*;

    fn exactly(value: f64) -> Measured {
        Measured { value, ci_low: value * 0.9, ci_high: value * 1.1, samples: 9 }
    }

    fn measurements() -> Measurements {
        let at = |cpu: usize| CpuAt { cpu, package: 0, complex: 0, core: cpu % 2 };
        Measurements {
            given: Given::default(),
            processor: CalibratedProcessor {
                name: "A processor".to_owned(),
                vendor: "GenuineIntel".to_owned(),
                family: Some(6),
                model: Some(85),
                virtualised: true,
                line_bytes: Some(64),
            },
            layout: Layout::new(&[0, 1, 2, 3].map(at)),
            date: "2026-01-31".to_owned(),
            seconds: 240.5,
            rounds: 30,
            alone: vec![(Alone::Clock, exactly(3.0)), (Alone::FetchAdd, exactly(7.0))],
            pairs: vec![PairFigure {
                what: Pair::HandOver,
                tasks: (0, 3),
                figure: exactly(47.0),
                series: vec![46.0, 47.0, 48.0],
            }],
            contended: vec![Contended {
                variant: "ticket".to_owned(),
                tasks: vec![0, 1],
                figure: exactly(2e7),
            }],
            beside_sibling: Some(exactly(1.2)),
            siblings: Vec::new(),
            kernel: vec![(Cost::WaitChanged, exactly(214.0)), (Cost::Wakeup, exactly(6017.0))],
            lost: 0.01,
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let found = measurements();
        let text = write(&found, &[("kernel", "6.1".to_owned())], None);
        assert!(is_standard(&text) && !is_standard("{}") && !is_standard(",,\n1,,"));
        assert_eq!(read("s.json", &text).unwrap(), found);
        let partial = Partial { why: "interrupted".to_owned(), asked: 240.0 };
        let text = write(&found, &[], Some(&partial));
        assert!(text.contains("\"seconds_asked\": 240.0"), "{text}");
        assert_eq!(read("s.json", &text).unwrap(), found);
    }

    #[test]
    fn a_file_without_costs_of_the_kernel_is_read() {
        let found = measurements();
        let mut old: Value = serde_json::from_str(&write(&found, &[], None)).unwrap();
        assert_eq!(old["kernel"][1]["what"], "wakeup");
        old.as_object_mut().unwrap().remove("kernel");
        let without = Measurements { kernel: Vec::new(), ..found };
        assert_eq!(read("s.json", &old.to_string()).unwrap(), without);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = write(&measurements(), &[], None);
        let after = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}: {good}");
            let error = read("s.json", &good.replacen(from, to, 1)).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
            error
        };
        assert_eq!(
            after("lockyard-standard-1", "lockyard-standard-9"),
            "s.json: `schema` is lockyard-standard-9; allowed: lockyard-standard-1"
        );
        assert!(after("{", "[").starts_with("s.json:"));
        assert_eq!(after("\"cpu\": 1", "\"cpu\": 0"), "s.json: `cpus` has CPU 0 twice");
        assert!(after("\"cpu\": 1", "\"cpu\": -1").contains("entry 1 of `cpus`: `cpu` must be"));
        assert!(after("\"value\": 3.0", "\"value\": -3.0").contains("entry 0 of `alone`: `value`"));
        let costs = after("\"value\": 214.0", "\"value\": 0");
        assert!(costs.contains("entry 0 of `kernel`: `value`"), "{costs}");
        assert!(after("\"date\": \"", "\"day\": \"").contains("`date` must be text"));
        let many = good.replace("\"cpus\": [\n        0,\n        1\n      ]", "\"cpus\": [9]");
        assert!(read("s", &many).unwrap_err().contains("`cpus` must name CPUs of the list"));
        for bad in ["{\"schema\": \"lockyard-standard-1\"}", "{}", "{\"schema\": 1}"] {
            assert!(read("s", bad).is_err(), "{bad}");
        }
    }
}
