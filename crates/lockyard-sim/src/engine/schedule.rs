//! Scheduling of threads on shared CPUs, as a host schedules the virtual CPUs of its guests.
//!
//! - **Queues.** Each CPU has a queue of runnable threads. The thread with the least run time is
//!   next; among equal threads, the one that has waited longest.
//! - **Slices.** A thread runs for `period` divided by the number of threads of its CPU, but at
//!   least for `granularity`. Then the next thread runs.
//! - **Leaving.** A thread leaves its CPU between two operations. It leaves immediately if it
//!   works, sleeps while it spins, or waits for answers.
//! - **Parked threads.** A parked thread gives up its CPU. When woken, it goes to an idle CPU. It
//!   preempts a thread whose run time is longer by more than `lead`.
//! - **Idle CPUs.** A CPU that becomes idle takes the next thread of the fullest queue.
//! - **Pause loops.** A thread that spins for `pause_window` gives its CPU to a thread whose run
//!   time is longer by at most `lead`. With directed yields, it gives the CPU to a preempted thread
//!   of its own group, from any CPU's queue. A thread that left its CPU because it was spinning is
//!   passed over once (`yields.rs`).
//! - **Answers.** A running thread answers other threads of its group after `interrupt`. A
//!   preempted thread answers when it next runs, and a parked thread is woken to answer
//!   (`shootdown.rs`).
//!
//! In the model, a waiting loop that sleeps until its line moves stands for a spinning thread,
//! which occupies its CPU. A preempted thread sleeps on no line, and polls when it runs again. The
//! rules are those of a fair scheduler that keeps run times (Linux from 2.6.23 to 6.5), as its
//! documentation and tuning guides describe it. Weights, and load balancing between queues that all
//! have threads, are left out.
//!
//! In a run without a scheduler, each thread has its own hardware thread, and these rules do not
//! apply.

use super::accounting::phase::CyclePhase;
use super::event::Event;
use super::scheduler::switches::{Arrival, Onward, Switch, Switched};
use super::scheduler::{Held, Scheduler, Whereabouts};
use super::state::Engine;
use crate::op::Op;
use crate::shared::LOOK_AGAIN;

impl Engine {
    /// The run's scheduler. The run must have one.
    pub(super) fn scheduler(&mut self) -> &mut Scheduler {
        self.schedule.as_mut().expect("the run has a scheduler")
    }

    /// Returns `true` if the thread continues now, after its operation has completed with `value`.
    /// Otherwise the thread continues later.
    pub(super) fn continue_or_leave(&mut self, thread: u32, value: u64) -> bool {
        match self.scheduler().after_operation(thread) {
            Onward::GoesOn => true,
            Onward::Answers(debt) => {
                let now = self.now();
                self.at(now + debt, Event::Resume { thread, value });
                false
            }
            // The kernel does not preempt a thread while it serves the thread's call.
            Onward::LeavesCpu if self.threads[thread as usize].served => true,
            Onward::LeavesCpu => {
                self.leave_cpu(thread, Held::Value(value), false);
                false
            }
        }
    }

    /// Queues a thread for a CPU, after it has begun or was woken.
    pub(super) fn make_runnable(&mut self, thread: u32, value: u64, woken: bool) {
        let now = self.now();
        let drained = self.threads[thread as usize].stores.is_empty();
        let (cpu, arrival) = self.scheduler().enqueue(thread, value, woken, drained, now);
        self.change_phase(thread, Some(CyclePhase::OffCpu), None);
        match arrival {
            Arrival::Switch => self.switch_to_next(cpu, None),
            Arrival::Preempt => self.preempt(cpu),
            Arrival::Wait => self.plan_slice(cpu),
        }
    }

    /// Frees the CPU of a running thread that parks, or has finished.
    pub(super) fn release_cpu(&mut self, thread: u32, whereabouts: Whereabouts) {
        let now = self.now();
        let cpu = self.scheduler().release(thread, whereabouts, now);
        if whereabouts == Whereabouts::Gone {
            self.answer_all(thread);
        }
        self.switch_to_next(cpu, None);
    }

