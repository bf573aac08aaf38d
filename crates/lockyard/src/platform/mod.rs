//! The platform: everything that a primitive may use from a machine.
//!
//! A primitive is written once, generic over a [`Host`] and the host's [`Atomics`]. Three platforms
//! run it:
//!
//! | platform | for |
//! | --- | --- |
//! | [`Native`] | users: compiles to the same instructions as code without the traits |
//! | `Simulated` (crate `lockyard-sim`) | predictions, deterministic torture |
//! | `checked::Checked` (feature `loom`) | model checking under weak memory |
//!
//! A committed listing of instructions checks the claim about `Native`.
//!
//! There are three traits: [`Atomics`] (memory), [`ConstAtomics`] (constant initial values, for
//! platforms that have them) and [`Host`] (the threads, and the machine that runs them).
//! [`Portable`] wraps any host and replaces its operations on parts of a word with
//! read-modify-writes.

mod activity;
mod atomics;
#[cfg(feature = "loom")]
pub mod checked;
mod during;
mod forwarding;
#[cfg(feature = "hooks")]
pub mod hooked;
mod host;
mod instant;
mod native;
mod native_host;
mod portable;
pub(crate) mod queue_node;
mod slot_leases;
mod words;

pub use activity::{Activity, Region};
pub use atomics::*;
pub use during::during;
pub use host::*;
pub use instant::Instant;
pub use native::{NativeAtomics, NativeCell, NativeU16, NativeU32, NativeU64};
pub use native_host::Native;
#[cfg(feature = "events")]
pub use native_host::native_events;
pub use portable::{Portable, PortableAtomics};
pub use queue_node::{NEST_LEVELS, QueueNode};
pub use slot_leases::SlotLeases;
pub use words::{NativeWords, NoUninit, PlainWords};
