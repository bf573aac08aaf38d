//! Depth of the model checks: some programs take minutes, and are left to the deep checks.
//!
//! Everyday checks run with every change. Deep checks run before a release, where
//! [`DEEP`] is set: they explore the same programs with higher bounds, and more programs.

/// Environment variable that asks for the deep checks, with any value.
pub const DEEP: &str = "LOCKYARD_DEEP";

/// Returns `deep` if the deep checks are asked for, and `everyday` otherwise.
pub fn depth<T>(everyday: T, deep: T) -> T {
    if std::env::var_os(DEEP).is_some() { deep } else { everyday }
}
