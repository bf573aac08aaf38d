//! Temporary files. A file is written under a temporary name, and gets its own name when it is
//! complete.
//!
//! A list has all temporary files, and is locked while one of them is created, renamed or removed.
//! So a process that ends without unwinding can remove all of them ([`remove_all`]).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Temporary files that exist now.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn present() -> MutexGuard<'static, Vec<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file. Dropping this value removes the file, unless it has its final name by then.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates a file for writing. If `new` is set, an existing file is an error.
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

    /// Gives complete files their final names. A signal cannot end the process before all have
    /// them. `settle` renames one file, given its temporary name and its final name.
    ///
    /// # Errors
    ///
    /// The error of `settle` for the first file that cannot get its final name. The remaining files
    /// are removed.
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
            // A renamed file is no longer at this path. Ignore an error here, so that an earlier
            // error is reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.forget(&mut present());
    }
}

/// Removes all temporary files, and stops other threads from creating more. Call this before the
/// process ends without unwinding.
pub(crate) fn remove_all() {
    remove(present());
}

/// Does the same as [`remove_all`], unless a thread is creating, renaming or removing a temporary
/// file.
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
    // Never unlock: a thread that wants to create a file waits until the process has ended.
    std::mem::forget(present);
}