    /// Preempts the running thread. The CPU goes to the next thread. When the preempted thread runs
    /// again, it continues with `held`.
    pub(super) fn leave_cpu(&mut self, thread: u32, held: Held, yields: bool) {
        let now = self.now();
        let cpu = self.scheduler().requeue(thread, held, now);
        self.start_waiting(thread, CyclePhase::OffCpu, None);
        self.switch_to_next(cpu, yields.then_some(thread));
    }

    /// Takes the running thread off the CPU, immediately if possible, otherwise at the end of its
    /// operation.
    pub(super) fn preempt(&mut self, cpu: u32) {
        let Some(thread) = self.scheduler().running(cpu) else { return };
        if let Some(held) = self.interrupt_operation(thread) {
            self.leave_cpu(thread, held, false);
        } else {
            self.scheduler().leave_soon(cpu);
        }
    }

    /// Interrupts a thread in the middle of an operation, if the operation allows it. Returns the
    /// rest of the operation.
    pub(super) fn interrupt_operation(&mut self, thread: u32) -> Option<Held> {
        let now = self.now();
        if self.threads[thread as usize].served {
            return None;
        }
        if let Some(work) = self.drop_work(thread) {
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
                let core_line = self.core_line(line, core);
                self.core_lines[core_line as usize].sleepers.retain(|&t| t != thread);
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

    /// Switches a free CPU to the next thread. Takes a thread from another CPU's queue if its own
    /// queue is empty.
    fn switch_to_next(&mut self, cpu: u32, yielded: Option<u32>) {
        let now = self.now();
        let threads = &self.threads;
        // A thread must not move while its buffered stores are on their way to its core's cache.
        let can_move = |thread: u32| threads[thread as usize].stores.is_empty();
        let s = self.schedule.as_mut().expect("the run has a scheduler");
        let Some(switch) = s.switch(cpu, yielded, now, can_move) else { return };
        let Switch { thread, core, cost, is_other, migrates } = switch;
        self.ledger.count().migrations += u64::from(migrates);
        self.ledger.count().switches += u64::from(is_other);
        self.move_to_core(thread, core);
        self.at(now + cost, Event::Switched { cpu });
        // With many threads, checking all of them takes longer than the switch.
        let few = self.threads.len() <= 32 || self.ledger.statistics().switches.is_multiple_of(64);
        if cfg!(debug_assertions) && few {
            self.check_schedule();
        }
    }

    /// Moves a thread that is not running to `core`.
    fn move_to_core(&mut self, thread: u32, core: u16) {
        let entry = &mut self.threads[thread as usize];
        if entry.core == core {
            return;
        }
        debug_assert!(entry.stores.is_empty() && entry.work.is_none());
        let before = std::mem::replace(&mut entry.core, core);
        self.cores[before as usize].threads.retain(|&t| t != thread);
        self.share_reorder_buffer(before);
        self.give(core, thread);
    }

    /// Ends a switch: the next thread runs.
    pub(super) fn finish_switch(&mut self, cpu: u32) {
        let now = self.now();
        let Some(switched) = self.scheduler().finish_switch(cpu, now) else { return };
        let Switched { thread, held, off_cpu } = switched;
        self.shared.add_off_cpu(thread, off_cpu);
        self.answer_all(thread);
        self.plan_slice(cpu);
        match held {
            Held::Value(value) => self.at(now, Event::Resume { thread, value }),
            Held::Work(left) => self.resume_work(thread, left),
            Held::Answers => self.keep_waiting(thread, now),
        }
    }

    /// Plans the end of the slice of the CPU's running thread, if the slice has to end.
    fn plan_slice(&mut self, cpu: u32) {
        let s = self.schedule.as_mut().expect("the run has a scheduler");
        if let Some((end, plan)) = s.plan_slice(cpu, &mut self.random) {
            let now = self.now();
            self.at(end.max(now), Event::SliceEnd { cpu, plan });
        }
    }

    /// Handles the planned end of a slice.
    pub(super) fn end_slice(&mut self, cpu: u32, plan: u32) {
        if self.scheduler().end_slice(cpu, plan) {
            self.preempt(cpu);
        }
    }

    fn resume_work(&mut self, thread: u32, left: f64) {
        self.start_working(thread);
        self.continue_work(thread, left);
    }
}
