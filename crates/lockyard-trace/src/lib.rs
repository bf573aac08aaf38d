//! Traces of events over time, written for trace viewers.
//!
//! [`Trace`] is a small model of tracks and events, independent of their source. Each [`Form`]
//! writes it for a viewer:
//!
//! | file | contents |
//! | --- | --- |
//! | `model` | tracks, slices, counters, arrows |
//! | `perfetto`, `protobuf` | Perfetto's trace packets (`.pftrace`) |
//! | `chrome` | Chrome's trace events (`.json`) |

mod chrome;
mod form;
mod model;
mod perfetto;
mod protobuf;

pub use form::Form;
pub use model::{Event, Kind, Process, Trace, Track, What};
