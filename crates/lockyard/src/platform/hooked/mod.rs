//! Any platform with its operations passing through a hook: for fault injection, and for weakening
//! one ordering at one place.
//!
//! [`Hooked<H, K>`] is the host `H` whose memory asks the [`Hook`] `K` about each operation before
//! performing it. The hook sees the kind of operation, the place of the call in the primitive's
//! source, and the orderings. It may change the orderings. It may also prevent the effect and have
//! the operation reported as done. So a wrong step reaches a primitive without a change of its
//! source, and every harness can be shown to notice.
//!
//! A hook is a type, not a value, because a host is one too. State that it needs at run time is in
//! statics or thread-locals of its own.

mod hook;
mod host;
mod memory;

pub use hook::{Effect, Hook, Operation, OperationKind, PARKED_SLICE, SLICE};
pub use host::Hooked;
pub use memory::{HookedAtomics, HookedWord};
