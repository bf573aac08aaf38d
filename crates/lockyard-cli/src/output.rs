//! Output to standard output, and to files that are either complete or absent.

use crate::arguments::Output;
use crate::errors::{Failure, first};
use crate::screen::screen;
use crate::signals;
use crate::temporary::Temporary;
use lockyard_results::render::{Document, Extent, Format, render_on};
use lockyard_support::{escaped_lines, shown};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Returns an environment for a document: the version of the command, then `others`.
pub(crate) fn environment<N: Into<String>>(
    others: impl IntoIterator<Item = (N, String)>,
) -> Vec<(String, String)> {
    let mut environment = vec![("lockyard".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    environment.extend(others.into_iter().map(|(name, value)| (name.into(), value)));
    environment
}

/// Writes `text` to standard output. It is not an error if the reader closes the pipe.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let text = plain(text);
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Run(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns a text where the terminal obeys nothing but line ends, tabs, and the colours of this
/// command. Names are escaped where they are put into a text; this is for forgotten ones.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\t', '\u{1b}']) {
        let (before, after) = rest.split_at(at);
        shown.push_str(&escaped_lines(before));
        let end = match after.strip_prefix("\u{1b}[") {
            Some(colour) => colour
                .find(|letter: char| !letter.is_ascii_digit() && letter != ';')
                .filter(|end| colour[*end..].starts_with('m') && screen().colour)
                .map(|end| "\u{1b}[".len() + end + 1),
            None => after.starts_with('\t').then_some(1),
        };
        let (kept, others) = after.split_at(end.unwrap_or(1));
        match end {
            Some(_) => shown.push_str(kept),
            None => shown.push_str(&escaped_lines(kept)),
        }
        rest = others;
    }
    shown.push_str(&escaped_lines(rest));
    shown
}

/// Prints a document, laid out for the screen.
pub(crate) fn print(document: &Document, format: Format) -> Result<(), Failure> {
    write(&render_on(document, format, &screen()))
}

/// Prints the result of a run. If the run ended early, by its own error or by an interrupt, the
/// document says so, and the command fails.
pub(crate) fn finish(
    document: Document,
    failure: Option<String>,
    extent: Extent,
    output: &Output,
) -> Result<(), Failure> {
    finish_and(document, failure, extent, output, |_| Ok(()))
}

/// Prints the result of a run as [`finish`] does, then calls `write_files`.
pub(crate) fn finish_and(
    mut document: Document,
    failure: Option<String>,
    extent: Extent,
    output: &Output,
    write_files: impl FnOnce(&Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let interrupted = note_end(&mut document, failure.as_deref(), extent);
    print(&document, output.format.into())?;
    let written = write_files(&document);
    first([result(failure, interrupted, extent), written])
}

/// Records in the document that the run ended early, if it did. Returns true if it was interrupted.
pub(crate) fn note_end(document: &mut Document, failure: Option<&str>, extent: Extent) -> bool {
    let interrupted = end_work();
    if failure.is_some() {
        document.incomplete("the measurement ended with an error", extent);
    } else if interrupted {
        document.incomplete("interrupted", extent);
    }
    interrupted
}

/// Records that the work is over. Returns true if it was interrupted.
pub(crate) fn end_work() -> bool {
    let interrupted = lockyard_support::jobs::interrupted();
    signals::end_work();
    interrupted
}

/// Returns the result of a command after its finished rows are printed.
pub(crate) fn result(
    failure: Option<String>,
    interrupted: bool,
    extent: Extent,
) -> Result<(), Failure> {
    match failure {
        Some(failure) => Err(Failure::Run(failure)),
        None if interrupted => {
            let whole = extent.finished == extent.asked;
            let but = if whole { ", each with less than was asked for" } else { "" };
            Err(Failure::Interrupted(format!("{extent} are printed{but}")))
        }
        None => Ok(()),
    }
}

/// Writes files to a directory, first under temporary names. The files get their final names only
/// when all of them are on the disk. After any failure, each file is either the complete old one or
/// the complete new one, and no temporary file is left.
pub(crate) fn write_files(directory: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let mut staged = Vec::new();
    for (name, text) in files {
        let path = directory.join(name);
        let written =
            Temporary::create(&partial(directory, name), false).and_then(|(made, mut file)| {
                staged.push((made, path.clone()));
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
        written.map_err(|error| unwritable(&path, &error))?;
    }
    Temporary::settle_all(staged, |partial, path| {
        std::fs::rename(partial, path).map_err(|error| unwritable(path, &error))
    })
}

/// Tries to write a file of this name, so that an error is found before the long work.
pub(crate) fn try_file(directory: &Path, name: &str) -> Result<(), Failure> {
    let (path, partial) = (directory.join(name), partial(directory, name));
    if path.is_dir() {
        return Err(Failure::Run(format!("{} cannot be written: it is a directory", shown(&path))));
    }
    Temporary::create(&partial, false).map(drop).map_err(|error| unwritable(&path, &error))
}

/// Returns the temporary path of a file.
fn partial(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!(".{name}.partial"))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Run(format!("{} cannot be written: {error}", shown(path)))
}
