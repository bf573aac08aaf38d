//! A simulation: a machine, the objects that its threads share, and the threads.

use crate::arena::Arena;
use crate::engine::{CycleAttribution, Engine, Fate, Observer, RunStatistics, ThreadReport};
use crate::machine::description::Machine;
use crate::random::Random;
use crate::shared::Shared;
use crate::speed;
use lockyard::platform::Event;
use lockyard_support::threads;
use std::alloc::Layout;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Maximum number of events of a run, unless another limit is set. Reaching it takes the host some
/// minutes.
const MAX_EVENTS: u64 = 5_000_000_000;

/// Number of events between two checks of a run's cancellation flag. They take a few hundredths of
/// a second even without optimisation.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 15;

/// Least distance between two [random starts](Simulation::random_starts), in nanoseconds.
const LEAST_BETWEEN_STARTS_NS: f64 = 1000.0;

/// A reference to an object in a simulation's arena. Cloning clones the reference only. The
/// object's destructor never runs.
pub struct Placed<T> {
    object: NonNull<T>,
    _arena: Rc<Arena>,
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        Placed { object: self.object, _arena: Rc::clone(&self._arena) }
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the object was written in `place`, and is never moved or dropped. It is in the
        // arena, which `self` keeps alive.
        unsafe { self.object.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Placed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Placed").field(&self.object).finish()
    }
}

/// Reason for which a run ended.
#[derive(Clone, Debug)]
pub enum RunEnd {
    /// All threads finished.
    Finished,
    /// The time limit was reached while threads were still running.
    TimeOver,
    /// No event is left, but some threads have not finished: each waits for an event that cannot
    /// happen.
    Stuck(Vec<ThreadReport>),
    /// The code of a thread panicked.
    Panicked {
        /// Hardware thread on which the code ran.
        thread: usize,
        /// The panic's message.
        message: String,
    },
    /// A primitive reported that it cannot continue
    /// ([`Host::fatal`](lockyard::platform::Host::fatal)).
    Fatal {
        /// Hardware thread on which the code ran.
        thread: usize,
        /// The reason.
        message: &'static str,
    },
    /// The run exceeded its limit of events.
    TooManyEvents(Vec<ThreadReport>),
    /// The flag of [`Simulation::cancel_by`] was set.
    Cancelled,
}

impl RunEnd {
    /// Returns `true` if the run ended normally: all threads finished, or the time limit was
    /// reached.
    pub fn is_sound(&self) -> bool {
        matches!(self, RunEnd::Finished | RunEnd::TimeOver)
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, reports: &[ThreadReport]| {
            for report in reports.iter().take(8) {
                write!(f, "; thread {}: {}", report.thread, report.operation)?;
                if let Some(location) = report.location {
                    write!(f, " ({}:{})", location.file(), location.line())?;
                }
            }
            if reports.len() > 8 { write!(f, "; and {} more", reports.len() - 8) } else { Ok(()) }
        };
        match self {
            RunEnd::Finished => f.write_str("finished"),
            RunEnd::TimeOver => f.write_str("time over"),
            RunEnd::Stuck(reports) => {
                let wait = if reports.len() == 1 { "waits" } else { "wait" };
                write!(f, "stuck: {} {wait} forever", threads(reports.len()))?;
                list(f, reports)
            }
            RunEnd::Panicked { thread, message } => {
                write!(f, "thread {thread} panicked: {message}")
            }
            RunEnd::Fatal { thread, message } => write!(f, "thread {thread} stopped: {message}"),
            RunEnd::Cancelled => f.write_str("cancelled"),
            RunEnd::TooManyEvents(reports) => {
                write!(f, "gave up after too many events, {} unfinished", threads(reports.len()))?;
                list(f, reports)
            }
        }
    }
}

/// A machine, the objects that its threads share, and the threads.
///
/// ```
/// use lockyard::on::RawTicketLock;
/// use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
///
/// let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
/// let mut simulation = Simulation::new(&machine, 1);
/// let lock = simulation.place(RawTicketLock::<Simulated>::new(), 64, 0);
/// for thread in 0..4 {
///     let lock = lock.clone();
///     simulation.spawn(thread, move || {
///         for _ in 0..100 {
///             let held = lock.acquire();
///             lockyard_sim::work(20.0);
///             // SAFETY: acquired above.
///             unsafe { lock.release(held) };
///         }
///     });
/// }
/// assert!(matches!(simulation.run(), RunEnd::Finished));
/// ```
pub struct Simulation {
    engine: Engine,
    shared: Rc<Shared>,
    machine: Rc<Machine>,
    taken: Vec<bool>,
    random: Random,
    max_events: u64,
    cancelled: Option<&'static AtomicBool>,
}

