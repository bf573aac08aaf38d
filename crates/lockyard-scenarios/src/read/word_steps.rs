//! Steps on words and registers: their fields, and the registers that they name.

use super::builder::{Builder, Used};
use super::names::Context;
use super::source::{Result, ScriptError, Source};
use super::step_entry::StepEntry;
use super::values::{Reader, Registers, RegistersEntry, SUCCEEDED};
use crate::model::{Condition, ObjectKind, Operand, Place, Register, Step, Sum, Value};
use toml::Spanned;

/// Returns all registers that the steps of any variant name as a target.
pub(super) fn registers<'e>(
    source: &Source,
    first: &RegistersEntry,
    steps: impl Iterator<Item = &'e Spanned<StepEntry>>,
) -> Result<Registers> {
    let mut registers = Registers::new();
    for name in first.keys() {
        registers.add(source, name)?;
    }
    for step in steps {
        let entry = step.get_ref();
        for found in [&entry.into, &entry.result].into_iter().flatten() {
            registers.add(source, found)?;
        }
        if entry.r#do.get_ref() == "compare-exchange" && entry.result.is_none() {
            registers.add(source, &Spanned::new(step.span(), SUCCEEDED.to_owned()))?;
        }
    }
    Ok(registers)
}

/// One entry that is being read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    context: Context<'a>,
    entry: &'a Spanned<StepEntry>,
}

/// Builds a load.
pub(super) fn load(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    let reading = Reading { context: builder.context, entry: used.entry };
    let place = reading.place(used.object)?;
    steps.push(Step::Load { place, into: reading.into()? });
    Ok(())
}

/// Builds a store.
pub(super) fn store(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    let reading = Reading { context: builder.context, entry: used.entry };
    let place = reading.place(used.object)?;
    let value = reading.value("value", &used.entry.get_ref().value)?;
    steps.push(Step::Store { place, value });
    Ok(())
}

/// Builds an addition that keeps the previous value.
pub(super) fn fetch_add(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    let reading = Reading { context: builder.context, entry: used.entry };
    let place = reading.place(used.object)?;
    let one = Value::Whole(Sum { first: Operand::Number(1), then: None });
    let value = used.entry.get_ref().value.as_ref();
    let value = value.map_or(Ok(one), |found| reading.reader("value").value(found))?;
    steps.push(Step::FetchAdd { place, value, into: reading.into()? });
    Ok(())
}

/// Builds a compare-exchange.
pub(super) fn compare_exchange(
    builder: &mut Builder,
    used: &Used,
    steps: &mut Vec<Step>,
) -> Result<()> {
    let Context { names, source, .. } = builder.context;
    let (reading, fields) =
        (Reading { context: builder.context, entry: used.entry }, used.entry.get_ref());
    let place = reading.place(used.object)?;
    steps.push(Step::CompareExchange {
        place,
        expect: reading.value("expect", &fields.expect)?,
        new: reading.value("new", &fields.new)?,
        into: fields.into.as_ref().map(|found| reading.register(found)).transpose()?,
        result: match &fields.result {
            Some(found) => reading.register(found)?,
            None => names.registers.succeeded(source, used.entry.span())?,
        },
    });
    Ok(())
}

/// Builds a change of a register.
pub(super) fn set(builder: &Builder, entry: &Spanned<StepEntry>) -> Result<Step> {
    let reading = Reading { context: builder.context, entry };
    let value =
        |into| Ok(Step::Set { into, value: reading.value("value", &entry.get_ref().value)? });
    reading.into().and_then(value)
}

/// Reads the conditions of a field `when`.
pub(super) fn conditions(context: Context, when: &Spanned<toml::Value>) -> Result<Vec<Condition>> {
    let Context { source, names, .. } = context;
    Reader { source, registers: names.registers, field: "when" }.conditions(when)
}

impl<'a> Reading<'a> {
    fn reader(self, field: &'a str) -> Reader<'a> {
        Reader { source: self.context.source, registers: self.context.names.registers, field }
    }

    fn register(self, found: &Spanned<String>) -> Result<Register> {
        self.context.names.registers.named(self.context.source, found)
    }

    fn lacks(self, field: &str) -> ScriptError {
        let step = self.entry.get_ref().r#do.get_ref();
        let message = format!("`{step}` steps need `{field}`");
        self.context.source.error(self.entry.span(), message)
    }

    fn into(self) -> Result<Register> {
        let found = self.entry.get_ref().into.as_ref().ok_or_else(|| self.lacks("into"))?;
        self.register(found)
    }

    fn value(self, field: &'a str, found: &Option<Spanned<toml::Value>>) -> Result<Value> {
        let found = found.as_ref().ok_or_else(|| self.lacks(field))?;
        self.reader(field).value(found)
    }

    /// Reads the word, or the element of an array, on which the step works.
    fn place(self, object: usize) -> Result<Place> {
        let (source, entry) = (self.context.source, self.entry.get_ref());
        let name = &self.context.objects[object].name;
        let count = match self.context.objects[object].kind {
            ObjectKind::Word { .. } => None,
            ObjectKind::Words { count, .. } => Some(count),
            _ => {
                let step = entry.r#do.get_ref();
                let message =
                    format!("`{step}` steps need a word or an array of words; `{name}` is neither");
                let at = entry.object.as_ref().map_or(self.entry.span(), Spanned::span);
                return Err(source.error(at, message));
            }
        };
        let line = |span| source.line(&span);
        match (count, &entry.at) {
            (None, None) => Ok(Place { object, at: None, line: line(self.entry.span()) }),
            (None, Some(at)) => {
                let message = format!("`{name}` is one word and has no `at`; only arrays have one");
                Err(source.error(at.span(), message))
            }
            (Some(_), None) => {
                let message = format!("`{name}` is an array of words; `at` must say which one");
                Err(source.error(self.entry.span(), message))
            }
            (Some(count), Some(found)) => {
                let at = self.reader("at").whole(found)?;
                if let Sum { first: Operand::Number(index), then: None } = at
                    && index >= u64::from(count)
                {
                    let message = format!("`at` is {index}; allowed: 0 to {}", count - 1);
                    return Err(source.error(found.span(), message));
                }
                Ok(Place { object, at: Some(at), line: line(found.span()) })
            }
        }
    }
}
