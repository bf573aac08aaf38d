//! Command lines: one argument per line.

use crate::errors::{check, text};

/// A refusal is a one-line message.
pub(crate) fn arguments(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let arguments = text.split('\n').take(64).map(Into::into);
    if let Err(message) = lockyard_cli::check_arguments(arguments) {
        check(&message);
    }
}
