//! A scheduler (see `schedule.rs` for its rules). This file holds its state: queues and run times.
//!
//! The scheduler decides, and the engine acts. Each function changes the scheduler's own state,
//! whose fields are private, and returns the actions for the engine.
//!
//! | file | contents |
//! | --- | --- |
//! | `switches.rs` | switches of CPUs between threads, and slices |
//! | `yields.rs` | turns that threads give away |
//! | `answers.rs` | answers that threads owe each other |
//! | `check.rs` | what must hold for every CPU and thread |

pub(super) mod answers;
mod check;
pub(super) mod switches;
pub(super) mod yields;

use crate::machine::description::Machine;

/// State of a thread in the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// The thread has not begun.
    New,
    /// The thread is runnable, and waits for a CPU.
    Queued,
    /// A CPU is switching to the thread.
    Coming,
    Running,
    /// The thread is parked.
    Blocked,
    Gone,
}

/// Continuation of a thread when it next runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held {
    /// The operation is complete, with this value.
    Value(u64),
    /// This many cycles of work are left.
    Work(f64),
    /// The thread waits for other threads' answers.
    Answers,
}

/// A thread, as the scheduler sees it.
struct Task {
    cpu: u32,
    group: u32,
    whereabouts: Whereabouts,
    /// Run time of the thread in cycles, on its CPU's scale.
    ran: u64,
    /// Time when the thread began to run, or to wait for a CPU.
    since: u64,
    held: Held,
    /// Cycles that the thread still has to spend on answers to others.
    debt: u64,
    /// Threads that wait for this one's answer.
    owed: Vec<u32>,
    /// Number of answers for which the thread waits.
    missing: u32,
    /// `true` if the thread left its CPU while it spun.
    spun: bool,
    /// `true` if a search for a thread to yield to has passed it over once since then.
    passed_over: bool,
}

/// A CPU: a hardware thread of the machine.
#[derive(Default)]
struct Cpu {
    core: u16,
    running: Option<u32>,
    coming: Option<u32>,
    /// Runnable threads, in order of arrival.
    queue: Vec<u32>,
    /// Thread to which another thread gave its turn.
    favoured: Option<u32>,
    /// `true` if the running thread has to leave at the end of its operation.
    leave: bool,
    /// Number of the planned end of slice that is valid. Ends that were planned earlier are
    /// ignored.
    plan: u32,
    /// `true` if an end of the slice is planned.
    armed: bool,
    /// `true` once the CPU's first slice has begun. That slice begins partway through, so that
    /// slices do not end on all CPUs at the same time.
    begun: bool,
    /// The thread that ran last.
    last: Option<u32>,
    /// Time when a thread last left the CPU; 0 if none has run there.
    left_at: u64,
    /// Least run time of the CPU's threads. It never goes back.
    floor: u64,
}

/// The scheduler. Times are in cycles.
pub(crate) struct Scheduler {
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    period: u64,
    granularity: u64,
    lead: u64,
    switch: u64,
    pause_exit: u64,
    /// Time after which the host notices a spinning thread; `None`: never.
    pause_window: Option<u64>,
    directed: bool,
    interrupt: u64,
    interrupt_work: u64,
    /// Cycles in which CPUs had threads.
    busy: u64,
    /// Thread at which the search for a thread to yield to continues.
    search: u32,
}

impl Scheduler {
    pub(crate) fn new(machine: &Machine) -> Self {
        let n = machine.numbers();
        let cycles = |microseconds: f64| machine.cycles(microseconds * 1e3);
        let cpu = |place| Cpu { core: machine.place(place).core as u16, ..Cpu::default() };
        // If one round of a waiting loop takes longer than the gap, the host does not notice the
        // loop.
        let noticed = n.pause_window > 0 && n.pause + n.poll <= n.pause_gap;
        Scheduler {
            cpus: (0..machine.hardware_threads()).map(cpu).collect(),
            tasks: Vec::new(),
            period: cycles(n.period),
            granularity: cycles(n.granularity).max(1),
            lead: cycles(n.lead),
            switch: cycles(n.switch),
            pause_exit: cycles(n.pause_exit),
            pause_window: noticed.then_some(n.pause_window),
            directed: n.directed_yield > 0,
            interrupt: cycles(n.interrupt),
            interrupt_work: cycles(n.interrupt_work),
            busy: 0,
            search: 0,
        }
    }

