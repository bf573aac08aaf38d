//! Files from outside, opened with checks: a pipe, a device or a socket must neither be waited for
//! nor be read without end.

use crate::{line_of, shown};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a file for reading if it is a regular one, without waiting. Links are followed.
///
/// # Errors
///
/// The error of the system; or `InvalidInput` with the text "is not a file".
pub fn open_regular(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "is not a file");
    // Look before opening: to open a device may already do something.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // The file may have been replaced since. A pipe must not be waited for then.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

/// Returns the number of the user with whose rights this process runs.
#[cfg(unix)]
pub fn user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}

/// Reads a file of at most `max_bytes` bytes.
///
/// # Errors
///
/// Fails with a line that begins with the path. It says that the file cannot be read, is not a
/// regular file, or is too large. If the path is not a regular file, for example a pipe, it is
/// refused without waiting.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let bytes = read_beginning(path, max_bytes)?;
    check_size(path, &bytes, max_bytes)?;
    Ok(bytes)
}

/// Reads a file, or its beginning: a byte more than `max_bytes`.
fn read_beginning(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let origin = shown(path);
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput if error.raw_os_error().is_none() => {
            format!("{origin}: {error}")
        }
        _ => format!("{origin}: cannot be read: {error}"),
    };
    let file = open_regular(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Refuses bytes that are too many.
fn check_size(path: &Path, bytes: &[u8], max_bytes: u64) -> Result<(), String> {
    if bytes.len() as u64 > max_bytes {
        return Err(format!("{}: is larger than {max_bytes} bytes", shown(path)));
    }
    Ok(())
}

/// Reads the text of a file of at most `max_bytes` bytes. `what` says what the file should be, for
/// example "a machine file is TOML".
///
/// # Errors
///
/// Fails as [`read_file`] does, or if the file is not UTF-8. The error then names the line.
pub fn read_text(path: &Path, max_bytes: u64, what: &str) -> Result<String, String> {
    let bytes = read_beginning(path, max_bytes)?;
    no_recording(&shown(path), &bytes)?;
    check_size(path, &bytes, max_bytes)?;
    text(&shown(path), bytes, what)
}

/// Returns the text of bytes from `origin`. `what` is as for [`read_text`].
///
/// # Errors
///
/// One line: the bytes are a recording, or not UTF-8.
pub fn text(origin: &str, bytes: Vec<u8>, what: &str) -> Result<String, String> {
    no_recording(origin, &bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("{origin}:{line}: not UTF-8 text; {what}")
    })
}

/// Beginning of a recording's file.
pub const RECORDING: &str = "lockyard-recording ";

/// Beginning of the file of several recordings.
pub const RECORDINGS: &str = "lockyard-recordings ";

/// Refuses a recording, which only one command takes.
fn no_recording(origin: &str, bytes: &[u8]) -> Result<(), String> {
    if [RECORDING, RECORDINGS].iter().any(|name| bytes.starts_with(name.as_bytes())) {
        let allowed = "allowed: with lockyard predict";
        return Err(format!("{origin}: is a recording of `lockyard record`; {allowed}"));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_device_a_directory_and_a_socket_are_no_files() {
        let socket = std::env::temp_dir().join(format!("lockyard-socket-{}", std::process::id()));
        let held = std::os::unix::net::UnixListener::bind(&socket).expect("there is room");
        for path in [Path::new("/dev/zero"), Path::new("/"), &socket] {
            let refused = open_regular(path).expect_err("it is none");
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
            let said = read_file(path, 10).expect_err("it is none");
            assert!(said.ends_with(": is not a file"), "{said}");
        }
        drop(held);
        let _ = std::fs::remove_file(&socket);
    }

    #[test]
    fn a_recording_in_place_of_text_is_named_whatever_its_size() {
        let path = std::env::temp_dir().join(format!("lockyard-recorded-{}", std::process::id()));
        for (name, size) in [(RECORDING, 0), (RECORDING, 1_000), (RECORDINGS, 1_000)] {
            let bytes = [name.as_bytes(), b"1\n", vec![0xff; size].as_slice()].concat();
            std::fs::write(&path, bytes).expect("there is room");
            let said = read_text(&path, 100, "a plan is TOML").expect_err("it is none");
            let right = ": is a recording of `lockyard record`; allowed: with lockyard predict";
            assert!(said.ends_with(right), "{said}");
        }
        let _ = std::fs::remove_file(&path);
    }
}
