//! State that the engine shares with the code of simulated threads: the running thread, the arena,
//! the stop flag, and the way out of a coroutine.
//!
//! A lock in a `static` cannot keep a reference to its machine, so a thread-local points to the
//! running simulation. Everything here is a `Cell`, because the engine is borrowed mutably while a
//! coroutine runs. The coroutine touches only this state, and the place for its own next operation.

use crate::arena::Arena;
use crate::kernel::KernelCosts;
use crate::machine::description::Machine;
use crate::op::{Noted, Op};
use crate::random::Random;
use corosensei::Yielder;
use lockyard::platform::{Activity, Event};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::ptr::{NonNull, null};
use std::rc::Rc;

/// Number of slots. Threads that share a hardware thread have slots beyond the hardware threads.
pub(crate) const SLOTS: usize = 4096;

/// Number of lines in the table of parking waiters.
pub(crate) const ANNOUNCEMENT_LINES: usize = 64;

/// Value that resumes a sleeper to poll again.
pub(crate) const LOOK_AGAIN: u64 = 0;
/// Value that resumes a sleeper whose budget is spent.
pub(crate) const DEADLINE: u64 = 1;
/// Value that resumes a thread that did not sleep in the kernel: its word had changed, or it was
/// woken before.
pub(crate) const CHANGED: u64 = 2;
/// Value that resumes a thread whose call found no thread to wake.
pub(crate) const NOBODY: u64 = 0;

thread_local! {
    static CURRENT: Cell<*const Shared> = const { Cell::new(null()) };
}

type Yields = Yielder<u64, ()>;

/// State that one simulated thread shares with the engine.
pub(crate) struct PerThread {
    pub place: usize,
    pub socket: usize,
    /// Slot of the thread: its hardware thread, or a number beyond those if it shares one.
    pub slot: usize,
    /// Cycles in which the thread could run but another thread had its CPU.
    pub off_cpu: Cell<u64>,
    pub operations: Cell<u64>,
    /// Time when the thread counted its last operation.
    pub last_operation: Cell<u64>,
    pub random: RefCell<Random>,
}

/// Bytes of the arena that are named in reports.
struct NamedBytes {
    first: usize,
    /// End of the bytes, exclusive.
    end: usize,
    name: String,
}

/// State that a simulation's engine and threads share.
pub(crate) struct Shared {
    machine: Rc<Machine>,
    arena: Rc<Arena>,
    yielder: Cell<*const Yields>,
    /// Place into which the running thread writes its next operation.
    op: Cell<*const Cell<Op>>,
    thread: Cell<u32>,
    now: Cell<u64>,
    /// Cycles in which the running thread's operations waited for lines or for the store buffer.
    stalled: Cell<u64>,
    /// Cycles of work that the running thread has done so far while it waited for locks.
    hidden: Cell<u64>,
    /// Region or part that the running thread is in.
    doing: Cell<Activity>,
    stop: Cell<bool>,
    location: Cell<Option<&'static Location<'static>>>,
    /// The hashed part of the running thread's last operation.
    noted: Cell<Noted>,
    threads: RefCell<Vec<Rc<PerThread>>>,
    /// Number of threads whose hardware thread already had a thread.
    extra_slots: Cell<usize>,
    events: [Cell<u64>; Event::ALL.len()],
    /// Queue nodes, by slot.
    queue_nodes: RefCell<Vec<Option<NonNull<u8>>>>,
    /// The table of parking waiters.
    announcements: Cell<Option<NonNull<u8>>>,
    /// Lines of the kernel's buckets, by the address of their word.
    buckets: RefCell<HashMap<usize, usize>>,
    failing_allocations: Cell<u64>,
    /// System calls, in cycles.
    kernel: KernelCosts,
    /// Cycles that all threads have spent in such calls.
    in_calls: Cell<u64>,
    /// Named bytes of the arena, for reports.
    names: RefCell<Vec<NamedBytes>>,
    /// Memory whose lines without a name are one entry of an attribution.
    contents: RefCell<Vec<NamedBytes>>,
}

impl Shared {
    pub(crate) fn new(machine: Rc<Machine>, arena: Rc<Arena>) -> Self {
        let slots = machine.hardware_threads();
        let kernel = KernelCosts::of(&machine);
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
            queue_nodes: RefCell::new(vec![None; slots]),
            announcements: Cell::new(None),
            buckets: RefCell::default(),
            failing_allocations: Cell::new(0),
            kernel,
            in_calls: Cell::new(0),
            names: RefCell::default(),
            contents: RefCell::default(),
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

    /// Runs `f`. Meanwhile, operations of the current OS thread belong to this simulation.
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
        // SAFETY: `while_current` set the pointer from a reference that lives as long as its
        // closure runs. It restores the previous one afterwards, also on unwinding. Coroutines run
        // inside that closure.
        f(unsafe { &*Self::current() })
    }

    /// Pointer to the running simulation, valid while [`while_current`](Self::while_current) runs
    /// its closure.
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

