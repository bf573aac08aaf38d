//! Removal of a directory, whatever a program has made of it: without permissions, or deeper than
//! the system lets a reader go down.
//!
//! Links are not followed, and what lies outside stays, also if a process changes the directory
//! meanwhile.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Maximum number of times that the removal begins again: processes may add files meanwhile.
const ATTEMPTS: usize = 4;

/// Maximum number of directories that are made flat in an attempt.
const MOST_FOLDERS: usize = 1 << 20;

/// Removes a directory with all that is in it. What cannot be removed stays.
pub(super) fn remove(path: &Path) {
    // An empty one goes without a descriptor, of which there may be none.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // After an error here, the next attempt ends with one too.
                let _ = flatten(path);
            }
            _ => return,
        }
    }
}

/// A directory that is open, so that its name does not matter any more.
struct Folder(File);

impl Folder {
    /// Opens a directory, and gives its owner all rights.
    fn open(path: &Path) -> io::Result<Folder> {
        let open = |flags: libc::c_int| {
            let flags = flags | libc::O_DIRECTORY | libc::O_NOFOLLOW;
            OpenOptions::new().read(true).custom_flags(flags).open(path)
        };
        let folder = Folder(open(libc::O_PATH)?);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700))?;
        Ok(folder)
    }

    /// Returns a path that leads to this directory.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/.", self.0.as_raw_fd()))
    }
}

/// Removes the files of a tree, and moves its directories to the top.
fn flatten(path: &Path) -> io::Result<()> {
    let top = Folder::open(path)?;
    let mut moved = 0;
    loop {
        let folders = fs::read_dir(top.path())?.flatten();
        let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        // One list for all of them would have as many as the program likes.
        let folders: Vec<PathBuf> = folders.take(1000).map(|entry| entry.path()).collect();
        if folders.is_empty() {
            return Ok(());
        }
        for path in folders {
            let folder = Folder::open(&path)?;
            for entry in fs::read_dir(folder.path())? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    moved += 1;
                    if moved > MOST_FOLDERS {
                        return Err(io::ErrorKind::QuotaExceeded.into());
                    }
                    // To move a directory is to write to it.
                    drop(Folder::open(&entry.path())?);
                    fs::rename(entry.path(), top.path().join(format!(".moved-{moved}")))?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
            fs::remove_dir(path)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lockyard-{name}-{}", std::process::id()));
        remove(&path);
        fs::create_dir(&path).expect("there is room");
        path
    }

    #[test]
    fn a_directory_without_rights_is_removed() {
        let top = fresh("no-rights");
        let inner = top.join("a/b");
        fs::create_dir_all(&inner).expect("there is room");
        fs::write(inner.join("file"), "x").expect("there is room");
        for path in [&inner, &top.join("a"), &top] {
            fs::set_permissions(path, Permissions::from_mode(0o000)).expect("it is ours");
        }
        remove(&top);
        assert!(!top.exists());
    }

    #[test]
    fn a_deep_directory_is_removed_and_links_are_not_followed() {
        let (top, outside) = (fresh("deep"), fresh("outside"));
        fs::write(outside.join("file"), "x").expect("there is room");
        std::os::unix::fs::symlink(&outside, top.join("link")).expect("there is room");
        // Built from the inside: no path is too long for the system.
        let (one, other) = (top.join("one"), top.join("other"));
        fs::create_dir(&one).expect("there is room");
        for _ in 0..3000 {
            fs::create_dir(&other).expect("there is room");
            fs::rename(&one, other.join("d")).expect("it is ours");
            fs::rename(&other, &one).expect("it is ours");
        }
        flatten(&top).expect("it is ours");
        remove(&top);
        assert!(!top.exists() && outside.join("file").exists());
        remove(&outside);
    }
}
