//! Process of a task. It maps the shared memory, pins itself, reports that it is ready, and then
//! repeats one system call.
//!
//! [`super::sample`] of the same program provides its arguments. Its standard input is the shared
//! memory, and its standard output is the open file. It ends when the flag says stop. If the
//! measuring process ends without setting the flag, the kernel kills the task.

use super::experiment::{Experiment, TASK, last_error};
use super::shared::{
    FAILED_TO_CALL, FAILED_TO_PIN, FAILED_TO_START, GO, Line, MOVED, PREPARE, READY, STOP, Shared,
};
use crate::cpus::{guard, pin};
use std::ffi::{CString, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval at which a task checks whether to start. It is long enough to leave the CPU to tasks
/// that are not ready yet.
const LOOKS: Duration = Duration::from_micros(100);

/// Stack size of a task's thread.
const STACK: usize = 128 << 10;

/// Runs the task described by `arguments`, which are those after [`TASK`].
pub fn perform(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Task::parse(arguments.into_iter().collect()).and_then(Task::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("lockyard: {TASK} is for lockyard itself: {message}");
            ExitCode::from(2)
        }
    }
}

/// Description of the tasks in one process.
struct Task {
    experiment: Experiment,
    path: CString,
    /// Process ID of the measuring process.
    parent: libc::pid_t,
    /// Number of tasks in all processes.
    tasks: usize,
    /// Index of this process's first task.
    first: usize,
    /// CPU of each task in this process. The length is the number of tasks.
    cpus: Vec<Option<usize>>,
}

/// Returns the arguments for a process that runs tasks from number `first` on `cpus`, out of
/// `tasks` tasks in total.
pub(super) fn arguments(
    experiment: Experiment,
    path: &std::path::Path,
    (tasks, first): (usize, usize),
    cpus: &[Option<usize>],
) -> Vec<OsString> {
    let cpus: Vec<String> =
        cpus.iter().map(|cpu| cpu.map_or("-".to_owned(), |cpu| cpu.to_string())).collect();
    vec![
        experiment.name().into(),
        path.into(),
        std::process::id().to_string().into(),
        tasks.to_string().into(),
        first.to_string().into(),
        cpus.join(",").into(),
    ]
}

impl Task {
    fn parse(arguments: Vec<OsString>) -> Result<Task, String> {
        let Ok([experiment, path, parent, tasks, first, cpus]) =
            <[OsString; 6]>::try_from(arguments)
        else {
            return Err("it takes six arguments".to_owned());
        };
        let text = |argument: OsString| {
            argument.into_string().map_err(|_| "an argument is not text".to_owned())
        };
        fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
            let wrong = |_| format!("`{}` is not a number", lockyard_support::printable(text));
            text.parse().map_err(wrong)
        }
        let cpu = |text: &str| if text == "-" { Ok(None) } else { number(text).map(Some) };
        Ok(Task {
            experiment: Experiment::parse(&text(experiment)?).map_err(|error| error.to_string())?,
            path: CString::new(path.into_vec()).map_err(|_| "a path contains a 0".to_owned())?,
            parent: number(&text(parent)?)?,
            tasks: number(&text(tasks)?)?,
            first: number(&text(first)?)?,
            cpus: text(cpus)?.split(',').map(cpu).collect::<Result<_, _>>()?,
        })
    }

    fn run(self) -> Result<(), String> {
        if self.tasks > super::MOST_TASKS || self.first + self.cpus.len() > self.tasks {
            let (count, first) = (self.cpus.len(), self.first);
            return Err(format!("{count} tasks from number {first} are out of range"));
        }
        live_and_die_with(self.parent)?;
        let shared = Shared::map(std::io::stdin().as_fd(), self.tasks)?;
        if let [cpu] = self.cpus[..] {
            // Stay in the main thread, because a second thread would change what the kernel does.
            self.perform(&shared, self.first, cpu);
            return Ok(());
        }
        std::thread::scope(|scope| {
            for (index, &cpu) in self.cpus.iter().enumerate() {
                let task = self.first + index;
                let (me, shared) = (&self, &shared);
                let begin = move || me.perform(shared, task, cpu);
                let spawned =
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, begin);
                if let Err(error) = spawned {
                    // The measuring process sees the failure, and stops the other tasks.
                    fail(shared.line(task), FAILED_TO_START, &error);
                    break;
                }
            }
        });
        Ok(())
    }

    /// Runs one task from pinning to its end.
    fn perform(&self, shared: &Shared, task: usize, cpu: Option<usize>) {
        let line = shared.line(task);
        if let Some(cpu) = cpu
            && !pin(cpu)
        {
            return fail(line, FAILED_TO_PIN, &last_error());
        }
        let done = match self.experiment {
            Experiment::Open3 => repeat(shared, line, || open_and_close(&self.path)),
            Experiment::Fstat2 => repeat(shared, line, || stat_of_open_file(libc::STDOUT_FILENO)),
            Experiment::Access2 => repeat(shared, line, || access(&self.path)),
            Experiment::Stat2 => repeat(shared, line, || stat(&self.path)),
        };
        if let Err(error) = done {
            return fail(line, FAILED_TO_CALL, &error);
        }
        if let Some(cpu) = cpu
            && !guard::is_pinned_to(cpu)
        {
            fail(line, MOVED, &std::io::Error::from_raw_os_error(0));
        }
    }
}

