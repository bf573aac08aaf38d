//! The platform `Simulated`: the primitives' own code, with every operation an event.
//!
//! An operation of a simulated thread suspends its coroutine; the engine completes it when its line
//! is there and resumes the thread with the result. Outside a simulated thread, but inside
//! [`Simulation::setup`](crate::Simulation::setup), operations take effect at once and cost nothing.

use crate::engine::{Op, Pause, Rmw};
use crate::shared::{DEADLINE, PerThread, Shared};
use lockyard::platform::{
    Activity, Announcement, Atomics, Budget, BudgetSpent, ConstAtomics, DataCell, Event, Host,
    HostWithSlots, Int, Ordering, Part, QueueNode, Slot, Word, part_of, part_shift,
};
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::Duration;

/// The memory of a simulated machine.
#[derive(Debug)]
pub struct SimulatedAtomics(());

/// The host that a simulated machine is: hardware threads are slots, sockets are NUMA nodes.
#[derive(Debug)]
pub struct Simulated(());

/// An atomic's place: its 64-bit unit, and its bits in it.
#[derive(Clone, Copy)]
struct Bits {
    address: usize,
    shift: u32,
    mask: u64,
}

impl Bits {
    #[track_caller]
    #[inline(always)]
    fn of<T: Int>(word: *const T) -> Bits {
        let address = word as usize;
        Shared::with(|s| s.check(address, size_of::<T>()));
        let shift = (address % 8 * 8) as u32;
        let mask = T::truncate(u64::MAX).to_u64() << shift;
        Bits { address: address & !7, shift, mask }
    }

    #[inline(always)]
    fn part<P: Int>(self, shift: u32) -> Bits {
        let shift = self.shift + shift;
        Bits { shift, mask: P::truncate(u64::MAX).to_u64() << shift, ..self }
    }

    #[inline(always)]
    fn value<T: Int>(self, unit: u64) -> T {
        T::truncate((unit & self.mask) >> self.shift)
    }

    #[inline(always)]
    fn unit<T: Int>(self, value: T) -> u64 {
        value.to_u64() << self.shift
    }
}

/// Performs an operation: as an event in a simulated thread, at once in setup code.
///
/// Inlined wherever it is used, with all that calls it: a processor that has switched stacks predicts the target of each return
/// wrongly until it is back in a loop.
#[track_caller]
#[inline(always)]
fn perform(op: Op) -> u64 {
    let location = Location::caller();
    let shared = Shared::current();
    // SAFETY: it lives until the closure returns that `Shared::while_current` runs, and we are inside that.
    let shared = unsafe { &*shared };
    if shared.in_thread() { shared.suspend(op, location) } else { at_once(shared, op) }
}

/// Performs an operation of setup code.
///
/// Inlined too, where it is known which one it is. If it were called, the operation would be put together in memory for it, in
/// threads' code as well, to be copied from there at once: a processor waits until what was stored in parts is in its cache.
#[inline(always)]
fn at_once(shared: &Shared, op: Op) -> u64 {
    std::hint::cold_path();
    let arena = shared.arena();
    match op {
        Op::Load { address, .. } => arena.read(address),
        Op::Store { address, mask, value } => {
            arena.write(address, (arena.read(address) & !mask) | (value & mask));
            0
        }
        Op::Rmw { address, rmw } => {
            let old = arena.read(address);
            arena.write(address, rmw.apply(old).0);
            old
        }
        Op::Fatal(message) => panic!("{message}"),
        Op::Sleep { .. } | Op::Park { .. } => {
            panic!("setup code waits for something that nobody will do")
        }
        Op::Fence | Op::Work { .. } | Op::Pause(_) | Op::Unpark { .. } | Op::WaitForOthers => 0,
    }
}

/// A store or read-modify-write that is sequentially consistent empties the store buffer; weaker
/// stores go through it.
#[track_caller]
#[inline(always)]
fn store(bits: Bits, value: u64, order: Ordering) {
    if order == Ordering::SeqCst {
        perform(Op::Rmw { address: bits.address, rmw: Rmw::Swap { mask: bits.mask, value } });
    } else {
        perform(Op::Store { address: bits.address, mask: bits.mask, value });
    }
}

