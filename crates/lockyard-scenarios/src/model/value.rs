//! Registers of tasks, and the values and conditions that steps make of them.
//!
//! A register holds 64 bits that only its task sees. An operation finds its registers as the task's
//! last operation left them. Registers cost nothing on a simulated machine: they stand for values
//! that a compiler keeps in the processor's registers.

/// Number of registers of a task, the first of which holds the task's number.
pub(crate) const REGISTERS: usize = 16;

/// Name of the register that holds the task's number, counted from 1. No step changes it.
pub(crate) const TASK: &str = "task";

/// A register, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub(crate) u8);

impl Register {
    /// The register that holds the task's number.
    pub(crate) const TASK: Register = Register(0);
}

/// The registers of a task.
pub(crate) type RegisterFile = [u64; REGISTERS];

/// Bits of the lower half of a word, the index. The upper half is the tag.
const INDEX_BITS: u32 = 32;

/// Lower half of a word: the index of an element, or 0.
pub(crate) fn index_of(word: u64) -> u64 {
    word & u64::from(u32::MAX)
}

/// A number, or a register or one of its halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Number(u64),
    /// A register.
    Register(Register),
    /// The lower half of a register.
    Index(Register),
    /// The upper half of a register.
    Tag(Register),
}

impl Operand {
    pub(crate) fn of(self, registers: &RegisterFile) -> u64 {
        let held = |register: Register| registers[usize::from(register.0)];
        match self {
            Operand::Number(number) => number,
            Operand::Register(register) => held(register),
            Operand::Index(register) => index_of(held(register)),
            Operand::Tag(register) => held(register) >> INDEX_BITS,
        }
    }
}

/// An operand, or a wrapping sum or difference of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The first operand.
    pub first: Operand,
    /// The second operand: added if the flag is `true`, otherwise subtracted.
    pub then: Option<(bool, Operand)>,
}

impl Sum {
    pub(crate) fn of(self, registers: &RegisterFile) -> u64 {
        let first = self.first.of(registers);
        match self.then {
            None => first,
            Some((true, operand)) => first.wrapping_add(operand.of(registers)),
            Some((false, operand)) => first.wrapping_sub(operand.of(registers)),
        }
    }
}

/// A value that a step stores, adds, compares with, or uses as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole word.
    Whole(Sum),
    /// A word of two halves. Each value is cut to 32 bits.
    Halves {
        /// Lower half.
        index: Sum,
        /// Upper half.
        tag: Sum,
    },
}

impl Value {
    /// Returns the value with these registers.
    pub(crate) fn of(self, registers: &RegisterFile) -> u64 {
        match self {
            Value::Whole(sum) => sum.of(registers),
            Value::Halves { index, tag } => {
                tag.of(registers) << INDEX_BITS | index_of(index.of(registers))
            }
        }
    }
}

/// A condition on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The operand on the left.
    pub left: Operand,
    /// `true` if the operands must be equal, `false` if they must differ.
    pub equal: bool,
    /// The operand on the right.
    pub right: Operand,
}

impl Condition {
    /// Returns `true` if all conditions hold.
    pub(crate) fn all_hold(conditions: &[Condition], registers: &RegisterFile) -> bool {
        conditions.iter().all(|condition| {
            (condition.left.of(registers) == condition.right.of(registers)) == condition.equal
        })
    }
}

/// A word, or an element of an array of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The object.
    pub object: usize,
    /// Index of the element; `None` for a word.
    pub at: Option<Sum>,
    /// Line of the script that names it, for errors.
    pub line: usize,
}

/// The initial value of a register. Registers without an entry start as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstValue {
    /// The register.
    pub register: Register,
    /// The value, computed from numbers and the task's number.
    pub value: Sum,
}

/// Returns the registers of task `number`, counted from 0, before its first operation.
pub(crate) fn first_registers(first: &[FirstValue], number: u64) -> RegisterFile {
    let mut registers = [0; REGISTERS];
    registers[usize::from(Register::TASK.0)] = number + 1;
    let begin = registers;
    for first in first {
        registers[usize::from(first.register.0)] = first.value.of(&begin);
    }
    registers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_sum_or_has_two_halves() {
        let mut registers = first_registers(&[], 4);
        registers[1] = 7 << 32 | 9;
        let old = Register(1);
        let sum = |first, then| Sum { first, then };
        let one = Operand::Number(1);
        assert_eq!(sum(Operand::Register(Register::TASK), None).of(&registers), 5);
        assert_eq!(sum(Operand::Index(old), Some((true, one))).of(&registers), 10);
        assert_eq!(sum(Operand::Number(0), Some((false, one))).of(&registers), u64::MAX);
        let halves = Value::Halves {
            index: sum(Operand::Number(u64::MAX), None),
            tag: sum(Operand::Tag(old), Some((true, one))),
        };
        assert_eq!(halves.of(&registers), 8 << 32 | u64::from(u32::MAX));
    }

    #[test]
    fn conditions_hold_together() {
        let registers = first_registers(&[], 4);
        let is = |equal, number| Condition {
            left: Operand::Register(Register::TASK),
            equal,
            right: Operand::Number(number),
        };
        assert!(Condition::all_hold(&[], &registers));
        assert!(Condition::all_hold(&[is(true, 5), is(false, 4)], &registers));
        assert!(!Condition::all_hold(&[is(true, 5), is(false, 5)], &registers));
    }
}
