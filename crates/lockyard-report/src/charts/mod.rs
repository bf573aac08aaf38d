//! Charts, one file for each kind. Each is there only where its data are.

pub(crate) mod curves;
pub(crate) mod cycles;
pub(crate) mod differences;
pub(crate) mod handover;
pub(crate) mod machine;
pub(crate) mod residuals;
pub(crate) mod waits;