/// Waits until `predicate` is true of the word, asleep between polls. A budget is of polls, not of time: one that misses is one
/// poll, however long the line takes to come.
#[track_caller]
fn wait<T: Int>(
    bits: Bits,
    budget: Budget,
    mut predicate: impl FnMut(T) -> bool,
) -> Result<T, BudgetSpent<T>> {
    // A poll of a line that stays is over after `load` cycles, and the next one begins a `period` after it.
    let (load, period) = Shared::with(|shared| {
        let n = shared.machine().numbers();
        (n.load, n.pause + n.poll)
    });
    // The polls after the next one.
    let mut left = match budget {
        Budget::Unbounded => None,
        Budget::Polls(polls) => Some(u64::from(polls.saturating_sub(1))),
    };
    // The thread waits from its first poll that failed: until then it looks, like anybody.
    let mut poll = false;
    loop {
        let unit = perform(Op::Load { address: bits.address, mask: bits.mask, poll });
        poll = true;
        let value = bits.value(unit);
        if predicate(value) {
            return Ok(value);
        }
        if left == Some(0) {
            return Err(BudgetSpent(value));
        }
        let began = Shared::with(Shared::now).saturating_sub(load);
        let deadline = left.map(|left| began + left * period);
        let seen = unit & bits.mask;
        // A thread that is off its CPU does not poll.
        let off_cpu = left.map(|_| Shared::with(Shared::off_cpu));
        let sleep = Op::Sleep { address: bits.address, mask: bits.mask, seen, deadline };
        let spent = perform(sleep) == DEADLINE;
        let missed = off_cpu.map_or(0, |before| Shared::with(Shared::off_cpu) - before);
        let slept = (Shared::with(Shared::now) - began).saturating_sub(missed);
        // The thread polled once a period while it slept; the next poll is one of those that were left.
        let polled = (slept / period).max(1);
        left = left.map(|left| if spent { 0 } else { left.saturating_sub(polled) });
    }
}

macro_rules! simulated_word {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $name(UnsafeCell<$int>);

        // SAFETY: operations go through the simulation that runs on the current OS thread, and
        // refuse a word outside its arena; a simulation stays on its OS thread. So no two OS threads
        // access the value at the same time.
        unsafe impl Sync for $name {}

        impl $name {
            /// A word that holds `value`.
            pub const fn new(value: $int) -> Self {
                Self(UnsafeCell::new(value))
            }

            #[track_caller]
            #[inline(always)]
            fn bits(&self) -> Bits {
                Bits::of(self.0.get().cast_const())
            }

            #[track_caller]
            #[inline(always)]
            fn rmw(&self, make: impl FnOnce(Bits) -> Rmw) -> $int {
                let bits = self.bits();
                bits.value(perform(Op::Rmw { address: bits.address, rmw: make(bits) }))
            }
        }

        impl Word for $name {
            type Int = $int;

            fn new(value: $int) -> Self {
                Self(UnsafeCell::new(value))
            }
            fn get(&mut self) -> $int {
                *self.0.get_mut()
            }
            #[inline]
            fn load(&self, order: Ordering) -> $int {
                assert!(
                    !matches!(order, Ordering::Release | Ordering::AcqRel),
                    "there is no such thing as a release load"
                );
                let bits = self.bits();
                bits.value(perform(Op::Load { address: bits.address, mask: bits.mask, poll: false }))
            }
            #[inline]
            fn store(&self, value: $int, order: Ordering) {
                assert!(
                    !matches!(order, Ordering::Acquire | Ordering::AcqRel),
                    "there is no such thing as an acquire store"
                );
                let bits = self.bits();
                store(bits, bits.unit(value), order);
            }
            #[inline]
            fn swap(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Swap { mask: bits.mask, value: bits.unit(value) })
            }
            #[inline]
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                _success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                assert!(
                    !matches!(failure, Ordering::Release | Ordering::AcqRel),
                    "there is no such thing as a release failure ordering"
                );
                let old = self.rmw(|bits| Rmw::CompareExchange {
                    mask: bits.mask,
                    current: bits.unit(current),
                    new: bits.unit(new),
                });
                if old == current { Ok(old) } else { Err(old) }
            }
            #[inline]
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                // x86-64, which the shipped machines are, has no spurious failure.
                self.compare_exchange(current, new, success, failure)
            }
            #[inline]
            fn fetch_add(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Add { mask: bits.mask, value: bits.unit(value) })
            }
            #[inline]
            fn fetch_sub(&self, value: $int, _order: Ordering) -> $int {
                let negated = value.wrapping_neg();
                self.rmw(|bits| Rmw::Add { mask: bits.mask, value: bits.unit(negated) })
            }
            #[inline]
            fn fetch_or(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Or { value: bits.unit(value) })
            }
            #[inline]
            fn fetch_and(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::And { value: bits.unit(value) | !bits.mask })
            }
            fn wait_until(
                &self,
                _order: Ordering,
                budget: Budget,
                _relax: fn(),
                predicate: impl FnMut($int) -> bool,
            ) -> Result<$int, BudgetSpent<$int>> {
                wait(self.bits(), budget, predicate)
            }
        }
    };
}

