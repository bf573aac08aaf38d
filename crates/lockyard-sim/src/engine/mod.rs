//! The engine: simulated time, and what happens in it.
//!
//! | file | what |
//! | --- | --- |
//! | `event.rs` | what can happen |
//! | `wheel.rs` | the queue of events |
//! | `threads.rs` | what an operation does at its core: hits, the store buffer, waiting, parking |
//! | `work.rs` | local work, beside that of siblings |
//! | `schedule.rs` | threads that share CPUs: queues, slices, switches |
//! | `yields.rs` | spinning threads that leave their CPU |
//! | `shootdown.rs` | waiting for other processors |
//! | `out_of_order.rs` | local work under operations that are not complete |
//! | `branch_prediction.rs` | which outcomes a core expects of compare-exchanges |
//! | `caches.rs` | misses, fills, snoops; who goes first when a line arrives |
//! | `capacity.rs` | how many lines each cache holds, and what gives way |
//! | `agents.rs` | the directory: agents of domains, home agents |
//! | `invariants.rs` | what must hold at every moment |
//! | `line.rs` | the state of one line |
//! | `sparse.rs` | tables of which few entries are used |
//! | `places.rs` | where cores, domains and sockets are |
//! | `coroutine.rs` | the code of a simulated thread |
//! | `accounting/`, `regions.rs` | where the cycles go |
//! | `statistics.rs`, `failure_streaks.rs` | what is counted |

mod accounting;
mod agents;
mod branch_prediction;
mod caches;
mod capacity;
mod coroutine;
mod event;
mod failure_streaks;
mod invariants;
mod line;
mod out_of_order;
mod places;
mod regions;
mod schedule;
mod shootdown;
mod sparse;
mod statistics;
mod threads;
mod wheel;
mod work;
mod yields;

pub use accounting::{Attribution, Distance, LineCounts, PHASES, Phase};
pub use statistics::Statistics;

use crate::arena::Arena;
use crate::machine::Machine;
use crate::random::Random;
use crate::shared::Shared;
use accounting::{LineTrace, Spending};
use branch_prediction::Guess;
use capacity::Capacity;
use coroutine::SimulatedThread;
use event::{Event, Kind, Packed};
use failure_streaks::Losses;
use line::{Line, View, Waiter};
use out_of_order::{Ahead, Followed};
use places::Places;
use regions::{Regions, Spent};
use schedule::Scheduler;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::Location;
use std::rc::Rc;
use threads::Activity;
use wheel::Wheel;
use work::{CoreThreads, Work};

/// No event is later (in cycles; a century). Leaves room for sums.
const END_OF_TIME: u64 = 1 << 63;

/// A read-modify-write of the 64-bit unit that an atomic is in. `mask` selects the atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rmw {
    Swap { mask: u64, value: u64 },
    CompareExchange { mask: u64, current: u64, new: u64 },
    Add { mask: u64, value: u64 },
    Or { value: u64 },
    And { value: u64 },
}

impl Rmw {
    /// The new unit, and for a compare-exchange whether it matched.
    pub(crate) fn apply(self, old: u64) -> (u64, Option<bool>) {
        match self {
            Rmw::Swap { mask, value } => ((old & !mask) | (value & mask), None),
            Rmw::CompareExchange { mask, current, new } => {
                if old & mask == current & mask {
                    ((old & !mask) | (new & mask), Some(true))
                } else {
                    (old, Some(false))
                }
            }
            Rmw::Add { mask, value } => {
                ((old & !mask) | ((old & mask).wrapping_add(value) & mask), None)
            }
            Rmw::Or { value } => (old | value, None),
            Rmw::And { value } => (old & value, None),
        }
    }
}

/// Two ways for a thread to step back for a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    /// The processor's pause instruction.
    Instruction,
    /// A yield to the host's scheduler.
    Yield,
}

/// An operation of the platform, as a simulated thread asks for it. Addresses are of the 64-bit
/// unit, but for `word`, which is a 32-bit word's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// `mask`: the bits that are looked at; none for a mere touch of the line. `poll`: a waiting loop looks again.
    Load {
        address: usize,
        mask: u64,
        poll: bool,
    },
    /// `mask`: the bits that are written; none for a mere touch of the line.
    Store {
        address: usize,
        mask: u64,
        value: u64,
    },
    Rmw {
        address: usize,
        rmw: Rmw,
    },
    /// Waits until the store buffer is empty, and then costs about as much as a locked operation.
    Fence,
    Work {
        cycles: u64,
        /// On the other side of a way into the kernel or out of it: nothing of it is done ahead.
        behind_entry: bool,
    },
    Pause(Pause),
    /// A poll saw `seen` and the waiting loop goes on, until `deadline`.
    Sleep {
        address: usize,
        mask: u64,
        seen: u64,
        deadline: Option<u64>,
    },
    Park {
        word: usize,
        expected: u32,
        timeout: Option<u64>,
    },
    Unpark {
        word: usize,
        count: u32,
    },
    /// Interrupts all other threads of the group, and waits until each has answered.
    WaitForOthers,
    /// The primitive found that it cannot go on.
    Fatal(&'static str),
}

