//! A directory of rows: one file for each cell, `cells/ID.json`, and `plan.json` with the plan.
//!
//! A file is written under a temporary name and then renamed. So a file is complete or absent,
//! whatever ends the process, and several processes can share a directory, also over a network file
//! system. If two of them compute one cell, both write the same bytes.

use crate::files::Bundle;
use crate::run::check_sum;
use crate::version::{SCHEMA, VERSION};
use lockyard_support::InputError;
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Age from which a temporary file is one that a killed process left.
const OLD: Duration = Duration::from_secs(3600);

/// Maximum size of a cell's file, in bytes.
const MAX_CELL_BYTES: u64 = 16 << 20;

/// Maximum size of a plan with its files, in bytes.
const MAX_PLAN_BYTES: u64 = 64 << 20;

/// A directory of rows.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Opens a directory for writing, and creates it if it does not exist. Removes temporary files
    /// that killed processes left there.
    ///
    /// # Errors
    ///
    /// If the directory cannot be written.
    pub fn create(directory: &Path) -> Result<Store, String> {
        let store = Store { directory: directory.to_path_buf() };
        let cells = store.cells();
        let failed = |error: io::Error| {
            format!("{} cannot be written: {error}", lockyard_support::shown(&cells))
        };
        fs::create_dir_all(&cells).map_err(failed)?;
        for entry in fs::read_dir(&cells).map_err(failed)?.flatten() {
            let is_temporary = entry.file_name().to_string_lossy().starts_with('.');
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            if is_temporary && age().is_some_and(|age| age > OLD) {
                // Another process may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(store)
    }

    /// Opens a directory for reading.
    ///
    /// # Errors
    ///
    /// If it is not the directory of a sweep.
    pub fn open(directory: &Path) -> Result<Store, InputError> {
        let store = Store { directory: directory.to_path_buf() };
        if store.cells().is_dir() && store.plan_file().is_file() {
            return Ok(store);
        }
        let shown = lockyard_support::shown(directory);
        Err(InputError(format!(
            "{shown}: is not the directory of a sweep (`lockyard sweep --out`)"
        )))
    }

    fn cells(&self) -> PathBuf {
        self.directory.join("cells")
    }

    fn plan_file(&self) -> PathBuf {
        self.directory.join("plan.json")
    }

    fn cell_file(&self, id: &str) -> PathBuf {
        self.cells().join(format!("{id}.json"))
    }

    /// Writes the plan, unless the directory has the same one.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_plan(&self, bundle: &Bundle) -> Result<(), String> {
        let (path, text) = (self.plan_file(), bundle.json());
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        write(&path, &text)
    }

    /// Returns the plan of the directory.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn plan(&self) -> Result<Bundle, InputError> {
        let path = self.plan_file();
        let text = lockyard_support::read_text(&path, MAX_PLAN_BYTES, "a plan is JSON");
        Bundle::parse(&lockyard_support::shown(&path), &text.map_err(InputError)?)
    }

    /// Writes the row of a cell.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, id: &str, text: &str) -> Result<(), String> {
        write(&self.cell_file(id), text)
    }

    /// Returns the row with this id; `None` if it is absent.
    ///
    /// # Errors
    ///
    /// If the file is damaged: it is not the row of this id and of this version.
    pub fn read(&self, id: &str) -> Result<Option<Value>, String> {
        let path = self.cell_file(id);
        let damaged = |what: &str| format!("{}: {what}", lockyard_support::shown(&path));
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Ok(there) if there.len() > MAX_CELL_BYTES => return Err(damaged("is too large")),
            _ => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| damaged(&error.to_string()))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| damaged(&format!("is not JSON: {error}")))?;
        let outcome = value.get("row").or(value.get("error")).unwrap_or(&Value::Null);
        let expected = [
            ("schema", SCHEMA.to_owned()),
            ("program", VERSION.to_owned()),
            ("id", id.to_owned()),
            ("check", check_sum(id, &value["inputs"], outcome)),
        ];
        for (name, expected) in expected {
            if value[name] != expected.as_str() {
                return Err(damaged(&format!("its `{name}` is {}, not {expected}", value[name])));
            }
        }
        Ok(Some(value))
    }

    /// Returns true if the row with this id is there and is not damaged.
    pub fn has(&self, id: &str) -> bool {
        matches!(self.read(id), Ok(Some(_)))
    }

    /// Returns the number of files of cells.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn count(&self) -> Result<u64, String> {
        let cells = self.cells();
        let failed = |error: io::Error| {
            format!("{} cannot be read: {error}", lockyard_support::shown(&cells))
        };
        let mut count = 0;
        for entry in fs::read_dir(&cells).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            count += u64::from(name.ends_with(".json") && !name.starts_with('.'));
        }
        Ok(count)
    }
}

/// Writes a file: completely, or not at all.
fn write(path: &Path, text: &str) -> Result<(), String> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    // Two processes on two hosts may have the same number, so the name has a random part, too.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = format!(".{name}.{}-{number}-{:08x}", process::id(), random());
    let partial = path.with_file_name(partial);
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&partial);
        format!("{} cannot be written: {error}", lockyard_support::shown(path))
    })
}

/// Returns a number that differs between processes.
fn random() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}
