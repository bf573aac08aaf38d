//! State of the engine, and the few operations on it that every other file uses.
//!
//! The other files of this directory add the behaviour. Each is an `impl Engine`, and none imports
//! another. They share only this file, and the files that define common types.

use super::accounting::ledger::Ledger;
use super::buckets::Buckets;
use super::cache_contents::Capacity;
use super::core_threads::CoreThreads;
use super::directory::Directory;
use super::event::Event;
use super::line::{CoreLine, Waiter};
use super::observer::Observer;
use super::parked::ParkedThreads;
use super::places::Places;
use super::reorder_buffer::Followed;
use super::report::Fate;
use super::scheduler::Scheduler;
use super::thread::Thread;
use super::wheel::Wheel;
use crate::arena::Arena;
use crate::kernel::KernelCosts;
use crate::machine::description::Machine;
use crate::random::Random;
use crate::shared::Shared;
use std::rc::Rc;

/// Simulated time, and the state that changes with it.
pub(crate) struct Engine {
    pub(super) machine: Rc<Machine>,
    pub(crate) shared: Rc<Shared>,
    pub(super) arena: Rc<Arena>,
    pub(super) places: Places,
    pub(super) wheel: Wheel,
    pub(super) random: Random,
    pub(super) capacity: Capacity,
    pub(super) directory: Directory,
    /// Each core's copies of the lines that it has used.
    pub(super) core_lines: Vec<CoreLine>,
    pub(super) threads: Vec<Thread>,
    /// The threads of each core.
    pub(super) cores: Vec<CoreThreads>,
    /// Sockets to which no thread was ever assigned, as bits.
    pub(super) idle_sockets: u8,
    /// `true` if a running thread slows down its siblings' work.
    pub(super) siblings_slow: bool,
    /// Empty lists, kept for reuse.
    pub(super) spare_waiters: Vec<Waiter>,
    pub(super) spare_sleepers: Vec<u32>,
    pub(super) parked: ParkedThreads,
    /// System calls in progress.
    pub(super) buckets: Buckets,
    pub(super) kernel: KernelCosts,
    /// The scheduler of a run whose threads share CPUs.
    pub(super) schedule: Option<Box<Scheduler>>,
    /// Operations that followed loads, by the loads' places in the code.
    pub(super) followed: Vec<Followed>,
    /// The observer of the run, if it has one.
    pub(super) observer: Option<Box<dyn Observer>>,
    pub(super) live: usize,
    /// `true` if no thread is left, or one cannot continue.
    pub(super) over: bool,
    pub(crate) fate: Option<Fate>,
    /// Everything that is counted.
    pub(crate) ledger: Ledger,
}

impl Engine {
    pub(crate) fn new(machine: Rc<Machine>, shared: Rc<Shared>, seed: u64) -> Self {
        Engine {
            arena: Rc::clone(shared.arena()),
            places: Places::new(&machine),
            wheel: Wheel::new(),
            random: Random::new(seed),
            capacity: Capacity::new(&machine, seed),
            directory: Directory::new(machine.complexes()),
            core_lines: Vec::new(),
            threads: Vec::new(),
            cores: vec![CoreThreads::default(); machine.cores()],
            idle_sockets: (0..machine.sockets()).map(|socket| 1 << socket).sum(),
            siblings_slow: machine.numbers().smt_slowdown != 1.0,
            spare_waiters: Vec::new(),
            spare_sleepers: Vec::new(),
            parked: ParkedThreads::default(),
            buckets: Buckets::default(),
            kernel: KernelCosts::of(&machine),
            schedule: None,
            followed: Vec::new(),
            observer: None,
            live: 0,
            over: true,
            fate: None,
            ledger: Ledger::new(),
            machine,
            shared,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.wheel.now()
    }

    /// Number of threads that have not finished.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Ends the run, because a thread cannot continue.
    #[cold]
    pub(super) fn fail(&mut self, fate: Fate) {
        self.fate.get_or_insert(fate);
        self.over = true;
    }

    /// Number of queued events.
    pub(crate) fn queued(&self) -> usize {
        self.wheel.len()
    }

    /// Returns `true` if no event is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Queues `event` for `time`, at most the end of time.
    #[inline(always)]
    pub(super) fn at(&mut self, time: u64, event: Event) {
        self.wheel.push(time, event.pack());
    }

    #[inline(always)]
    pub(super) fn jitter(&mut self) -> u64 {
        self.random.below(self.machine.numbers().jitter + 1)
    }

    pub(super) fn domain_of(&self, core: u16) -> u16 {
        self.places.domain_of(core)
    }
}
