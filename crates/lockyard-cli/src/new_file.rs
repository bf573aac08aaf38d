//! A file that a command writes at its end, completely or not at all. It replaces another file only
//! on request.
//!
//! The command tries to write the file before the work begins. So a missing directory is reported
//! before minutes of measuring.

use crate::errors::Failure;
use crate::temporary::Temporary;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file to be written.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// Path as the user gave it, printable.
    shown: String,
    path: PathBuf,
    partial: PathBuf,
    replace: bool,
}

impl NewFile {
    /// Prepares a file at `path`. An existing file is replaced only if `replace` is set.
    ///
    /// # Errors
    ///
    /// Bad input: `path` is not a file, exists and must not be replaced, or cannot be written.
    pub(crate) fn at(option: &str, path: &Path, replace: bool) -> Result<NewFile, Failure> {
        let shown = lockyard_support::printable(&path.display().to_string());
        let refuse = |what: &str| Err(Failure::Input(format!("{option} {shown}: {what}")));
        // A symbolic link stays, and the file to which it points is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() => return refuse("is a directory; name a file"),
            Ok(there) if !there.is_file() => return refuse("exists, and is not a file"),
            Ok(_) if !replace => {
                return refuse("exists already; --force replaces it, or name another file");
            }
            _ => {}
        }
        let Some(name) = path.file_name() else { return refuse("is not the name of a file") };
        let partial = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let partial = directory.join(partial);
        if let Err(error) = Temporary::create(&partial, true) {
            return refuse(&format!("cannot be written: {error}"));
        }
        Ok(NewFile { shown, path, partial, replace })
    }

    /// Returns true if both are one file, however their paths are written.
    pub(crate) fn is_same(&self, other: &NewFile) -> bool {
        self.place() == other.place()
    }

    /// Returns the path without links and dots.
    fn place(&self) -> PathBuf {
        let parent = self.partial.parent().and_then(|parent| fs::canonicalize(parent).ok());
        match (parent, self.path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => self.path.clone(),
        }
    }

    /// Returns the path as the user gave it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Writes the file.
    pub(crate) fn write(&self, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write_by(|file| file.write_all(contents.as_ref()))
    }

    /// Writes the file by a function, so that its contents need not be in memory.
    pub(crate) fn write_by(
        &self,
        contents: impl FnOnce(&mut File) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let written = Temporary::create(&self.partial, true).and_then(|(made, mut file)| {
            contents(&mut file)?;
            file.sync_all()?;
            Temporary::settle_all(vec![(made, self.path.clone())], |_, _| self.settle())
        });
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::Run(format!(
                "{} has been created meanwhile and was not replaced; --force replaces it",
                self.shown
            )),
            _ => Failure::Run(format!("{} cannot be written: {error}", self.shown)),
        })
    }

    /// Gives the complete file its final name.
    fn settle(&self) -> std::io::Result<()> {
        if self.replace {
            // The new file is as open to others as the old one. Where that is not allowed, it is
            // as any new one.
            if let Ok(there) = fs::metadata(&self.path) {
                let _ = fs::set_permissions(&self.partial, there.permissions());
            }
            return fs::rename(&self.partial, &self.path);
        }
        // Unlike a rename, a hard link does not replace a file that was created meanwhile. Some
        // file systems have no hard links.
        match fs::hard_link(&self.partial, &self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(&self.path).is_ok() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                fs::rename(&self.partial, &self.path)
            }
            linked => linked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of the test. Dropping this value removes it.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("lockyard-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("it can be made");
            Directory(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("it is there");
            let name = |entry: std::io::Result<fs::DirEntry>| {
                entry.expect("it can be read").file_name().to_string_lossy().into_owned()
            };
            entries.map(name).collect()
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn message(failure: Failure) -> String {
        failure.message().to_owned()
    }

    #[test]
    fn a_file_is_whole_or_not_there_and_leaves_nothing_beside_it() {
        let directory = Directory::new("whole");
        let path = directory.0.join("a.toml");
        let file = NewFile::at("--out", &path, false).expect("nothing is there");
        assert!(directory.names().is_empty(), "looking leaves nothing");
        file.write("text").expect("it can be written");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "text");
        assert_eq!(directory.names(), ["a.toml"]);
        // Another file was created meanwhile.
        let error = message(file.write("other").expect_err("it is there"));
        assert!(error.contains("has been created meanwhile"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "text");
        assert_eq!(directory.names(), ["a.toml"]);
    }

    #[test]
    fn what_is_there_is_replaced_only_if_that_was_asked_for() {
        let directory = Directory::new("replaced");
        let path = directory.0.join("a.toml");
        fs::write(&path, "old").expect("it can be written");
        let error = message(NewFile::at("--out", &path, false).expect_err("it is there"));
        assert!(error.contains("a.toml: exists already; --force replaces it"), "{error}");
        NewFile::at("--out", &path, true).expect("asked for").write("new").expect("it can be");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "new");
        assert_eq!(directory.names(), ["a.toml"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_replaced_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let directory = Directory::new("mode");
        let path = directory.0.join("a.toml");
        fs::write(&path, "old").expect("it can be written");
        for mode in [0o600, 0o664] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
            NewFile::at("--out", &path, true).expect("asked for").write("new").expect("it can be");
            let is = fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(is & 0o777, mode);
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_work() {
        let directory = Directory::new("refused");
        let error = |path: &Path| message(NewFile::at("--out", path, true).expect_err("refused"));
        assert!(error(&directory.0).contains("is a directory"));
        assert!(error(&directory.0.join("no/such/a.toml")).contains("cannot be written"));
        assert!(error(Path::new("")).contains("is not the name of a file"));
        #[cfg(unix)]
        assert!(error(Path::new("/dev/null")).contains("exists, and is not a file"));
    }
}
