//! The engine: simulated time and its events. This file holds the event loop.
//!
//! | file | contents |
//! | --- | --- |
//! | `state.rs` | the engine's state: every file marked * is an `impl` of it |
//! | `event.rs`, `wheel.rs` | the events; the queue of events |
//! | `thread.rs`, `activity.rs`, `coroutine.rs` | one simulated thread, its activity, its code |
//! | `threads.rs` * | what an operation does at its core: loads and read-modify-writes |
//! | `store_buffer.rs` * | stores, from their execution to the cache |
//! | `waiting.rs` * | sleeping in a waiting loop, wake-ups, deadlines |
//! | `kernel.rs` * | calls of the kernel that put threads to sleep and wake them |
//! | `parked.rs`, `buckets.rs` | parked threads; calls on one word: with private fields |
//! | `work.rs` *, `core_threads.rs` | local work beside that of SMT siblings |
//! | `scheduler/` | threads that share CPUs: queues and slices, with private fields |
//! | `schedule.rs` * | the same: switches and their effects |
//! | `yields.rs` * | spinning threads that leave their CPU |
//! | `shootdown.rs` * | waiting for other processors, as a TLB shootdown does |
//! | `reorder_buffer.rs`, `out_of_order.rs` * | local work under operations that are not complete |
//! | `branch_prediction.rs` | predicted outcomes of compare-exchanges and swaps |
//! | `line.rs`, `line_table.rs` * | a core's copy of a line; finding it |
//! | `directory/` | the state of all lines and of their agents, with private fields |
//! | `caches.rs` * | misses, fills, snoops; which thread goes first when a line arrives |
//! | `cache_contents.rs`, `capacity.rs` * | which lines each cache holds; what gives way |
//! | `agents.rs` *, `home_agent.rs` * | when agents of domains, and home agents, serve and send |
//! | `observer.rs`, `observing.rs` * | an observer of a run; telling it |
//! | `invariants.rs` *, `capacity_invariants.rs` * | what must hold at every moment |
//! | `sparse.rs` | tables of which few entries are used |
//! | `places.rs` | where cores, domains and sockets are |
//! | `cycles.rs` | rounding to whole cycles |
//! | `report.rs` | what is said of threads that have not finished |
//! | `accounting/` | what is counted, and where cycles go; its ledger has private fields |
//!
//! Some parts are modules with private fields. Other files report events to such a module. The
//! module decides, and returns the necessary actions. The modules are the queue of events, the
//! directory with its lines and agents, the scheduler, the parked threads, the calls and the
//! ledger.
//!
//! The rest is one struct: the cores, and the times and messages between the modules. A boundary
//! around the cores was not built. Of the 169 functions of the struct (without invariants and
//! observers), 105 use threads, core lines or caches. Of these, 59 also queue events, draw random
//! numbers, count, or use the machine's numbers or another module, and would need all of that as
//! arguments. 28 of them use the directory or the scheduler. Most of those are the paths of a line
//! between a core and an agent: a fill, a snoop's answer, an eviction. An eviction draws lines
//! until the state of the core and of the agent allows one to leave.
//!
//! Module boundaries are free only as long as the compiler inlines across them. `examples/speed`
//! takes 4,599 million instructions without the directory and the scheduler, counted by `valgrind
//! --tool=cachegrind --cache-sim=no`. Private fields changed that by less than 0.1 %. But a call of
//! `Agent::next` that is not inlined adds 0.6 %. Creating agents only at their first change adds
//! 0.9 %, and the short lists of first reads (`accounting/reads.rs`) add 0.8 %. Both save memory
//! for large tables.

mod accounting;
mod activity;
mod agents;
mod branch_prediction;
mod buckets;
mod cache_contents;
mod caches;
mod capacity;
mod capacity_invariants;
mod core_threads;
mod coroutine;
mod cycles;
mod directory;
mod event;
mod home_agent;
mod invariants;
mod kernel;
mod line;
mod line_table;
mod observer;
mod observing;
mod out_of_order;
mod parked;
mod places;
mod reorder_buffer;
mod report;
mod schedule;
mod scheduler;
mod shootdown;
mod sparse;
mod state;
mod store_buffer;
mod thread;
mod threads;
mod waiting;
mod wheel;
mod work;
mod yields;

pub use accounting::attribution::{CycleAttribution, LineCounts};
pub use accounting::distance::LineDistance;
pub use accounting::phase::{CyclePhase, PHASES};
pub use accounting::statistics::RunStatistics;
pub use observer::{LineHolder, Observer};
pub(crate) use report::Fate;
pub use report::ThreadReport;
pub(crate) use state::Engine;

use activity::Activity;
use coroutine::SimulatedThread;
use event::{Event, Kind, Packed};
use scheduler::Scheduler;
use std::rc::Rc;
use thread::Thread;

