//! The formats in which traces are written.

use crate::model::Trace;
use crate::{chrome, perfetto};
use std::path::Path;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Perfetto's trace packets.
    Perfetto,
    /// Chrome's trace events.
    Chrome,
}

impl Form {
    /// File extensions, as text for messages.
    pub const EXTENSIONS: &str = ".pftrace (Perfetto) or .json (Chrome's trace events)";

    /// Returns the format of a file by its extension.
    pub fn of(path: &Path) -> Option<Form> {
        match path.extension()?.to_str()? {
            "pftrace" => Some(Form::Perfetto),
            "json" => Some(Form::Chrome),
            _ => None,
        }
    }

    /// Number of bytes by which a file of lockyard is recognised.
    pub const BEGIN: u64 = 64;

    /// Returns true if a file begins as one with a trace of lockyard does. [`Form::BEGIN`] bytes
    /// are enough.
    pub fn is_begin(self, bytes: &[u8]) -> bool {
        match self {
            Form::Perfetto => bytes.starts_with(&perfetto::begin()),
            Form::Chrome => bytes.starts_with(chrome::BEGIN.as_bytes()),
        }
    }

    /// Returns the contents of a file with `trace`.
    pub fn write(self, trace: &Trace) -> Vec<u8> {
        match self {
            Form::Perfetto => perfetto::packets(trace),
            Form::Chrome => chrome::events(trace).into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_one_form_is_recognised_by_its_first_bytes() {
        for (form, other) in [(Form::Perfetto, Form::Chrome), (Form::Chrome, Form::Perfetto)] {
            let about = vec![("a".to_owned(), "b".to_owned())];
            for about in [Vec::new(), about] {
                let mut bytes = form.write(&Trace { about, ..Trace::default() });
                bytes.truncate(Form::BEGIN as usize);
                assert!(form.is_begin(&bytes) && !other.is_begin(&bytes));
            }
            assert!(!form.is_begin(b"") && !form.is_begin(b"{}"));
        }
    }
}
