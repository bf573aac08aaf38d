//! Private directories of a profile: one for the records, one for the preload library. They are
//! removed at the end, also after a signal, or when there is no memory.
//!
//! SIGKILL leaves them behind. Each one is locked while its command runs, and the next command
//! removes those of this boot that no process locks.

use super::removal;
use lockyard_profile::{cpus, preload};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Directories that exist now.
static PRESENT: Mutex<Vec<Arc<Held>>> = Mutex::new(Vec::new());

/// Room for records below which a file system in memory is not used, in bytes.
const ENOUGH: u64 = 256 << 20;

/// Beginning of the names of the directories.
const NAME: &str = "lockyard-profile-";

fn present() -> MutexGuard<'static, Vec<Arc<Held>>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all directories. Call this before the process ends without unwinding.
pub(crate) fn remove_all() {
    present().drain(..).for_each(|held| held.remove());
}

/// Does the same, unless a thread is creating or removing a directory.
pub(crate) fn try_remove_all() {
    if let Ok(mut present) = PRESENT.try_lock() {
        present.drain(..).for_each(|held| held.remove());
    }
}

/// A directory that is open.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    /// The directory, until it is removed.
    folder: Mutex<Option<File>>,
}

impl Held {
    /// Returns true if the directory is not at its path any more.
    fn is_displaced(&self) -> bool {
        // Not a wait: memory may have run out in this function.
        let Ok(folder) = self.folder.try_lock() else { return false };
        let Some(folder) = folder.as_ref() else { return false };
        let identity = |about: fs::Metadata| (about.dev(), about.ino());
        let own = folder.metadata().map(identity).ok();
        own.is_none() || fs::symlink_metadata(&self.path).map(identity).ok() != own
    }

    /// Returns the path of the directory. A program may have given it another one.
    fn place(&self) -> PathBuf {
        if !self.is_displaced() {
            return self.path.clone();
        }
        // As above.
        let Ok(folder) = self.folder.try_lock() else { return self.path.clone() };
        let Some(folder) = folder.as_ref() else { return self.path.clone() };
        let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
        fs::read_link(link).unwrap_or_else(|_| self.path.clone())
    }

    /// Removes the directory, and a file or link that a program has put in its place. It is closed
    /// before, because its descriptor may be the last one that the process may have.
    fn remove(&self) {
        let place = self.place();
        if let Ok(mut folder) = self.folder.try_lock() {
            *folder = None;
        }
        removal::remove(&place);
        if fs::symlink_metadata(&self.path).is_ok_and(|about| !about.is_dir()) {
            // Nothing more can be done about an error here.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens a directory, but no link to one.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Locks a directory until it is closed. Returns false if another process has done so.
fn lock(folder: &File) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Returns the beginning of the names of this boot: locks of another host's commands, on a file
/// system of both, are not known here.
fn of_this_boot() -> Option<&'static str> {
    static BEGIN: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let short: String = boot.chars().filter(char::is_ascii_hexdigit).take(12).collect();
        (short.len() == 12).then(|| format!("{NAME}{short}-"))
    };
    // Kept, because later there may be no descriptor for it.
    BEGIN.get_or_init(read).as_deref()
}

/// Removes the directories of commands of this boot that were killed.
fn remove_left_behind(parent: &Path) {
    let Some(begin) = of_this_boot() else { return };
    let own = lockyard_support::files::user();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().starts_with(begin.as_bytes()) {
            continue;
        }
        let folder = open(&entry.path());
        let is_ours = |folder: &File| folder.metadata().is_ok_and(|about| about.uid() == own);
        if folder.is_ok_and(|folder| is_ours(&folder) && lock(&folder)) {
            removal::remove(&entry.path());
        }
    }
}

/// A private directory. Dropping this value removes it.
#[derive(Debug)]
pub(super) struct Private(Arc<Held>);

impl Private {
    fn within(parent: &Path) -> io::Result<Private> {
        // A daemon may keep a relative path, and change its directory.
        let parent = std::path::absolute(parent)?;
        remove_left_behind(&parent);
        let mut attempt = 0u32;
        loop {
            // The name cannot be guessed.
            let random = RandomState::new().hash_one(0u64);
            let path = parent.join(format!("{NAME}{random:016x}"));
            let mut present = present();
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = open(&path).inspect_err(|_| removal::remove(&path))?;
                    let path = locked(&folder, path, random);
                    let held = Arc::new(Held { path, folder: Mutex::new(Some(folder)) });
                    present.push(held.clone());
                    return Ok(Private(held));
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
        &self.0.path
    }

    /// Returns true if a program has removed it, renamed it, or put something in its place.
    pub(super) fn is_displaced(&self) -> bool {
        self.0.is_displaced()
    }

    /// Returns its path after a program had it, which may have renamed it.
    pub(super) fn place(&self) -> PathBuf {
        self.0.place()
    }
}

/// Locks a directory, and then gives it a name by which later commands know that it was locked.
fn locked(folder: &File, path: PathBuf, random: u64) -> PathBuf {
    let Some(begin) = of_this_boot().filter(|_| lock(folder)) else { return path };
    let named = path.with_file_name(format!("{begin}{random:016x}"));
    match fs::rename(&path, &named) {
        Ok(()) => named,
        Err(_) => path,
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let mut present = present();
        present.retain(|held| !Arc::ptr_eq(held, &self.0));
        self.0.remove();
    }
}

/// Returns true if no other user but the superuser can create, remove or rename anything on the
/// way to this directory, or in it. A name in such a directory stays ours after it is removed.
fn is_ours_alone(path: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    let own = lockyard_support::files::user();
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
            let shown = lockyard_support::shown(&parent);
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
