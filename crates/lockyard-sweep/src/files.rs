//! The files that a plan names. They are read from the directory of the plan, or from a bundle that
//! another process made, which may run on another machine.

use crate::version::{SCHEMA, VERSION};
use lockyard_support::{InputError, escaped, printable, read_text, shown};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A plan with all files that it names, as one JSON text. It has no paths other than those that the
/// plan itself has, so it is the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Name of the plan file.
    pub(crate) origin: String,
    /// Text of the plan.
    pub(crate) text: String,
    /// Texts of the other files, by the names that the plan gives them.
    pub(crate) files: BTreeMap<String, String>,
    /// Version of the program that made the bundle.
    pub(crate) program: String,
}

impl Bundle {
    /// Returns the bundle as JSON.
    pub fn json(&self) -> String {
        let object = json!({
            "schema": SCHEMA,
            "program": self.program,
            "origin": self.origin,
            "plan": self.text,
            "files": self.files,
        });
        // A JSON value can always be serialised.
        let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a bundle.
    ///
    /// # Errors
    ///
    /// If the text is not a bundle of this format.
    pub fn parse(origin: &str, text: &str) -> Result<Bundle, InputError> {
        let wrong = |what: &str| InputError(format!("{}: {what}", printable(origin)));
        let value: Value = serde_json::from_str(text)
            .map_err(|error| wrong(&format!("is not the plan of a sweep: {error}")))?;
        if value["schema"] != SCHEMA {
            return Err(wrong(&format!(
                "is not the plan of a sweep; its `schema` must be {SCHEMA}"
            )));
        }
        let get = |name: &str| {
            let text = value[name].as_str().map(str::to_owned);
            text.ok_or_else(|| wrong(&format!("is not the plan of a sweep: it lacks `{name}`")))
        };
        let files = value["files"].as_object().into_iter().flatten();
        let file =
            |(name, text): (&String, &Value)| Some((name.clone(), text.as_str()?.to_owned()));
        Ok(Bundle {
            origin: get("origin")?,
            text: get("plan")?,
            files: files.filter_map(file).collect(),
            program: get("program")?,
        })
    }

    /// Returns the version of the program that made the bundle.
    pub fn program(&self) -> &str {
        &self.program
    }
}

/// Paths of the files of a plan.
enum Place<'a> {
    Directory(PathBuf),
    Bundle(&'a BTreeMap<String, String>),
}

/// The files of a plan. Those that were read are remembered for a bundle.
pub(crate) struct Files<'a> {
    place: Place<'a>,
    read: RefCell<BTreeMap<String, String>>,
}

impl<'a> Files<'a> {
    /// Returns the files beside a plan file.
    pub(crate) fn beside(plan: &Path) -> Files<'static> {
        let directory = plan.parent().unwrap_or(Path::new("")).to_path_buf();
        Files { place: Place::Directory(directory), read: RefCell::default() }
    }

    /// Returns the files of a bundle.
    pub(crate) fn of(bundle: &'a Bundle) -> Files<'a> {
        Files { place: Place::Bundle(&bundle.files), read: RefCell::default() }
    }

    /// Reads a file of at most `max_bytes` bytes. `what` says what it should be. Returns the path
    /// for errors, and the text.
    pub(crate) fn read(
        &self,
        name: &str,
        max_bytes: u64,
        what: &str,
    ) -> Result<(String, String), String> {
        let (origin, text) = match &self.place {
            Place::Directory(directory) => {
                let path = directory.join(name);
                (shown(&path), read_text(&path, max_bytes, what)?)
            }
            Place::Bundle(files) => {
                let text = files.get(name).cloned();
                let missing = || format!("{}: is not in the bundle of the plan", printable(name));
                (escaped(name), text.ok_or_else(missing)?)
            }
        };
        self.read.borrow_mut().insert(name.to_owned(), text.clone());
        Ok((origin, text))
    }

    /// Returns the bundle of a plan and of the files that were read.
    pub(crate) fn into_bundle(self, origin: &str, text: &str) -> Bundle {
        Bundle {
            origin: origin.to_owned(),
            text: text.to_owned(),
            files: self.read.into_inner(),
            program: VERSION.to_owned(),
        }
    }
}
