//! Refused insertions. The error returns the object.

use core::fmt;

/// The reason why an object was not inserted, with the object.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError<T> {
    /// No identifier below the limit is free.
    Exhausted(T),
    /// The host has no memory.
    OutOfMemory(T),
}

impl<T> InsertError<T> {
    /// Returns the object.
    pub fn into_inner(self) -> T {
        match self {
            InsertError::Exhausted(value) | InsertError::OutOfMemory(value) => value,
        }
    }
}

impl<T> fmt::Display for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Exhausted(_) => "no identifier is free",
            InsertError::OutOfMemory(_) => "the host has no memory",
        })
    }
}

impl<T> fmt::Debug for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Exhausted(_) => "Exhausted(..)",
            InsertError::OutOfMemory(_) => "OutOfMemory(..)",
        })
    }
}

impl<T> core::error::Error for InsertError<T> {}