/// Reports that the task is ready, waits for the start, and repeats `call` until the flag says
/// stop. Each call also costs a load of a line that no task writes, and a store to the task's own
/// line.
fn repeat(shared: &Shared, line: &Line, call: impl Fn() -> bool) -> Result<(), std::io::Error> {
    let flag = &shared.header().flag;
    // All of these are relaxed: only the numbers themselves are published.
    line.state.store(READY, Ordering::Relaxed);
    while flag.load(Ordering::Relaxed) == PREPARE {
        std::thread::sleep(LOOKS);
    }
    let mut count = 0;
    while flag.load(Ordering::Relaxed) == GO {
        if !call() {
            return Err(last_error());
        }
        count += 1;
        line.count.store(count, Ordering::Relaxed);
    }
    debug_assert_eq!(flag.load(Ordering::Relaxed), STOP);
    Ok(())
}

fn fail(line: &Line, state: u32, error: &std::io::Error) {
    line.errno.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
    // Release: pairs with the measuring process's acquire. A reader that sees the state also sees
    // the error number.
    line.state.store(state, Ordering::Release);
}

/// Calls `open` for reading and writing, then `close`. Returns true if both succeeded.
#[inline(always)]
pub fn open_and_close(path: &std::ffi::CStr) -> bool {
    // SAFETY: the path is a C string.
    let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_RDWR) };
    // SAFETY: the descriptor was opened here, and is used nowhere else. -1 is refused.
    descriptor >= 0 && unsafe { libc::close(descriptor) } == 0
}

/// Calls `fstat` on an open file, as the C library does it. Returns true if it succeeded.
#[inline(always)]
pub fn stat_of_open_file(descriptor: i32) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is live, and as large as the call requires. It is not read.
    unsafe { libc::fstat(descriptor, status.as_mut_ptr()) == 0 }
}

/// Calls `access` on a path, to check for existence. Returns true if it succeeded.
#[inline(always)]
pub fn access(path: &std::ffi::CStr) -> bool {
    // SAFETY: the path is a C string.
    unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
}

/// Calls `stat` on a path. Returns true if it succeeded.
#[inline(always)]
pub fn stat(path: &std::ffi::CStr) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is a C string. `status` is live, and as large as the call requires. It is
    // not read.
    unsafe { libc::stat(path.as_ptr(), status.as_mut_ptr()) == 0 }
}

/// Ignores signals that reach the whole process group (Ctrl-C, `timeout`, a closed terminal); the
/// measuring process handles them by stopping its tasks. Also makes this process end when the
/// measuring process ends.
fn live_and_die_with(parent: libc::pid_t) -> Result<(), String> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the call installs no handler function.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    // If the measuring process ended before this call, the signal is never sent. SAFETY: the call
    // takes no arguments.
    if unsafe { libc::getppid() } == parent {
        Ok(())
    } else {
        Err("the process that started it has ended".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn arguments_are_read_as_they_were_written() {
        let cpus = [Some(3), None, Some(0)];
        let task = Task::parse(arguments(Experiment::Stat2, Path::new("/a b/file"), (8, 5), &cpus))
            .expect("they are right");
        assert_eq!(task.experiment, Experiment::Stat2);
        assert_eq!(task.path.as_bytes(), b"/a b/file");
        assert_eq!((task.tasks, task.first, &task.cpus[..]), (8, 5, &cpus[..]));
        assert_eq!(task.parent, std::process::id() as libc::pid_t);
    }

    #[test]
    fn arguments_of_somebody_else_are_refused() {
        let parse =
            |arguments: &[&str]| Task::parse(arguments.iter().map(OsString::from).collect()).err();
        assert!(parse(&[]).is_some());
        assert!(parse(&["open3", "/f", "1", "2", "x", "-"]).is_some());
        assert!(parse(&["open3", "/f", "1", "2", "0", "-"]).is_none());
        let beyond = Task::parse(["open3", "/f", "1", "1", "1", "-"].map(OsString::from).into());
        assert!(beyond.expect("they are arguments").run().is_err());
    }

    #[test]
    fn each_call_succeeds_on_a_file_and_fails_without_one() {
        let directory = super::super::Directory::new(None).expect("there is a directory");
        let path = CString::new(directory.file().into_os_string().into_vec()).expect("no 0");
        assert!(open_and_close(&path) && access(&path) && stat(&path));
        let file = directory.open().expect("it is there");
        use std::os::fd::AsRawFd;
        assert!(stat_of_open_file(file.as_raw_fd()));
        drop(directory);
        assert!(!open_and_close(&path) && !access(&path) && !stat(&path));
        assert!(!stat_of_open_file(-1));
    }
}
