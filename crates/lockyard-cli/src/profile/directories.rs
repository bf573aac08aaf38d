//! Private directories of a profile: one for the records, one for the preload library. They are
//! removed at the end, also after a signal.

use lockyard_profile::{cpus, preload};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directories that exist now.
static PRESENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Room for records below which a file system in memory is not used, in bytes.
const ENOUGH: u64 = 256 << 20;

/// Removes all directories. Call this before the process ends without unwinding.
pub(crate) fn remove_all() {
    let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
    for path in present.drain(..) {
        // Nothing more can be done about an error here.
        let _ = fs::remove_dir_all(path);
    }
}

/// A private directory. Dropping this value removes it.
#[derive(Debug)]
pub(super) struct Private(PathBuf);

impl Private {
    fn within(parent: &Path) -> io::Result<Private> {
        // A daemon may keep a relative path, and change its directory.
        let parent = std::path::absolute(parent)?;
        let mut attempt = 0u32;
        loop {
            // Nobody can guess the name.
            let random = RandomState::new().hash_one(0u64);
            let path = parent.join(format!("lockyard-profile-{random:016x}"));
            let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    present.push(path.clone());
                    return Ok(Private(path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
        present.retain(|path| *path != self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns true if no other user but the superuser can create, remove or rename anything on the
/// way to this directory, or in it. A name in such a directory stays ours after it is removed.
fn is_ours_alone(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_WRITE: u32 = 0o022;
    // SAFETY: the call has no preconditions.
    let own = unsafe { libc::geteuid() };
    fs::canonicalize(path).is_ok_and(|path| {
        path.ancestors().all(|folder| {
            fs::metadata(folder).is_ok_and(|about| {
                (about.uid() == own || about.uid() == 0) && about.mode() & OTHERS_WRITE == 0
            })
        })
    })
}

/// Returns the directories for the preload library, the best first. A daemon may keep the library's
/// name after the library is removed. So directories in which no other user can create a file of
/// that name come first.
fn candidates() -> Vec<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let runtime = of("XDG_RUNTIME_DIR").map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").map(PathBuf::from);
    let home = of("HOME").map(PathBuf::from);
    let hidden = home.as_ref().map(|home| home.join(".cache"));
    let current = std::env::current_dir().ok();
    let shared = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    let all =
        runtime.into_iter().chain(cache).chain(hidden).chain(home).chain(shared).chain(current);
    let (ours, others): (Vec<_>, Vec<_>) =
        all.filter_map(|path| fs::canonicalize(path).ok()).partition(|path| is_ours_alone(path));
    ours.into_iter().chain(others).collect()
}

/// Returns free bytes and flags of the file system of a directory.
fn file_system(path: &Path) -> Option<(u64, u64)> {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends with a zero, and the call writes to a live structure.
    let done = unsafe { libc::statvfs(name.as_ptr(), &raw mut found) };
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    let (free, flags) = (found.f_bavail as u64 * found.f_frsize as u64, found.f_flag as u64);
    (done == 0).then_some((free, flags))
}

/// Makes the directory for records: in memory if there is room, so that nothing is written to a
/// disk while the program runs.
///
/// # Errors
///
/// No directory can be made: a message.
pub(super) fn records() -> Result<Private, String> {
    let memory = Path::new("/dev/shm");
    let in_memory = file_system(memory).is_some_and(|(free, _)| free >= ENOUGH);
    let made = in_memory.then(|| Private::within(memory).ok()).flatten();
    let made = match made {
        Some(made) => made,
        None => {
            let parent = std::env::temp_dir();
            let shown = lockyard_support::printable(&parent.display().to_string()).to_string();
            let refuse = |error| format!("{shown}: no directory for records can be made: {error}");
            Private::within(&parent).map_err(refuse)?
        }
    };
    // Without this file every hand-over between CPUs counts as far. A shorter one, from a full
    // disk, would end the program with SIGBUS.
    let places = made.path().join(lockyard_records::TOPOLOGY);
    if fs::write(&places, cpus::topology()).is_err() {
        let _ = fs::remove_file(&places);
    }
    Ok(made)
}

/// A preload library in a file.
#[derive(Debug)]
pub(super) struct Library {
    path: PathBuf,
    /// Directory of the file, if it is ours.
    _directory: Option<Private>,
}

impl Library {
    /// Writes the library that the command carries, or finds the one that the user names.
    ///
    /// # Errors
    ///
    /// A message that says what is missing.
    pub(super) fn prepare() -> Result<Library, String> {
        if let Some(path) = std::env::var_os(preload::OVERRIDE).filter(|path| !path.is_empty()) {
            let shown = lockyard_support::printable(&path.to_string_lossy()).to_string();
            let path = fs::canonicalize(&path)
                .map_err(|error| format!("{}={shown}: {error}", preload::OVERRIDE))?;
            if !path.is_file() || !is_loadable(&path) {
                return Err(format!(
                    "{}={shown}: not a file whose path has neither spaces nor colons",
                    preload::OVERRIDE
                ));
            }
            return Ok(Library { path, _directory: None });
        }
        let bytes = preload::library().ok_or(
            "only programs for Linux on x86-64 with the GNU C library can be profiled; this \
             command was built for another system",
        )?;
        let mut last = "none has room".to_owned();
        for parent in candidates().iter().filter(|parent| is_loadable(parent)) {
            let written = Private::within(parent).and_then(|directory| {
                let path = directory.path().join("liblockyard_preload.so");
                fs::write(&path, bytes)?;
                Ok(Library { path, _directory: Some(directory) })
            });
            match written {
                Ok(library) => return Ok(library),
                Err(error) => last = error.to_string(),
            }
        }
        Err(format!(
            "the preload library cannot be written to a directory from which programs are loaded \
             (XDG_RUNTIME_DIR, HOME, TMPDIR, /tmp, /var/tmp, this one): {last}"
        ))
    }

    /// Returns the value of `LD_PRELOAD` with the library first.
    pub(super) fn preload(&self) -> OsString {
        let mut value = self.path.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        value
    }
}

/// Returns true if the loader can load from this path: it splits the list at spaces and colons, and
/// some file systems are mounted without execution.
fn is_loadable(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_one = path.is_absolute() && !bytes.iter().any(|byte| b" :\t\n".contains(byte));
    is_one && file_system(path).is_some_and(|(_, flags)| flags & libc::ST_NOEXEC == 0)
}
