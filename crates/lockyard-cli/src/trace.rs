//! The file of `lockyard predict --trace`.

use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use crate::report::Reports;
use lockyard_predict::request::PredictRequest;
use lockyard_predict::trace::{TracedCell, assemble};
use lockyard_sim::Machine;
use lockyard_support::printable;
use lockyard_trace::Form;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file for a trace. An earlier trace is replaced, and no other file.
#[derive(Debug)]
pub(crate) struct TraceFile {
    file: NewFile,
    form: Form,
}

impl TraceFile {
    /// Prepares a file at `path`, whose extension gives the format.
    ///
    /// # Errors
    ///
    /// Bad input: another extension, a file that cannot be written or is not a trace, or one of
    /// `reports`.
    pub(crate) fn at(path: &Path, reports: &Reports) -> Result<TraceFile, Failure> {
        let shown = printable(&path.display().to_string());
        let refuse = |what: &str| Failure::Input(format!("--trace {shown}: {what}"));
        let form = Form::of(path).ok_or_else(|| {
            refuse(&format!("not a format of traces; allowed: {}", Form::EXTENSIONS))
        })?;
        let file = NewFile::at("--trace", path, true)?;
        reports.check_apart("--trace", &file)?;
        if path.exists() && !holds(form, path) {
            return Err(refuse(
                "exists, and is not a trace written by lockyard; name another file",
            ));
        }
        Ok(TraceFile { file, form })
    }

    /// Writes the trace of `cells`, and reports its size and the parts that are left out. `about`
    /// has the first facts of the trace.
    pub(crate) fn write(
        &self,
        cells: &[TracedCell],
        machine: &Machine,
        about: Vec<(String, String)>,
    ) -> Result<(), Failure> {
        let assembled = assemble(cells, machine, about);
        self.file.write(self.form.write(&assembled.trace))?;
        let shown = self.file.shown();
        let cells = match cells.len() {
            1 => "1 cell".to_owned(),
            cells => format!("{cells} cells"),
        };
        complain(&format!("{shown}: {cells}, {} events", assembled.trace.events()));
        for cell in &assembled.left_out {
            complain(&format!("{shown}: {cell}"));
        }
        Ok(())
    }
}

/// Returns true if the file that is there may be replaced: it is a trace of this form, or empty.
fn holds(form: Form, path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(Form::BEGIN).read_to_end(&mut begin));
    read.is_ok() && (begin.is_empty() || form.is_begin(&begin))
}

/// Returns the first facts of a trace: the scenario, and the environment of the figures.
pub(crate) fn about(
    request: &PredictRequest,
    environment: &[(String, String)],
) -> Vec<(String, String)> {
    let mut about = vec![
        ("scenario".to_owned(), request.script.name.clone()),
        ("operation".to_owned(), request.script.operation.clone()),
    ];
    about.extend(environment.iter().cloned());
    about
}
