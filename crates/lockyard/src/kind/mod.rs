//! Kinds of lock, and a kind that is chosen when the program runs.
//!
//! A word that one kind of lock has ever touched, *though it is free now*, is no word of another kind. A ticket lock that
//! was taken and released once holds `(1, 1)`: to a ticket lock that is free, to a queued one it is held by nobody, with
//! a waiter in its tail who does not exist, and whoever wants it waits for ever. So a word keeps its kind for good:
//!
//! - Where the kind is in the type ([`RawSpinLock`](crate::RawSpinLock) and all that is made of it), mixing does not
//!   compile: a lock of one kind is not one of another, what an acquisition returns ([`Held`](crate::Held), a guard) can be given
//!   back to a lock of the same type only, and only once.
//! - Where it is chosen when the program runs ([`ChosenLock`](crate::ChosenLock)), it is chosen once, before the first use: a
//!   [`Choice`] is made for all locks of a [`StaticChoice`] together, by the first of [`Choice::choose`], a use of one of these
//!   locks, and [`Choice::patching`]; whoever comes later gets a [`ChoiceError`] that says which kind is in force and why.
//!
//! ```
//! use lockyard::ChosenLock;
//! use lockyard::kind::{Choice, Kind, StaticChoice};
//!
//! /// The locks of the cache.
//! struct Cache;
//! static CACHE: Choice = Choice::new(Kind::Ticket); // unless something else is chosen
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
//! An acquisition reads the choice (one relaxed load of a word that nobody writes after the first use, so all CPUs keep its line), and
//! jumps on its value, always to the same place; a release jumps on what the acquisition returned. A lock whose kind is
//! in its type costs neither. Put the choice where nothing is written beside it: it is 8 bytes in a line that should stay shared.

mod choice;
mod chosen;
mod table;

pub use choice::{Choice, ChoiceError, Chooser, FixedBy, Static, StaticChoice};
pub use chosen::{ChosenSpinLock, RawChosenLock};
pub use table::{ChosenToken, Kind, NoSuchKind};
