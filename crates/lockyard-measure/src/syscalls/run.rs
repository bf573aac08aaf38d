//! One sample of one cell: starts the tasks, warms up, counts during a window, stops and reaps
//! them.
//!
//! No task is left behind: [`Children`] kills and reaps those that have not ended by themselves.

use super::directory::Directory;
use super::idle::Ticks;
use super::shared::{
    FAILED_TO_CALL, FAILED_TO_PIN, FAILED_TO_START, GO, MOVED, NEW, READY, STOP, Shared,
};
use super::{Experiment, Launcher, TaskKind, Times, task};
use crate::cpus::Placement;
use lockyard_support::jobs;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A cell to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Operation of a task.
    pub experiment: Experiment,
    /// Kind of a task.
    pub kind: TaskKind,
    /// Number of tasks.
    pub tasks: usize,
    /// Placement of the tasks.
    pub placement: &'a Placement,
    /// Directory with the file that the tasks use.
    pub directory: &'a Directory,
    /// Command that starts a task process.
    pub launcher: &'a Launcher,
}

/// Result of a sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Operations of each task during the window.
    pub counts: Vec<u64>,
    /// Length of the window.
    pub window: Duration,
    /// Idle share of the host's CPUs during the window, in per cent, if the system reports it.
    pub idle: Option<f64>,
}

/// Reason why a sample is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The user interrupted the process.
    Interrupted,
    /// A request was refused, or a task failed. The text is one line for the user.
    Failed(String),
}

/// Interval at which the measuring process checks tasks that start or stop.
const LOOKS: Duration = Duration::from_millis(1);
/// Interval at which it checks tasks that count. It is longer, because each check takes CPU time
/// from them.
const LONGEST_SLEEP: Duration = Duration::from_millis(200);

/// Measures one sample.
///
/// # Errors
///
/// If it was interrupted, or a task cannot be started, cannot be pinned, fails, or does not end.
/// Even then, all tasks have ended.
pub fn sample(plan: &Plan, times: Times) -> Result<Sample, Stopped> {
    let result = attempt(plan, times);
    // An interrupt may also be the cause of the task's failure.
    if result.is_err() && jobs::interrupted() { Err(Stopped::Interrupted) } else { result }
}

fn attempt(plan: &Plan, times: Times) -> Result<Sample, Stopped> {
    let (shared, memory) = Shared::new(plan.tasks).map_err(Stopped::Failed)?;
    let file = plan.directory.open().map_err(|error| {
        Stopped::Failed(format!("{}: {error}", lockyard_support::shown(&plan.directory.file())))
    })?;
    let cpus: Vec<Option<usize>> = (0..plan.tasks).map(|i| plan.placement.cpu(i)).collect();
    let mut run = Run { plan, times, shared: &shared, children: Children(Vec::new()) };
    let each = match plan.kind {
        TaskKind::Processes => 1,
        TaskKind::Threads => plan.tasks,
    };
    for (index, cpus) in cpus.chunks(each).enumerate() {
        run.start(index * each, cpus, (&memory, &file))?;
    }
    run.await_ready()?;
    shared.header().flag.store(GO, Ordering::Relaxed);
    run.sleep(times.warm_up)?;
    let (ticks, before, begin) = (Ticks::now(), run.counts(), Instant::now());
    run.sleep(times.window)?;
    let (after, window, now) = (run.counts(), begin.elapsed(), Ticks::now());
    shared.header().flag.store(STOP, Ordering::Relaxed);
    run.await_end()?;
    run.all_well()?;
    let counts = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let idle = now.zip(ticks).and_then(|(now, earlier)| now.idle_since(earlier));
    Ok(Sample { counts, window, idle })
}

/// A sample during its measurement.
struct Run<'a> {
    plan: &'a Plan<'a>,
    times: Times,
    shared: &'a Shared,
    children: Children,
}