simulated_word!(
    /// A 16-bit word of simulated memory.
    SimulatedU16, u16
);
simulated_word!(
    /// A 32-bit word of simulated memory.
    SimulatedU32, u32
);
simulated_word!(
    /// A 64-bit word of simulated memory.
    SimulatedU64, u64
);

macro_rules! simulated_part {
    ($word:ty, $int:ty, $part:ty) => {
        impl Part<$part> for $word {
            fn store_part(&self, index: usize, old: $part, new: $part, order: Ordering) {
                assert!(
                    matches!(order, Ordering::Relaxed | Ordering::Release),
                    "a part is stored with relaxed or release ordering"
                );
                let _ = old;
                let part = self.bits().part::<$part>(part_shift::<$int, $part>(index));
                store(part, part.unit(new), order);
            }
            fn swap_part(&self, index: usize, new: $part, _order: Ordering) -> $part {
                let part = self.bits().part::<$part>(part_shift::<$int, $part>(index));
                let old = self.rmw(|_| Rmw::Swap { mask: part.mask, value: part.unit(new) });
                part_of(old, index)
            }
        }
    };
}

simulated_part!(SimulatedU16, u16, u8);
simulated_part!(SimulatedU32, u32, u8);
simulated_part!(SimulatedU32, u32, u16);
simulated_part!(SimulatedU64, u64, u8);
simulated_part!(SimulatedU64, u64, u16);
simulated_part!(SimulatedU64, u64, u32);

/// A cell of simulated memory: reading costs a load, writing a store, of each line that it covers.
#[repr(transparent)]
#[derive(Debug)]
pub struct SimulatedCell<T>(UnsafeCell<T>);

// SAFETY: the cell only hands out raw pointers; who dereferences them argues exclusion (see
// `DataCell`).
unsafe impl<T: Send> Sync for SimulatedCell<T> {}

impl<T> SimulatedCell<T> {
    /// Touches each line that the data covers.
    #[track_caller]
    fn touch(&self, op: fn(usize) -> Op) {
        if size_of::<T>() == 0 {
            return;
        }
        let address = self.0.get() as usize;
        let line = Shared::with(|s| {
            s.check(address, size_of::<T>());
            s.machine().line_bytes()
        });
        let base = Shared::with(|s| s.arena().base());
        let first = (address - base) / line;
        let last = (address - base + size_of::<T>() - 1) / line;
        for index in first..=last {
            let within = (base + index * line).max(address) & !7;
            perform(op(within));
        }
    }
}

impl<T: Send> DataCell<T> for SimulatedCell<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.touch(|address| Op::Load { address, mask: 0, poll: false });
        f(self.0.get())
    }
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.touch(|address| Op::Store { address, mask: 0, value: 0 });
        f(self.0.get())
    }
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

// SAFETY: each operation is applied by the engine at one instant of simulated time, in a single
// order; stores of a thread are committed in order, and before its read-modify-writes: this is total
// store order, stronger than any ordering asked for. A store of a part goes through the store buffer
// under a mask, so it changes nothing else.
unsafe impl Atomics for SimulatedAtomics {
    type U16 = SimulatedU16;
    type U32 = SimulatedU32;
    type U64 = SimulatedU64;
    type Cell<T: Send> = SimulatedCell<T>;

    fn fence(order: Ordering) {
        // On x86-64 only the sequentially consistent fence is an instruction.
        if order == Ordering::SeqCst {
            perform(Op::Fence);
        }
    }
}

impl ConstAtomics for SimulatedAtomics {
    const U16_ZERO: SimulatedU16 = SimulatedU16::new(0);
    const U32_ZERO: SimulatedU32 = SimulatedU32::new(0);
    const U64_ZERO: SimulatedU64 = SimulatedU64::new(0);
}

fn me() -> Rc<PerThread> {
    Shared::with(Shared::me)
}

