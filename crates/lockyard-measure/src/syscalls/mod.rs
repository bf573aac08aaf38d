//! The running kernel's own lockref: system calls on one file of a temporary directory, by many
//! tasks at once.
//!
//! `open3`, `fstat2`, `access2` and `stat2` are the experiments of the published tables. Every task
//! performs one system call on the same file, so that the tasks meet at the file's directory entry,
//! whose reference count is the kernel's lockref. A task is a process or a thread; it is pinned,
//! and counts its operations in a line of its own of memory that it shares with the measuring
//! process.
//!
//! Tasks never run in the measuring process. It has threads (for Ctrl-C, for progress), and a fork
//! of it would inherit locks that nobody releases; so it starts its own program again, with a word
//! in front of the arguments by which [`task::perform`] is called ([`TASK`]). That keeps the
//! process of a task as small as a plain program's, without a second thread that would make the
//! kernel count references to open files; and a task that hangs can be killed.
//!
//! | module | what |
//! | --- | --- |
//! | [`task`] | what a task does |
//! | `shared` | the memory that tasks and the measuring process share |
//! | `directory` | the temporary directory |
//! | `run` | one sample of one cell |
//! | `idle` | how idle the host was |
//! | [`report`] | the rounds, beside our own lockref, and what they come to |
//! | [`columns`] | the columns that will-it-scale's readers expect |

pub mod columns;
mod directory;
mod experiment;
mod idle;
pub mod report;
mod run;
mod shared;
pub mod task;

pub use directory::{Directory, remove_all};
pub use experiment::{Experiment, Kind, Launcher, MOST_TASKS, TASK, Times};
pub use run::{Plan, Sample, Stopped, sample};
