//! Files of `--report` and `--picture`. The command checks before the work that it can write them,
//! and writes them afterwards.
//!
//! A page replaces only a page, and a picture only a picture. Partial results do not replace
//! complete ones, but get another name in the same directory.

use crate::arguments::{Pages, ReportFile};
use crate::errors::{Failure, complain, first};
use crate::new_file::NewFile;
use lockyard_report::{page, picture};
use lockyard_results::compare::Comparison;
use lockyard_results::render::{Document, verdicts};
use lockyard_results::row::Row;
use lockyard_sim::Machine;
use lockyard_support::printable;
use std::path::{Path, PathBuf};

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Page,
    Picture,
}

impl Content {
    fn option(self) -> &'static str {
        match self {
            Content::Page => "--report",
            Content::Picture => "--picture",
        }
    }

    fn is_such(self, text: &str) -> bool {
        match self {
            Content::Page => page::is_page(text),
            Content::Picture => picture::is_picture(text),
        }
    }
}

/// A file that the user asked for.
#[derive(Debug)]
struct Wanted {
    content: Content,
    path: PathBuf,
    file: NewFile,
}

impl Wanted {
    /// Tries to write the file, so that an error is found before the long work.
    fn at(content: Content, path: &Path) -> Result<Wanted, Failure> {
        let file = NewFile::at(content.option(), path, true)?;
        if path.exists() && !Wanted::holds(content, path) {
            let shown = printable(&path.display().to_string());
            let what = match content {
                Content::Page => "a report of lockyard",
                Content::Picture => "a picture by lockyard",
            };
            return Err(Failure::Input(format!(
                "{} {shown}: exists, and is not {what}; name another file",
                content.option()
            )));
        }
        Ok(Wanted { content, path: path.to_path_buf(), file })
    }

    /// Returns true if an existing file may be replaced, because it has content of this kind or is
    /// empty.
    fn holds(content: Content, path: &Path) -> bool {
        std::fs::read(path).is_ok_and(|bytes| {
            bytes.is_empty() || content.is_such(&String::from_utf8_lossy(&bytes))
        })
    }

    /// Writes the file, and reports it. `partial` results do not replace complete ones, but get
    /// another name in the same directory.
    fn write(&self, text: &str, partial: bool) -> Result<(), Failure> {
        let there = std::fs::read_to_string(&self.path).unwrap_or_default();
        let is_complete = self.content.is_such(&there) && !page::is_partial(&there);
        let beside;
        let file = if partial && is_complete {
            let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
            let end = self.path.extension().unwrap_or_default().to_string_lossy();
            let path = self.path.with_file_name(format!("{stem}.partial.{end}"));
            beside = Wanted::at(self.content, &path)?;
            &beside.file
        } else {
            &self.file
        };
        file.write(text)?;
        complain(&format!("lockyard: wrote {}", file.shown()));
        Ok(())
    }
}

/// Settings of a page, apart from its results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// Title of the page.
    pub(crate) title: &'a str,
    /// Simulated machines to draw.
    pub(crate) machines: &'a [Machine],
    /// True to show every detail of each row.
    pub(crate) in_detail: bool,
}

/// Pages and pictures that a command writes.
#[derive(Debug)]
pub(crate) struct Reports {
    files: Vec<Wanted>,
}

impl Reports {
    /// Prepares the page and the picture.
    pub(crate) fn of(pages: &Pages) -> Result<Reports, Failure> {
        let mut reports = Reports::of_page(&pages.file)?;
        if let Some(path) = &pages.picture {
            let option = Content::Picture.option();
            reports.check_apart(option, &NewFile::at(option, path, true)?)?;
            reports.files.push(Wanted::at(Content::Picture, path)?);
        }
        Ok(reports)
    }

    /// Prepares the page and the picture. A picture needs at least two numbers of `threads`.
    pub(crate) fn of_threads(pages: &Pages, threads: &[usize]) -> Result<Reports, Failure> {
        if pages.picture.is_some() && threads.len() < 2 {
            let why = "--picture: a curve needs at least two numbers in --threads";
            return Err(Failure::Input(why.to_owned()));
        }
        Reports::of(pages)
    }

