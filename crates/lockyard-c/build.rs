//! Sets the shared library's soname on Linux: programs that are linked to it look for
//! `liblockyard.so.0`, whatever the file was called when they were linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblockyard.so.0");
        // Threads and fork handlers refer to the library's code until the program ends.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
