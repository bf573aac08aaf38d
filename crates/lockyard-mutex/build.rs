//! Keeps the library loaded until the program ends: threads and fork handlers refer to its code.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblockyard_mutex.so");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
