//! Results that are saved under a name, for later comparisons.
//!
//! Each name is a file `NAME.json` in `.lockyard/baselines` below the current directory, or in the
//! directory that `--baselines` names. So the results belong to a project, need no home directory,
//! and can be cached by CI. The file has the output of `--format json`. Saving replaces an earlier
//! file of the same name in one step. Results of a run that ended early are never saved.

use crate::arguments::{BaselineDirectory, BaselineOptions, Output};
use crate::errors::{Failure, complain, first};
use crate::new_file::NewFile;
use crate::{output, verdict};
use lockyard_results::compare::{self, Options, Planned, ResultFile, read::MAX_FILE_BYTES};
use lockyard_results::render::{Document, Extent, Format, render};
use lockyard_support::printable;
use std::path::{Path, PathBuf};

/// Default directory of the saved results.
const USUAL_DIRECTORY: &str = ".lockyard/baselines";

/// Maximum length of a name in bytes.
const LONGEST_NAME: usize = 64;

/// Actions on the results of a run. They are prepared before the work, so that errors appear early.
#[derive(Debug)]
pub(crate) struct Baselines {
    /// File in which to save the results.
    save: Option<Save>,
    /// Earlier results to compare with, and the threshold.
    against: Option<Against>,
}

#[derive(Debug)]
struct Save {
    name: String,
    file: NewFile,
    replaces: bool,
}

#[derive(Debug)]
struct Against {
    results: ResultFile,
    threshold: f64,
    /// Threshold as the user wrote it.
    shown: String,
}

impl Baselines {
    /// Reads the earlier results, and checks that new ones can be written.
    ///
    /// # Errors
    ///
    /// Bad input if a name is wrong, or if the earlier results are missing or broken. A failure if
    /// the directory cannot be created.
    pub(crate) fn prepare(options: &BaselineOptions) -> Result<Baselines, Failure> {
        let against = options.against.as_deref().map(|name| {
            let shown = options.threshold.clone().unwrap_or_else(|| "5%".to_owned());
            let threshold = verdict::threshold(&shown)?;
            let results = load(Path::new(name), &options.directory)?;
            Ok::<_, Failure>(Against { results, threshold, shown })
        });
        let against = against.transpose()?;
        let save = options.save.as_deref().map(|name| {
            check(name).map_err(|what| Failure::Input(format!("--save: {what}")))?;
            let path = file(name, &options.directory);
            let directory = directory(&options.directory);
            std::fs::create_dir_all(directory).map_err(|error| {
                let directory = printable(&directory.display().to_string());
                Failure::Run(format!("--save: {directory} cannot be made: {error}"))
            })?;
            let replaces = path.exists();
            let file = NewFile::at("--save", &path, true)?;
            Ok::<_, Failure>(Save { name: name.to_owned(), file, replaces })
        });
        Ok(Baselines { save: save.transpose()?, against })
    }

    /// Refuses a run whose results could not be compared with the earlier ones, as far as that is
    /// known before the run.
    ///
    /// # Errors
    ///
    /// Bad input: they have nothing in common, or were made in another way or on another host.
    pub(crate) fn check<E: Into<Failure>>(
        &self,
        planned: impl FnOnce() -> Result<Planned, E>,
    ) -> Result<(), Failure> {
        match &self.against {
            Some(against) => {
                let planned = planned().map_err(Into::into)?;
                Ok(compare::check_planned(&against.results, &planned)?)
            }
            None => Ok(()),
        }
    }

    /// Prints the results of a run, keeps them, has its files written, and compares them, as asked
    /// for. After a comparison programs get only that, because two documents would be none. They
    /// get the results if there is no comparison.
    ///
    /// # Errors
    ///
    /// As [`output::finish`] and `lockyard compare`. All that can be written has been.
    pub(crate) fn finish(
        &self,
        mut document: Document,
        failure: Option<String>,
        extent: Extent,
        output: &Output,
        write_files: impl FnOnce(&Document) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.save.is_none() && self.against.is_none() {
            return output::finish_and(document, failure, extent, output, write_files);
        }
        let interrupted = output::note_end(&mut document, failure.as_deref(), extent);
        let format: Format = output.format.into();
        let whole = failure.is_none() && !interrupted;
        let people = matches!(format, Format::Table | Format::Markdown);
        let is_printed = people || self.against.is_none() || !whole;
        if is_printed {
            output::print(&document, format)?;
        }
        if !whole {
            let written = write_files(&document);
            complain("lockyard: not kept and not compared, because the results are not complete");
            return first([output::result(failure, interrupted, extent), written]);
        }
        let text = render(&document, Format::Json);
        let results = compare::parse("this run", &text);
        let saved = match &self.save {
            Some(save) if results.is_ok() => save.write(&text),
            _ => Ok(()),
        };
        let written = write_files(&document);
        let compared = match (results, &self.against) {
            (Ok(results), Some(against)) => against.compare(&results, format),
            (Ok(_), None) => Ok(()),
            (Err(error), _) => Err(error.into()),
        };
        if let (Err(Failure::Input(_)), false) = (&compared, is_printed) {
            output::print(&document, format)?;
        }
        first([saved, compared, written])
    }
}

