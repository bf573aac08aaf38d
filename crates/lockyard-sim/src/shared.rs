//! What the code of simulated threads and the engine share: who runs, the arena, the stop flag, and
//! the way out of a coroutine.
//!
//! A lock in a `static` has no place to keep a reference to its machine, so the running simulation
//! is found through a thread-local. Everything here is a `Cell`: the engine is borrowed mutably while
//! a coroutine runs, and the coroutine touches only this, and the place of its own next operation.

use crate::arena::Arena;
use crate::engine::{Noted, Op};
use crate::machine::Machine;
use crate::platform::SimulatedAtomics;
use crate::random::Random;
use corosensei::Yielder;
use lockyard::platform::{Activity, Announcement, Event, NEST_LEVELS, QueueNode, spread};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr::{NonNull, null};
use std::rc::Rc;

/// Lines of the table of waiters that park.
const ANNOUNCEMENT_LINES: usize = 64;

/// A sleeper is to look again.
pub(crate) const LOOK_AGAIN: u64 = 0;
/// A sleeper's budget is spent.
pub(crate) const DEADLINE: u64 = 1;

thread_local! {
    static CURRENT: Cell<*const Shared> = const { Cell::new(null()) };
}

type Yields = Yielder<u64, ()>;

/// What one simulated thread shares with the engine.
pub(crate) struct PerThread {
    pub place: usize,
    pub socket: usize,
    /// What the host calls it: its hardware thread, or a number beyond those for a thread that shares one.
    pub slot: usize,
    /// Cycles in which it could run and another had its CPU.
    pub off_cpu: Cell<u64>,
    pub operations: Cell<u64>,
    /// When the thread counted its last operation.
    pub last_operation: Cell<u64>,
    pub random: RefCell<Random>,
}

/// What a simulation's threads and its engine share.
pub(crate) struct Shared {
    machine: Rc<Machine>,
    arena: Rc<Arena>,
    yielder: Cell<*const Yields>,
    /// Where the running thread writes what it asks for.
    op: Cell<*const Cell<Op>>,
    thread: Cell<u32>,
    now: Cell<u64>,
    /// Cycles in which the running thread's operations waited for lines or for the store buffer.
    stalled: Cell<u64>,
    /// Cycles of work that the running thread has done while it waited for locks.
    hidden: Cell<u64>,
    /// What the running thread does.
    doing: Cell<Activity>,
    stop: Cell<bool>,
    location: Cell<Option<&'static Location<'static>>>,
    /// Of what the running thread has asked for last.
    noted: Cell<Noted>,
    threads: RefCell<Vec<Rc<PerThread>>>,
    /// Threads that are not the only one of their hardware thread.
    extra_slots: Cell<usize>,
    events: [Cell<u64>; Event::ALL.len()],
    nodes: RefCell<Vec<Option<NonNull<QueueNode<crate::SimulatedAtomics>>>>>,
    /// The table of waiters that park.
    announcements: Cell<Option<NonNull<Announcement<SimulatedAtomics>>>>,
    failing_allocations: Cell<u64>,
    /// Names of regions of the arena, for people: first byte, byte after the last, name.
    names: RefCell<Vec<(usize, usize, String)>>,
}

impl Shared {
    pub(crate) fn new(machine: Rc<Machine>, arena: Rc<Arena>) -> Self {
        let slots = machine.hardware_threads() * NEST_LEVELS as usize;
        Shared {
            machine,
            arena,
            yielder: Cell::new(null()),
            op: Cell::new(null()),
            thread: Cell::new(0),
            now: Cell::new(0),
            stalled: Cell::new(0),
            hidden: Cell::new(0),
            doing: Cell::default(),
            stop: Cell::new(false),
            location: Cell::new(None),
            noted: Cell::default(),
            threads: RefCell::default(),
            extra_slots: Cell::new(0),
            events: Default::default(),
            nodes: RefCell::new(vec![None; slots]),
            announcements: Cell::new(None),
            failing_allocations: Cell::new(0),
            names: RefCell::default(),
        }
    }

    #[inline]
    pub(crate) fn arena(&self) -> &Rc<Arena> {
        &self.arena
    }