    /// System calls, in cycles.
    pub(crate) fn kernel(&self) -> KernelCosts {
        self.kernel
    }

    /// Counts a call of this many cycles.
    pub(crate) fn count_call(&self, cycles: u64) {
        self.in_calls.set(self.in_calls.get() + cycles);
    }

    /// Cycles of calls since the start of the run, or since [`begin_calls`](Self::begin_calls).
    pub(crate) fn in_calls(&self) -> u64 {
        self.in_calls.get()
    }

    pub(crate) fn begin_calls(&self) {
        self.in_calls.set(0);
    }

    /// Returns `true` if there is a slot for one more thread on `place`.
    pub(crate) fn has_slot_for(&self, place: usize) -> bool {
        let shares = self.threads.borrow().iter().any(|thread| thread.place == place);
        let slots = self.machine.hardware_threads() + self.extra_slots.get();
        !shares || slots < SLOTS
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

    /// Runs the code of `thread` until it stops. The code writes its next operation into `op`.
    /// Returns the code's result, and the region or part that the thread is then in.
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
        // A panic in a thread's code is caught within that code (`coroutine.rs`).
        let result = code();
        self.yielder.set(null());
        (result, self.doing.get())
    }

    /// Changes the running thread's region or part. Returns the previous one.
    #[inline]
    pub(crate) fn begin_activity(&self, activity: Activity) -> Activity {
        let before = self.doing.get();
        self.doing.set(before.then(activity));
        before
    }

    /// Returns the running thread to the region or part `before`.
    #[inline]
    pub(crate) fn resume_activity(&self, before: Activity) {
        self.doing.set(before);
    }

    pub(crate) fn set_yielder(&self, yielder: &Yields) {
        self.yielder.set(yielder);
    }

    /// Returns `true` while the code of a simulated thread runs, rather than setup code.
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

    /// Hardware thread of thread number `thread`.
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

    /// Hashed part of the last operation of the thread that ran last.
    pub(crate) fn noted(&self) -> Noted {
        self.noted.get()
    }

    /// Suspends the running thread at `op`, which the code at `location` requested. Returns the
    /// value with which the engine resumes the thread.
    #[inline(always)]
    pub(crate) fn suspend(&self, op: Op, location: &'static Location<'static>) -> u64 {
        self.location.set(Some(location));
        self.noted.set(op.noted(&self.arena));
        let yielder = self.yielder.get();
        debug_assert!(!yielder.is_null());
        // SAFETY: a thread's code is running, as it has a yielder. So this code runs inside
        // `while_running`. That function set the pointer from a reference that lives as long as its
        // own call.
        unsafe { (*self.op.get()).set(op) };
        // SAFETY: the yielder belongs to the coroutine whose code is running. The pointer was set
        // when that code began, and is set again below after each suspension. The yielder is on the
        // coroutine's stack.
        let value = unsafe { (*yielder).suspend(()) };
        self.yielder.set(yielder);
        value
    }

    /// Names the `bytes` bytes at `address` in reports.
    pub(crate) fn name(&self, address: usize, bytes: usize, name: String) {
        self.names.borrow_mut().push(NamedBytes { first: address, end: address + bytes, name });
    }

    /// Gathers the lines of the memory that was handed out from offset `begin` on: those without a
    /// name are one entry of an attribution.
    pub(crate) fn gather(&self, begin: usize, name: &str) {
        let (first, end) = (self.arena.base() + begin, self.arena.base() + self.arena.used());
        self.contents.borrow_mut().push(NamedBytes { first, end, name: name.to_owned() });
    }

    /// Names of the objects in line `number` of the arena.
    fn names_in_line(&self, number: usize) -> Option<String> {
        let names = self.names.borrow();
        let mut here = self.in_line(&names, number).peekable();
        here.peek()?;
        Some(here.collect::<Vec<_>>().join(" and "))
    }