impl Run<'_> {
    fn failed<T>(&self, what: impl std::fmt::Display) -> Result<T, Stopped> {
        let Plan { experiment, kind, tasks, .. } = self.plan;
        let what = format!("{}, {tasks} {}: {what}", experiment.name(), kind.name());
        Err(Stopped::Failed(what))
    }

    /// Starts a process for the tasks from number `first`, one on each of `cpus`.
    fn start(
        &mut self,
        first: usize,
        cpus: &[Option<usize>],
        (memory, file): (&File, &File),
    ) -> Result<(), Stopped> {
        if jobs::interrupted() {
            return Err(Stopped::Interrupted);
        }
        let Plan { experiment, tasks, directory, launcher, .. } = self.plan;
        let path = directory.file();
        let child = memory.try_clone().and_then(|memory| {
            Command::new(&launcher.program)
                .args(&launcher.arguments)
                .args(task::arguments(*experiment, &path, (*tasks, first), cpus))
                .stdin(Stdio::from(memory))
                .stdout(Stdio::from(file.try_clone()?))
                .spawn()
        });
        match child {
            Ok(child) => self.children.0.push(child),
            Err(error) => {
                return self.failed(format_args!(
                    "task {first} cannot be started: {error} (a limit such as `ulimit -u` allows \
                     fewer?)"
                ));
            }
        }
        Ok(())
    }

    /// Waits until every task is ready. Gives up if no further task becomes ready for too long.
    fn await_ready(&mut self) -> Result<(), Stopped> {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            self.all_well()?;
            let ready = self.states().filter(|&state| state == READY).count();
            if ready == self.plan.tasks {
                return Ok(());
            }
            if jobs::interrupted() {
                return Err(Stopped::Interrupted);
            }
            if ready != last {
                (last, since) = (ready, Instant::now());
            }
            if let Some(status) = self.children.first_ended() {
                // The task may have reported the reason just before it ended.
                self.all_well()?;
                return self.failed(format_args!("a task ended before it began: {status}"));
            }
            if since.elapsed() > self.times.stalled_after {
                let seconds = self.times.stalled_after.as_secs_f64();
                return self.failed(format_args!(
                    "only {ready} tasks were ready, and no other became ready for {seconds:.1} s"
                ));
            }
            std::thread::sleep(LOOKS);
        }
    }

    fn states(&self) -> impl Iterator<Item = u32> {
        // Acquire: pairs with the release with which a task reports its failure.
        (0..self.shared.tasks()).map(|task| self.shared.line(task).state.load(Ordering::Acquire))
    }

    /// Checks that no task has reported a failure.
    fn all_well(&self) -> Result<(), Stopped> {
        let wrong = |&(_, state): &(usize, u32)| state != NEW && state != READY;
        let Some((task, state)) = self.states().enumerate().find(wrong) else { return Ok(()) };
        let line = self.shared.line(task);
        let error = std::io::Error::from_raw_os_error(line.errno.load(Ordering::Relaxed));
        match state {
            FAILED_TO_PIN => {
                let cpu = self.plan.placement.cpu(task).unwrap_or(0);
                self.failed(format_args!(
                    "task {task} cannot be pinned to CPU {cpu}: \
                     {error} (--placement unpinned leaves it to the system)"
                ))
            }
            FAILED_TO_START => self.failed(format_args!(
                "thread {task} cannot be started: {error} (a limit such as `ulimit -u` allows \
                 fewer?)"
            )),
            FAILED_TO_CALL => {
                let done = line.count.load(Ordering::Relaxed);
                let operation = self.plan.experiment.operation();
                self.failed(format_args!(
                    "{operation} failed in task {task} after {done} operations: {error}"
                ))
            }
            MOVED => {
                let cpu = self.plan.placement.cpu(task).unwrap_or(0);
                self.failed(format_args!(
                    "task {task} is not pinned to CPU {cpu} any more: \
                     its allowed CPUs were changed while it ran (by taskset, \
                     or a container's cpuset); run again when they no longer change"
                ))
            }
            state => self.failed(format_args!("task {task} is in an unknown state, {state}")),
        }
    }

    fn counts(&self) -> Vec<u64> {
        let count = |task| self.shared.line(task).count.load(Ordering::Relaxed);
        (0..self.shared.tasks()).map(count).collect()
    }

    /// Sleeps while the tasks run.
    fn sleep(&mut self, time: Duration) -> Result<(), Stopped> {
        let begin = Instant::now();
        loop {
            let left = time.saturating_sub(begin.elapsed());
            if jobs::interrupted() {
                return Err(Stopped::Interrupted);
            }
            if left.is_zero() {
                return Ok(());
            }
            jobs::sleep(left.min(LONGEST_SLEEP));
            self.all_well()?;
            if let Some(status) = self.children.first_ended() {
                self.all_well()?;
                return self.failed(format_args!("a task ended while it was counted: {status}"));
            }
        }
    }

    /// Waits until all processes have ended.
    fn await_end(&mut self) -> Result<(), Stopped> {
        let begin = Instant::now();
        loop {
            if jobs::interrupted() {
                return Err(Stopped::Interrupted);
            }
            match self.children.reap() {
                Ok(0) => return Ok(()),
                Ok(left) if begin.elapsed() > self.times.stalled_after => {
                    let seconds = self.times.stalled_after.as_secs_f64();
                    return self.failed(format_args!(
                        "{left} processes have not ended {seconds:.1} s after they were told to"
                    ));
                }
                Ok(_) => std::thread::sleep(LOOKS),
                Err(how) => return self.failed(format_args!("a task failed: {how}")),
            }
        }
    }
}

/// Task processes that have not been reaped. Dropping this kills and reaps them.
struct Children(Vec<Child>);

impl Children {
    /// Reaps the processes that have ended, and returns the number of those still running.
    ///
    /// # Errors
    ///
    /// The exit status of a process that failed.
    fn reap(&mut self) -> Result<usize, String> {
        let mut bad = None;
        self.0.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            Ok(Some(status)) => {
                bad = Some(status.to_string());
                false
            }
            Err(error) => {
                bad = Some(error.to_string());
                false
            }
        });
        bad.map_or(Ok(self.0.len()), Err)
    }

    /// Returns the exit status of an ended process, if there is one.
    fn first_ended(&mut self) -> Option<String> {
        self.0.iter_mut().find_map(|child| child.try_wait().ok().flatten()).map(|s| s.to_string())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        // Timeout for a process that is stuck in the kernel, for example in a file system that does
        // not answer.
        const PATIENCE: Duration = Duration::from_secs(10);
        for child in &mut self.0 {
            // This may fail because the process has already ended.
            let _ = child.kill();
        }
        let begin = Instant::now();
        while !self.0.is_empty() && begin.elapsed() < PATIENCE {
            self.0.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            if !self.0.is_empty() {
                std::thread::sleep(LOOKS);
            }
        }
    }
}