impl Simulation {
    /// Default size of the arena in bytes. The host provides memory only as it is used.
    pub const MEMORY: usize = 16 << 20;

    /// Returns a simulation of `machine`. The same machine, seed, objects and threads give the same
    /// run.
    pub fn new(machine: &Machine, seed: u64) -> Self {
        Self::with_memory(machine, seed, Self::MEMORY)
    }

    /// Does the same as [`new`](Self::new), with an arena of `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If the host has no memory for the arena.
    pub fn with_memory(machine: &Machine, seed: u64, bytes: usize) -> Self {
        let machine = Rc::new(machine.clone());
        let arena = Rc::new(Arena::new(bytes, machine.line_bytes()));
        let shared = Rc::new(Shared::new(Rc::clone(&machine), arena));
        Simulation {
            engine: Engine::new(Rc::clone(&machine), Rc::clone(&shared), seed),
            shared,
            taken: vec![false; machine.hardware_threads()],
            random: Random::new(seed ^ 0x5eed),
            max_events: MAX_EVENTS,
            cancelled: None,
            machine,
        }
    }

    /// The simulated machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Runs `code` with this simulation's memory, outside simulated time. Operations take effect
    /// immediately and cost nothing.
    ///
    /// These operations wake no thread. A thread that sleeps in a waiting loop does not see the
    /// change of a word until its line moves, and an unpark does nothing. So change words before
    /// threads run, or after.
    pub fn setup<R>(&mut self, code: impl FnOnce() -> R) -> R {
        self.shared.while_current(code)
    }

    /// Does the same as [`setup`](Self::setup). In a [`CycleAttribution`], the memory that `code`
    /// allocates is one entry, with this name. Lines with a name of their own, and lines where
    /// threads lose at least 1 % of all cycles, have entries of their own.
    pub fn setup_contents<R>(&mut self, name: &str, code: impl FnOnce() -> R) -> R {
        let begin = self.shared.arena().used();
        let made = self.setup(code);
        self.shared.gather(begin, name);
        made
    }

    /// Puts an object into the arena, in lines whose home is `socket`. Its address is a multiple of
    /// `align` bytes, or of the type's own alignment if that is larger.
    ///
    /// # Panics
    ///
    /// If the arena is full, or `align` is not a power of two up to 128.
    pub fn place<T>(&mut self, object: T, align: usize, socket: usize) -> Placed<T> {
        let layout = Layout::new::<T>().align_to(align).expect("an alignment is a power of two");
        let memory = self.shared.allocate(layout, Some(socket as u32));
        let memory = memory.expect("the simulation's arena is full").cast::<T>();
        // SAFETY: the memory has this object's layout, and no other object uses it.
        unsafe { memory.write(object) };
        // The object's padding may be uninitialised, and may share a 64-bit unit with a word. So
        // the compiler must know nothing about this memory (see `Arena::read`).
        let memory = std::hint::black_box(memory);
        Placed { object: memory, _arena: Rc::clone(self.shared.arena()) }
    }

    /// Moves every line to memory only, except lines where an operation is under way. If all
    /// threads have finished, messages in flight arrive first. Without this call, memory laid out
    /// before threads ran is in its home's last-level cache, as far as it fits.
    pub fn empty_caches(&mut self) {
        while self.engine.live() == 0 && self.engine.run(u64::MAX, u64::MAX) {}
        self.engine.empty_caches();
    }

    /// Makes the next `count` calls of `Host::allocate` fail.
    pub fn fail_allocations(&mut self, count: u64) {
        self.shared.fail_allocations(count);
    }

    /// Limits the number of events of all runs together.
    pub fn limit_events(&mut self, events: u64) {
        self.max_events = events;
    }

    /// Ends all runs soon after `flag` is set, with [`RunEnd::Cancelled`]. A run handles at most
    /// 32,768 events after that. A flag that is never set changes nothing. After the flag is
    /// cleared, a cancelled run can go on.
    pub fn cancel_by(&mut self, flag: &'static AtomicBool) {
        self.cancelled = Some(flag);
    }

