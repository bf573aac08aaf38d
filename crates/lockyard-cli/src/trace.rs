//! The file of `lockyard predict --trace`.

use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use lockyard_predict::request::PredictRequest;
use lockyard_predict::trace::{TracedCell, assemble};
use lockyard_sim::Machine;
use lockyard_support::printable;
use lockyard_trace::Form;
use std::path::Path;

/// A file for a trace. An earlier file is replaced.
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
    /// Bad input if the extension is another one, or if the file cannot be written.
    pub(crate) fn at(path: &Path) -> Result<TraceFile, Failure> {
        let form = Form::of(path).ok_or_else(|| {
            let shown = printable(&path.display().to_string());
            let allowed = Form::EXTENSIONS;
            Failure::Input(format!("--trace {shown}: not a format of traces; allowed: {allowed}"))
        })?;
        Ok(TraceFile { file: NewFile::at("--trace", path, true)?, form })
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
