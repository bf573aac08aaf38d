//! Writing: to standard output, and to files that are whole or not there.

use crate::arguments::Failure;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes `text` to standard output. A reader that has gone away is no error: it saw what it wanted.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Run(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes `text` to `directory/name`, under another name first: the file is whole or not there.
pub(crate) fn write_file(directory: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = directory.join(name);
    let partial = directory.join(format!(".{name}.partial"));
    let written = std::fs::File::create(&partial)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&partial, &path));
    written.map_err(|error| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&partial);
        Failure::Run(format!("{} cannot be written: {error}", path.display()))
    })
}
