//! Locks of an existing program: which are hot, where, and why (`lockyard profile`).
//!
//! The preload library (`lockyard-preload`) records inside the program, and this crate reads the
//! records afterwards.
//!
//! | module | content |
//! | --- | --- |
//! | [`preload`] | the library, as bytes to be written to a file |
//! | [`program`] | programs that cannot be profiled, found before they run |
//! | [`cpus`] | where each CPU is, for the library |
//! | [`clock`] | length of a tick |
//! | [`records`], [`notes`] | a file of records |
//! | [`modules`], [`symbols`] | files that a process had mapped, and names of addresses in them |
//! | `image`, `lines`, `demangle` | such a file, its lines of sources, and its names as people write them |
//! | [`process`] | what is known of each lock of a process |
//! | [`order`] | locks that are taken in contradicting orders |
//! | [`groups`] | locks of one kind together |
//! | [`profile`] | a whole run |
//! | [`reasons`] | what the figures say |
//! | [`json`] | a whole run, as JSON |
//! | [`screen`] | a whole run, as text |

pub mod clock;
pub mod cpus;
mod demangle;
pub mod groups;
mod image;
pub mod json;
mod lines;
pub mod modules;
pub mod notes;
pub mod order;
pub mod preload;
pub mod process;
pub mod profile;
pub mod program;
pub mod reasons;
pub mod records;
pub mod screen;
pub mod symbols;
pub mod times;
pub mod waits;
mod words;
