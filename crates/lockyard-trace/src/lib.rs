//! Traces: who did what when, for viewers.
//!
//! [`Trace`] is a small model of tracks and events, and knows nothing of where they come from. Each
//! [`Form`] writes it for a viewer:
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