    /// Returns the names of the entries of `all` that have bytes in line `number`.
    fn in_line<'n>(
        &self,
        all: &'n [NamedBytes],
        number: usize,
    ) -> impl Iterator<Item = &'n str> + use<'n> {
        let line_bytes = self.machine.line_bytes();
        let begin = self.arena.base() + number * line_bytes;
        let end = begin + line_bytes;
        let here = all.iter().filter(move |named| named.first < end && named.end > begin);
        here.map(|named| named.name.as_str())
    }

    /// Name of line `number` of the arena.
    pub(crate) fn name_of_line(&self, number: usize) -> String {
        self.names_in_line(number).unwrap_or_else(|| format!("line {number}"))
    }

    /// Name of the [gathered](Self::gather) memory of line `number`, if the line has no name of its
    /// own.
    pub(crate) fn contents_of_line(&self, number: usize) -> Option<String> {
        let contents = self.contents.borrow();
        let name = self.in_line(&contents, number).next()?;
        self.names_in_line(number).is_none().then(|| name.to_owned())
    }

    /// Adds `cycles` in which `thread` could run but did not.
    pub(crate) fn add_off_cpu(&self, thread: u32, cycles: u64) {
        let off_cpu = &self.threads.borrow()[thread as usize].off_cpu;
        off_cpu.set(off_cpu.get() + cycles);
    }

    /// Cycles so far in which the running thread could run but did not.
    pub(crate) fn off_cpu(&self) -> u64 {
        self.me().off_cpu.get()
    }

    /// Socket of the hardware thread of this slot.
    fn socket_of(&self, slot: usize) -> usize {
        let threads = self.threads.borrow();
        match threads.iter().find(|thread| thread.slot == slot) {
            Some(thread) => thread.socket,
            None => self.machine.place(slot).socket,
        }
    }

    /// Sets the two counts of the thread that is about to run: cycles for which its operations have
    /// waited, and cycles of work done while it waited for locks.
    pub(crate) fn set_stalled(&self, cycles: u64, hidden: u64) {
        self.stalled.set(cycles);
        self.hidden.set(hidden);
    }

    /// Cycles of work that the running thread has done so far while it waited for locks.
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

    /// Index of the running thread.
    #[track_caller]
    pub(crate) fn thread_index(&self) -> usize {
        assert!(self.in_thread(), "only a simulated thread has a number");
        self.thread.get() as usize
    }

    /// Checks that the arena contains an object.
    ///
    /// # Panics
    ///
    /// If it does not.
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

    /// Makes the next `count` allocations fail.
    pub(crate) fn fail_allocations(&self, count: u64) {
        self.failing_allocations.set(count);
    }

    /// Counts a call of `Host::allocate`. Returns `true` if this call has to fail.
    pub(crate) fn take_allocation_failure(&self) -> bool {
        let failing = self.failing_allocations.get();
        self.failing_allocations.set(failing.saturating_sub(1));
        failing > 0
    }

    /// Allocates memory on NUMA node (socket) `node`, by default the running thread's.
    pub(crate) fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        let node = match node {
            Some(node) => node as usize,
            None if self.in_thread() => self.me().socket,
            None => 0,
        };
        self.arena.allocate(layout, self.home_on(node), self.in_thread())
    }

    /// Home of memory on NUMA node (socket) `node`.
    fn home_on(&self, node: usize) -> u16 {
        let complexes_per_socket = self.machine.complexes() / self.machine.sockets();
        (node.min(self.machine.sockets() - 1) * complexes_per_socket) as u16
    }

    /// Allocates memory that exists from the start on a real machine. The simulation makes it when
    /// it is first needed, and treats it as laid out before threads ran.
    fn allocate_as_before(&self, layout: Layout, node: usize) -> Option<NonNull<u8>> {
        self.arena.allocate(layout, self.home_on(node), false)
    }

    /// Frees memory that [`allocate`](Self::allocate) returned.
    pub(crate) fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        self.arena.deallocate(memory, layout);
    }

    /// Memory of the table of parking waiters: [`ANNOUNCEMENT_LINES`] lines, allocated at first
    /// use, and zero at first.
    pub(crate) fn announcements(&self) -> NonNull<u8> {
        self.announcements.get().unwrap_or_else(|| {
            let line = self.machine.line_bytes();
            let layout = Layout::from_size_align(ANNOUNCEMENT_LINES * line, line)
                .expect("a line is a power of two");
            let node = if self.in_thread() { self.me().socket } else { 0 };
            let memory =
                self.allocate_as_before(layout, node).expect("no memory for announcements");
            self.name(memory.as_ptr() as usize, layout.size(), "announcements of waiters".into());
            self.announcements.set(Some(memory));
            memory
        })
    }

    /// Address of the line of the bucket of `word`, allocated at first use.
    pub(crate) fn bucket_of(&self, word: usize) -> usize {
        *self.buckets.borrow_mut().entry(word).or_insert_with(|| {
            let line = self.machine.line_bytes();
            let layout = Layout::from_size_align(line, line).expect("a line is a power of two");
            let memory = self.allocate_as_before(layout, 0).expect("no memory for a bucket");
            let address = memory.as_ptr() as usize;
            self.name(address, line, "buckets of the kernel".into());
            address
        })
    }

    /// Memory of a slot's queue nodes, with the layout `nodes`. It is allocated at the slot's first
    /// use, in separate lines, and zero at first.
    pub(crate) fn queue_nodes(&self, slot: usize, nodes: Layout) -> NonNull<u8> {
        let slots = self.machine.hardware_threads() + self.extra_slots.get();
        assert!(slot < slots, "no such queue node");
        let mut made = self.queue_nodes.borrow_mut();
        if made.len() < slots {
            made.resize(slots, None);
        }
        *made[slot].get_or_insert_with(|| {
            let layout =
                nodes.align_to(self.machine.line_bytes()).expect("a line is a power of two");
            let socket = self.socket_of(slot);
            let memory =
                self.allocate_as_before(layout, socket).expect("no memory for queue nodes");
            let name = format!("queue nodes of hardware thread {slot}");
            self.name(memory.as_ptr() as usize, layout.size(), name);
            memory
        })
    }
}
