//! The torture: each processor goes through the same parts, and waits for the others between them.
//! Meanwhile its timer and the calls of other processors interrupt it, and their handlers take
//! locks too.

mod counters;
mod locks;
mod objects;
mod pages;
mod references;

use crate::apic::{self, vector};
use crate::arguments::{Arguments, Fault};
use crate::console::{self, Verdict};
use crate::cpu::{self, CPUS, Cpu};
use crate::interrupts::{self, Counts};
use crate::{clock, host};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use lockyard::platform::Event;
use x86_64::instructions::{hlt, interrupts as flag};

/// Ends the machine with a message, unless a condition holds.
macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::console::fail(format_args!($($message)+));
        }
    };
}
use check;

/// One part of the torture.
struct Part {
    name: &'static str,
    /// Runs on one processor, before the others start.
    begin: fn(),
    /// Runs on every processor, again and again.
    round: fn(&Cpu),
    /// Checks on one processor, when all have finished. Handlers still run.
    end: fn(),
}

const PARTS: [Part; 9] = [
    locks::TICKET_PART,
    locks::QUEUED_PART,
    locks::PV_TICKET_PART,
    locks::PV_QUEUED_PART,
    locks::MUTEX_PART,
    references::PART,
    pages::PART,
    objects::PART,
    counters::PART,
];

/// Time of each part, in milliseconds.
static MILLIS: AtomicU64 = AtomicU64::new(0);
/// Rounds that each processor makes at least in each part, on a host that is too busy for more.
const FEWEST: u64 = 2;
/// The mistake to make, as `Fault as u32 + 1`.
static FAULT: AtomicU32 = AtomicU32::new(0);

/// Number of ticks of one processor without progress of any, after which the machine is stuck. It
/// is not a time: a host may stop the machine as long as it likes.
const STUCK_AFTER: u64 = 2_000;

/// Prepares everything, before the other processors start.
pub(crate) fn prepare(arguments: &Arguments) {
    MILLIS.store(arguments.millis, Ordering::Relaxed);
    FAULT.store(arguments.fault.map_or(0, |fault| fault as u32 + 1), Ordering::Relaxed);
    host::WAKES_NOBODY.store(arguments.fault == Some(Fault::Wake), Ordering::Relaxed);
    objects::prepare(arguments.cpus as u32, arguments.fault == Some(Fault::Free));
    for (index, cpu) in CPUS.iter().enumerate() {
        for (which, state) in cpu.random.iter().enumerate() {
            let number = arguments.seed ^ ((2 * index + which) as u64) << 32;
            state.store(lockyard::platform::mix(number), Ordering::Relaxed);
        }
    }
}

/// Number of parts that have ended, for the check that there is progress.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Runs the torture. Every processor calls it, and none returns.
pub(crate) fn run() -> ! {
    let cpu = cpu::current();
    interrupts::arm_timer();
    flag::enable();
    let fault = FAULT.load(Ordering::Relaxed);
    let faulty = [
        locks::LOAD_AND_STORE_PART,
        locks::PV_TICKET_PART,
        locks::INTERRUPTS_ON_PART,
        objects::PART,
    ];
    match faulty.get((fault as usize).wrapping_sub(1)) {
        Some(part) => one_part(cpu, part),
        None => PARTS.iter().for_each(|part| one_part(cpu, part)),
    }
    wait_for_all();
    flag::disable();
    STOPPED.fetch_add(1, Ordering::Release); // pairs with the acquire below
    if cpu.index() != 0 {
        loop {
            hlt(); // for good: nothing interrupts any more
        }
    }
    // Acquire: pairs with the release above, so that all counts are seen.
    while STOPPED.load(Ordering::Acquire) < cpu::all().len() as u32 {
        core::hint::spin_loop();
    }
    locks::check_at_rest();
    references::check_at_rest();
    counters::check_at_rest();
    if fault == 0 {
        report();
    }
    console::line(format_args!("passed on CPUs: {}", cpu::all().len()));
    console::end(Verdict::Passed)
}

/// Number of processors whose interrupts are off for good.
static STOPPED: AtomicU32 = AtomicU32::new(0);

