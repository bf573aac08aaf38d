//! Columns that will-it-scale prints, and that scripts for its results read:
//! `tasks,processes,processes_idle,threads,threads_idle,linear`.
//!
//! The format is taken from result files on public mailing lists, not from the program itself.
//! There is a line for zero tasks, with 100 % idle.
//!
//! `processes` and `threads` are operations per second of all tasks together: the mean of the
//! samples. The `_idle` columns next to them say how idle the host was meanwhile, in per cent.
//! `linear` is perfect scaling: the number of tasks times the better single-task figure.

use super::TaskKind;
use super::report::{SyscallsReport, Whose};
use lockyard_support::InputError;

/// Header line.
pub const HEADER: &str = "tasks,processes,processes_idle,threads,threads_idle,linear";

/// Checks that a request can be printed in these columns.
///
/// # Errors
///
/// If it lacks processes, threads, or the cell of one task.
pub fn check(kinds: &[TaskKind], tasks: &[usize]) -> Result<(), InputError> {
    if ![TaskKind::Processes, TaskKind::Threads].iter().all(|kind| kinds.contains(kind)) {
        return Err(InputError(
            "--format will-it-scale has columns of processes and of threads: \
             omit --as, or give --as both"
                .to_owned(),
        ));
    }
    if !tasks.contains(&1) {
        return Err(InputError(
            "--format will-it-scale: its column `linear` is a multiple of the figure of one task; \
             --tasks must contain 1"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns a line for each number of tasks for which both kinds were measured. If a single task was
/// not measured, returns only the header and the line of zeros. An unknown idle share is left
/// empty.
pub fn print(report: &SyscallsReport) -> String {
    let mut text = format!("{HEADER}\n0,0,100,0,100,0\n");
    let of = |kind, tasks| {
        let whose = Whose::Kernel(kind);
        let cell = report.cells.iter().find(|cell| cell.whose == whose && cell.tasks == tasks)?;
        Some((cell.mean()?, cell.idle().map(|idle| format!("{idle:.2}")).unwrap_or_default()))
    };
    let both = |tasks| Some((of(TaskKind::Processes, tasks)?, of(TaskKind::Threads, tasks)?));
    let Some(((processes, _), (threads, _))) = both(1) else { return text };
    let one = processes.round().max(threads.round());
    let mut tasks: Vec<usize> = report.cells.iter().map(|cell| cell.tasks).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for tasks in tasks {
        let Some(((processes, idle), (threads, threads_idle))) = both(tasks) else { continue };
        text.push_str(&format!(
            "{tasks},{processes:.0},{idle},{threads:.0},{threads_idle},{:.0}\n",
            one * tasks as f64
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::report::SyscallsCell;
    use super::*;

    fn cell(kind: TaskKind, tasks: usize, totals: &[f64], idle: f64) -> SyscallsCell {
        let mut cell = SyscallsCell::new(Whose::Kernel(kind), tasks);
        for &total in totals {
            cell.push(&[total], Some(idle));
        }
        cell
    }

    #[test]
    fn lines_are_those_of_the_posted_result_files() {
        // Two lines from a result file of a 5.2-rc2 kernel, posted to a mailing list.
        let cells = vec![
            cell(TaskKind::Processes, 1, &[574_916.0], 93.73),
            cell(TaskKind::Threads, 1, &[574_313.0], 93.70),
            cell(TaskKind::Processes, 2, &[1_006_963.0, 1_006_965.0], 87.47),
            cell(TaskKind::Threads, 2, &[918_228.0], 87.52),
            cell(TaskKind::Processes, 4, &[], 0.0),
        ];
        assert_eq!(
            print(&SyscallsReport { cells, ..SyscallsReport::default() }),
            "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n\
             1,574916,93.73,574313,93.70,574916\n2,1006964,87.47,918228,87.52,1149832\n"
        );
    }

    #[test]
    fn what_the_columns_need_is_asked_for() {
        let both = [TaskKind::Processes, TaskKind::Threads];
        assert_eq!(check(&both, &[2, 1]), Ok(()));
        assert!(check(&both, &[2]).unwrap_err().to_string().contains("--tasks must contain 1"));
        assert!(check(&both[..1], &[1]).unwrap_err().to_string().contains("--as both"));
    }
}