    #[inline]
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Makes this the simulation that operations of the current OS thread belong to, while `f` runs.
    pub(crate) fn while_current<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(*const Shared);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        f()
    }

    /// The running simulation.
    ///
    /// # Panics
    ///
    /// If none runs on this OS thread.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(&Shared) -> R) -> R {
        // SAFETY: `while_current` set it from a reference that lives as long as its closure runs,
        // and restores the former one afterwards, also on unwinding. Coroutines run inside it.
        f(unsafe { &*Self::current() })
    }

    /// Where the running simulation is, for as long as [`while_current`](Self::while_current) runs its closure.
    ///
    /// # Panics
    ///
    /// If none runs on this OS thread.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn current() -> *const Shared {
        let current = CURRENT.get();
        assert!(!current.is_null(), "an operation of `Simulated` outside a simulation");
        current
    }

    /// The running simulation, if one runs on this OS thread.
    pub(crate) fn try_with<R>(f: impl FnOnce(&Shared) -> R) -> Option<R> {
        // SAFETY: as in `with`.
        unsafe { CURRENT.get().as_ref() }.map(f)
    }

    /// Whether there is a slot for one more thread on `place`.
    pub(crate) fn has_slot_for(&self, place: usize) -> bool {
        let shares = self.threads.borrow().iter().any(|thread| thread.place == place);
        let slots = self.machine.hardware_threads() + self.extra_slots.get();
        !shares || slots < <crate::Simulated as lockyard::platform::Host>::SLOTS as usize
    }

    pub(crate) fn add_thread(&self, place: usize, seed: u64) {
        let mut threads = self.threads.borrow_mut();
        let shares = threads.iter().any(|thread| thread.place == place);
        let slot = if shares {
            self.extra_slots.set(self.extra_slots.get() + 1);
            self.machine.hardware_threads() + self.extra_slots.get() - 1
        } else {
            place
        };
        threads.push(Rc::new(PerThread {
            place,
            slot,
            off_cpu: Cell::new(0),
            socket: self.machine.place(place).socket,
            operations: Cell::new(0),
            last_operation: Cell::new(0),
            random: RefCell::new(Random::new(seed)),
        }));
    }

    /// Runs the code of `thread`, which writes what it asks for into `op`, until it stops; returns what the thread then does, too.
    #[inline(always)]
    pub(crate) fn while_running<R>(
        &self,
        thread: u32,
        now: u64,
        doing: Activity,
        op: &Cell<Op>,
        code: impl FnOnce() -> R,
    ) -> (R, Activity) {
        self.thread.set(thread);
        self.now.set(now);
        self.doing.set(doing);
        self.op.set(op);
        // What unwinds a thread's code ends within it (`coroutine.rs`).
        let result = code();
        self.yielder.set(null());
        (result, self.doing.get())
    }

    /// The running thread does something else from now on; returns what it did.
    #[inline]
    pub(crate) fn begins(&self, activity: Activity) -> Activity {
        let before = self.doing.get();
        self.doing.set(before.then(activity));
        before
    }

    /// The running thread does `before` again.
    #[inline]
    pub(crate) fn goes_back_to(&self, before: Activity) {
        self.doing.set(before);
    }

    pub(crate) fn set_yielder(&self, yielder: &Yields) {
        self.yielder.set(yielder);
    }

    /// Whether the code of a simulated thread is running (and not setup code).
    #[inline]
    pub(crate) fn in_thread(&self) -> bool {
        !self.yielder.get().is_null()
    }

    /// The running thread.
    ///
    /// # Panics
    ///
    /// If setup code runs.
    #[track_caller]
    pub(crate) fn me(&self) -> Rc<PerThread> {
        assert!(self.in_thread(), "only a simulated thread can do this, not setup code");
        Rc::clone(&self.threads.borrow()[self.thread.get() as usize])
    }

    /// The hardware thread of thread number `thread`.
    pub(crate) fn place_of(&self, thread: u32) -> usize {
        self.threads.borrow()[thread as usize].place
    }

    pub(crate) fn operations(&self) -> Vec<u64> {
        self.threads.borrow().iter().map(|t| t.operations.get()).collect()
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    #[inline]
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.get()
    }

    pub(crate) fn request_stop(&self) {
        self.stop.set(true);
    }

    pub(crate) fn location(&self) -> Option<&'static Location<'static>> {
        self.location.get()
    }

    /// Of what the thread that ran last has asked for.
    pub(crate) fn noted(&self) -> Noted {
        self.noted.get()
    }

    /// Suspends the running thread at `op`, which `location` asked for; returns what the engine
    /// resumes it with.
    #[inline(always)]
    pub(crate) fn suspend(&self, op: Op, location: &'static Location<'static>) -> u64 {
        self.location.set(Some(location));
        self.noted.set(op.noted(&self.arena));
        let yielder = self.yielder.get();
        debug_assert!(!yielder.is_null());
        // SAFETY: a thread's code is running, as it has a yielder; so we are inside `while_running`, which set this from a
        // reference that lives as long.
        unsafe { (*self.op.get()).set(op) };
        // SAFETY: the yielder belongs to the coroutine whose code is running: it was set when that
        // began, and is set again below after each suspension. It lives on the coroutine's stack.
        let value = unsafe { (*yielder).suspend(()) };
        self.yielder.set(yielder);
        value
    }

    /// Calls the `bytes` bytes at `address` by `name` in reports.
    pub(crate) fn name(&self, address: usize, bytes: usize, name: String) {
        self.names.borrow_mut().push((address, address + bytes, name));
    }

    /// What is in line `number` of the arena.
    pub(crate) fn name_of_line(&self, number: usize) -> String {
        let line_bytes = self.machine.line_bytes();
        let begin = self.arena.base() + number * line_bytes;
        let end = begin + line_bytes;
        let names = self.names.borrow();
        let here: Vec<&str> = names
            .iter()
            .filter(|(first, last, _)| *first < end && *last > begin)
            .map(|(.., name)| name.as_str())
            .collect();
        if here.is_empty() { format!("line {number}") } else { here.join(" and ") }
    }

    /// `thread` could run, and did not for `cycles`.
    pub(crate) fn was_off_cpu(&self, thread: u32, cycles: u64) {
        let off_cpu = &self.threads.borrow()[thread as usize].off_cpu;
        off_cpu.set(off_cpu.get() + cycles);
    }

    /// Cycles in which the running thread could run and did not, so far.
    pub(crate) fn off_cpu(&self) -> u64 {
        self.me().off_cpu.get()
    }

    /// The socket on which the thread with this slot runs, or would.
    fn socket_of(&self, slot: usize) -> usize {
        let threads = self.threads.borrow();
        match threads.iter().find(|thread| thread.slot == slot) {
            Some(thread) => thread.socket,
            None => self.machine.place(slot).socket,
        }
    }

    /// Sets how long operations of the thread that is about to run have waited, and how much work
    /// it has done while it waited for locks; both in cycles.
    pub(crate) fn set_stalled(&self, cycles: u64, hidden: u64) {
        self.stalled.set(cycles);
        self.hidden.set(hidden);
    }

    /// Cycles of work that the running thread has done while it waited for locks, so far.
    #[track_caller]
    pub(crate) fn hidden(&self) -> u64 {
        assert!(self.in_thread(), "only a simulated thread has work");
        self.hidden.get()
    }

    /// Cycles in which operations of the running thread have waited so far.
    #[track_caller]
    pub(crate) fn stalled(&self) -> u64 {
        assert!(self.in_thread(), "only a simulated thread has waited");
        self.stalled.get()
    }

    /// The number of the running thread.
    #[track_caller]
    pub(crate) fn thread_index(&self) -> usize {
        assert!(self.in_thread(), "only a simulated thread has a number");
        self.thread.get() as usize
    }

    /// Checks that an object is in the arena.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    #[inline]
    pub(crate) fn check(&self, address: usize, bytes: usize) {
        assert!(
            self.arena.contains(address, bytes),
            "an atomic or cell outside the simulation's arena: shared objects are made by \
             `Simulation::place` or `Host::allocate`"
        );
    }

    #[inline]
    pub(crate) fn count(&self, event: Event) {
        let counter = &self.events[event as usize];
        counter.set(counter.get() + 1);
    }

    pub(crate) fn events(&self) -> Vec<(Event, u64)> {
        Event::ALL.iter().map(|&event| (event, self.events[event as usize].get())).collect()
    }

    /// Lets the next `count` allocations fail.
    pub(crate) fn fail_allocations(&self, count: u64) {
        self.failing_allocations.set(count);
    }

    /// Whether this call of `Host::allocate` is one of those that fail.
    pub(crate) fn allocation_fails(&self) -> bool {
        let failing = self.failing_allocations.get();
        self.failing_allocations.set(failing.saturating_sub(1));
        failing > 0
    }

    /// Memory on NUMA node (socket) `node`, by default the running thread's.
    pub(crate) fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        let node = match node {
            Some(node) => node as usize,
            None if self.in_thread() => self.me().socket,
            None => 0,
        };
        self.arena.allocate(layout, self.home_on(node), self.in_thread())
    }

    /// The home of memory on NUMA node (socket) `node`.
    fn home_on(&self, node: usize) -> u16 {
        let complexes_per_socket = self.machine.complexes() / self.machine.sockets();
        (node.min(self.machine.sockets() - 1) * complexes_per_socket) as u16
    }

    /// Memory for what a real machine has from the beginning, and the simulated one makes when it is first needed: it counts as
    /// laid out before threads ran.
    fn allocate_as_before(&self, layout: Layout, node: usize) -> Option<NonNull<u8>> {
        self.arena.allocate(layout, self.home_on(node), false)
    }

    /// Takes memory back that [`allocate`](Self::allocate) gave.
    pub(crate) fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        self.arena.deallocate(memory, layout);
    }

    /// A line of the table of waiters that park, found by where the lock lies in the arena: so a run does not depend on
    /// where that is in the host's memory.
    pub(crate) fn announcements(
        &self,
        lock: usize,
        turn: u32,
    ) -> &'static [Announcement<SimulatedAtomics>] {
        let line = self.machine.line_bytes();
        let table = self.announcements.get().unwrap_or_else(|| {
            let layout = Layout::from_size_align(ANNOUNCEMENT_LINES * line, line)
                .expect("a line is a power of two");
            let node = if self.in_thread() { self.me().socket } else { 0 };
            let memory =
                self.allocate_as_before(layout, node).expect("no memory for announcements");
            self.name(memory.as_ptr() as usize, layout.size(), "announcements of waiters".into());
            let table = memory.cast();
            self.announcements.set(Some(table));
            table
        });
        let words = line / size_of::<Announcement<SimulatedAtomics>>();
        let place = lock - self.arena.base();
        let first = spread(place, turn) as usize % ANNOUNCEMENT_LINES * words;
        // SAFETY: the table is of so many lines, all zero at first, which is a place in which
        // nobody has announced itself; it lies in the arena, which lives as long as simulated
        // threads do (`Host`, *Safety*: as long as a thread runs).
        unsafe { std::slice::from_raw_parts(table.as_ptr().add(first), words) }
    }

    /// The queue node of a hardware thread, made at its first use in a line with its siblings.
    pub(crate) fn queue_node(
        &self,
        slot: usize,
        level: usize,
    ) -> &'static QueueNode<crate::SimulatedAtomics> {
        let levels = NEST_LEVELS as usize;
        let slots = self.machine.hardware_threads() + self.extra_slots.get();
        assert!(slot < slots && level < levels, "no such queue node");
        let mut nodes = self.nodes.borrow_mut();
        let first = slot * levels;
        if nodes.len() < slots * levels {
            nodes.resize(slots * levels, None);
        }
        if nodes[first].is_none() {
            let layout =
                Layout::new::<[QueueNode<crate::SimulatedAtomics>; NEST_LEVELS as usize]>()
                    .align_to(self.machine.line_bytes())
                    .expect("a line is a power of two");
            let socket = self.socket_of(slot);
            let memory =
                self.allocate_as_before(layout, socket).expect("no memory for queue nodes");
            let name = format!("queue nodes of hardware thread {slot}");
            self.name(memory.as_ptr() as usize, layout.size(), name);
            for index in 0..levels {
                let node = memory.cast::<QueueNode<crate::SimulatedAtomics>>();
                // SAFETY: `memory` is large enough for `levels` nodes, and aligned; all zero is a
                // node that no one uses.
                nodes[first + index] = Some(unsafe { node.add(index) });
            }
        }
        let node = nodes[first + level].expect("made above");
        // SAFETY: the node is in the arena, which lives as long as the simulation; no thread of the
        // simulation runs longer than that, which is what the lifetime of a queue node means.
        unsafe { node.as_ref() }
    }
}
