//! `lockyard syscalls`: measures the running kernel's lockref, and lockyard's for comparison.

use crate::arguments::SyscallsOptions;
use crate::errors::Failure;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{run, task};

/// If this process is a task that the command has started, performs the task and returns its exit
/// code.
#[cfg(not(target_os = "linux"))]
pub(crate) fn task() -> Option<ExitCode> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &SyscallsOptions) -> Result<(), Failure> {
    Err(Failure::Run("syscalls: only Linux's system calls can be measured".to_owned()))
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::{ExitCode, Failure, SyscallsOptions};
    use crate::arguments::{Kinds, SyscallsFormat};
    use crate::screen::screen;
    use crate::values::{check_most, number_list};
    use crate::{host, output, progress};
    use lockyard_measure::cpus::{Cpus, Placement};
    use lockyard_measure::syscalls::{
        Directory, Experiment, Launcher, MOST_TASKS, TASK, TaskKind, Times, columns, report, task,
    };
    use lockyard_results::render::{Document, Extent, render_on};

    /// If this process is a task that the command has started, performs the task and returns its
    /// exit code.
    pub(crate) fn task() -> Option<ExitCode> {
        let mut arguments = std::env::args_os().skip(1);
        (arguments.next()? == TASK).then(|| task::perform(arguments))
    }

    pub(crate) fn run(options: &SyscallsOptions) -> Result<(), Failure> {
        let experiment = Experiment::parse(&options.experiment)?;
        let tasks = number_list("--tasks", "tasks", &options.tasks)?;
        check_most("--tasks", "tasks", &tasks, MOST_TASKS)?;
        let columns_only = options.format == SyscallsFormat::WillItScale;
        let kinds = match (options.kinds, columns_only) {
            (Some(Kinds::Processes), _) | (None, false) => vec![TaskKind::Processes],
            (Some(Kinds::Threads), _) => vec![TaskKind::Threads],
            (Some(Kinds::Both), _) | (None, true) => vec![TaskKind::Processes, TaskKind::Threads],
        };
        if columns_only {
            columns::check(&kinds, &tasks)?;
        }
        let placement = options.placement.as_deref();
        let placement =
            placement.map(|text| Placement::parse(text, &Cpus::allowed())).transpose()?;
        let request = report::SyscallsRequest {
            experiment,
            kinds,
            tasks,
            placement,
            launcher: Launcher::this_program().map_err(Failure::Run)?,
            times: Times {
                warm_up: host::warm_up(options.seconds),
                window: options.seconds,
                stalled_after: options.stalled_after,
            },
            repeats: usize::from(options.repeats),
            beside: !options.kernel_only && !columns_only,
        };
        let directory = Directory::new(options.directory.as_deref())?;
        host::warn();
        let samples = report::samples(&request);
        let each = request.times.warm_up + request.times.window;
        progress::announce(each.mul_f64(samples as f64));
        let bar = progress::bar(samples, "samples");
        let report = report::run(&request, &directory, &mut || bar.inc(1));
        bar.finish_and_clear();
        let report = report?;
        let mut document = document(&report);
        let extent = Extent::rows(report.rows.len(), report.cells.len());
        let interrupted = output::note_end(&mut document, report.failure.as_deref(), extent);
        output::write(&match options.format.document() {
            None => columns::print(&report),
            Some(format) => render_on(&document, format, &screen()),
        })?;
        output::result(report.failure, interrupted, extent)
    }

    fn document(report: &report::SyscallsReport) -> Document {
        let mut notes = report.notes.clone();
        notes.push(host::note(&report.environment));
        Document {
            rows: report.rows.clone(),
            environment: output::environment(report.environment.clone()),
            explanations: report.listings.clone(),
            notes,
            ..Document::default()
        }
    }
}
