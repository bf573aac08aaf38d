//! Recordings of a program's locks (`lockyard record`), and the scenario that a recording is.
//!
//! | module | content |
//! | --- | --- |
//! | [`recording`] | what a recording has |
//! | [`mod@file`] | its file: [the format](../../../docs/measure/recording-format.md) |
//! | [`runs`] | recordings of one program with several numbers of threads, and their file |
//! | [`rates`] | rates of the program without a recorder, as CSV |
//! | [`outside`] | its rate between windows |
//! | [`waiting`] | threads that wait for a condition, and after whose sections their waits end |
//! | [`model`] | its statistics: classes of threads, their visits to locks, times |
//! | [`script`] | the scenario, and its changes |

pub mod file;
pub mod model;
pub mod outside;
pub mod rates;
pub mod recording;
pub mod runs;
pub mod script;
pub mod waiting;