    /// Lets threads share hardware threads from now on. Several threads may then be spawned on one
    /// hardware thread. A scheduler with the machine's numbers (`[scheduler]` of its file) chooses
    /// which of them runs.
    ///
    /// # Panics
    ///
    /// If a thread was spawned before.
    pub fn share_cpus(&mut self) {
        assert!(!self.taken.contains(&true), "threads run already, each with its hardware thread");
        self.engine.share_cpus();
    }

    /// Adds a simulated thread on hardware thread `place` (see [`Machine::place`]). Threads begin
    /// within the first hundred nanoseconds, at random.
    ///
    /// Such starts are close together: the threads nearest to a line's home then request it first,
    /// and a queue stays sorted by socket for ever. For a run whose figures are used, take start
    /// times from [`random_starts`](Self::random_starts).
    ///
    /// # Panics
    ///
    /// If the machine has no such hardware thread, or there are more threads than slots. Also if
    /// the hardware thread is taken and threads do not [share](Self::share_cpus) hardware threads.
    pub fn spawn(&mut self, place: usize, code: impl FnOnce() + 'static) {
        self.spawn_in(0, place, code);
    }

    /// Adds a thread as [`spawn`](Self::spawn) does, in `group`. A group is, for example, the
    /// virtual machine to which the threads' CPUs belong. A thread that [waits for
    /// others](crate::wait_for_others) waits for the other threads of its group.
    ///
    /// # Panics
    ///
    /// The same as for [`spawn`](Self::spawn).
    pub fn spawn_in(&mut self, group: u32, place: usize, code: impl FnOnce() + 'static) {
        let start = self.random.below(self.machine.cycles(100.0).max(1));
        self.spawn_in_at(group, place, self.engine.now() + start, code);
    }

    /// Adds a thread as [`spawn`](Self::spawn) does. The thread begins at cycle `start`.
    ///
    /// # Panics
    ///
    /// The same as for [`spawn`](Self::spawn).
    pub fn spawn_at(&mut self, place: usize, start: u64, code: impl FnOnce() + 'static) {
        self.spawn_in_at(0, place, start, code);
    }

    /// Draws `count` start times, in cycles: in a random order, each one to two microseconds after
    /// the previous one. The seed determines the order and the distances. Add each thread with
    /// [`spawn_in_at`](Self::spawn_in_at), and begin counting at the last start.
    ///
    /// In a real run, the operating system starts threads one after another. Threads that begin
    /// within nanoseconds of each other would enter a queue in the order of their distances
    /// instead.
    pub fn random_starts(&mut self, count: usize) -> Vec<u64> {
        let least = self.machine.cycles(LEAST_BETWEEN_STARTS_NS).max(1);
        let mut moment = self.engine.now();
        let mut starts: Vec<u64> = (0..count)
            .map(|_| {
                moment += least + self.random.below(least);
                moment
            })
            .collect();
        // Fisher-Yates shuffle.
        for last in (1..count).rev() {
            starts.swap(last, self.random.below(last as u64 + 1) as usize);
        }
        starts
    }

    /// Adds a thread as [`spawn_in`](Self::spawn_in) does. The thread begins at cycle `start`.
    ///
    /// # Panics
    ///
    /// The same as for [`spawn`](Self::spawn).
    pub fn spawn_in_at(
        &mut self,
        group: u32,
        place: usize,
        start: u64,
        code: impl FnOnce() + 'static,
    ) {
        let core = self.machine.place(place).core;
        let is_free = !self.taken[place] || self.engine.shares_cpus();
        assert!(is_free, "hardware thread {place} already has a thread");
        assert!(self.shared.has_slot_for(place), "more threads than there are slots");
        self.taken[place] = true;
        self.shared.add_thread(place, self.random.below(u64::MAX));
        self.engine.announce(place, group);
        self.engine.spawn(core, start, Box::new(code));
    }

    /// Runs until all threads have finished.
    pub fn run(&mut self) -> RunEnd {
        self.run_until(u64::MAX)
    }

    /// Runs until cycle `until`, or until all threads have finished.
    pub fn run_until(&mut self, until: u64) -> RunEnd {
        let (began, before) = (Instant::now(), self.engine.ledger.statistics().platform_operations);
        let end = self.run_events_until(until);
        speed::add(self.engine.ledger.statistics().platform_operations - before, began.elapsed());
        end
    }

