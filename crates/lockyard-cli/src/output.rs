//! Writing: to standard output, and to files that are whole or not there.

use crate::arguments::Failure;
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
