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

    /// Encodes `trace` as the contents of a file.
    pub fn write(self, trace: &Trace) -> Vec<u8> {
        match self {
            Form::Perfetto => perfetto::packets(trace),
            Form::Chrome => chrome::events(trace).into_bytes(),
        }
    }
}
