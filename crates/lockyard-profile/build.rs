//! Builds the preload library that the command carries: optimised, without the standard library, in
//! about two seconds. On stable, Cargo cannot embed the library of one package as a file in another
//! package, so this script calls the compiler.
//!
//! It also calls the linker: the library defines versions of functions, and these need a version
//! script. The compiler links libraries with its own version script, and most linkers accept only
//! one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let crates = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    let [records, interpose, preload] =
        ["records", "interpose", "preload"].map(|name| crates.join(format!("lockyard-{name}")));
    for folder in [&records, &interpose, &preload] {
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
    }
    let versions = preload.join("versions.map");
    println!("cargo::rerun-if-changed={}", versions.display());
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["RUSTC", "RUSTC_LINKER"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rustc-check-cfg=cfg(has_preload)");
    let [system, processor, environment] =
        ["OS", "ARCH", "ENV"].map(|part| variable(&format!("CARGO_CFG_TARGET_{part}")));
    if (system.as_str(), processor.as_str(), environment.as_str()) != ("linux", "x86_64", "gnu") {
        return;
    }
    compile(&records, &out, &["--crate-type", "rlib", "--crate-name", "lockyard_records"]);
    compile(&interpose, &out, &["--crate-type", "rlib", "--crate-name", "lockyard_interpose"]);
    let library = |name: &str| {
        format!("lockyard_{name}={}", out.join(format!("liblockyard_{name}.rlib")).display())
    };
    let (records, interpose) = (library("records"), library("interpose"));
    let mut options = vec!["--crate-type", "staticlib", "--crate-name", "lockyard_preload"];
    options.extend(["-C", "relocation-model=pic", "-C", "codegen-units=1"]);
    options.extend(["--extern", &records, "--extern", &interpose]);
    compile(&preload, &out, &options);
    link(&out, &versions);
    println!("cargo::rustc-cfg=has_preload");
}

/// Compiles a crate of this workspace into a directory.
fn compile(folder: &Path, out: &Path, options: &[&str]) {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command.args(["--edition", "2024", "-C", "opt-level=3", "-C", "panic=abort"]);
    command.args(["--target", &variable("TARGET"), "--cap-lints", "allow"]).args(options);
    // The library is the same wherever it is built.
    let mut remap = OsString::from("--remap-path-prefix=");
    remap.push(folder);
    remap.push("=");
    remap.push(folder.file_name().unwrap_or_default());
    command.arg(remap);
    command.arg("--out-dir").arg(out).arg(folder.join("src").join("lib.rs"));
    run(command);
}

/// Links the archive of the library.
fn link(out: &Path, versions: &Path) {
    let linker = Some(variable("RUSTC_LINKER")).filter(|linker| !linker.is_empty());
    let mut command = Command::new(linker.unwrap_or_else(|| "cc".to_owned()));
    command.args(["-shared", "-s", "-nodefaultlibs", "-o"]);
    command.arg(out.join("liblockyard_preload.so"));
    command.arg("-Wl,--whole-archive").arg(out.join("liblockyard_preload.a"));
    command.args(["-Wl,--no-whole-archive", "-Wl,--gc-sections", "-Wl,-z,relro,-z,now"]);
    let mut script = OsString::from("-Wl,--version-script=");
    script.push(versions);
    command.arg(script).arg("-lc");
    run(command);
}

fn run(mut command: Command) {
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            panic!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}
