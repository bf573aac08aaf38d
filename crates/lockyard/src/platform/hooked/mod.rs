//! Any platform with its operations passing through a hook, for fault injection and for weakening
//! one ordering at one place.
//!
//! [`Hooked<H, K>`] is the host `H` whose memory asks the [`Hook`] `K` about each operation before
//! performing it. The hook sees the kind of operation, the source location of the call in the
//! primitive, and the orderings. It may change the orderings. It may also suppress the effect while
//! the operation is reported as done. So tests can put a wrong step into a primitive without
//! changing its source, and show that every harness notices.
//!
//! A hook is a type, not a value, because a host is also a type. A hook keeps its run-time state in
//! statics or thread-locals.

mod hook;
mod host;
mod memory;

pub use hook::{Effect, Hook, Operation, OperationKind, PARKED_SLICE, SLICE};
pub use host::Hooked;
pub use memory::{HookedAtomics, HookedWord};
