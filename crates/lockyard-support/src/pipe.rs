//! Bytes from a pipe that has a name: a shell's `<(command)`, or one that `mkfifo` made. It is read
//! with a limit, and only while something writes to it: opening a pipe without a writer as a file
//! waits for ever.

use crate::shown;
use std::path::Path;

/// Reads a pipe of at most as many bytes as `most` allows for its beginning. Returns `None` if the
/// path is not a pipe.
#[cfg(not(target_os = "linux"))]
pub fn read_pipe(_: &Path, _: impl Fn(&[u8]) -> u64) -> Option<Result<Vec<u8>, String>> {
    None
}

/// Reads a pipe of at most as many bytes as `most` allows for its beginning. Returns `None` if the
/// path is not a pipe.
///
/// # Errors
///
/// One line that begins with the path: nothing was written to the pipe for seconds, or it has too
/// much.
#[cfg(target_os = "linux")]
pub fn read_pipe(path: &Path, most: impl Fn(&[u8]) -> u64) -> Option<Result<Vec<u8>, String>> {
    use std::os::unix::fs::FileTypeExt;
    let about = std::fs::metadata(path).ok()?;
    about.file_type().is_fifo().then(|| linux::read(path, most))
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Path, shown};
    use std::io::{ErrorKind, Read};
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::{Duration, Instant};

    /// Time for which a pipe may be without a writer.
    const LONELY: Duration = Duration::from_secs(5);

    /// Time between two looks.
    const LOOKS: Duration = Duration::from_millis(5);

    pub(super) fn read(path: &Path, most: impl Fn(&[u8]) -> u64) -> Result<Vec<u8>, String> {
        let origin = shown(path);
        let unreadable = |error: std::io::Error| format!("{origin}: cannot be read: {error}");
        let options =
            std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let mut pipe = options.map_err(unreadable)?;
        let (mut text, mut part) = (Vec::new(), vec![0; 1 << 16]);
        let mut lonely = Instant::now();
        loop {
            match pipe.read(&mut part) {
                // Without a writer, a pipe is at its end. Before the first byte, one may yet come.
                Ok(0) if !text.is_empty() => break,
                Ok(0) if lonely.elapsed() > LONELY => {
                    let seconds = LONELY.as_secs();
                    return Err(format!(
                        "{origin}: nothing was written to this pipe in {seconds} s"
                    ));
                }
                Ok(0) => std::thread::sleep(LOOKS),
                Ok(count) => text.extend_from_slice(&part[..count]),
                // A writer is there, and takes its time.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    lonely = Instant::now();
                    std::thread::sleep(LOOKS);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error)),
            }
            let most = most(&text);
            if text.len() as u64 > most {
                return Err(format!("{origin}: is larger than {most} bytes"));
            }
        }
        Ok(text)
    }
}