    fn run_events_until(&mut self, until: u64) -> RunEnd {
        let shared = Rc::clone(&self.shared);
        shared.while_current(|| {
            loop {
                match self.engine.fate.clone() {
                    Some(Fate::Panicked { thread, message }) => {
                        return RunEnd::Panicked { thread: shared.place_of(thread), message };
                    }
                    Some(Fate::Fatal { thread, message }) => {
                        return RunEnd::Fatal { thread: shared.place_of(thread), message };
                    }
                    None => {}
                }
                if self.engine.live() == 0 {
                    return RunEnd::Finished;
                }
                if self.engine.ledger.statistics().events >= self.max_events {
                    return RunEnd::TooManyEvents(self.engine.unfinished());
                }
                // Relaxed: the flag publishes no other data.
                if self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    return RunEnd::Cancelled;
                }
                let left = self.max_events - self.engine.ledger.statistics().events;
                let left = left.min(EVENTS_BETWEEN_LOOKS);
                if !self.engine.run(until, left) {
                    return if self.engine.is_idle() {
                        RunEnd::Stuck(self.engine.unfinished())
                    } else {
                        RunEnd::TimeOver
                    };
                }
            }
        })
    }

    /// Checks the state after a run that has finished. Lets messages in flight arrive, and checks
    /// every line.
    ///
    /// # Errors
    ///
    /// A request without an answer, a line with two owners, or an owner or sharer that its agent
    /// does not know.
    pub fn check_quiet(&mut self) -> Result<(), String> {
        while self.engine.run(u64::MAX, u64::MAX) {}
        self.engine.settle_caches();
        self.engine.check_quiet()
    }

    /// Asks the threads to stop: [`stop_requested`](crate::stop_requested) returns `true` from now
    /// on.
    pub fn request_stop(&mut self) {
        self.shared.request_stop();
    }

    /// Current simulated time, in cycles.
    pub fn now(&self) -> u64 {
        self.engine.now()
    }

    /// Number of operations that each thread has counted, in the order in which threads were
    /// spawned.
    pub fn operations(&self) -> Vec<u64> {
        self.shared.operations()
    }

    /// Cycles so far in which the [shared](Self::share_cpus) CPUs had threads; `None` if each
    /// thread has its own CPU.
    pub fn busy_cycles(&self) -> Option<u64> {
        self.engine.busy()
    }

    /// Number of queued events. A running simulation keeps only these events, the lines and the
    /// threads.
    pub fn queued_events(&self) -> usize {
        self.engine.queued()
    }

    /// Counts of the run so far.
    pub fn statistics(&self) -> RunStatistics {
        *self.engine.ledger.statistics()
    }

    /// Begins the account of cycles anew: [`attribution`](Self::attribution) covers the time from
    /// now on.
    pub fn begin_attribution(&mut self) {
        self.engine.begin_attribution();
        self.shared.begin_calls();
    }

    /// Account of the run's cycles by phase, region and line, since the run's start or since
    /// [`begin_attribution`](Self::begin_attribution).
    pub fn attribution(&mut self) -> CycleAttribution {
        let system_calls = self.shared.in_calls();
        CycleAttribution { system_calls, ..self.engine.attribution() }
    }

    /// Tells `observer` about changes of the run from now on, until the simulation is dropped. The
    /// observer first gets the present state of threads and lines.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.engine.observe(observer);
    }

    /// Names of the lines that threads have used so far, by line number.
    pub fn line_names(&self) -> Vec<String> {
        self.engine.line_names()
    }

    /// Names the `bytes` bytes at `address` in a [`CycleAttribution`].
    pub fn name(&mut self, address: usize, bytes: usize, name: &str) {
        self.shared.name(address, bytes, name.to_owned());
    }

    /// Distribution of lost compare-exchanges on the line at `address`. Entry `n` is the number of
    /// successes that came after their thread had lost `n` in a row. The last entry includes all
    /// longer streaks. Empty if no simulated thread has used the line.
    pub fn failure_streaks(&self, address: usize) -> Vec<u64> {
        self.engine.failure_streaks(address)
    }

    /// Counts of the events that the primitives report.
    pub fn events(&self) -> Vec<(Event, u64)> {
        self.shared.events()
    }

    /// Hash of the run so far, over each operation, its thread and its time. Equal runs have equal
    /// hashes, on every host.
    pub fn hash(&self) -> u64 {
        self.engine.ledger.hash()
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("machine", &self.machine.name())
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
