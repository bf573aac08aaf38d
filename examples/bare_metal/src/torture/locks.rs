//! Locks of each kind around plain data: two words that are equal unless a processor is inside.

use super::{Part, check};
use crate::broken::{InterruptsOn, LoadAndStore};
use crate::clock;
use crate::cpu::{Cpu, MAX_CPUS};
use crate::host::{InterruptsOff, Kernel};
use core::hint::spin_loop;
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use lock_api::{Mutex, RawMutex, RawMutexTimed};
use lockyard::on;
use x86_64::instructions::interrupts as flag;

/// Two words that are equal unless somebody is between the two writes.
pub(crate) struct Pair {
    first: u64,
    second: u64,
}

impl Pair {
    /// Both words are 0.
    pub(crate) const ZERO: Self = Pair { first: 0, second: 0 };

    /// Adds 1 to both, with a pause of `work` between the writes.
    pub(crate) fn add(&mut self, name: &str, work: u64) {
        let before = self.read(name);
        // SAFETY: a field of this value. Volatile, so that both writes are made.
        unsafe { write_volatile(&mut self.first, before + 1) };
        for _ in 0..work {
            spin_loop();
        }
        // SAFETY: as above.
        unsafe { write_volatile(&mut self.second, before + 1) };
    }

    /// Returns the words, which must be equal.
    pub(crate) fn read(&self, name: &str) -> u64 {
        // SAFETY: fields of this value.
        let words = unsafe { (read_volatile(&self.first), read_volatile(&self.second)) };
        check!(words.0 == words.1, "{name}: somebody else is inside: {words:?}");
        words.0
    }
}

/// A lock around a pair, and how often each processor has added to it.
struct Place<R> {
    name: &'static str,
    /// True if handlers take it too, so that interrupts must be off while it is held.
    is_shared: bool,
    lock: Mutex<R, Pair>,
    visits: [AtomicU64; MAX_CPUS],
}

impl<R: RawMutex> Place<R> {
    const fn new(name: &'static str) -> Self {
        Self::make(name, false)
    }

    const fn shared(name: &'static str) -> Self {
        Self::make(name, true)
    }

    const fn make(name: &'static str, is_shared: bool) -> Self {
        let lock = Mutex::from_raw(R::INIT, Pair::ZERO);
        Place { name, is_shared, lock, visits: [const { AtomicU64::new(0) }; MAX_CPUS] }
    }

    /// Takes the lock, by one of its ways, and adds to the pair.
    fn visit(&self, cpu: &Cpu) {
        let random = cpu.random();
        let guard = if random & 7 == 0 { self.lock.try_lock() } else { Some(self.lock.lock()) };
        let Some(mut pair) = guard else { return };
        check!(
            !(self.is_shared && flag::are_enabled()),
            "{}: interrupts are on, and a handler may wait for its own holder",
            self.name
        );
        pair.add(self.name, random >> 8 & 15);
        drop(pair);
        self.count(cpu);
    }

    /// The same as [`visit`](Self::visit), by a holder that sometimes stays long, so that waiters
    /// sleep.
    fn visit_long(&self, cpu: &Cpu) {
        let mut pair = self.lock.lock();
        pair.add(self.name, 0);
        if cpu.random() & 31 == 0 {
            clock::wait(Duration::from_micros(100));
        }
        drop(pair);
        self.count(cpu);
    }

    /// Takes the lock if it can within a short time.
    fn visit_soon(&self, cpu: &Cpu)
    where
        R: RawMutexTimed<Duration = Duration>,
    {
        let Some(mut pair) = self.lock.try_lock_for(Duration::from_micros(50)) else { return };
        pair.add(self.name, 0);
        drop(pair);
        self.count(cpu);
    }

