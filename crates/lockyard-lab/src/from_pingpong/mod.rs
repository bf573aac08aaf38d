//! A machine file from latencies between cores, without measuring anything else: for hosts of which
//! only a latency matrix is known.
//!
//! | module | content |
//! | --- | --- |
//! | `matrix` | reading a matrix: of `core-to-core-latency`, or of this command |
//! | `topology` | cores, complexes and sockets, found in the matrix or given |
//! | `make` | the machine, and its error on every pair of the matrix |
//! | `report` | the output |

mod make;
mod matrix;
mod report;
mod topology;

pub use make::{Asked, Made, make, make_of_host};
pub use matrix::{MAX_BYTES, Matrix};
pub use report::render;
pub use topology::Topology;
