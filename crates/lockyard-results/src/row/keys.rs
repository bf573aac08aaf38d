//! Names of details that more than one crate reads or writes.

/// In a measured row whose threads the system did not let be pinned.
pub const NOT_PINNED: &str = "threads could not be pinned";

/// Figures of the rounds of a measured row, in the order of the rounds.
pub const ROUNDS: &str = "measured_rounds";

/// Number of CPUs in the placement of a measured row.
pub const PLACES: &str = "placement_cpus";

/// Warnings about a measured row.
pub const WARNINGS: &str = "warnings";

/// Beginning of the names of predicted figures that may be measured beside them.
pub const PREDICTED: &str = "predicted_";

/// Highest figure of a start order over the lowest, less 1.
pub const ORDER_SPREAD: &str = "start_order_spread";

/// Says whether the figures of the start orders agree.
pub const ORDERS_AGREE: &str = "start_orders_agree";

/// Value of [`ORDERS_AGREE`] where they do not.
pub const ORDERS_DIFFER: &str = "no";
