//! Adds the git commit to the command's version, if the source is a git checkout.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    // An unpacked package may lie in some other git repository. Use the commit only if the
    // repository tracks this package.
    let own = git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let commit = own.then(|| git(&["log", "-1", "--format=%h %cs"])).flatten();
    let text = commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=LOCKYARD_VERSION={text}");
    println!("cargo::rerun-if-changed=build.rs");
    // Every new commit changes the log of HEAD.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}
