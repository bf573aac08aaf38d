//! The files of records that a profiled program leaves. The program could write into their
//! directory what it liked: a file is opened only if it is what the preload library makes, and read
//! no further than something was written.

use super::directories::Private;
use lockyard_profile::records::Records;
use lockyard_records::{EXTENSION, MAGIC, MAX_BYTES};
use lockyard_support::printable;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Maximum number of files: one for each process.
const MOST_FILES: usize = 10_000;

/// Maximum number of bytes of all files together.
const MOST_WRITTEN: u64 = 8 << 30;

/// Maximum number of descriptions.
const MOST_WRONG: usize = 4;

/// Files of records in a directory.
#[derive(Default)]
pub(super) struct Files {
    pub(super) found: Vec<Records>,
    /// Descriptions of files that cannot be read.
    pub(super) wrong: Vec<String>,
    /// Number of files that a process began, and did not complete.
    pub(super) begun: usize,
}

/// Reads all files of records in a directory.
pub(super) fn files(directory: &Private) -> Files {
    let mut files = Files::default();
    let (mut refused, mut limits) = (0usize, Limits { files: MOST_FILES, bytes: MOST_WRITTEN });
    // The program may have renamed the directory.
    let entries = fs::read_dir(directory.place()).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(EXTENSION) {
            continue;
        }
        match read(&path, &mut limits) {
            Ok(Some(records)) => files.found.push(records),
            Ok(None) => files.begun += 1,
            Err(why) => {
                refused += 1;
                if refused <= MOST_WRONG {
                    let name = printable(&name);
                    files.wrong.push(format!("the file of records {name} was left out: {why}"));
                }
            }
        }
    }
    if let Some(more) = refused.checked_sub(MOST_WRONG).filter(|more| *more > 0) {
        files.wrong.push(format!("{more} more files of records were left out"));
    }
    files
}

/// Numbers of files and of bytes that may still be read.
struct Limits {
    files: usize,
    bytes: u64,
}

/// Reads a file of records, and takes it off what may still be read.
///
/// # Errors
///
/// The reason why it is left out.
fn read(path: &Path, limits: &mut Limits) -> Result<Option<Records>, String> {
    let file = open(path)?;
    let few = || format!("only {MOST_FILES} are read");
    let failed = |error: io::Error| format!("it cannot be read: {error}");
    // A program may leave thousands of files that no process has completed.
    let mut first = [0; 8];
    if file.read_at(&mut first, 0).map_err(failed)? < first.len()
        || u64::from_le_bytes(first) != MAGIC
    {
        return Ok(None);
    }
    limits.files = limits.files.checked_sub(1).ok_or_else(few)?;
    let parts = written(&file).map_err(failed)?;
    let size: u64 = parts.iter().map(|part| part.end - part.start).sum();
    let large = || format!("all records together have more than {} GiB", MOST_WRITTEN >> 30);
    limits.bytes = limits.bytes.checked_sub(size).ok_or_else(large)?;
    // Zeros cost no memory until they are written.
    let mut bytes = vec![0; length(&file).map_err(failed)? as usize];
    let parts: Vec<Range<usize>> =
        parts.into_iter().map(|part| part.start as usize..part.end as usize).collect();
    for part in &parts {
        // A process that still runs may have made it longer or shorter.
        let into = bytes.get_mut(part.clone()).ok_or("it changed meanwhile")?;
        file.read_exact_at(into, part.start as u64).map_err(failed)?;
    }
    Records::read_parts(&bytes, &parts)
}

/// Opens a file that the preload library may have made.
fn open(path: &Path) -> Result<File, String> {
    let failed = |error: io::Error| format!("it cannot be read: {error}");
    check(&fs::symlink_metadata(path).map_err(failed)?)?;
    // It may have been replaced since: no link is followed, and no pipe waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    check(&file.metadata().map_err(failed)?)?;
    Ok(file)
}

/// Refuses a file that the preload library cannot have made.
fn check(about: &fs::Metadata) -> Result<(), String> {
    let own = lockyard_support::files::user();
    if !about.is_file() {
        return Err("it is a link, a pipe, a device or a directory, and no file".to_owned());
    }
    if about.uid() != own {
        return Err("it belongs to another user".to_owned());
    }
    if about.nlink() != 1 {
        return Err(format!("it has {} names, and not one", about.nlink()));
    }
    if about.len() > MAX_BYTES {
        return Err(format!("it has {} bytes, and no file more than {MAX_BYTES}", about.len()));
    }
    Ok(())
}

/// Returns the size of a file in bytes.
fn length(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len().min(MAX_BYTES))
}

/// Returns the parts of a file that were written. A file system that cannot tell has one part.
fn written(file: &File) -> io::Result<Vec<Range<u64>>> {
    let length = length(file)?;
    let seek = |from: u64, whence: libc::c_int| {
        // SAFETY: the descriptor is open, and the call changes its position only.
        let to = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) };
        if to >= 0 { Ok(to as u64) } else { Err(io::Error::last_os_error()) }
    };
    let mut parts = Vec::new();
    let mut at = 0;
    while at < length {
        let begin = match seek(at, libc::SEEK_DATA) {
            Ok(begin) => begin.max(at),
            // Nothing was written from here on.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => break,
            Err(_) => at,
        };
        let end = seek(begin, libc::SEEK_HOLE).unwrap_or(length).min(length);
        if begin >= end {
            break;
        }
        parts.push(begin..end);
        at = end;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let path = std::env::temp_dir().join(format!("lockyard-parts-{}", std::process::id()));
        let file = File::create_new(&path).expect("there is room");
        file.set_len(MAX_BYTES).expect("it has no bytes yet");
        file.write_all_at(b"lockyard", 512 << 20).expect("there is room");
        let parts = written(&open(&path).expect("it is a file")).expect("it can be read");
        let _ = fs::remove_file(&path);
        let size: u64 = parts.iter().map(|part| part.end - part.start).sum();
        assert!(parts.iter().any(|part| part.contains(&(512 << 20))), "{parts:?}");
        assert!(size <= 4 << 20 || size == MAX_BYTES, "{parts:?}");
    }
}
