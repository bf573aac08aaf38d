//! Selects the portable forms of the native memory for sanitizers that watch each access.
//!
//! A sanitizer sees only what the compiler reports to it: no assembly, and no fences at all.
//! Without this script, a sanitizer does not see the store that releases a lock, and reports "data
//! races" in correct programs. `RUSTFLAGS='--cfg lockyard_portable'` selects the portable forms by
//! hand. `src/platform/native.rs` describes them.

/// Sanitizers that watch accesses. The others (`cfi`, `shadow-call-stack`) harden shipped code, and
/// need no change here.
const WATCHING: [&str; 6] =
    ["address", "hwaddress", "kernel-address", "kernel-hwaddress", "memory", "thread"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lockyard_portable)");
    // Cargo sets this variable if the compiler reports the active sanitizers, as a nightly compiler
    // does.
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.split(',').any(|sanitizer| WATCHING.contains(&sanitizer)) {
        println!("cargo::rustc-cfg=lockyard_portable");
    }
}