/// What a run's hash takes in of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noted {
    /// Which it is, as a number.
    pub kind: u64,
    /// Where in the arena; 0 of those that have no place.
    pub place: u64,
    pub value: u64,
}

impl Noted {
    /// The kind of loads.
    pub(crate) const LOAD: u64 = 1;
}

impl Op {
    /// Made where the operation is asked for, as there it is known which it is.
    #[inline(always)]
    pub(crate) fn noted(&self, arena: &Arena) -> Noted {
        let base = arena.base();
        // Where the arena lies is the host's affair: a pointer into it counts as its offset.
        let offset = |value: u64| {
            let pointer = arena.contains(value as usize, 1);
            if pointer { value - base as u64 } else { value }
        };
        let (kind, place, value) = match *self {
            Op::Load { address, .. } => (Noted::LOAD, address - base, 0),
            Op::Store { address, value, .. } => (2, address - base, offset(value)),
            Op::Rmw { address, .. } => (3, address - base, 0),
            Op::Fence => (4, 0, 0),
            Op::Work { cycles, .. } => (5, 0, cycles),
            Op::Pause(_) => (6, 0, 0),
            Op::Sleep { address, seen, .. } => (7, address - base, offset(seen)),
            Op::Park { word, .. } => (8, word - base, 0),
            Op::Unpark { word, .. } => (9, word.wrapping_sub(base), 0),
            Op::Fatal(_) => (10, 0, 0),
            Op::WaitForOthers => (11, 0, 0),
        };
        Noted { kind, place: place as u64, value }
    }
}

/// How a run ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Panicked { thread: u32, message: String },
    Fatal { thread: u32, message: &'static str },
}

/// A simulated hardware thread.
struct Thread {
    core: u16,
    coroutine: Option<SimulatedThread>,
    /// The last operation that the thread asked for. Its code writes it here, and here it stays: a copy of what was written just
    /// now makes the host's processor wait until that is in its cache.
    op: Cell<Op>,
    /// Where it asked for that; `None` before the first one.
    location: Option<&'static Location<'static>>,
    /// The operation waits for a line, for its turn, or for a wake-up.
    pending: bool,
    /// The operation waits for the store buffer.
    stalled: bool,
    /// The store buffer: address, mask, value; oldest first.
    stores: VecDeque<(usize, u64, u64)>,
    /// The oldest store waits for its line.
    store_waits: bool,
    /// The view of the line of the locked operation that is under way.
    locks: u32,
    /// What its core expects of compare-exchanges and swaps, place by place.
    guesses: Vec<Guess>,
    /// The outcome of the locked operation that is under way was guessed wrongly: the cycles that this costs after it.
    redirect: u64,
    /// Counts sleeps, so that an old wake-up does not end a new one.
    generation: u32,
    activity: Activity,
    /// What its code says that it does.
    doing: lockyard::platform::Activity,
    work: Option<Work>,
    ahead: Ahead,
    losses: Losses,
    /// The last load: its place in `followed`, and its line.
    last_load: Option<(u32, u32)>,
    spending: Spending,
    /// Cycles in which its operations waited for lines or for the store buffer.
    waited: u64,
    spent: Spent,
    /// How often an end of work was planned.
    work_plans: u32,
}

impl Thread {
    /// The operation that waits for a line, for its turn, or for a wake-up.
    #[inline(always)]
    fn pending(&self) -> Option<Op> {
        self.pending.then(|| self.op.get())
    }
}

/// What a thread was doing when a run ended, for reports.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// The hardware thread.
    pub thread: usize,
    /// Its last operation, in words.
    pub operation: String,
    /// Where in the source it was asked for.
    pub location: Option<&'static Location<'static>>,
}

