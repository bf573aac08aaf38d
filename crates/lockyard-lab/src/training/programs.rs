//! Operations of the training programs on shared lines: the loops of two published benchmarks of
//! locks and counters.
//!
//! They are what those benchmarks ran, and not lockyard's primitives, except for the queued lock.
//! They are written from the descriptions in the headers of the tables (`training/*.csv`):
//!
//! - an increment
//! - a lockref that reloads after a failed compare-exchange
//! - a ticket lock whose release is an unlocked addition
//! - a test-and-set lock without a test

use lockyard::on::RawQSpinLock;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Placed, Simulated, SimulatedU32, SimulatedU64, Simulation};

/// Operations of one thread around its inside work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Adds 1 before the inside work, and subtracts 1 after it.
    Count,
    /// The same by compare-exchanges. Each begins with a load, and is repeated with a new load
    /// after a failure.
    Lockref,
    /// lockyard's queued lock.
    Queued,
    /// Swaps until the word was 0. The release is a store.
    SwapLock,
    /// Two counters in one line. The release adds 1 by a load and a store.
    TicketLock,
    /// Adds 1.
    Add,
    /// Adds 1 by a compare-exchange. A failure gives the next expected value.
    ExchangeAdd,
    /// Adds 1 to a counter in another line, under a swap lock that waits by reading.
    TestAndSwapCounter,
    /// The same under the ticket lock.
    TicketCounter,
}

/// The shared lines of a program, in a simulation.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    program: Program,
    word: Placed<SimulatedU64>,
    ticket: Placed<[SimulatedU32; 2]>,
    queued: Placed<RawQSpinLock<Simulated>>,
    counter: Placed<SimulatedU64>,
}

impl Shared {
    /// Places the lines of `program`; their home is socket 0.
    pub(super) fn new(simulation: &mut Simulation, program: Program) -> Shared {
        Shared {
            program,
            word: simulation.place(SimulatedU64::new(0), 64, 0),
            ticket: simulation.place([SimulatedU32::new(0), SimulatedU32::new(0)], 64, 0),
            queued: simulation.place(RawQSpinLock::<Simulated>::new(), 64, 0),
            counter: simulation.place(SimulatedU64::new(0), 64, 0),
        }
    }

    /// Performs one round: the operations before `inside`, `inside`, and the operations after it.
    pub(super) fn perform(&self, inside: impl FnOnce()) {
        match self.program {
            Program::Count => {
                // Relaxed, here and below: nothing is published.
                self.word.fetch_add(1, Ordering::Relaxed);
                inside();
                self.word.fetch_add(u64::MAX, Ordering::Relaxed);
            }
            Program::Lockref => {
                self.add_after_load(1);
                inside();
                self.add_after_load(u64::MAX);
            }
            Program::Queued => {
                let held = self.queued.acquire();
                inside();
                // SAFETY: acquired above.
                unsafe { self.queued.release(held) };
            }
            Program::SwapLock => {
                while self.word.swap(1, Ordering::Acquire) != 0 {}
                inside();
                // Pairs with the swap that finds it.
                self.word.store(0, Ordering::Release);
            }
            Program::TicketLock => {
                self.take_ticket();
                inside();
                self.next_ticket();
            }
            Program::Add => {
                self.word.fetch_add(1, Ordering::Relaxed);
                inside();
            }
            Program::ExchangeAdd => {
                let mut seen = self.word.load(Ordering::Relaxed);
                while let Err(found) = self.exchange(seen, seen + 1) {
                    seen = found;
                }
                inside();
            }
            Program::TestAndSwapCounter => {
                while self.word.swap(1, Ordering::Acquire) != 0 {
                    let _ = Simulated::wait_until(&*self.word, Ordering::Acquire, |word| word == 0);
                }
                self.count();
                // Pairs with the swap that finds it.
                self.word.store(0, Ordering::Release);
                inside();
            }
            Program::TicketCounter => {
                self.take_ticket();
                self.count();
                self.next_ticket();
                inside();
            }
        }
    }

    fn exchange(&self, seen: u64, new: u64) -> Result<u64, u64> {
        self.word.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed)
    }

    fn add_after_load(&self, value: u64) {
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            if self.exchange(seen, seen.wrapping_add(value)).is_ok() {
                break;
            }
        }
    }

    fn take_ticket(&self) {
        let mine = self.ticket[0].fetch_add(1, Ordering::Relaxed);
        // Pairs with the store in `next_ticket`.
        let waiting = |owner: u32| owner == mine;
        let _ = Simulated::wait_until(&self.ticket[1], Ordering::Acquire, waiting);
    }

    fn next_ticket(&self) {
        let owner = self.ticket[1].load(Ordering::Relaxed);
        // Pairs with the wait in `take_ticket`.
        self.ticket[1].store(owner.wrapping_add(1), Ordering::Release);
    }

    fn count(&self) {
        let count = self.counter.load(Ordering::Relaxed);
        self.counter.store(count + 1, Ordering::Relaxed);
    }
}
