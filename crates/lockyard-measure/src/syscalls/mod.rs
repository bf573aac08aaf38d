//! Lockref of the running kernel: many tasks make system calls on one file of a temporary
//! directory.
//!
//! The experiments of the published tables are `open3`, `fstat2`, `access2` and `stat2`. In each of
//! them, every task repeats one system call on the same file. So all tasks contend for the file's
//! directory entry, whose reference count is the kernel's lockref.
//!
//! A task is a process or a thread. It is pinned, and counts its operations in its own line of
//! memory shared with the measuring process.
//!
//! Tasks never run in the measuring process. That process has threads (for Ctrl-C, for progress),
//! and a fork would inherit locks that no thread releases. So it starts its own program again, with
//! a first argument ([`TASK`]) that makes it call [`task::perform`].
//!
//! A task's process then stays as small as a plain program's. It has no second thread, which would
//! make the kernel count references to open files. And a task that hangs can be killed.
//!
//! | module | content |
//! | --- | --- |
//! | [`task`] | process of a task |
//! | `shared` | memory shared by tasks and the measuring process |
//! | `directory` | temporary directory |
//! | `run` | one sample of one cell |
//! | `idle` | idle time of the host |
//! | [`report`] | rounds of the kernel's lockref and our own, and their results |
//! | [`columns`] | output in the columns of will-it-scale |

pub mod columns;
mod directory;
mod experiment;
mod idle;
pub mod report;
mod run;
mod shared;
pub mod task;

pub use directory::{Directory, remove_all};
pub use experiment::{Experiment, Launcher, MOST_TASKS, TASK, TaskKind, Times};
pub use run::{Plan, Sample, Stopped, sample};