impl Against {
    /// Compares the results of this run, and prints the comparison.
    fn compare(&self, results: &ResultFile, format: Format) -> Result<(), Failure> {
        let options = Options { threshold: self.threshold, anyway: false };
        let comparison = compare::compare(&self.results, results, options)?;
        if matches!(format, Format::Table | Format::Markdown) {
            output::write("\n")?;
        }
        verdict::print(&comparison, format, &self.shown)
    }
}

impl Save {
    fn write(&self, text: &str) -> Result<(), Failure> {
        let (name, path) = (&self.name, self.file.shown());
        if text.len() as u64 > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            return Err(Failure::Run(format!(
                "--save {name}: the results are larger than {most} MiB, which could not be read"
            )));
        }
        self.file.write(text)?;
        let replaced = if self.replaces { ", in place of the earlier results" } else { "" };
        complain(&format!("lockyard: kept as {name} in {path}{replaced}"));
        Ok(())
    }
}

/// Reads results: those of a file, or else those of a name. A directory hides no name.
///
/// # Errors
///
/// If the results are missing or broken.
pub(crate) fn load(argument: &Path, directory: &BaselineDirectory) -> Result<ResultFile, Failure> {
    if argument.exists() && !argument.is_dir() {
        return Ok(compare::load(argument)?);
    }
    let Some(name) = argument.to_str().filter(|name| check(name).is_ok()) else {
        return Ok(compare::load(argument)?);
    };
    let path = file(name, directory);
    if path.exists() {
        return Ok(compare::load(&path)?);
    }
    let kept = names(directory);
    if kept.is_empty() && argument.is_dir() {
        return Ok(compare::load(argument)?);
    }
    if kept.is_empty() {
        let place = printable(&self::directory(directory).display().to_string());
        return Err(Failure::Input(format!(
            "there is no file `{name}`, and {place} has no saved results; --save NAME saves some"
        )));
    }
    let known: Vec<&str> = kept.iter().map(String::as_str).collect();
    let hint = lockyard_support::hint(name, &known, "kept are");
    Err(Failure::Input(format!("there is no file `{name}`, and no results of that name; {hint}")))
}

/// Returns the names of all saved results.
fn names(of: &BaselineDirectory) -> Vec<String> {
    let entries = std::fs::read_dir(directory(of)).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name.strip_suffix(".json").filter(|name| check(name).is_ok())?.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

fn directory(of: &BaselineDirectory) -> &Path {
    of.path.as_deref().unwrap_or(Path::new(USUAL_DIRECTORY))
}

fn file(name: &str, of: &BaselineDirectory) -> PathBuf {
    directory(of).join(format!("{name}.json"))
}

/// Checks a name. The error says why the name is wrong.
fn check(name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let first = name.bytes().next().is_some_and(|byte| byte != b'.' && byte != b'-');
    if first && name.len() <= LONGEST_NAME && name.bytes().all(allowed) {
        return Ok(());
    }
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    Err(format!(
        "`{}` is not a name for results; allowed: 1 to {LONGEST_NAME} letters, digits, `-`, `_` \
         and `.`, the first one no `-` or `.`",
        printable(&shown)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        for good in ["main", "v1.2-rc_3", "7", &"x".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(65);
        for wrong in ["", ".", "..", ".x", "-x", "a/b", "a\\b", "a b", "ä", "a\n", &long] {
            let error = check(wrong).expect_err(wrong);
            assert!(error.contains("allowed: 1 to 64 letters") && !error.contains('\n'), "{error}");
        }
    }
}
