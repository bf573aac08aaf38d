//! What tasks do again and again, and how they are started.

use lockyard_support::{InputError, hint, printable};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The first argument of a task's process.
pub const TASK: &str = "syscalls-task";

/// More tasks than this are not started.
pub const MOST_TASKS: usize = 4096;

/// What a task does again and again. All tasks do it to the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// `open(path, O_RDWR)`, and `close` of what it returned.
    Open3,
    /// `fstat` of one file that is open.
    Fstat2,
    /// `access(path, F_OK)`.
    Access2,
    /// `stat` of a path.
    Stat2,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Experiment; 4] =
        [Experiment::Open3, Experiment::Fstat2, Experiment::Access2, Experiment::Stat2];

    /// Its name in the published tables.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Open3 => "open3",
            Experiment::Fstat2 => "fstat2",
            Experiment::Access2 => "access2",
            Experiment::Stat2 => "stat2",
        }
    }

    /// The experiment of that name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn parse(name: &str) -> Result<Experiment, InputError> {
        Self::ALL.into_iter().find(|experiment| experiment.name() == name).ok_or_else(|| {
            let hint = hint(name, &Self::ALL.map(Experiment::name), "there are");
            let name = printable(name);
            InputError(format!("`{name}` is no experiment with system calls; {hint}"))
        })
    }

    /// What one operation is, for people.
    pub fn operation(self) -> &'static str {
        match self {
            Experiment::Open3 => "open (read-write) and close of one file",
            Experiment::Fstat2 => "fstat of one open file",
            Experiment::Access2 => "access of one path",
            Experiment::Stat2 => "stat of one path",
        }
    }

    /// Our own lockref's part in it: the script that does to shared memory what the system call
    /// does to the directory entry, and those of its variants that are measured, each with its name
    /// beside this experiment. `stat2` has no script of its own: a path is looked up, a reference
    /// taken and dropped, which is `access2` without the count of credentials.
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

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A process with one thread.
    Processes,
    /// A thread of one process.
    Threads,
}

impl Kind {
    /// Its name, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Processes => "processes",
            Kind::Threads => "threads",
        }
    }

    /// The name of the rows that show the kernel.
    pub fn variant(self) -> &'static str {
        match self {
            Kind::Processes => "kernel-processes",
            Kind::Threads => "kernel-threads",
        }
    }
}

/// How a task's process is started: a program and what stands before [`super::task::perform`]'s arguments.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// The running program, with [`TASK`] as its first argument: its `main` must hand what follows
    /// to [`super::task::perform`] before it does anything else.
    ///
    /// # Errors
    ///
    /// If the system does not say which file the running program is.
    pub fn this_program() -> Result<Launcher, String> {
        // The link itself, not what it points to: the program is found though its file was replaced
        // since.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if itself.exists() {
            itself
        } else {
            std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?
        };
        Ok(Launcher { program, arguments: vec![TASK.into()] })
    }
}

/// How long a sample is.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Before counting begins.
    pub warm_up: Duration,
    /// What is counted.
    pub window: Duration,
    /// A task that is not ready, or has not stopped, for so long is given up, and killed.
    pub stalled_after: Duration,
}

/// The last error of the system, in its words.
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
            "`fstat` is no experiment with system calls; did you mean `fstat2`?"
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
