//! The libraries from outside their workspace: a crate that depends on them, with and without
//! `std`, and their packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(arguments: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    // This uses a separate directory, because the directory of this test is locked while it runs.
    let target = root().join("target/outside");
    cargo.args(arguments).arg("--offline").current_dir(root()).env("CARGO_TARGET_DIR", target);
    cargo.output().expect("cargo runs")
}

fn check(features: &[&str]) -> Output {
    let manifest = ["check", "--locked", "--manifest-path", "examples/outside/Cargo.toml"];
    cargo(&[&manifest, features].concat())
}

#[track_caller]
fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_crate_of_its_own_builds_with_std_and_without() {
    succeeds(&check(&["--all-targets"]));
    succeeds(&check(&["--lib", "--no-default-features"]));
}

#[test]
fn only_what_needs_slots_is_refused_on_a_host_without_slots() {
    let output = check(&["--lib", "--no-default-features", "--features", "mistake"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it compiles");
    assert!(said.contains("write a host of your own and name it"), "{said}");
    let source = root().join("examples/outside/src/mistake.rs");
    let source = std::fs::read_to_string(source).expect("it is committed");
    let mut errors: Vec<&str> = said.split("error[E0277]: ").skip(1).collect();
    for (line, number) in source.lines().zip(1..) {
        let Some((_, host)) = line.split_once("// refused: ") else { continue };
        let about_it = |error: &&str| {
            error.starts_with(&format!("the host `{host}` has no slots"))
                && error.contains(&format!("--> src/mistake.rs:{number}:"))
        };
        let error = errors.iter().position(about_it);
        errors.remove(error.unwrap_or_else(|| panic!("not refused: {line}\n{said}")));
    }
    assert_eq!(errors, [""; 0], "refused, though it needs no slots");
}

#[test]
fn each_package_has_its_licences_and_what_it_needs() {
    let needs = [("lockyard", &["build.rs"][..]), ("lockyard-tables", &[])];
    for (package, more) in needs {
        let output = cargo(&["package", "-p", package, "--list", "--allow-dirty"]);
        succeeds(&output);
        let files = String::from_utf8(output.stdout).expect("names of files");
        let files: Vec<&str> = files.lines().collect();
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "src/lib.rs"].iter().chain(more)
        {
            assert!(files.contains(file), "{package}: {file} is not in the package: {files:?}");
        }
        let foreign = |file: &&&str| file.starts_with("tests/") || file.starts_with("listings/");
        let found = files.iter().find(foreign);
        assert_eq!(found, None, "{package}: only this workspace can run it");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = |folder: &str| std::fs::read(root().join(folder).join(licence)).unwrap();
            let of_the_crate = text(&format!("crates/{package}"));
            assert_eq!(text("."), of_the_crate, "{licence} of {package} is the project's");
        }
    }
}
