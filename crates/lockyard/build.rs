//! Selects the portable forms of the native memory where a sanitizer watches each access.
//!
//! A sanitizer sees only what the compiler reports to it: no assembly, and no fences at all.
//! Without this script the store that releases a lock is invisible to it, and correct programs have
//! "data races". `RUSTFLAGS='--cfg lockyard_portable'` selects the same forms by hand. They are
//! described in `src/platform/native.rs`.

/// Sanitizers that watch accesses. Others (`cfi`, `shadow-call-stack`) harden shipped code, and
/// change nothing here.
const WATCHING: [&str; 6] =
    ["address", "hwaddress", "kernel-address", "kernel-hwaddress", "memory", "thread"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lockyard_portable)");
    // Cargo sets it if the compiler reports which sanitizers are on, as a nightly one does.
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.split(',').any(|sanitizer| WATCHING.contains(&sanitizer)) {
        println!("cargo::rustc-cfg=lockyard_portable");
    }
}
