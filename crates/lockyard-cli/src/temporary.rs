//! Temporary files. A file is written under a temporary name, and gets its own name when it is
//! complete.
//!
//! A list holds them. It is locked while one is made, renamed or removed. So a process that ends
//! without unwinding ([`remove_all`]) leaves none behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Temporary files that exist now.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn present() -> MutexGuard<'static, Vec<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is removed when this is dropped, unless it has its own name by then.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Makes a file for writing. If `new`, an existing one is refused.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub(crate) fn create(path: &Path, new: bool) -> io::Result<(Temporary, File)> {
        let mut present = present();
        let file = if new { File::create_new(path) } else { File::create(path) }?;
        present.push(path.to_path_buf());
        Ok((Temporary { path: path.to_path_buf() }, file))
    }

    /// Gives complete files their names, all before a signal may end the process. `settle` gets the
    /// temporary name and the final one.
    ///
    /// # Errors
    ///
    /// The error of `settle` for the first file that cannot get its name. The remaining files are
    /// removed.
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
            // A renamed file is gone from this path. If removal fails, the first error is the one
            // to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.forget(&mut present());
    }
}

/// Removes all temporary files, and stops other threads from making more. The process is about to
/// end without unwinding.
pub(crate) fn remove_all() {
    remove(present());
}

/// The same, unless a thread is just making, renaming or removing one.
pub(crate) fn try_remove_all() {
    if let Ok(present) = PRESENT.try_lock() {
        remove(present);
    }
}

fn remove(mut present: MutexGuard<Vec<PathBuf>>) {
    for path in present.drain(..) {
        // Nothing more can be done about an error here.
        let _ = fs::remove_file(path);
    }
    // A thread that wants to make a file waits for the lock until the process has ended.
    std::mem::forget(present);
}
