//! The lab: runs scenarios on this host and on simulated machines, and sets the results beside
//! published ones.
//!
//! | module | what |
//! | --- | --- |
//! | [`published`] | the tables that others published |
//! | [`rows`] | what a result is, and the error summary |
//! | [`figures`] | the figures of a run, by their rules |
//! | [`pairs`] | whether the change from one variant to another is predicted |
//! | [`simulate`] | one cell on a simulated machine |
//! | [`placement`] | where tasks run on it |
//! | [`calibrate`] | the local work that a calibration cell gives |
//! | [`reproduce`], [`predict`], [`measured`] | the ways to ask for rows |
//! | [`explain`] | why a predicted figure is what it is |
//! | [`sensitivity`] | which input moves a prediction most |
//! | [`served`] | fairness and waits |
//! | [`histogram`] | waits as buckets and as a picture |
//! | [`listing`] | where CPU time went, as a profiler's listing |
//! | [`host`] | this host: its CPUs, and measuring on them |
//! | [`peers`] | other people's locks beside a scenario's own, on this host |
//! | [`tables`] | tables, counters and reclamation beside other people's, on this host |
//! | [`topology`] | a picture of a machine |
//! | [`training`] | the tables on which the simulated machine was fitted |
//! | [`results`] | result files, read and compared |
//! | [`fit`] | the Universal Scalability Law |
//! | [`statistics`] | medians and their intervals, the bootstrap, outliers |
//! | [`output`] | tables, JSON, CSV, Markdown |
//! | [`machines`] | what there is to say about machines |
//! | [`check`] | what a simulated machine makes of figures that are not its inputs |
//! | [`hierarchy`] | the caches of a simulated machine, and what loads cost at each level |
//! | [`names`] | finding machines and scenarios, by name or path |

pub mod calibrate;
pub mod check;
pub mod explain;
pub mod figures;
pub mod fit;
pub mod hierarchy;
pub mod histogram;
pub mod host;
pub mod jobs;
pub mod listing;
pub mod machines;
pub mod measured;
pub mod names;
pub mod output;
pub mod pairs;
pub mod peers;
pub mod placement;
pub mod predict;
pub mod published;
pub mod reproduce;
pub mod results;
pub mod rows;
pub mod sensitivity;
pub mod served;
pub mod simulate;
pub mod statistics;
pub mod tables;
pub mod topology;
pub mod training;

/// Input that cannot be used, in one line: what, where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(pub String);

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

impl From<lockyard_sim::MachineError> for InputError {
    fn from(error: lockyard_sim::MachineError) -> Self {
        InputError(error.to_string())
    }
}

impl From<lockyard_scenarios::ScriptError> for InputError {
    fn from(error: lockyard_scenarios::ScriptError) -> Self {
        InputError(error.to_string())
    }
}