    /// Adds the next thread, for CPU `cpu` and in `group`.
    pub(crate) fn add(&mut self, cpu: usize, group: u32) {
        self.tasks.push(Task {
            cpu: cpu as u32,
            group,
            whereabouts: Whereabouts::New,
            ran: 0,
            since: 0,
            held: Held::Value(0),
            debt: 0,
            owed: Vec::new(),
            missing: 0,
            spun: false,
            passed_over: false,
        });
    }

    fn task(&mut self, thread: u32) -> &mut Task {
        &mut self.tasks[thread as usize]
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu as usize]
    }

    /// Run time of a CPU's running thread at `now`.
    fn run_time(&self, cpu: u32, now: u64) -> Option<u64> {
        let task = &self.tasks[self.cpus[cpu as usize].running? as usize];
        Some(task.ran + (now - task.since))
    }

    /// The queue's thread with the least run time, other than `but`.
    fn least(&self, cpu: u32, but: Option<u32>) -> Option<u32> {
        let queue = self.cpus[cpu as usize].queue.iter().copied();
        queue.filter(|&thread| Some(thread) != but).min_by_key(|&t| self.tasks[t as usize].ran)
    }

    /// The next thread for a CPU. Thread `yielded` gives away its turn, if another one's run time
    /// is longer by at most `lead`.
    fn next(&self, cpu: u32, yielded: Option<u32>) -> Option<u32> {
        let ran = |thread: u32| self.tasks[thread as usize].ran;
        let least = self.least(cpu, None)?;
        let fair = |other: u32| ran(other) <= ran(least) + self.lead;
        let favoured = self.cpus[cpu as usize].favoured;
        if let Some(favoured) = favoured.filter(|&t| fair(t)) {
            return Some(favoured);
        }
        let other = self.least(cpu, yielded).filter(|&t| fair(t));
        Some(if yielded == Some(least) { other.unwrap_or(least) } else { least })
    }

    /// Adds up the run time of a running thread, up to `now`.
    fn stop_running(&mut self, thread: u32, now: u64) {
        let task = &mut self.tasks[thread as usize];
        let ran = now - task.since;
        task.ran += ran;
        self.busy += ran;
    }

    /// Cycles up to `now` in which CPUs had threads, without switches.
    pub(crate) fn busy(&self, now: u64) -> u64 {
        let running = self.cpus.iter().filter_map(|cpu| cpu.running);
        self.busy + running.map(|t| now - self.tasks[t as usize].since).sum::<u64>()
    }

    fn is_idle(&self, cpu: u32) -> bool {
        let cpu = &self.cpus[cpu as usize];
        cpu.running.is_none() && cpu.coming.is_none()
    }

    /// Present length of a slice on a CPU.
    fn slice(&self, cpu: u32) -> u64 {
        let threads = self.cpus[cpu as usize].queue.len() as u64 + 1;
        (self.period / threads).max(self.granularity)
    }

    fn raise_floor(&mut self, cpu: u32, now: u64) {
        let queued = self.least(cpu, None).map(|t| self.tasks[t as usize].ran);
        let running = self.run_time(cpu, now);
        let least = queued.into_iter().chain(running).min();
        let cpu = self.cpu(cpu);
        cpu.floor = cpu.floor.max(least.unwrap_or(0));
    }

    /// Moves a queued thread to another CPU, and adjusts its run time to that CPU's scale.
    fn bring(&mut self, thread: u32, to: u32) {
        let from = self.tasks[thread as usize].cpu;
        self.cpu(from).queue.retain(|&t| t != thread);
        if self.cpu(from).favoured == Some(thread) {
            self.cpu(from).favoured = None;
        }
        let (old, new) = (self.cpu(from).floor, self.cpu(to).floor);
        let task = self.task(thread);
        task.ran = (task.ran + new).saturating_sub(old);
        task.cpu = to;
    }
}