    fn count(&self, cpu: &Cpu) {
        // An addition in one instruction, because handlers visit too.
        self.visits[cpu.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that no addition was lost. No thread visits meanwhile.
    fn check(&self) {
        let visits = self.visits.iter().map(|visits| visits.load(Ordering::Relaxed)).sum::<u64>();
        let added = self.lock.lock().read(self.name);
        check!(added == visits, "{}: {added} of {visits} additions are there", self.name);
    }
}

/// Locks of threads, which wait and hold them with interrupts on.
static TICKET: Place<on::RawTicketLock<Kernel>> = Place::new("ticket");
static TICKET_8: Place<on::RawTicketLock8<Kernel>> = Place::new("ticket of 2 bytes");
static TEST_AND_SET: Place<on::RawTestAndSetLock<Kernel>> = Place::new("test-and-set");
static QUEUE: Place<on::RawQSpinLock<Kernel>> = Place::new("queued");
static PV_IN_ORDER: Place<on::RawPvTicketLock<Kernel>> = Place::new("pv-ticket");
static PV_QUEUE: Place<on::RawPvQSpinLock<Kernel>> = Place::new("pv-queued");
static SLEEPING: Place<on::RawMutex<Kernel>> = Place::new("mutex");

/// Locks that threads and handlers take: interrupts are off while one is held.
static SHARED_TICKET: Place<on::RawTicketLock<Kernel, InterruptsOff>> =
    Place::shared("ticket, shared with handlers");
static SHARED_QUEUE: Place<on::RawQSpinLock<Kernel, InterruptsOff>> =
    Place::shared("queued, shared with handlers");
static SHARED_PV: Place<on::RawPvQSpinLock<Kernel, InterruptsOff>> =
    Place::shared("pv-queued, shared with handlers");

/// A lock of the timers' handlers alone. They need no context for it: nothing that interrupts them
/// takes it. Calls interrupt them while they wait for it.
static TIMERS: Place<on::RawQSpinLock<Kernel>> = Place::new("queued, of timers");

/// Mistakes.
static BROKEN: Place<LoadAndStore> = Place::new("load-and-store");
static OPEN: Place<on::RawTicketLock<Kernel, InterruptsOn>> =
    Place::shared("ticket with interrupts on");

pub(super) const TICKET_PART: Part = Part {
    name: "ticket",
    begin: || {},
    round: |cpu| {
        TICKET.visit(cpu);
        TICKET_8.visit(cpu);
        TEST_AND_SET.visit(cpu);
        SHARED_TICKET.visit(cpu);
    },
    end: || {
        TICKET.check();
        TICKET_8.check();
        TEST_AND_SET.check();
    },
};

pub(super) const QUEUED_PART: Part = Part {
    name: "queued",
    begin: || {},
    round: |cpu| {
        QUEUE.visit(cpu);
        SHARED_QUEUE.visit(cpu);
    },
    end: || QUEUE.check(),
};

pub(super) const PV_TICKET_PART: Part = Part {
    name: "pv-ticket",
    begin: || {},
    round: |cpu| PV_IN_ORDER.visit_long(cpu),
    end: || PV_IN_ORDER.check(),
};

pub(super) const PV_QUEUED_PART: Part = Part {
    name: "pv-queued",
    begin: || {},
    round: |cpu| {
        match cpu.random() & 7 {
            0 => PV_QUEUE.visit_soon(cpu),
            _ => PV_QUEUE.visit_long(cpu),
        }
        SHARED_PV.visit(cpu);
    },
    end: || PV_QUEUE.check(),
};

pub(super) const MUTEX_PART: Part = Part {
    name: "mutex",
    begin: || {},
    round: |cpu| match cpu.random() & 7 {
        0 => SLEEPING.visit_soon(cpu),
        _ => SLEEPING.visit_long(cpu),
    },
    end: || SLEEPING.check(),
};

pub(super) const LOAD_AND_STORE_PART: Part = Part {
    name: "load-and-store",
    begin: || {},
    round: |cpu| BROKEN.visit(cpu),
    end: || BROKEN.check(),
};

pub(super) const INTERRUPTS_ON_PART: Part = Part {
    name: "interrupts on",
    begin: || {},
    round: |cpu| OPEN.visit(cpu),
    end: || OPEN.check(),
};

/// Visits locks from the timer's handler.
pub(super) fn visit_from_timer(cpu: &Cpu) {
    TIMERS.visit(cpu);
    match cpu.random() & 1 {
        0 => SHARED_TICKET.visit(cpu),
        _ => SHARED_PV.visit(cpu),
    }
}

/// Visits a lock from the handler of a call.
pub(super) fn visit_from_call(cpu: &Cpu) {
    SHARED_QUEUE.visit(cpu);
}

/// Checks the locks that handlers take, when no handler runs any more.
pub(super) fn check_at_rest() {
    TIMERS.check();
    SHARED_TICKET.check();
    SHARED_QUEUE.check();
    SHARED_PV.check();
}