// SAFETY: a hardware thread runs one simulated thread (`Simulation::spawn` refuses a second one), or those that share it have
// slots beyond the hardware threads, so slots are unique; queue nodes are made once for each slot and level, in the arena, which outlives
// the threads; `allocate` hands out each byte of the arena once.
unsafe impl Host for Simulated {
    type Atomics = SimulatedAtomics;
    const SLOTS: u32 = 4096;
    /// They are a run's threads.
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        // Setup code has none.
        Shared::with(|s| s.in_thread().then(|| Slot(s.me().slot as u32)))
    }
    fn numa_node() -> u32 {
        Shared::with(|s| if s.in_thread() { s.me().socket as u32 } else { 0 })
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<SimulatedAtomics> {
        Shared::with(|s| s.queue_node(slot.0 as usize, level as usize))
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<SimulatedAtomics>] {
        Shared::with(|s| s.announcements(lock, turn))
    }
    #[inline]
    fn relax() {
        perform(Op::Pause(Pause::Instruction));
    }
    #[inline]
    fn yield_now() {
        perform(Op::Pause(Pause::Yield));
    }
    fn now() -> Duration {
        Shared::with(|s| Duration::from_nanos(s.machine().nanoseconds(s.now()) as u64))
    }
    fn park(word: &SimulatedU32, expected: u32, timeout: Option<Duration>) {
        let bits = word.bits();
        let word = bits.address + (bits.shift / 8) as usize;
        let timeout = timeout.map(|t| Shared::with(|s| s.machine().cycles(t.as_nanos() as f64)));
        // What it returns says why; the trait does not.
        perform(Op::Park { word, expected, timeout });
    }
    fn unpark(word: *const SimulatedU32, count: u32) {
        perform(Op::Unpark { word: word as usize, count });
    }
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        Shared::with(|s| if s.allocation_fails() { None } else { s.allocate(layout, node) })
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // Objects that are dropped when no simulation runs are in an arena that goes as a whole.
        let _ = Shared::try_with(|s| s.deallocate(memory, layout));
    }
    #[inline]
    fn count(event: Event) {
        Shared::with(|s| s.count(event));
    }
    #[inline]
    fn begin_activity(activity: Activity) -> Activity {
        Shared::with(|s| s.begins(activity))
    }
    #[inline]
    fn resume_activity(before: Activity) {
        Shared::with(|s| s.goes_back_to(before));
    }
    fn fatal(message: &'static str) -> ! {
        perform(Op::Fatal(message));
        unreachable!("the engine does not resume a thread that cannot go on")
    }
}

impl HostWithSlots for Simulated {}

/// Local work of a simulated thread, in nanoseconds (rounded to cycles): it touches no shared line,
/// and takes longer while another thread of the core is active. Free in setup code.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn work(nanoseconds: f64) {
    let cycles = Shared::with(|s| s.machine().cycles(nanoseconds));
    if cycles > 0 {
        perform(Op::Work { cycles, behind_entry: false });
    }
}

/// Local work as [`work`], but on the other side of a way into the kernel or out of it. A processor finishes all before such an
/// instruction first, so nothing of this work is done ahead.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn work_behind_entry(nanoseconds: f64) {
    let cycles = Shared::with(|s| s.machine().cycles(nanoseconds));
    if cycles > 0 {
        perform(Op::Work { cycles, behind_entry: true });
    }
}

/// Interrupts all other threads of the running thread's group, and waits until each has answered: as a flush of
/// translations on other processors does. One that is off its CPU answers when it runs next. Nothing in setup code.
///
/// It ends the run of a simulation whose threads do not [share CPUs](crate::Simulation::share_cpus).
///
/// # Panics
///
/// Outside a simulation.
pub fn wait_for_others() {
    perform(Op::WaitForOthers);
}

/// Counts one finished operation of the running thread. It takes no simulated time, but for an operation
/// that took none itself: that takes a cycle, so that a loop of them ends.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn operation_done() {
    let me = me();
    if me.last_operation.get() == now() {
        perform(Op::Work { cycles: 1, behind_entry: false });
    }
    me.last_operation.set(now());
    me.operations.set(me.operations.get() + 1);
}

/// Whether the run is over: threads that look between their operations finish.
///
/// # Panics
///
/// Outside a simulation.
#[inline]
pub fn stop_requested() -> bool {
    Shared::with(Shared::stop_requested)
}

/// The simulated time, in cycles, at which the running thread's last operation was complete.
///
/// # Panics
///
/// Outside a simulation.
pub fn now() -> u64 {
    Shared::with(Shared::now)
}

/// A random number from 0 to `n - 1` (0 if `n` is 0), from the running thread's own stream.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn random_below(n: u64) -> u64 {
    me().random.borrow_mut().below(n)
}

/// The number of the running thread, in the order in which threads were spawned.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn thread_index() -> usize {
    Shared::with(Shared::thread_index)
}

/// Nanoseconds in `cycles` of the running machine.
///
/// # Panics
///
/// Outside a simulation.
pub fn nanoseconds(cycles: u64) -> f64 {
    Shared::with(|shared| shared.machine().nanoseconds(cycles))
}

/// Cycles in which the running thread could run and another had its CPU, so far.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn off_cpu() -> u64 {
    Shared::with(Shared::off_cpu)
}

/// Cycles in which operations of the running thread have waited for lines or for the store buffer so far; polls of waiting
/// loops not counted.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn stalled() -> u64 {
    Shared::with(Shared::stalled)
}

/// Cycles of work that the running thread has done so far while it waited for locks: its core
/// executes ahead of the operation that takes a lock. Behind a lock that is free at once
/// this work takes its time.
///
/// # Panics
///
/// Outside a simulated thread.
pub fn hidden() -> u64 {
    Shared::with(Shared::hidden)
}
