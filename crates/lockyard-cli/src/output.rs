//! Writing: to standard output, and to files that are whole or not there.

use crate::arguments::{Failure, Format};
use lockyard_lab::output::{Document, render};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

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

/// Prints what a run came to. If it ended early, by an error of its own or because the user interrupted it, the document says so,
/// and the command fails.
pub(crate) fn finish(
    mut document: Document,
    failure: Option<String>,
    format: Format,
) -> Result<(), Failure> {
    let interrupted = note_end(&mut document, failure.as_deref());
    write(&render(&document, format.into()))?;
    ended(failure, interrupted)
}

/// Says in the document that the run ended early, if it did; returns whether it was interrupted.
pub(crate) fn note_end(document: &mut Document, failure: Option<&str>) -> bool {
    let interrupted = lockyard_lab::jobs::interrupted();
    if failure.is_some() {
        document.incomplete("the measurement ended with an error");
    } else if interrupted {
        document.incomplete("interrupted");
    }
    interrupted
}

/// How the command ends after what is finished was printed.
pub(crate) fn ended(failure: Option<String>, interrupted: bool) -> Result<(), Failure> {
    match failure {
        Some(failure) => Err(Failure::Run(failure)),
        None if interrupted => {
            Err(Failure::Run("interrupted: what is finished is above".to_owned()))
        }
        None => Ok(()),
    }
}

/// Writes texts to files of a directory, under other names first. Only when all are written and on the disk do they take
/// their names: whatever fails, each file is the whole old one or the whole new one, and nothing else is left behind.
pub(crate) fn write_files(directory: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    let mut staged = Staged(Vec::new());
    for (name, text) in files {
        let (path, partial) = (directory.join(name), partial(directory, name));
        let written = std::fs::File::create(&partial).and_then(|mut file| {
            staged.0.push(partial.clone());
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| unwritable(&path, &error))?;
    }
    for (name, _) in files {
        let path = directory.join(name);
        std::fs::rename(partial(directory, name), &path)
            .map_err(|error| unwritable(&path, &error))?;
    }
    Ok(())
}

/// Whether a file of this name could be written: before what takes long, not after it.
pub(crate) fn try_file(directory: &Path, name: &str) -> Result<(), Failure> {
    let (path, partial) = (directory.join(name), partial(directory, name));
    if path.is_dir() {
        return Err(Failure::Run(format!(
            "{} cannot be written: it is a directory",
            path.display()
        )));
    }
    std::fs::File::create(&partial)
        .and_then(|_| std::fs::remove_file(&partial))
        .map_err(|error| unwritable(&path, &error))
}

/// Where a file is written at first.
fn partial(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!(".{name}.partial"))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Run(format!("{} cannot be written: {error}", path.display()))
}

/// Files that have not taken their names yet; they go when it does.
struct Staged(Vec<PathBuf>);

impl Drop for Staged {
    fn drop(&mut self) {
        for partial in &self.0 {
            // Those that have taken their names are not there any more. The first error is the one to report.
            let _ = std::fs::remove_file(partial);
        }
    }
}
