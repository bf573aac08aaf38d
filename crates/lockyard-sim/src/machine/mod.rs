//! Machines: descriptions of real machines, for the simulated one.
//!
//! A machine is a TOML file. The shipped ones are in `machines/`, and also in the binary. Every
//! number in a file has its source, or says that it is assumed and why. The code knows nothing
//! about a particular processor.
//!
//! | file | contents |
//! | --- | --- |
//! | `description.rs` | a machine |
//! | `parameters.rs` | the table of its numbers: one field, one line |
//! | `source.rs`, `file.rs` | entries of a file and their errors; a whole file |
//! | `family.rs` | the numbers that machines of one protocol share |
//! | `kernel.rs` | the costs of a kernel's calls, which machines share too |
//! | `checks.rs` | names of the figures to compare with |
//! | `shipped.rs` | the machines in the binary; reading a file |
//! | `alias.rs` | names under which clouds rent parts of them |

mod alias;
mod checks;
pub(crate) mod description;
mod family;
mod file;
mod kernel;
mod parameters;
mod shipped;
mod source;

pub use alias::{Rented, rented};
pub use checks::{CHECK_NAMES, walked_kib};
pub use description::{Machine, Place, ServiceOrder};
pub use family::Beside;
pub use parameters::{Parameter, Value};
pub use source::{MAX_FILE_BYTES, MachineError};
