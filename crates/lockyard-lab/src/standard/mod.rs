//! A standard measurement of a host, as one file. A user can send it to others, who can make a
//! machine from it, or compare predictions with it.
//!
//! The file is JSON. It has the processor, the CPUs with their places, costs of one CPU, hand-overs
//! between CPUs, the slow-down by a sibling, and curves of scenarios on 1, 2, 4, ... CPUs. It has
//! no names of hosts or users.
//!
//! | module | content |
//! | --- | --- |
//! | `write` | measurements as text |
//! | `read` | the text as measurements, with errors |

mod read;
mod write;

pub use read::{MAX_BYTES, is_standard, read};
pub use write::{Partial, write};
