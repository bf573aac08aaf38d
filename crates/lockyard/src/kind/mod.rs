//! Kinds of lock, and locks whose kind is chosen at run time.
//!
//! Once one kind of lock has used a word, no other kind can use it, *even while the lock is free*.
//! For example, a ticket lock that was taken and released once holds `(1, 1)`. A ticket lock reads
//! that value as free. A queued lock reads it as a tail that names a waiter that does not exist, so
//! every thread that wants the lock waits for ever. So a word keeps its kind for good:
//!
//! - If the type names the kind ([`RawSpinLock`](crate::RawSpinLock) and everything made of it),
//!   mixing does not compile: locks of two kinds have two types. The result of an acquisition
//!   ([`Held`](crate::Held), a guard) can be given back only to a lock of the same type, and only
//!   once.
//! - If the kind is chosen at run time ([`ChosenLock`](crate::ChosenLock)), it is chosen once,
//!   before the first use. A [`Choice`] applies to all locks of a [`StaticChoice`] together. The
//!   first of three events fixes it: a call of [`Choice::choose`], a use of one of these locks, or
//!   a call of [`Choice::fix_for_patching`]. Any later choice gets a [`ChoiceError`], which names
//!   the kind in force and the reason.
//!
//! ```
//! use lockyard::ChosenLock;
//! use lockyard::kind::{Choice, Kind, StaticChoice};
//!
//! /// The locks of the cache.
//! struct Cache;
//! static CACHE: Choice = Choice::new(Kind::Ticket); // the default
//! impl StaticChoice for Cache {
//!     const CHOICE: &'static Choice = &CACHE;
//! }
//!
//! static ENTRIES: ChosenLock<Vec<u32>, Cache> = ChosenLock::new(Vec::new());
//! assert_eq!(size_of::<ChosenLock<(), Cache>>(), 4);
//!
//! // At start-up, from configuration:
//! let kind: Kind = "queued".parse()?;
//! CACHE.choose(kind)?;
//! ENTRIES.lock().push(1);
//!
//! // Too late:
//! let error = CACHE.choose(Kind::TestAndSet).unwrap_err();
//! assert_eq!(error.in_force(), Kind::Queued);
//! assert_eq!(
//!     error.to_string(),
//!     "`test-and-set` cannot be chosen: `queued` is in force, because it was chosen before"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs
//!
//! An acquisition reads the choice: one relaxed load of a word that no thread writes after the
//! first use, so all CPUs keep its line. Then it jumps on the value, always to the same target. A
//! release jumps on the kind in the acquisition's token. A lock whose type names its kind has
//! neither cost. Place the choice (8 bytes) in a line that nothing else writes, so that the line
//! stays shared.

mod choice;
mod chosen;
mod table;

pub use choice::{Choice, ChoiceError, Chooser, FixedBy, Static, StaticChoice};
pub use chosen::{ChosenSpinLock, RawChosenLock};
pub use table::{ChosenToken, Kind, NoSuchKind};