    /// Prepares the page.
    pub(crate) fn of_page(file: &ReportFile) -> Result<Reports, Failure> {
        let page = file.report.as_deref().map(|path| Wanted::at(Content::Page, path));
        Ok(Reports { files: page.transpose()?.into_iter().collect() })
    }

    /// Refuses another file if one of these is written to the same place. `option` names it.
    pub(crate) fn check_apart(&self, option: &str, file: &NewFile) -> Result<(), Failure> {
        match self.files.iter().find(|wanted| wanted.file.is_same(file)) {
            Some(wanted) => {
                let what = format!("{} and {option} name the same file", wanted.content.option());
                Err(Failure::Input(what))
            }
            None => Ok(()),
        }
    }

    /// Refuses a picture of these rows if it would have no curve. Their figures need not be known.
    pub(crate) fn check_picture(&self, rows: &[Row]) -> Result<(), Failure> {
        let wanted = self.files.iter().any(|wanted| wanted.content == Content::Picture);
        if wanted && picture::curves(rows).is_none() {
            let why = "--picture: no experiment has figures at two or more thread counts";
            return Err(Failure::Input(why.to_owned()));
        }
        Ok(())
    }

    /// Writes the files of these results: all that can be written.
    pub(crate) fn write(&self, document: &Document, about: &About) -> Result<(), Failure> {
        let one = |wanted: &Wanted| {
            let text = match wanted.content {
                Content::Page => page::document(&page::Report {
                    title: about.title,
                    command: &command_line(),
                    document,
                    verdicts: &sentences(document),
                    machines: about.machines,
                    in_detail: about.in_detail,
                }),
                Content::Picture => picture::curves(&document.rows).ok_or_else(|| {
                    Failure::Run(format!(
                        "{} is not written: no experiment has figures at two or more thread counts",
                        wanted.file.shown()
                    ))
                })?,
            };
            wanted.write(&text, document.partial.is_some())
        };
        first(self.files.iter().map(one))
    }

    /// Writes the page of a profile.
    #[cfg(target_os = "linux")]
    pub(crate) fn write_profile(&self, profile: &serde_json::Value) -> Result<(), Failure> {
        let mut files = self.files.iter();
        files.try_for_each(|wanted| wanted.write(&page::profile(profile), false))
    }

    /// Returns true if there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the page of a sweep.
    pub(crate) fn write_sweep(&self, document: &serde_json::Value) -> Result<(), Failure> {
        let is_partial = document["missing"] != 0;
        let text = page::sweep(document);
        self.files.iter().try_for_each(|wanted| wanted.write(&text, is_partial))
    }

    /// Writes the page of a comparison.
    pub(crate) fn write_comparison(&self, comparison: &Comparison) -> Result<(), Failure> {
        let version = env!("CARGO_PKG_VERSION");
        let mut files = self.files.iter();
        files.try_for_each(|wanted| wanted.write(&page::comparison(comparison, version), false))
    }
}

/// Returns the sentences that sum up a document, the most important first. Those of a recorded
/// program say all that its curves do.
fn sentences(document: &Document) -> Vec<String> {
    let Some(recorded) = &document.recorded else { return verdicts(&document.rows) };
    [recorded.lines(), recorded.several_saturated()].concat()
}

/// Returns the shipped machines that the rows of a document name, without duplicates.
pub(crate) fn machines_of(document: &Document) -> Vec<Machine> {
    let mut found: Vec<Machine> = Vec::new();
    for row in &document.rows {
        let name = &row.key.machine;
        if row.predicted.is_some() && !found.iter().any(|machine| machine.name() == name) {
            found.extend(Machine::shipped(name));
        }
    }
    found
}

/// Returns the command line, as text for people.
fn command_line() -> String {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| printable(&argument.to_string_lossy()).to_string());
    std::iter::once("lockyard".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
