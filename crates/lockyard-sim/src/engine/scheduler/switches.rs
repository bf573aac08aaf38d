//! Switches of CPUs between threads, and slices.

use super::{Held, Scheduler, Whereabouts};
use crate::random::Random;

/// Action of a thread after its operation.
pub(crate) enum Onward {
    GoesOn,
    /// The thread first answers others, for this many cycles.
    Answers(u64),
    LeavesCpu,
}

/// Effect on a CPU of queueing a thread there.
pub(crate) enum Arrival {
    /// The CPU is idle, and switches to the thread.
    Switch,
    /// The running thread has to leave.
    Preempt,
    Wait,
}

/// A switch of a CPU to its next thread.
pub(crate) struct Switch {
    pub thread: u32,
    pub core: u16,
    /// Cycles until the thread runs.
    pub cost: u64,
    /// `true` if another thread ran last on the CPU.
    pub is_other: bool,
    /// `true` if the thread was queued at another CPU.
    pub migrates: bool,
}

/// A thread that runs after a switch.
pub(crate) struct Switched {
    pub thread: u32,
    pub held: Held,
    /// Cycles in which the thread could run but did not.
    pub off_cpu: u64,
}

impl Scheduler {
    /// Action of the running thread after its operation.
    pub(crate) fn after_operation(&mut self, thread: u32) -> Onward {
        let task = self.task(thread);
        debug_assert_eq!(task.whereabouts, Whereabouts::Running, "only a running thread goes on");
        if task.debt > 0 {
            return Onward::Answers(std::mem::take(&mut task.debt));
        }
        let cpu = task.cpu;
        if self.cpu(cpu).leave { Onward::LeavesCpu } else { Onward::GoesOn }
    }

    /// Queues a thread that has begun or was woken. A woken thread goes to an idle CPU if it
    /// `may_move`. Returns the CPU, and what happens there.
    pub(crate) fn enqueue(
        &mut self,
        thread: u32,
        value: u64,
        woken: bool,
        may_move: bool,
        now: u64,
    ) -> (u32, Arrival) {
        let own = self.task(thread).cpu;
        if woken
            && may_move
            && let Some(idle) = self.idle_from(own)
            && idle != own
        {
            self.bring(thread, idle);
        }
        let cpu = self.task(thread).cpu;
        self.raise_floor(cpu, now);
        let least = self.cpu(cpu).floor.saturating_sub(if woken { self.period / 2 } else { 0 });
        let task = self.task(thread);
        task.ran = task.ran.max(least);
        task.held = Held::Value(value);
        task.whereabouts = Whereabouts::Queued;
        task.since = now;
        let ran = task.ran;
        self.cpu(cpu).queue.push(thread);
        let arrival = if self.is_idle(cpu) {
            Arrival::Switch
        } else if woken && self.run_time(cpu, now).is_some_and(|other| other > ran + self.lead) {
            Arrival::Preempt
        } else {
            Arrival::Wait
        };
        (cpu, arrival)
    }

    /// Takes a running thread that parks, or has finished, off its CPU. Returns the CPU.
    pub(crate) fn release(&mut self, thread: u32, whereabouts: Whereabouts, now: u64) -> u32 {
        self.stop_running(thread, now);
        let task = self.task(thread);
        task.whereabouts = whereabouts;
        let cpu = task.cpu;
        self.cpu(cpu).running = None;
        self.cpu(cpu).left_at = now;
        cpu
    }

    /// Takes a running thread off its CPU, and queues it there. When it runs again, it continues
    /// with `held`. Returns the CPU.
    pub(crate) fn requeue(&mut self, thread: u32, held: Held, now: u64) -> u32 {
        let cpu = self.release(thread, Whereabouts::Queued, now);
        let task = self.task(thread);
        task.since = now;
        task.held = held;
        self.cpu(cpu).queue.push(thread);
        cpu
    }

    /// Returns the time at which a CPU became idle: the CPU to which [`enqueue`](Self::enqueue)
    /// would bring the thread now, and which has to be woken for it. `None` if that CPU has a
    /// thread.
    pub(crate) fn idle_since(&self, thread: u32, may_move: bool) -> Option<u64> {
        let own = self.tasks[thread as usize].cpu;
        let idle = match may_move {
            true => self.idle_from(own),
            false => Some(own).filter(|&own| self.is_idle(own)),
        };
        idle.map(|cpu| self.cpus[cpu as usize].left_at)
    }

