//! A scheduler of threads on CPUs, for runs in which CPUs are shared: virtual CPUs of guests on those of their host.
//!
//! | rule | what |
//! | --- | --- |
//! | queues | each CPU has the threads that could run there; the one that has run least is next, the longest waiting of equals |
//! | slices | a thread runs for `period` over the number of threads of its CPU, at least `granularity`, then the next one has its turn |
//! | leaving | a thread leaves its CPU between two operations; at once when it works, spins asleep or waits for answers |
//! | parked | a parked thread gives its CPU up; woken, it goes to an idle CPU, and goes before a thread that has run more than `lead` longer |
//! | idle | a CPU that becomes idle takes the next thread of the fullest queue |
//! | pause loops | a thread that spins for `pause_window` leaves its CPU, for a thread that has run at most `lead` longer. With directed yields it does so for another preempted thread of its own group, wherever that is queued: one that did not itself leave while it spun, or was passed over since (`yields.rs`) |
//! | answers | a running thread answers others of its group after `interrupt`, one that is off its CPU when it runs next, a parked one is woken for it (`shootdown.rs`) |
//!
//! A waiting loop that sleeps until its line moves is a spinning thread: it has the CPU. One that is off its CPU sleeps on no
//! line; when it runs again it looks. The rules are those of a fair scheduler that keeps run times (Linux from 2.6.23 to 6.5) as its documentation and tuning
//! guides describe it, without weights and without balancing of queues of which none is empty.
//!
//! A run without a scheduler has none of this: each thread has its hardware thread.

use super::accounting::Phase;
use super::event::Event;
use super::{Engine, Op};
use crate::machine::Machine;
use crate::shared::LOOK_AGAIN;

/// Where a thread is.
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

/// What a thread goes on with when it runs next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// Its operation is complete, with this value.
    Value(u64),
    /// So many cycles of work are left.
    Work(f64),
    /// It waits for the answers of others.
    Answers,
}

/// A thread, as the scheduler sees it.
pub(super) struct Task {
    pub cpu: u32,
    pub group: u32,
    pub whereabouts: Whereabouts,
    /// Cycles that it has run, on the scale of its CPU.
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
    /// It left its CPU while it spun ...
    pub spun: bool,
    /// ... and was passed over once when a thread to yield to was looked for.
    pub passed_over: bool,
}

/// A CPU: a hardware thread of the machine.
#[derive(Default)]
pub(super) struct Cpu {
    core: u16,
    pub running: Option<u32>,
    pub coming: Option<u32>,
    /// Who could run, in the order of coming.
    pub queue: Vec<u32>,
    /// Another thread gave its turn to this one.
    favoured: Option<u32>,
    /// The running thread is to leave at the end of its operation.
    pub leave: bool,
    /// Tells the end of a slice that counts from those that were planned before.
    plan: u32,
    /// An end of the slice is planned.
    pub armed: bool,
    /// Its slices have begun somewhere in the middle of one, not all at once.
    begun: bool,
    /// The thread that ran last.
    last: Option<u32>,
    /// The least that a thread of the queue has run; does not go back.
    floor: u64,
}

/// The scheduler. Times in cycles.
pub(super) struct Scheduler {
    pub cpus: Vec<Cpu>,
    pub tasks: Vec<Task>,
    period: u64,
    granularity: u64,
    pub lead: u64,
    switch: u64,
    pub pause_exit: u64,
    /// Spinning for so long is noticed; `None`: never.
    pub pause_window: Option<u64>,
    pub directed: bool,
    pub interrupt: u64,
    pub interrupt_work: u64,
    /// Cycles in which CPUs had threads.
    busy: u64,
    /// Where the search for a thread to yield to goes on.
    pub search: u32,
}

