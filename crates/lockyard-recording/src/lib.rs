//! Recordings of a program's locks (`lockyard record`), and the scenario that a recording is.
//!
//! | module | content |
//! | --- | --- |
//! | [`recording`] | what a recording has |
//! | [`mod@file`] | its file: [the format](../../../docs/measure/recordings.md) |
//! | [`outside`] | its rate between windows |
//! | [`waiting`] | threads that wait for a condition, and after whose sections their waits end |
//! | [`model`] | its statistics: classes of threads, their visits to locks, times |
//! | [`script`] | the scenario, and its changes |

pub mod file;
pub mod model;
pub mod outside;
pub mod recording;
pub mod script;
pub mod waiting;
