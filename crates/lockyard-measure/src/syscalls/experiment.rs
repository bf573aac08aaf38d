//! Operations that tasks repeat, and the command that starts tasks.

use lockyard_support::{InputError, hint, printable};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// First argument of a task process.
pub const TASK: &str = "syscalls-task";

/// Maximum number of tasks.
pub const MOST_TASKS: usize = 4096;

/// Operation that a task repeats. All tasks perform it on the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// `open(path, O_RDWR)`, and `close` of the returned descriptor.
    Open3,
    /// `fstat` of one open file.
    Fstat2,
    /// `access(path, F_OK)`.
    Access2,
    /// `stat` of a path.
    Stat2,
}

impl Experiment {
    /// All experiments.
    pub const ALL: [Experiment; 4] =
        [Experiment::Open3, Experiment::Fstat2, Experiment::Access2, Experiment::Stat2];

    /// Returns the name in the published tables.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Open3 => "open3",
            Experiment::Fstat2 => "fstat2",
            Experiment::Access2 => "access2",
            Experiment::Stat2 => "stat2",
        }
    }

    /// Returns the experiment with this name.
    ///
    /// # Errors
    ///
    /// If there is no such experiment.
    pub fn parse(name: &str) -> Result<Experiment, InputError> {
        Self::ALL.into_iter().find(|experiment| experiment.name() == name).ok_or_else(|| {
            let hint = hint(name, &Self::ALL.map(Experiment::name), "there are");
            let name = printable(name);
            InputError(format!("`{name}` is not an experiment with system calls; {hint}"))
        })
    }

    /// Describes one operation for readers.
    pub fn operation(self) -> &'static str {
        match self {
            Experiment::Open3 => "open (read-write) and close of one file",
            Experiment::Fstat2 => "fstat of one open file",
            Experiment::Access2 => "access of one path",
            Experiment::Stat2 => "stat of one path",
        }
    }

    /// Returns the script and the variants that run the same work on our own lockref. The script
    /// does to shared memory what the system call does to the directory entry. Each measured
    /// variant is paired with its name in this experiment.
    ///
    /// `stat2` has no script. It looks up a path, and takes and drops a reference. That is
    /// `access2` without the reference count of credentials.
    pub fn beside(self) -> (&'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Experiment::Open3 | Experiment::Fstat2 => {
                (self.name(), &[("lockref-pause", "lockref-pause"), ("lockref", "lockref")])
            }
            Experiment::Access2 => (
                "access2",
                &[
                    ("access-patch+lockref-pause", "access-patch+lockref-pause"),
                    ("access-patch+lockref", "access-patch+lockref"),
                ],
            ),
            Experiment::Stat2 => (
                "access2",
                &[
                    ("access-patch+lockref-pause", "lockref-pause"),
                    ("access-patch+lockref", "lockref"),
                ],
            ),
        }
    }
}

/// Kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A process with one thread.
    Processes,
    /// A thread of one process.
    Threads,
}

impl TaskKind {
    /// Returns the plural name.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Processes => "processes",
            TaskKind::Threads => "threads",
        }
    }

    /// Returns the name of the rows for the kernel.
    pub fn variant(self) -> &'static str {
        match self {
            TaskKind::Processes => "kernel-processes",
            TaskKind::Threads => "kernel-threads",
        }
    }
}

/// Command that starts a task process: a program, and the arguments that precede those of
/// [`super::task::perform`].
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Program to start.
    pub program: PathBuf,
    /// First arguments of the program.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// Returns the running program, with [`TASK`] as its first argument. Its `main` must first pass
    /// the remaining arguments to [`super::task::perform`].
    ///
    /// # Errors
    ///
    /// If the system does not report the file of the running program.
    pub fn this_program() -> Result<Launcher, String> {
        // Use the link itself, not its target. It works even if the program's file has been
        // replaced since.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if itself.exists() {
            itself
        } else {
            std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?
        };
        Ok(Launcher { program, arguments: vec![TASK.into()] })
    }
}

/// Durations of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time before counting begins.
    pub warm_up: Duration,
    /// Time during which operations are counted.
    pub window: Duration,
    /// Timeout for a task to become ready or to stop. After that it is killed.
    pub stalled_after: Duration,
}

/// Returns the system's last error.
pub(super) fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Script;

    #[test]
    fn experiments_are_found_by_name() {
        for experiment in Experiment::ALL {
            assert_eq!(Experiment::parse(experiment.name()), Ok(experiment));
        }
        assert_eq!(
            Experiment::parse("fstat").unwrap_err().to_string(),
            "`fstat` is not an experiment with system calls; did you mean `fstat2`?"
        );
    }

    #[test]
    fn what_stands_beside_an_experiment_is_in_its_script() {
        for experiment in Experiment::ALL {
            let (script, variants) = experiment.beside();
            let script = Script::shipped(script).expect("it is shipped");
            assert!(variants.iter().all(|(variant, _)| script.variant(variant).is_some()));
        }
    }
}
