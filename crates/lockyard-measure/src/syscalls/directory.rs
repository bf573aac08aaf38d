//! Temporary directory with the single file that all tasks use. Dropping it removes both.
//!
//! [`remove_all`] also removes them if the process ends without unwinding (after a second signal).
//! If the process is killed, they remain.

use lockyard_support::InputError;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Existing directories. The lock is held while one is created or removed.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the existing directories, and prevents new ones. For a process that is about to end
/// without unwinding.
pub fn remove_all() {
    let mut present = PRESENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    present.drain(..).for_each(|directory| remove(&directory));
    // Keep the lock, so no thread can create a directory before the process ends.
    std::mem::forget(present);
}

fn remove(directory: &Path) {
    // If a directory cannot be removed, it stays. A message would not help anyone.
    let _ = fs::remove_dir_all(directory);
}

/// A directory of this process that contains one file.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Creates a directory in `parent`, or in the system's temporary directory, and a file in it.
    ///
    /// # Errors
    ///
    /// If either cannot be created.
    pub fn new(parent: Option<&Path>) -> Result<Directory, InputError> {
        let default = std::env::temp_dir();
        let shown = lockyard_support::shown(parent.unwrap_or(&default));
        let refused = |what: &str, error: std::io::Error| {
            let way = match parent {
                Some(_) => "--directory",
                None => "the temporary directory (TMPDIR; --directory names another)",
            };
            InputError(format!("{way}: {what} cannot be made in {shown}: {error}"))
        };
        let id = std::process::id();
        let mut attempt = 0;
        // Hold the lock from before the directory exists until it is in the list.
        let mut present = PRESENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let path = loop {
            let name = format!("lockyard-syscalls-{id}-{attempt}");
            let path = parent.unwrap_or(&default).join(name);
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // A killed process with the same process ID left it behind.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1;
                }
                Err(error) => return Err(refused("a directory", error)),
            }
        };
        present.push(path.clone());
        drop(present);
        // From here on, the directory is removed on any failure.
        let directory = Directory { path };
        let made = OpenOptions::new().write(true).create_new(true).open(directory.file());
        made.map_err(|error| refused("a file", error))?;
        Ok(directory)
    }

    /// Returns the path of the file that the tasks use.
    pub fn file(&self) -> PathBuf {
        self.path.join("file")
    }

    /// Opens the file for reading and writing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub(super) fn open(&self) -> std::io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.file())
    }

    /// Returns the name of the directory's file system. If it is not one of the common ones,
    /// returns its number in hexadecimal.
    pub fn file_system(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        let Ok(path) = std::ffi::CString::new(self.path.as_os_str().as_bytes()) else {
            return "not known".to_owned();
        };
        // SAFETY: an all-zero `statfs` is valid.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path is a C string. `found` is live, and as large as the call requires.
        if unsafe { libc::statfs(path.as_ptr(), &raw mut found) } != 0 {
            return "not known".to_owned();
        }
        // The numbers come from statfs(2).
        match found.f_type as u64 & 0xffff_ffff {
            0x0102_1994 => "tmpfs".to_owned(),
            0xef53 => "ext2/3/4".to_owned(),
            0x5846_5342 => "xfs".to_owned(),
            0x9123_683e => "btrfs".to_owned(),
            0x794c_7630 => "overlayfs".to_owned(),
            0x6969 => "nfs".to_owned(),
            other => format!("{other:#x}"),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let mut present = PRESENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        present.retain(|path| *path != self.path);
        remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_its_file_go_away_together() {
        let directory = Directory::new(None).expect("there is a temporary directory");
        let (path, file) = (directory.path.clone(), directory.file());
        assert!(file.is_file());
        let second = Directory::new(None).expect("there is room for two");
        assert_ne!(second.path, path, "each has its own");
        drop(directory);
        assert!(!path.exists() && second.path.exists());
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_named() {
        let error = Directory::new(Some(Path::new("/proc"))).unwrap_err().to_string();
        assert!(error.starts_with("--directory: a directory cannot be made in /proc: "), "{error}");
    }
}
