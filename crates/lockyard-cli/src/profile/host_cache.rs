//! The machine file of this host, kept for a day in the user's cache directory.
//!
//! The file's name and a line in it are of what the measurement depends on: the start of the
//! system, the processor, the CPUs that the process may use, and the version of the command.
//! Nothing in the file is trusted: another user's file, a link, a file of another host or of
//! another day, and text that is no machine file count as none. Without a directory for caches, or
//! if it cannot be written, nothing is kept.

use crate::new_file::NewFile;
use lockyard_measure::cpus::Cpus;
use lockyard_sim::Machine;
use lockyard_sim::machine::MAX_FILE_BYTES;
use serde_json::{Value, json};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name and version of the format. Files of version 1 lack the costs of the kernel's calls.
const FORMAT: &str = "lockyard-host-2";

/// Time for which a measurement is kept; an unsteady one, which another time may make better.
const STEADY: Duration = Duration::from_secs(24 * 3600);
const UNSTEADY: Duration = Duration::from_secs(3600);

/// A machine file that was kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Text of the machine file.
    pub(super) file: String,
    /// Doubt about it.
    pub(super) note: Option<String>,
    /// Time since the measurement.
    pub(super) age: Duration,
}

/// Place of this host's machine file.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    /// Inputs of the measurement.
    key: String,
}

impl Place {
    /// Returns the place of this host's file; `None` without a directory for caches, or if the
    /// system does not say what distinguishes this host.
    pub(super) fn of_this_host() -> Option<Place> {
        let of = |name: &str| std::env::var_os(name).map(PathBuf::from);
        // A relative path is to be ignored, says the XDG Base Directory Specification.
        let absolute = |path: &PathBuf| path.is_absolute();
        let cache = of("XDG_CACHE_HOME").filter(absolute);
        let cache = cache.or_else(|| Some(of("HOME").filter(absolute)?.join(".cache")))?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = about.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
        let mut cpus: Vec<usize> = Cpus::allowed().all().to_vec();
        cpus.sort_unstable();
        let version = env!("CARGO_PKG_VERSION");
        let key = format!("{version}; {}; {model}; CPUs {cpus:?}", boot.trim());
        Some(Place { directory: cache.join("lockyard"), key })
    }

    fn path(&self) -> PathBuf {
        // FNV-1a; two hosts with the same name differ in their keys.
        let hash = self.key.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.directory.join(format!("host-{hash:016x}.json"))
    }

    /// Returns the machine file that is kept, if it is this host's and young enough.
    pub(super) fn read(&self) -> Option<Kept> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path()).ok()?;
        let most = 2 * MAX_FILE_BYTES;
        if !is_own(&file, most) {
            return None;
        }
        let mut text = String::new();
        file.take(most).read_to_string(&mut text).ok()?;
        let found: Value = serde_json::from_str(&text).ok()?;
        if found["format"] != FORMAT || found["key"] != self.key.as_str() {
            return None;
        }
        let measured = UNIX_EPOCH.checked_add(Duration::from_secs(found["measured"].as_u64()?))?;
        // A time in the future is that of another clock.
        let age = SystemTime::now().duration_since(measured).ok()?;
        let note = found["note"].as_str().map(str::to_owned);
        let file = found["machine"].as_str()?.to_owned();
        let is_young = age < if note.is_some() { UNSTEADY } else { STEADY };
        let is_machine = Machine::parse("machine file that was kept", &file).is_ok();
        (is_young && is_machine).then_some(Kept { file, note, age })
    }

    /// Keeps a machine file that was measured now. A failure only means that the next command
    /// measures again.
    pub(super) fn write(&self, file: &str, note: Option<&str>) {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return };
        let text = json!({
            "format": FORMAT,
            "key": self.key,
            "measured": now.as_secs(),
            "note": note,
            "machine": file,
        });
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        let kept = made.ok().and_then(|()| NewFile::at("cache", &self.path(), true).ok());
        if let Some(kept) = kept {
            let _ = kept.write(format!("{text:#}\n"));
        }
    }
}

/// Returns true if the file is a small regular file of this user that not everyone may write.
fn is_own(file: &File, most: u64) -> bool {
    const ALL_WRITE: u32 = 0o002;
    let own = lockyard_support::files::user();
    file.metadata().is_ok_and(|about| {
        let is_ours = about.uid() == own && about.mode() & ALL_WRITE == 0;
        about.is_file() && is_ours && about.len() < most
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn machine() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/skylake-client-4c.toml");
        fs::read_to_string(path).expect("it is there")
    }

    fn place(name: &str, key: &str) -> Place {
        let name = format!("lockyard-cache-{name}-{}", std::process::id());
        Place { directory: std::env::temp_dir().join(name), key: key.to_owned() }
    }

    #[test]
    fn what_was_kept_is_found_again_by_the_same_host_only() {
        let here = place("same", "a host");
        assert_eq!(here.read(), None, "there is no directory");
        here.write(&machine(), Some("two values"));
        let kept = here.read().expect("it is kept");
        assert_eq!((kept.file.clone(), kept.note.as_deref()), (machine(), Some("two values")));
        assert!(kept.age < Duration::from_secs(60), "{kept:?}");
        assert_eq!(place("same", "another host").read(), None);
        // A file of another host under this one's name.
        let other = place("same", "another host");
        fs::copy(here.path(), other.path()).expect("it is there");
        assert_eq!(other.read(), None);
        let left = fs::read_dir(&here.directory).expect("it is there").count();
        assert_eq!(left, 2, "no temporary file is left");
        fs::remove_dir_all(&here.directory).expect("it is there");
    }

    #[test]
    fn a_file_that_is_old_or_broken_or_not_ours_counts_as_none() {
        let here = place("broken", "a host");
        here.write(&machine(), None);
        let whole = fs::read_to_string(here.path()).expect("it is kept");
        let with = |change: &dyn Fn(&mut Value)| {
            let mut value: Value = serde_json::from_str(&whole).expect("it is JSON");
            change(&mut value);
            fs::write(here.path(), value.to_string()).expect("it can be written");
            here.read()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
        assert!(with(&|_| ()).is_some());
        assert!(with(&|kept| kept["measured"] = (now - 86_000).into()).is_some());
        for measured in [now - 86_500, now + 1_000, u64::MAX] {
            assert_eq!(with(&|kept| kept["measured"] = measured.into()), None, "{measured}");
        }
        // An unsteady measurement is kept for an hour.
        let unsteady = |age: u64| {
            with(&|kept| {
                kept["note"] = "two values".into();
                kept["measured"] = (now - age).into();
            })
        };
        assert!(unsteady(3_000).is_some() && unsteady(4_000).is_none());
        assert_eq!(with(&|kept| kept["machine"] = "no = \"machine\"".into()), None);
        assert_eq!(with(&|kept| kept["format"] = "lockyard-host-1".into()), None);
        for text in ["", "{", "null", "[[", "\u{0}"] {
            fs::write(here.path(), text).expect("it can be written");
            assert_eq!(here.read(), None, "{text}");
        }
        fs::write(here.path(), &whole).expect("it can be written");
        fs::set_permissions(here.path(), fs::Permissions::from_mode(0o666)).expect("it is ours");
        assert_eq!(here.read(), None, "anybody may have written it");
        fs::remove_file(here.path()).expect("it is there");
        let elsewhere = here.directory.join("elsewhere");
        fs::write(&elsewhere, &whole).expect("it can be written");
        std::os::unix::fs::symlink(&elsewhere, here.path()).expect("it can be made");
        assert_eq!(here.read(), None, "a link");
        fs::remove_dir_all(&here.directory).expect("it is there");
    }
}