/// Simulated time, and what happens in it.
pub(crate) struct Engine {
    machine: Rc<Machine>,
    pub(crate) shared: Rc<Shared>,
    arena: Rc<Arena>,
    places: Places,
    wheel: Wheel,
    random: Random,
    capacity: Capacity,
    lines: Vec<Line>,
    /// What cores have of them.
    views: Vec<View>,
    /// What is counted of each line.
    traces: Vec<LineTrace>,
    /// Cycles of all threads, by phase.
    regions: Regions,
    /// Line of the arena to index in `lines`.
    line_of: Vec<u32>,
    threads: Vec<Thread>,
    /// The threads of each core.
    cores: Vec<CoreThreads>,
    /// Sockets to which no thread was ever given, as bits.
    idle_sockets: u8,
    /// Whether a thread slows its siblings' work at all.
    siblings_slow: bool,
    /// Empty lists that are used again.
    spare_waiters: Vec<Waiter>,
    spare_sleepers: Vec<u32>,
    /// Parked threads, with the word on which they wait, oldest first.
    parked: Vec<(usize, u32)>,
    /// Of runs whose threads share CPUs.
    schedule: Option<Box<Scheduler>>,
    /// What followed loads, by their places in the code.
    followed: Vec<Followed>,
    live: usize,
    /// No thread is left, or one cannot go on.
    over: bool,
    pub(crate) fate: Option<Fate>,
    pub(crate) statistics: Statistics,
    pub(crate) hash: u64,
}