fn one_part(cpu: &Cpu, part: &Part) {
    let is_first = cpu.index() == 0;
    if is_first {
        (part.begin)();
    }
    wait_for_all();
    let begun = clock::now();
    let until = begun + Duration::from_millis(MILLIS.load(Ordering::Relaxed));
    let mut rounds = 0;
    while rounds < FEWEST || clock::now() < until {
        (part.round)(cpu);
        rounds += 1;
        cpu.rounds.fetch_add(1, Ordering::Relaxed);
        if rounds % 8 == 0 {
            let all = cpu::all();
            let other = &all[cpu.random() as usize % all.len()];
            if other.index() != cpu.index() {
                apic::send(other.apic(), vector::CALL);
            }
        }
    }
    ROUNDS.fetch_add(rounds, Ordering::Relaxed);
    wait_for_all();
    if is_first {
        (part.end)();
        let took = (clock::now() - begun).as_millis();
        let rounds = ROUNDS.swap(0, Ordering::Relaxed);
        console::line(format_args!("{:<14} {rounds:>7} rounds in {took:>5} ms", part.name));
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rounds of all processors in the running part.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Waits until all processors are here. A waiting one sleeps from interrupt to interrupt.
fn wait_for_all() {
    static HERE: AtomicU32 = AtomicU32::new(0);
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let times = TIMES.load(Ordering::Relaxed);
    // Release: pairs with the acquire of the last one, whose release then pairs with the acquire of
    // all. So what each did before happened before what each does after.
    if HERE.fetch_add(1, Ordering::AcqRel) + 1 == cpu::all().len() as u32 {
        HERE.store(0, Ordering::Relaxed);
        TIMES.store(times + 1, Ordering::Release); // pairs with the acquire below
        return;
    }
    while TIMES.load(Ordering::Acquire) == times {
        hlt();
    }
}

/// Uses locks from the timer's handler. Calls may interrupt it.
pub(crate) fn timer(cpu: &Cpu) {
    check_progress(cpu);
    locks::visit_from_timer(cpu);
    objects::look(cpu);
    counters::update(cpu);
}

/// Uses locks from the handler of another processor's call.
pub(crate) fn call(cpu: &Cpu) {
    locks::visit_from_call(cpu);
    references::use_one(cpu);
    counters::update(cpu);
}

/// Ends the machine if it makes no progress.
fn check_progress(cpu: &Cpu) {
    let done = cpu::all().iter().map(|cpu| cpu.rounds.load(Ordering::Relaxed)).sum::<u64>()
        + ENDED.load(Ordering::Relaxed);
    // Relaxed: the two words are this processor's.
    if cpu.progress.seen.swap(done, Ordering::Relaxed) != done {
        cpu.progress.ticks.store(0, Ordering::Relaxed);
    }
    let ticks = cpu.progress.ticks.fetch_add(1, Ordering::Relaxed);
    if ticks == STUCK_AFTER {
        cpu::all().iter().for_each(describe);
        console::fail(format_args!("no progress in {ticks} ticks of CPU {}", cpu.index()));
    }
}

/// Prints where a processor is.
fn describe(cpu: &Cpu) {
    console::line(format_args!(
        "CPU {}: {} rounds, in {} handlers and {} waits",
        cpu.index(),
        cpu.rounds.load(Ordering::Relaxed),
        cpu.handlers.load(Ordering::Relaxed),
        cpu.nodes.0[0].nodes_in_use()
    ));
}

/// The progress that one processor has seen.
pub(crate) struct Progress {
    seen: AtomicU64,
    ticks: AtomicU64,
}

impl Progress {
    /// None.
    #[allow(clippy::declare_interior_mutable_const)] // the initial value of a static
    pub(crate) const NONE: Self = Progress { seen: AtomicU64::new(0), ticks: AtomicU64::new(0) };
}

/// Prints what happened, and checks that the torture was one.
fn report() {
    let sum = |of: fn(&Counts) -> &AtomicU64| -> u64 {
        cpu::all().iter().map(|cpu| of(&cpu.interrupts).load(Ordering::Relaxed)).sum()
    };
    let (timer, calls, wakes) = (sum(|c| &c.timer), sum(|c| &c.calls), sum(|c| &c.wakes));
    let waits = sum(|c| &c.waits_interrupted);
    let deepest = cpu::all().iter().map(|cpu| cpu.interrupts.deepest.load(Ordering::Relaxed)).max();
    console::line(format_args!("interrupts: timer {timer}, calls {calls}, wakes {wakes}"));
    console::line(format_args!(
        "waits interrupted: {waits}, at most {} below one interrupt",
        deepest.unwrap_or(0)
    ));
    let count = |event: Event| -> u64 {
        cpu::all().iter().map(|cpu| cpu.events[event as usize].load(Ordering::Relaxed)).sum()
    };
    for event in Event::ALL {
        if count(event) > 0 {
            console::line(format_args!("{}: {}", event.name(), count(event)));
        }
    }
    check!(timer > 0, "no timer has interrupted");
    check!(count(Event::NoSlot) == 0, "a processor had no slot");
    if cpu::all().len() > 1 {
        check!(calls > 0, "no processor has called another");
        check!(count(Event::Slowpath) > 0, "no lock was contended");
        check!(count(Event::Wait) > 0 && wakes > 0, "no waiter slept and was woken");
        check!(waits > 0, "no interrupt came during a wait");
    }
}