impl Engine {
    /// Adds a thread on `core` that begins at `start`. Returns its index.
    pub(crate) fn spawn(&mut self, core: usize, start: u64, code: Box<dyn FnOnce()>) -> u32 {
        let thread = self.threads.len() as u32;
        let coroutine = SimulatedThread::new(Rc::clone(&self.shared), code).ok();
        if coroutine.is_none() {
            self.fail(Fate::Fatal { thread, message: "there is no memory for its stack" });
        }
        self.threads.push(Thread::new(core as u16, coroutine));
        self.give(core as u16, thread);
        self.live += 1;
        self.over = self.fate.is_some();
        let start = start.max(self.now());
        let begin = match self.schedule {
            None => Event::Resume { thread, value: 0 },
            Some(_) => Event::Begin { thread },
        };
        self.at(start, begin);
        thread
    }

    /// Assigns a thread to `core`. The thread begins, or comes from another core.
    pub(super) fn give(&mut self, core: u16, thread: u32) {
        self.idle_sockets &= !(1 << self.places.socket_of(core));
        self.cores[core as usize].threads.push(thread);
        self.share_reorder_buffer(core);
    }

    /// Lets threads share CPUs from now on.
    pub(crate) fn share_cpus(&mut self) {
        self.schedule = Some(Box::new(Scheduler::new(&self.machine)));
    }

    /// Announces the next thread of a run whose threads share CPUs. The thread is for hardware
    /// thread `place`, and in `group`.
    pub(crate) fn announce(&mut self, place: usize, group: u32) {
        if let Some(schedule) = &mut self.schedule {
            schedule.add(place, group);
        }
    }

    /// Cycles in which shared CPUs had threads; `None` if threads do not share them.
    pub(crate) fn busy(&self) -> Option<u64> {
        self.schedule.as_ref().map(|schedule| schedule.busy(self.now()))
    }

    pub(crate) fn shares_cpus(&self) -> bool {
        self.schedule.is_some()
    }

    /// Handles up to `events` events that are not later than `until`. Stops when all threads have
    /// finished or one cannot continue. Returns `false` if no such event is left.
    pub(crate) fn run(&mut self, until: u64, events: u64) -> bool {
        let last = self.ledger.statistics().events.saturating_add(events);
        while self.ledger.statistics().events < last {
            let Some(event) = self.wheel.pop(until) else { return false };
            self.ledger.count().events += 1;
            self.handle(event);
            if self.over {
                break;
            }
        }
        true
    }

    /// Handles an event. A thread's code is run from this function, and not from one that it calls.
    /// After a switch of stacks, the processor mispredicts the target of each return until
    /// execution is back in the caller's loop.
    #[inline(always)]
    fn handle(&mut self, event: Packed) {
        let goes_on = match event.kind() {
            Kind::Resume => Some(event.value()),
            Kind::WorkEnd => self.end_work(event.thread(), event.plan()),
            Kind::LineFreed => self.free_line(event.thread(), event.value()),
            Kind::Wake => self.wake(event.thread(), event.generation()),
            Kind::Deadline => self.reach_deadline(event.thread(), event.generation()),
            _ => {
                self.handle_other(event);
                None
            }
        };
        if let Some(value) = goes_on {
            self.resume(event.thread(), value);
        }
    }

    /// Handles an event after which no thread's code runs.
    #[inline(always)]
    fn handle_other(&mut self, event: Packed) {
        match event.kind() {
            Kind::LineHeld => self.hold_line(event.thread(), event.held_core_line()),
            Kind::Arrive => self.arrive(event.line(), event.domain(), event.request()),
            Kind::AgentFree => self.free_agent(event.line(), event.domain()),
            Kind::Snoop => self.deliver_snoop(event.core_line(), event.exclusive()),
            Kind::Invalidate => self.invalidate(event.core_line()),
            Kind::Data => self.fill(event.core_line(), event.exclusive()),
            Kind::TurnEnd => self.serve_freed_line(event.core_line()),
            Kind::Ask => self.ask_home(event.line(), event.domain(), event.exclusive()),
            Kind::Grant => self.grant(event.line(), event.domain(), event.exclusive()),
            Kind::TakeGrant => self.take_grant(event.line(), event.domain()),
            Kind::HomeFree => self.free_home(event.line()),
            Kind::Begin => self.make_runnable(event.thread(), 0, false),
            Kind::SliceEnd => self.end_slice(event.cpu(), event.plan()),
            Kind::Switched => self.finish_switch(event.cpu()),
            Kind::PauseExit => self.exit_pause_loop(event.thread(), event.generation()),
            Kind::Interrupt => self.deliver_interrupt(event.thread(), event.from()),
            Kind::Resume | Kind::WorkEnd | Kind::LineFreed | Kind::Wake | Kind::Deadline => {}
        }
    }

    /// Reports every thread that has not finished, with its last operation.
    pub(crate) fn unfinished(&self) -> Vec<ThreadReport> {
        let line_bytes = self.machine.line_bytes();
        let place = |address: usize| {
            let offset = address.wrapping_sub(self.arena.base());
            format!("line {} byte {}", offset / line_bytes, offset % line_bytes)
        };
        self.threads
            .iter()
            .enumerate()
            .filter(|(_, t)| t.activity != Activity::Finished)
            .map(|(thread, t)| {
                let operation = match t.location {
                    Some(_) => t.op.get().describe(place),
                    None => "has not begun".to_owned(),
                };
                let thread = self.shared.place_of(thread as u32);
                ThreadReport { thread, operation, location: t.location }
            })
            .collect()
    }
}