impl Engine {
    pub(crate) fn new(machine: Rc<Machine>, shared: Rc<Shared>, seed: u64) -> Self {
        Engine {
            arena: Rc::clone(shared.arena()),
            places: Places::new(&machine),
            wheel: Wheel::new(),
            random: Random::new(seed),
            capacity: Capacity::new(&machine, seed),
            lines: Vec::new(),
            views: Vec::new(),
            traces: Vec::new(),
            regions: Regions::new(),
            line_of: Vec::new(),
            threads: Vec::new(),
            cores: vec![CoreThreads::default(); machine.cores()],
            idle_sockets: (0..machine.sockets()).map(|socket| 1 << socket).sum(),
            siblings_slow: machine.numbers().smt_slowdown != 1.0,
            spare_waiters: Vec::new(),
            spare_sleepers: Vec::new(),
            parked: Vec::new(),
            schedule: None,
            followed: Vec::new(),
            live: 0,
            over: true,
            fate: None,
            statistics: Statistics::default(),
            hash: 0,
            machine,
            shared,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.wheel.now()
    }

    /// How many threads have not finished.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// A thread cannot go on.
    #[cold]
    fn fails(&mut self, fate: Fate) {
        self.fate.get_or_insert(fate);
        self.over = true;
    }

    /// How many events are queued.
    pub(crate) fn queued(&self) -> usize {
        self.wheel.len()
    }

    /// Whether nothing will happen any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Queues `event` for `time`, or for the end of time.
    #[inline(always)]
    fn at(&mut self, time: u64, event: Event) {
        self.wheel.push(time, event.pack());
    }

    #[inline(always)]
    fn jitter(&mut self) -> u64 {
        self.random.below(self.machine.numbers().jitter + 1)
    }

    fn domain_of(&self, core: u16) -> u16 {
        self.places.domain_of(core)
    }

    /// Adds a thread on `core`; it begins at `start`. Returns its index.
    pub(crate) fn spawn(&mut self, core: usize, start: u64, code: Box<dyn FnOnce()>) -> u32 {
        let thread = self.threads.len() as u32;
        self.threads.push(Thread {
            core: core as u16,
            coroutine: Some(SimulatedThread::new(Rc::clone(&self.shared), code)),
            op: Cell::new(Op::Fence),
            location: None,
            pending: false,
            stalled: false,
            stores: VecDeque::new(),
            store_waits: false,
            locks: 0,
            guesses: Vec::new(),
            redirect: 0,
            generation: 0,
            // It has not begun.
            activity: Activity::Yielding,
            doing: Default::default(),
            work: None,
            ahead: Ahead::default(),
            losses: Losses::default(),
            last_load: None,
            spending: Spending::default(),
            waited: 0,
            spent: Spent::default(),
            work_plans: 0,
        });
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

    /// Gives `core` a thread that begins, or that has left another core.
    fn give(&mut self, core: u16, thread: u32) {
        self.idle_sockets &= !(1 << self.places.socket_of(core));
        self.cores[core as usize].threads.push(thread);
        self.shares_reach(core);
    }

    /// From now on threads share CPUs.
    pub(crate) fn share_cpus(&mut self) {
        self.schedule = Some(Box::new(Scheduler::new(&self.machine)));
    }

    /// Says that the next thread is for hardware thread `place`, and of group `group`; in a run whose threads share CPUs.
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

    /// Handles events that are not after `until`, at most `events` of them, until all threads have finished or one cannot go
    /// on; `false` if no such event is left.
    pub(crate) fn run(&mut self, until: u64, events: u64) -> bool {
        let last = self.statistics.events.saturating_add(events);
        while self.statistics.events < last {
            let Some(event) = self.wheel.pop(until) else { return false };
            self.statistics.events += 1;
            self.handle(event);
            if self.over {
                break;
            }
        }
        true
    }

    /// Handles an event. The code of a thread runs here and nowhere deeper: a processor that has switched stacks predicts the
    /// target of each return wrongly until it is back in a loop.
    #[inline(always)]
    fn handle(&mut self, event: Packed) {
        let goes_on = match event.kind() {
            Kind::Resume => Some(event.value()),
            Kind::WorkEnd => self.end_work(event.thread(), event.plan()),
            Kind::Unlock => self.unlock(event.thread(), event.value()),
            Kind::Wake => self.wake(event.thread(), event.generation()),
            Kind::Deadline => self.deadline(event.thread(), event.generation()),
            _ => {
                self.handle_other(event);
                None
            }
        };
        if let Some(value) = goes_on {
            self.resume(event.thread(), value);
        }
    }

    /// Handles an event that lets no thread's code run.
    #[inline(always)]
    fn handle_other(&mut self, event: Packed) {
        match event.kind() {
            Kind::Lock => self.lock(event.thread(), event.locked_view()),
            Kind::Arrive => self.arrive(event.line(), event.domain(), event.request()),
            Kind::AgentFree => self.agent_free(event.line(), event.domain()),
            Kind::Snoop => self.snoop(event.view(), event.exclusive()),
            Kind::Invalidate => self.invalidate(event.view()),
            Kind::Data => self.fill(event.view(), event.exclusive()),
            Kind::TurnEnd => self.lock_end(event.view()),
            Kind::Ask => self.ask_home(event.line(), event.domain(), event.exclusive()),
            Kind::Grant => self.grant(event.line(), event.domain(), event.exclusive()),
            Kind::TakeGrant => self.take_grant(event.line(), event.domain()),
            Kind::HomeFree => self.home_free(event.line()),
            Kind::Begin => self.can_run(event.thread(), 0, false),
            Kind::SliceEnd => self.slice_end(event.cpu(), event.plan()),
            Kind::Switched => self.switched(event.cpu()),
            Kind::PauseExit => self.pause_exit(event.thread(), event.generation()),
            Kind::Interrupt => self.interrupt(event.thread(), event.from()),
            Kind::Resume | Kind::WorkEnd | Kind::Unlock | Kind::Wake | Kind::Deadline => {}
        }
    }

    /// Every thread that has not finished, with its last operation.
    pub(crate) fn unfinished(&self) -> Vec<ThreadReport> {
        self.threads
            .iter()
            .enumerate()
            .filter(|(_, t)| t.activity != Activity::Finished)
            .map(|(thread, t)| {
                let operation = match t.location {
                    Some(_) => self.describe(&t.op.get()),
                    None => "has not begun".to_owned(),
                };
                let thread = self.shared.place_of(thread as u32);
                ThreadReport { thread, operation, location: t.location }
            })
            .collect()
    }

    fn describe(&self, op: &Op) -> String {
        let line_bytes = self.machine.line_bytes();
        let place = |address: usize| {
            let offset = address.wrapping_sub(self.arena.base());
            format!("line {} byte {}", offset / line_bytes, offset % line_bytes)
        };
        match *op {
            Op::Load { address, .. } => format!("load of {}", place(address)),
            Op::Store { address, .. } => format!("store to {}", place(address)),
            Op::Rmw { address, .. } => format!("read-modify-write of {}", place(address)),
            Op::Fence => "fence".to_owned(),
            Op::Work { cycles, .. } => format!("work of {cycles} cycles"),
            Op::Pause(_) => "pause".to_owned(),
            Op::Sleep { address, .. } => format!("wait on {}", place(address)),
            Op::Park { word, .. } => format!("parked on {}", place(word)),
            Op::Unpark { word, .. } => format!("unpark of {}", place(word)),
            Op::WaitForOthers => "wait for the answers of others".to_owned(),
            Op::Fatal(message) => format!("fatal: {message}"),
        }
    }
}
