//! Files that are there only while something is written: a file is written under another name, and
//! gets its own when it is whole.
//!
//! They are in a list, which is locked while one is made, renamed or removed: so a process that
//! ends without unwinding ([`remove_all`]) leaves none behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files that are there.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn present() -> MutexGuard<'static, Vec<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is removed when this is dropped, unless it has got its name before.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Makes a file for writing. `new`: refuses one that is there.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn create(path: &Path, new: bool) -> io::Result<(Temporary, File)> {
        let mut present = present();
        let file = if new { File::create_new(path) } else { File::create(path) }?;
        present.push(path.to_path_buf());
        Ok((Temporary { path: path.to_path_buf() }, file))
    }

    /// Gives whole files their names, all before anybody may end the process. `settle` is told the
    /// temporary name and the other one.
    ///
    /// # Errors
    ///
    /// What `settle` says of the first file that cannot have its name; the rest is removed.
    pub(crate) fn settle_all<E>(
        files: Vec<(Temporary, PathBuf)>,
        mut settle: impl FnMut(&Path, &Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut present = present();
        let settled = files.iter().try_for_each(|(file, name)| settle(&file.path, name));
        for (file, _) in &files {
            file.forget(&mut present);
        }
        drop(present);
        settled
    }

    fn forget(&self, present: &mut Vec<PathBuf>) {
        if let Some(index) = present.iter().position(|path| *path == self.path) {
            present.swap_remove(index);
            // It is gone if it was renamed. Otherwise the first error is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.forget(&mut present());
    }
}

/// Removes the files that are there, and lets nobody make another one: for a process that is about
/// to end without unwinding.
pub(crate) fn remove_all() {
    let mut present = present();
    for path in present.drain(..) {
        // There is nobody to tell who could do more.
        let _ = fs::remove_file(path);
    }
    // Whoever wants to make one waits for the lock until the process has ended.
    std::mem::forget(present);
}
