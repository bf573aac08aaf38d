//! Sizes in units for readers.

/// Formats a size in a suitable unit.
pub(super) fn size(kib: u64) -> String {
    match kib {
        _ if kib >= 1024 && kib.is_multiple_of(1024) => format!("{} MiB", kib / 1024),
        _ => format!("{kib} KiB"),
    }
}
