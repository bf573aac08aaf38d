//! Registers, values and conditions, from their text in steps.

use super::source::{Result, ScriptError, Source};
use crate::model::{Condition, FirstValue, Operand, REGISTERS, Register, Sum, TASK, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Register for the result of a compare-exchange that names no register.
pub(super) const SUCCEEDED: &str = "succeeded";

/// Section `[registers]`: first values, by the register's name.
pub(super) type RegistersEntry = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// Forms of a value, for errors.
const FORMS: &str = "a number, a register (`old`), half of one (`old.index`, `old.tag`), the sum \
                     or difference of two of these (`old + 1`), or { index = ..., tag = ... }";

/// Names of the registers. The index in the list is the register.
pub(super) struct Registers(Vec<String>);

impl Registers {
    /// Returns a list with only the register that holds the task's number.
    pub(super) fn new() -> Registers {
        Registers(vec![TASK.to_owned()])
    }

    /// Adds a register that a step or a section names as its target.
    pub(super) fn add(&mut self, source: &Source, found: &Spanned<String>) -> Result<()> {
        let name = found.get_ref();
        if name == TASK {
            let message = format!("`{TASK}` is the task's number; no step changes it");
            return Err(source.error(found.span(), message));
        }
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let letter_first = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !letter_first || name.len() > 32 || !name.chars().all(ok) {
            let message = format!(
                "`{}` is no register; allowed: 1 to 32 characters of a-z A-Z 0-9 - _, a letter \
                 first",
                lockyard_support::printable(name)
            );
            return Err(source.error(found.span(), message));
        }
        if self.0.contains(name) {
            return Ok(());
        }
        if self.0.len() == REGISTERS {
            let most = REGISTERS - 1;
            let message = format!("`{name}` is one register too many; at most {most} are allowed");
            return Err(source.error(found.span(), message));
        }
        self.0.push(name.clone());
        Ok(())
    }

    /// Returns the register of this name.
    pub(super) fn named(&self, source: &Source, found: &Spanned<String>) -> Result<Register> {
        let index = self.0.iter().position(|name| name == found.get_ref());
        index.map(|index| Register(index as u8)).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
            source.unknown("register", found, &names)
        })
    }

    /// Returns the register for results that no step names.
    pub(super) fn succeeded(&self, source: &Source, at: Range<usize>) -> Result<Register> {
        self.named(source, &Spanned::new(at, SUCCEEDED.to_owned()))
    }
}

/// Reads text and numbers of one field.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) registers: &'a Registers,
    /// Name of the field.
    pub(super) field: &'a str,
}

impl Reader<'_> {
    /// Reads a value.
    pub(super) fn value(self, found: &Spanned<toml::Value>) -> Result<Value> {
        let at = found.span();
        let toml::Value::Table(table) = found.get_ref() else {
            return Ok(Value::Whole(self.sum(found.get_ref(), at)?));
        };
        match (table.len(), table.get("index"), table.get("tag")) {
            (2, Some(index), Some(tag)) => {
                Ok(Value::Halves { index: self.sum(index, at.clone())?, tag: self.sum(tag, at)? })
            }
            _ => Err(self.is_none(found.get_ref(), at, FORMS)),
        }
    }

    /// Reads a value that is not made of two halves.
    pub(super) fn whole(self, found: &Spanned<toml::Value>) -> Result<Sum> {
        self.sum(found.get_ref(), found.span())
    }

    fn sum(self, found: &toml::Value, at: Range<usize>) -> Result<Sum> {
        let text = match found {
            // A negative number is stored as its two's complement.
            toml::Value::Integer(number) => {
                return Ok(Sum { first: Operand::Number(*number as u64), then: None });
            }
            toml::Value::String(text) => text,
            other => return Err(self.is_none(other, at, FORMS)),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [first] => Ok(Sum { first: self.operand(first, at)?, then: None }),
            [first, sign @ ("+" | "-"), second] => Ok(Sum {
                first: self.operand(first, at.clone())?,
                then: Some((sign == "+", self.operand(second, at)?)),
            }),
            _ => Err(self.is_none(found, at, FORMS)),
        }
    }

    /// Reads one condition, or a list of them.
    pub(super) fn conditions(self, found: &Spanned<toml::Value>) -> Result<Vec<Condition>> {
        let at = found.span();
        match found.get_ref() {
            toml::Value::Array(all) if !all.is_empty() => {
                all.iter().map(|one| self.condition(one, at.clone())).collect()
            }
            one => Ok(vec![self.condition(one, at)?]),
        }
    }

    fn condition(self, found: &toml::Value, at: Range<usize>) -> Result<Condition> {
        let words: Vec<&str> = found.as_str().unwrap_or_default().split_whitespace().collect();
        let (left, equal, right) = match words[..] {
            [left] => (left, false, "0"),
            [left, sign @ ("=" | "!="), right] => (left, sign == "=", right),
            _ => {
                let forms = "a register or half of one that is not 0 (`done`), `a = b`, `a != b`, \
                             or a list of these";
                return Err(self.is_none(found, at, forms));
            }
        };
        let (left, right) = (self.operand(left, at.clone())?, self.operand(right, at)?);
        Ok(Condition { left, equal, right })
    }

    fn operand(self, text: &str, at: Range<usize>) -> Result<Operand> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return text.parse().map(Operand::Number).map_err(|_| {
                let text = lockyard_support::printable(text);
                let message = format!("`{text}` is no number; allowed: 0 to {}", u64::MAX);
                self.source.error(at, message)
            });
        }
        let (name, half) = text.split_once('.').map_or((text, None), |(n, half)| (n, Some(half)));
        let register =
            self.registers.named(self.source, &Spanned::new(at.clone(), name.to_owned()))?;
        match half {
            None => Ok(Operand::Register(register)),
            Some("index") => Ok(Operand::Index(register)),
            Some("tag") => Ok(Operand::Tag(register)),
            Some(other) => {
                let other = lockyard_support::printable(other);
                let message = format!("a register has no half `{other}`; allowed: index, tag");
                Err(self.source.error(at, message))
            }
        }
    }

    /// Returns an error about a value that has none of the allowed forms.
    fn is_none(self, found: &toml::Value, at: Range<usize>, forms: &str) -> ScriptError {
        let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        let text = lockyard_support::printable(&text);
        self.source.error(at, format!("`{}` is `{text}`; allowed: {forms}", self.field))
    }
}

/// Reads the first values of registers.
pub(super) fn first_values(
    source: &Source,
    entry: &RegistersEntry,
    registers: &Registers,
) -> Result<Vec<FirstValue>> {
    let task_only = Registers::new();
    let one = |(name, value): (&Spanned<String>, &Spanned<toml::Value>)| {
        let reader = Reader { source, registers: &task_only, field: name.get_ref() };
        Ok(FirstValue { register: registers.named(source, name)?, value: reader.whole(value)? })
    };
    entry.iter().map(one).collect()
}