    /// Returns the first idle CPU, counted from a given CPU.
    fn idle_from(&self, first: u32) -> Option<u32> {
        let cpus = self.cpus.len() as u32;
        (0..cpus).map(|i| (first + i) % cpus).find(|&cpu| self.is_idle(cpu))
    }

    /// The thread that a CPU runs.
    pub(crate) fn running(&self, cpu: u32) -> Option<u32> {
        self.cpus[cpu as usize].running
    }

    /// Makes the CPU's running thread leave at the end of its operation.
    pub(crate) fn leave_soon(&mut self, cpu: u32) {
        self.cpu(cpu).leave = true;
    }

    /// Begins a switch of a free CPU to its next thread. If its own queue is empty, the thread
    /// comes from another CPU's queue, if it `can_move`. Thread `yielded` gives away its turn.
    pub(crate) fn switch(
        &mut self,
        cpu: u32,
        yielded: Option<u32>,
        now: u64,
        can_move: impl Fn(u32) -> bool,
    ) -> Option<Switch> {
        self.raise_floor(cpu, now);
        let entry = self.cpu(cpu);
        entry.leave = false;
        entry.armed = false;
        let own = self.next(cpu, yielded);
        let thread = match own {
            Some(thread) => thread,
            None => {
                let thread = self.next_elsewhere(can_move)?;
                self.bring(thread, cpu);
                thread
            }
        };
        let entry = self.cpu(cpu);
        entry.queue.retain(|&t| t != thread);
        entry.favoured = entry.favoured.filter(|&t| t != thread);
        entry.coming = Some(thread);
        let (core, same) = (entry.core, entry.last == Some(thread));
        entry.last = Some(thread);
        self.task(thread).whereabouts = Whereabouts::Coming;
        let cost = match (same, yielded) {
            (false, _) => self.switch,
            (true, Some(_)) => self.pause_exit,
            (true, None) => 0,
        };
        Some(Switch { thread, core, cost, is_other: !same, migrates: own.is_none() })
    }

    /// The next thread of the fullest queue, if it can move to another CPU.
    fn next_elsewhere(&self, can_move: impl Fn(u32) -> bool) -> Option<u32> {
        let fullest = self.cpus.iter().max_by_key(|cpu| cpu.queue.len())?;
        let threads = fullest.queue.iter().copied().filter(|&thread| can_move(thread));
        threads.min_by_key(|&t| self.tasks[t as usize].ran)
    }

    /// Ends a switch. Returns the thread that now runs.
    pub(crate) fn finish_switch(&mut self, cpu: u32, now: u64) -> Option<Switched> {
        let thread = self.cpu(cpu).coming.take()?;
        self.cpu(cpu).running = Some(thread);
        let task = self.task(thread);
        task.whereabouts = Whereabouts::Running;
        task.spun = false;
        let off_cpu = now - std::mem::replace(&mut task.since, now);
        let held = std::mem::replace(&mut task.held, Held::Value(0));
        Some(Switched { thread, held, off_cpu })
    }

    /// Plans the end of the slice of the CPU's running thread, if another thread waits and no end
    /// is planned. Returns its time, and the index of the plan.
    pub(crate) fn plan_slice(&mut self, cpu: u32, random: &mut Random) -> Option<(u64, u32)> {
        let slice = self.slice(cpu);
        let running = self.running(cpu)?;
        let since = self.task(running).since;
        let entry = self.cpu(cpu);
        if entry.armed || entry.queue.is_empty() {
            return None;
        }
        entry.armed = true;
        entry.plan = entry.plan.wrapping_add(1);
        let first = !std::mem::replace(&mut entry.begun, true);
        let length = if first { random.below(slice) + 1 } else { slice };
        Some((since + length, entry.plan))
    }

    /// Ends a slice as planned. Returns `true` if the running thread has to leave. The plan is no
    /// longer valid if threads have come or gone since.
    pub(crate) fn end_slice(&mut self, cpu: u32, plan: u32) -> bool {
        let entry = self.cpu(cpu);
        if !entry.armed || entry.plan != plan {
            return false;
        }
        entry.armed = false;
        !entry.queue.is_empty()
    }
}
