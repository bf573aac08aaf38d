//! Names of the figures that a machine file's `[checks]` may have. A misspelt name is an error,
//! because its figure would never be compared.

/// The names, except `walk_N_kib` (a random walk over N KiB). The two `calibration_cell_*` are
/// figures of a publication that are not simulated.
pub const CHECK_NAMES: &[&str] = &[
    "atomic_add_uncontended",
    "ping_pong_same_core",
    "ping_pong_same_socket",
    "ping_pong_same_socket_p10",
    "ping_pong_same_socket_p90",
    "ping_pong_other_complex",
    "ping_pong_remote",
    "ping_pong_remote_p10",
    "ping_pong_remote_p90",
    "load_first_level",
    "load_second_level",
    "load_last_level",
    "load_memory_local",
    "load_memory_remote",
    "load_modified_same_socket",
    "load_modified_remote",
    "load_modified_remote_homed_writer",
    "load_modified_remote_homed_reader",
    "atomic_add_two_threads",
    "compare_exchange_two_threads",
    "calibration_cell_same_node",
    "calibration_cell_different_nodes",
];

/// Returns the N of a figure `walk_N_kib`.
pub fn walked_kib(name: &str) -> Option<usize> {
    name.strip_prefix("walk_")?.strip_suffix("_kib")?.parse().ok()
}

/// Returns a hint if the name does not exist; `None` if it does.
pub(super) fn unknown(name: &str) -> Option<String> {
    if CHECK_NAMES.contains(&name) || walked_kib(name).is_some() {
        return None;
    }
    let mut allowed = CHECK_NAMES.to_vec();
    allowed.push("walk_N_kib");
    Some(lockyard_support::hint(name, &allowed, "allowed"))
}
