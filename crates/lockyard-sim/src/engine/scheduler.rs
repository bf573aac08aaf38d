//! The queues and run times of a scheduler (see `schedule.rs` for its rules).

use crate::machine::description::Machine;

/// State of a thread for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// It has not begun.
    New,
    /// It could run, and waits for a CPU.
    Queued,
    /// Its CPU is switching to it.
    Coming,
    Running,
    /// Parked.
    Blocked,
    Gone,
}

/// Continuation of a thread when it runs next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// Its operation is complete, with this value.
    Value(u64),
    /// This many cycles of work are left.
    Work(f64),
    /// It waits for the answers of others.
    Answers,
}

/// A thread, as the scheduler sees it.
pub(super) struct Task {
    pub cpu: u32,
    pub group: u32,
    pub whereabouts: Whereabouts,
    /// Cycles that it has run, on its CPU's scale.
    pub ran: u64,
    /// When it began to run, or to wait for a CPU.
    pub since: u64,
    pub held: Held,
    /// Cycles that answers to others still take from it.
    pub debt: u64,
    /// Threads that wait for its answer.
    pub owed: Vec<u32>,
    /// Answers that it waits for.
    pub missing: u32,
    /// It left its CPU while it spun.
    pub spun: bool,
    /// After that, it was passed over once in the search for a thread to yield to.
    pub passed_over: bool,
}

/// A CPU: a hardware thread of the machine.
#[derive(Default)]
pub(super) struct Cpu {
    pub core: u16,
    pub running: Option<u32>,
    pub coming: Option<u32>,
    /// Threads that could run, in the order in which they came.
    pub queue: Vec<u32>,
    /// Another thread gave its turn to this one.
    pub favoured: Option<u32>,
    /// The running thread is to leave at the end of its operation.
    pub leave: bool,
    /// Number of the planned end of slice that counts, among all that were planned.
    pub plan: u32,
    /// An end of the slice is planned.
    pub armed: bool,
    /// Its first slice has begun. It begins in the middle of a slice, so that not all CPUs begin at
    /// once.
    pub begun: bool,
    /// The thread that ran last.
    pub last: Option<u32>,
    /// Least run time of a thread of the queue; it does not go back.
    pub floor: u64,
}

/// The scheduler. Times are in cycles.
pub(super) struct Scheduler {
    pub cpus: Vec<Cpu>,
    pub tasks: Vec<Task>,
    pub period: u64,
    pub granularity: u64,
    pub lead: u64,
    pub switch: u64,
    pub pause_exit: u64,
    /// A thread that spins this long is noticed; `None`: never.
    pub pause_window: Option<u64>,
    pub directed: bool,
    pub interrupt: u64,
    pub interrupt_work: u64,
    /// Cycles in which CPUs had threads.
    pub busy: u64,
    /// The thread at which the search for one to yield to continues.
    pub search: u32,
}

impl Scheduler {
    pub(super) fn new(machine: &Machine) -> Self {
        let n = machine.numbers();
        let cycles = |microseconds: f64| machine.cycles(microseconds * 1e3);
        let cpu = |place| Cpu { core: machine.place(place).core as u16, ..Cpu::default() };
        // A waiting loop whose round takes longer than the gap is not noticed.
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

    /// Adds the next thread, for CPU `cpu` and of group `group`.
    pub(super) fn add(&mut self, cpu: usize, group: u32) {
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

    pub(super) fn task(&mut self, thread: u32) -> &mut Task {
        &mut self.tasks[thread as usize]
    }

    pub(super) fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu as usize]
    }

    /// Run time of a CPU's running thread by `now`.
    pub(super) fn run_time(&self, cpu: u32, now: u64) -> Option<u64> {
        let task = &self.tasks[self.cpus[cpu as usize].running? as usize];
        Some(task.ran + (now - task.since))
    }

    /// The thread of the queue that has run least, except `but`.
    pub(super) fn least(&self, cpu: u32, but: Option<u32>) -> Option<u32> {
        let queue = self.cpus[cpu as usize].queue.iter().copied();
        queue.filter(|&thread| Some(thread) != but).min_by_key(|&t| self.tasks[t as usize].ran)
    }

    /// The next thread on a CPU. `yielded` gives its turn away, if another has run at most `lead`
    /// longer.
    pub(super) fn next(&self, cpu: u32, yielded: Option<u32>) -> Option<u32> {
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

    /// Stops the clock of a running thread.
    pub(super) fn stop_running(&mut self, thread: u32, now: u64) {
        let task = &mut self.tasks[thread as usize];
        let ran = now - task.since;
        task.ran += ran;
        self.busy += ran;
    }

    /// Cycles in which CPUs had threads, up to `now`, without switches.
    pub(super) fn busy(&self, now: u64) -> u64 {
        let running = self.cpus.iter().filter_map(|cpu| cpu.running);
        self.busy + running.map(|t| now - self.tasks[t as usize].since).sum::<u64>()
    }

    pub(super) fn is_idle(&self, cpu: u32) -> bool {
        let cpu = &self.cpus[cpu as usize];
        cpu.running.is_none() && cpu.coming.is_none()
    }

    /// Length of a slice on a CPU now.
    pub(super) fn slice(&self, cpu: u32) -> u64 {
        let threads = self.cpus[cpu as usize].queue.len() as u64 + 1;
        (self.period / threads).max(self.granularity)
    }

    pub(super) fn raise_floor(&mut self, cpu: u32, now: u64) {
        let queued = self.least(cpu, None).map(|t| self.tasks[t as usize].ran);
        let running = self.run_time(cpu, now);
        let least = queued.into_iter().chain(running).min();
        let cpu = self.cpu(cpu);
        cpu.floor = cpu.floor.max(least.unwrap_or(0));
    }

    /// Gives the next turn of a CPU to a queued thread, if that has run at most `lead` longer than
    /// the others. Returns `true` if a running thread has to leave for it.
    pub(super) fn favour(&mut self, cpu: u32, thread: u32, now: u64) -> bool {
        let ran = |t: u32| self.tasks[t as usize].ran;
        let least = self.least(cpu, None).map(ran).into_iter();
        let least = least.chain(self.run_time(cpu, now)).min().unwrap_or(0);
        if ran(thread) > least + self.lead {
            return false;
        }
        self.cpu(cpu).favoured = Some(thread);
        self.cpu(cpu).running.is_some()
    }

    /// Moves a queued thread to another CPU and its scale of run times.
    pub(super) fn bring(&mut self, thread: u32, to: u32) {
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

impl Cpu {
    /// Returns `true` if no thread waits for it.
    pub(super) fn is_alone(&self) -> bool {
        self.queue.is_empty()
    }
}
