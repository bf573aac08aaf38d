//! Locks of other libraries, for measuring them next to lockyard's on a real host (`lockyard
//! measure --peers`).
//!
//! The peers are rows of one table, in [`table`]: to add one, add a row there. Peers are native
//! code. The simulated machine cannot run them: it runs only code written for its platform. Neither
//! the simulated machine nor the library depends on this crate.
//!
//! [`loaded`] has locks from shared objects, as other compilers make them.

mod bare;
pub mod loaded;
mod named;
mod peer;
#[cfg(target_os = "linux")]
mod pthread;
#[cfg(target_os = "linux")]
mod pthread_rwlock;
pub mod straight;
pub mod table;

pub use bare::BareLock;
pub use named::find;
pub use peer::Peer;
pub use table::PEERS;
