//! Charts, one file for each kind. A chart is drawn only if there are data for it.

mod axes;
pub(crate) mod by_parameter;
pub(crate) mod curves;
pub(crate) mod cycles;
pub(crate) mod differences;
pub(crate) mod handover;
pub(crate) mod heat_map;
pub(crate) mod machine;
pub(crate) mod profile;
pub(crate) mod recorded;
pub(crate) mod residuals;
pub(crate) mod waits;
