//! The `Checked` platform: the same primitives under loom, a model checker for weak memory.
//!
//! Words are loom's atomics and cells are loom's cells. So a check explores every interleaving (up
//! to a stated number of preemptions) and, for each load, every value that the memory model allows.
//! If two accesses to a [`Cell`](super::Cell) have no order between them, the check reports a race.
//! loom's types are used directly: there is no `cfg(loom)`, and a check is an ordinary test.
//!
//! # Checking your own code
//!
//! Write the code for any [`Host`](super::Host), and check it with [`Checked`] in place of
//! [`Native`](crate::Native). Use raw locks: `lock_api`'s mutex needs a constant initial value, and
//! loom's atomics have none.
//!
//! ```
//! use lockyard::platform::checked::{Checked, Waits, with_waits};
//! use lockyard::platform::{Cell, DataCell, Host};
//! use lockyard::on::RawTicketLock;
//! use std::sync::Arc;
//!
//! // What you wrote: two numbers that must always be equal, behind a lock.
//! struct Pair<H: Host> {
//!     lock: RawTicketLock<H>,
//!     numbers: Cell<H, (u32, u32)>,
//! }
//!
//! impl<H: Host> Pair<H> {
//!     fn new() -> Self {
//!         Pair { lock: RawTicketLock::new(), numbers: DataCell::new((0, 0)) }
//!     }
//!     fn advance(&self) {
//!         let held = self.lock.acquire();
//!         // SAFETY: the lock is held, and nothing else touches the numbers without it.
//!         self.numbers.with_mut(|numbers| unsafe {
//!             (*numbers).0 += 1;
//!             (*numbers).1 += 1;
//!         });
//!         // SAFETY: `held` is this lock's.
//!         unsafe { self.lock.release(held) };
//!     }
//! }
//!
//! // The check: two threads at the same time, in every order, under weak memory.
//! with_waits(Waits::UntilTrue, || {
//!     let mut model = loom::model::Builder::new();
//!     model.preemption_bound = Some(3);
//!     model.check(|| {
//!         let pair = Arc::new(Pair::<Checked>::new());
//!         let other = Arc::clone(&pair);
//!         let thread = loom::thread::spawn(move || other.advance());
//!         pair.advance();
//!         thread.join().unwrap();
//!         // SAFETY: the other thread has ended.
//!         let numbers = pair.numbers.with(|numbers| unsafe { *numbers });
//!         assert_eq!(numbers, (2, 2));
//!     });
//! });
//! ```
//!
//! Create every object inside the model's closure, because loom's objects end with each execution.
//! A model has at most five threads ([`loom::MAX_THREADS`]), including its main thread.
//!
//! # What it does not see
//!
//! - Sequential consistency of *accesses*: loom treats a `SeqCst` access as `AcqRel`. So it may
//!   report a correct program, but never misses a wrong one. `SeqCst` *fences* are modelled, and
//!   primitives use fences where they need sequential consistency.
//! - Spurious failures of a weak compare-exchange: it is checked as a strong one. A caller that
//!   retries then reaches the state of a successful exchange. So only one path is lost: spurious
//!   failures that use up a bounded number of retries.
//! - Values overwritten more than seven stores ago, because loom's history is that long.

mod host;
mod memory;
mod waiting;
mod words;

pub use host::{Checked, Parking, fail_allocation, with_clock, with_parking};
pub use memory::{CheckedAtomics, CheckedCell, CheckedU16, CheckedU32, CheckedU64};
pub use waiting::{Waits, with_waits};
pub use words::BoxedWords;