impl Scheduler {
    pub(super) fn new(machine: &Machine) -> Self {
        let n = machine.numbers();
        let cycles = |microseconds: f64| machine.cycles(microseconds * 1e3);
        let cpu = |place| Cpu { core: machine.place(place).core as u16, ..Cpu::default() };
        // A round of a waiting loop that takes longer than the gap is not noticed as one.
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

    /// The next thread is for CPU `cpu`, and of group `group`.
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

    /// What the running thread of a CPU has run by `now`.
    fn running_ran(&self, cpu: u32, now: u64) -> Option<u64> {
        let task = &self.tasks[self.cpus[cpu as usize].running? as usize];
        Some(task.ran + (now - task.since))
    }

    /// The thread of the queue that has run least, but for one.
    fn least(&self, cpu: u32, but: Option<u32>) -> Option<u32> {
        let queue = self.cpus[cpu as usize].queue.iter().copied();
        queue.filter(|&thread| Some(thread) != but).min_by_key(|&t| self.tasks[t as usize].ran)
    }

    /// The thread that is next on a CPU; `yielded` gives its turn away, if another has run at most `lead` longer.
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

    /// The running thread stops running.
    fn ran_until(&mut self, thread: u32, now: u64) {
        let task = &mut self.tasks[thread as usize];
        let ran = now - task.since;
        task.ran += ran;
        self.busy += ran;
    }

    /// Cycles in which CPUs had threads, up to `now`; without switches.
    pub(super) fn busy(&self, now: u64) -> u64 {
        let running = self.cpus.iter().filter_map(|cpu| cpu.running);
        self.busy + running.map(|t| now - self.tasks[t as usize].since).sum::<u64>()
    }

    fn is_idle(&self, cpu: u32) -> bool {
        let cpu = &self.cpus[cpu as usize];
        cpu.running.is_none() && cpu.coming.is_none()
    }

    /// A slice on a CPU now.
    fn slice(&self, cpu: u32) -> u64 {
        let threads = self.cpus[cpu as usize].queue.len() as u64 + 1;
        (self.period / threads).max(self.granularity)
    }

    fn raise_floor(&mut self, cpu: u32, now: u64) {
        let queued = self.least(cpu, None).map(|t| self.tasks[t as usize].ran);
        let running = self.running_ran(cpu, now);
        let least = queued.into_iter().chain(running).min();
        let cpu = self.cpu(cpu);
        cpu.floor = cpu.floor.max(least.unwrap_or(0));
    }

    /// Gives the next turn of a CPU to a queued thread that has run at most `lead` longer than the others; `false` if it has
    /// run more, or nobody is to leave for it.
    pub(super) fn favour(&mut self, cpu: u32, thread: u32, now: u64) -> bool {
        let ran = |t: u32| self.tasks[t as usize].ran;
        let least = self.least(cpu, None).map(ran).into_iter();
        let least = least.chain(self.running_ran(cpu, now)).min().unwrap_or(0);
        if ran(thread) > least + self.lead {
            return false;
        }
        self.cpu(cpu).favoured = Some(thread);
        self.cpu(cpu).running.is_some()
    }

    /// Takes a queued thread to another CPU's scale of run times.
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

impl Cpu {
    /// Nobody waits for it.
    pub(super) fn is_alone(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Engine {
    /// The scheduler of a run that has one.
    pub(super) fn scheduler(&mut self) -> &mut Scheduler {
        self.schedule.as_mut().expect("the run has a scheduler")
    }

    /// Whether the thread, whose operation is complete with `value`, goes on now. If not, it was put off.
    pub(super) fn goes_on(&mut self, thread: u32, value: u64) -> bool {
        let now = self.now();
        let s = self.scheduler();
        let task = &mut s.tasks[thread as usize];
        debug_assert_eq!(task.whereabouts, Whereabouts::Running, "only a running thread goes on");
        if task.debt > 0 {
            // It answers others first.
            let debt = std::mem::take(&mut task.debt);
            self.at(now + debt, Event::Resume { thread, value });
            return false;
        }
        let cpu = task.cpu;
        if s.cpu(cpu).leave {
            self.leaves(thread, Held::Value(value), false);
            return false;
        }
        true
    }

    /// A thread that has begun, or was woken, can run: it waits for a CPU.
    pub(super) fn can_run(&mut self, thread: u32, value: u64, woken: bool) {
        let now = self.now();
        let drained = self.threads[thread as usize].stores.is_empty();
        let s = self.scheduler();
        let own = s.task(thread).cpu;
        let cpus = s.cpus.len() as u32;
        let idle = (0..cpus).map(|i| (own + i) % cpus).find(|&cpu| s.is_idle(cpu));
        if woken
            && drained
            && let Some(idle) = idle
            && idle != own
        {
            s.bring(thread, idle);
        }
        let cpu = s.task(thread).cpu;
        s.raise_floor(cpu, now);
        let least = s.cpu(cpu).floor.saturating_sub(if woken { s.period / 2 } else { 0 });
        let task = s.task(thread);
        task.ran = task.ran.max(least);
        task.held = Held::Value(value);
        task.whereabouts = Whereabouts::Queued;
        task.since = now;
        let ran = task.ran;
        s.cpu(cpu).queue.push(thread);
        self.spends(thread, Some(Phase::OffCpu), None);
        let s = self.scheduler();
        if s.is_idle(cpu) {
            self.switches(cpu, None);
        } else if woken && s.running_ran(cpu, now).is_some_and(|running| running > ran + s.lead) {
            self.is_to_leave(cpu);
        } else {
            self.plan_slice(cpu);
        }
    }

    /// The running thread parks, or has finished: its CPU is free.
    pub(super) fn gives_up(&mut self, thread: u32, whereabouts: Whereabouts) {
        let now = self.now();
        let s = self.scheduler();
        s.ran_until(thread, now);
        let task = s.task(thread);
        task.whereabouts = whereabouts;
        let cpu = task.cpu;
        s.cpu(cpu).running = None;
        if whereabouts == Whereabouts::Gone {
            self.answer_all(thread);
        }
        self.switches(cpu, None);
    }

    /// The running thread leaves its CPU to the next one; it goes on with `held`.
    pub(super) fn leaves(&mut self, thread: u32, held: Held, yields: bool) {
        let now = self.now();
        let s = self.scheduler();
        s.ran_until(thread, now);
        let task = s.task(thread);
        task.since = now;
        task.whereabouts = Whereabouts::Queued;
        task.held = held;
        let cpu = task.cpu;
        s.cpu(cpu).running = None;
        s.cpu(cpu).queue.push(thread);
        self.waits(thread, Phase::OffCpu, None);
        self.switches(cpu, yields.then_some(thread));
    }

    /// The thread that has the CPU is to leave it: now if it can, or else at the end of its operation.
    pub(super) fn is_to_leave(&mut self, cpu: u32) {
        let Some(thread) = self.scheduler().cpu(cpu).running else { return };
        if let Some(held) = self.interrupted(thread) {
            self.leaves(thread, held, false);
        } else {
            self.scheduler().cpu(cpu).leave = true;
        }
    }

    /// Stops a thread in the middle of what can be stopped; returns what is left of it.
    pub(super) fn interrupted(&mut self, thread: u32) -> Option<Held> {
        let now = self.now();
        if let Some(work) = self.drops_work(thread) {
            let slowdown = self.machine.numbers().smt_slowdown;
            return Some(Held::Work(work.left_at(now, slowdown)));
        }
        let entry = &mut self.threads[thread as usize];
        match entry.pending() {
            Some(Op::Sleep { address, .. }) => {
                let core = entry.core;
                entry.pending = false;
                entry.generation += 1;
                let line = self.line_index(address);
                let view = self.view(line, core);
                self.views[view as usize].sleepers.retain(|&t| t != thread);
                Some(Held::Value(LOOK_AGAIN))
            }
            Some(Op::WaitForOthers) => {
                entry.pending = false;
                entry.generation += 1;
                Some(Held::Answers)
            }
            _ => None,
        }
    }

    /// The CPU is free: the next thread comes, from another CPU's queue if this one's is empty.
    fn switches(&mut self, cpu: u32, yielded: Option<u32>) {
        let now = self.now();
        let s = self.scheduler();
        s.raise_floor(cpu, now);
        s.cpu(cpu).leave = false;
        s.cpu(cpu).armed = false;
        let next = match s.next(cpu, yielded) {
            Some(next) => next,
            None => match self.next_elsewhere() {
                Some(next) => {
                    self.statistics.migrations += 1;
                    self.scheduler().bring(next, cpu);
                    next
                }
                None => return,
            },
        };
        let s = self.scheduler();
        let entry = s.cpu(cpu);
        entry.queue.retain(|&t| t != next);
        entry.favoured = entry.favoured.filter(|&t| t != next);
        entry.coming = Some(next);
        let (core, same) = (entry.core, entry.last == Some(next));
        entry.last = Some(next);
        s.task(next).whereabouts = Whereabouts::Coming;
        let cost = match (same, yielded) {
            (false, _) => s.switch,
            (true, Some(_)) => s.pause_exit,
            (true, None) => 0,
        };
        self.statistics.switches += u64::from(!same);
        self.moves_to(next, core);
        self.at(now + cost, Event::Switched { cpu });
        // With many threads a look at all of them takes longer than the switch.
        let few = self.threads.len() <= 32 || self.statistics.switches.is_multiple_of(64);
        if cfg!(debug_assertions) && few {
            self.check_schedule();
        }
    }

    /// The next thread of the fullest queue, if it can go elsewhere.
    fn next_elsewhere(&mut self) -> Option<u32> {
        let threads = &self.threads;
        let s = self.schedule.as_ref().expect("the run has a scheduler");
        let fullest = s.cpus.iter().max_by_key(|cpu| cpu.queue.len())?;
        // Stores in its buffer are on their way to its core's cache.
        let can_go = |&&t: &&u32| threads[t as usize].stores.is_empty();
        fullest.queue.iter().filter(can_go).copied().min_by_key(|&t| s.tasks[t as usize].ran)
    }

    /// A thread that is off its CPU will run on `core`.
    fn moves_to(&mut self, thread: u32, core: u16) {
        let entry = &mut self.threads[thread as usize];
        if entry.core == core {
            return;
        }
        debug_assert!(entry.stores.is_empty() && entry.work.is_none());
        let before = std::mem::replace(&mut entry.core, core);
        self.cores[before as usize].threads.retain(|&t| t != thread);
        self.shares_reach(before);
        self.give(core, thread);
    }

    /// The CPU has switched: the thread that comes runs.
    pub(super) fn switched(&mut self, cpu: u32) {
        let now = self.now();
        let s = self.scheduler();
        let Some(thread) = s.cpu(cpu).coming.take() else { return };
        s.cpu(cpu).running = Some(thread);
        let task = s.task(thread);
        task.whereabouts = Whereabouts::Running;
        task.spun = false;
        let off = now - std::mem::replace(&mut task.since, now);
        let held = std::mem::replace(&mut task.held, Held::Value(0));
        self.shared.was_off_cpu(thread, off);
        self.answer_all(thread);
        self.plan_slice(cpu);
        match held {
            Held::Value(value) => self.at(now, Event::Resume { thread, value }),
            Held::Work(left) => self.goes_on_working(thread, left),
            Held::Answers => self.goes_on_waiting(thread, now),
        }
    }

    /// Plans the end of the slice of the thread that runs on the CPU, if another waits and none is planned.
    fn plan_slice(&mut self, cpu: u32) {
        let now = self.now();
        let s = self.scheduler();
        let slice = s.slice(cpu);
        let Some(running) = s.cpus[cpu as usize].running else { return };
        let since = s.tasks[running as usize].since;
        let entry = s.cpu(cpu);
        if entry.armed || entry.queue.is_empty() {
            return;
        }
        entry.armed = true;
        entry.plan = entry.plan.wrapping_add(1);
        let plan = entry.plan;
        let first = !std::mem::replace(&mut entry.begun, true);
        let length = if first { self.random.below(slice) + 1 } else { slice };
        self.at((since + length).max(now), Event::SliceEnd { cpu, plan });
    }

    /// A planned end of a slice: if more threads came meanwhile or some went, another length counts.
    pub(super) fn slice_end(&mut self, cpu: u32, plan: u32) {
        let s = self.scheduler();
        let entry = s.cpu(cpu);
        if !entry.armed || entry.plan != plan {
            return;
        }
        entry.armed = false;
        if entry.queue.is_empty() {
            return;
        }
        self.is_to_leave(cpu);
    }

    fn goes_on_working(&mut self, thread: u32, left: f64) {
        self.works(thread);
        self.works_on(thread, left);
    }
}
