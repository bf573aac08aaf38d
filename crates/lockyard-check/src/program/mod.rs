//! Programs: small concurrent clients of a primitive, each written once for all platforms.
//!
//! A back-end ([`crate::backends`]) runs a program: as a model, as a simulated run, or on threads
//! of the host.

mod any_read_write;
mod buffers;
mod chosen;
mod condvar;
mod connections;
mod counts;
mod fair;
mod handles;
mod identifiers;
mod keys;
mod last_use;
mod locks;
mod nested;
mod pages;
mod parts;
mod queued_read_write;
mod read_write;
mod reclaimed;
mod sequence;
mod sharded;
mod statistics;

pub use any_read_write::AnyReadWriteProgram;
pub use buffers::{BufferOp, BufferProgram};
pub use chosen::{ChoiceOp, ChoiceProgram};
pub use condvar::{CondOp, CondProgram};
pub use connections::{ConnOp, ConnProgram};
pub use counts::{CountOp, CountProgram};
pub use fair::{FairOp, FairProgram, SHORT};
pub use handles::{HandleOp, HandleProgram, Handles};
pub use identifiers::{IdOp, IdProgram};
pub use keys::{KeyOp, KeyProgram};
pub use last_use::{LastUse, RefCount, UseOp};
pub use locks::{LockOp, LockProgram};
pub use nested::{NestedOp, NestedProgram};
pub use pages::{PageCount, PageOp, PageProgram};
pub(crate) use parts::linger;
pub use parts::{Outcome, Program};
pub use queued_read_write::QueuedReadWriteProgram;
pub use read_write::{ReadWriteOp, ReadWriteProgram};
pub(crate) use reclaimed::forward_reclamation;
pub use reclaimed::{ReclaimOp, ReclaimProgram, Reclaims, Unreserved};
pub use sequence::{SequenceOp, SequenceProgram};
pub use sharded::{ShardedOp, ShardedProgram};
pub use statistics::{StatOp, StatProgram};
