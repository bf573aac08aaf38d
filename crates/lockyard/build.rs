//! Selects the portable forms of the native memory where a sanitizer watches each access.
//!
//! A sanitizer sees what the compiler tells it of: no assembly, and (of fences) nothing at all. Without this the store that
//! releases a lock is invisible to it, and correct programs have "data races". The same is selected by hand with
//! `RUSTFLAGS='--cfg lockyard_portable'`. `src/platform/native.rs` says which forms these are.

/// Sanitizers that watch accesses. Others (`cfi`, `shadow-call-stack`) harden what is shipped, and change nothing here.
const WATCHING: [&str; 6] =
    ["address", "hwaddress", "kernel-address", "kernel-hwaddress", "memory", "thread"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lockyard_portable)");
    // Set by cargo where the compiler says which sanitizers are on: a nightly one does.
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.split(',').any(|sanitizer| WATCHING.contains(&sanitizer)) {
        println!("cargo::rustc-cfg=lockyard_portable");
    }
}
