//! Operations of the training programs on shared lines: the loops of two published benchmarks for
//! locks and counters.
//!
//! The loops reproduce those benchmarks. Except for the queued lock, they are not lockyard's
//! primitives. They follow the descriptions in the headers of the tables (`training/*.csv`):
//!
//! - an increment
//! - a lockref that reloads after a failed compare-exchange
//! - a ticket lock whose release is an unlocked addition
//! - a test-and-set lock that does not read before it swaps

use lockyard::on::RawQSpinLock;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Placed, Simulated, SimulatedU32, SimulatedU64, Simulation};

/// Operations that one thread makes around its inside work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Adds 1 before the inside work, and subtracts 1 after it.
    Count,
    /// Same as `Count`, with compare-exchanges. Each begins with a load, and starts over with a new
    /// load after a failure.
    Lockref,
    /// lockyard's queued lock.
    Queued,
    /// Swaps until the old value was 0. The release is a store.
    SwapLock,
    /// Two counters in one line. The release adds 1 with a load and a store.
    TicketLock,
    /// Adds 1.
    Add,
    /// Adds 1 with a compare-exchange. After a failure, it expects the value that it found.
    ExchangeAdd,
    /// Adds 1 to a counter in another line, under a swap lock whose waiters only read.
    TestAndSwapCounter,
    /// Same as `TestAndSwapCounter`, under the ticket lock.
    TicketCounter,
}

/// Shared lines of a program in a simulation.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    program: Program,
    word: Placed<SimulatedU64>,
    ticket: Placed<[SimulatedU32; 2]>,
    queued: Placed<RawQSpinLock<Simulated>>,
    counter: Placed<SimulatedU64>,
}

impl Shared {
    /// Places the lines of `program` at home on socket 0.
    pub(super) fn new(simulation: &mut Simulation, program: Program) -> Shared {
        Shared {
            program,
            word: simulation.place(SimulatedU64::new(0), 64, 0),
            ticket: simulation.place([SimulatedU32::new(0), SimulatedU32::new(0)], 64, 0),
            queued: simulation.place(RawQSpinLock::<Simulated>::new(), 64, 0),
            counter: simulation.place(SimulatedU64::new(0), 64, 0),
        }
    }

    /// Runs one round: the operations before `inside`, then `inside`, then the operations after it.
    pub(super) fn perform(&self, inside: impl FnOnce()) {
        match self.program {
            Program::Count => {
                // Relaxed, here and below: the operations publish nothing.
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
                // SAFETY: the lock was acquired above.
                unsafe { self.queued.release(held) };
            }
            Program::SwapLock => {
                while self.word.swap(1, Ordering::Acquire) != 0 {}
                inside();
                // Release: pairs with the swap that finds the 0.
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
                // Release: pairs with the swap that finds the 0.
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
        // Acquire: pairs with the store in `next_ticket`.
        let waiting = |owner: u32| owner == mine;
        let _ = Simulated::wait_until(&self.ticket[1], Ordering::Acquire, waiting);
    }

    fn next_ticket(&self) {
        let owner = self.ticket[1].load(Ordering::Relaxed);
        // Release: pairs with the wait in `take_ticket`.
        self.ticket[1].store(owner.wrapping_add(1), Ordering::Release);
    }

    fn count(&self) {
        let count = self.counter.load(Ordering::Relaxed);
        self.counter.store(count + 1, Ordering::Relaxed);
    }
}
