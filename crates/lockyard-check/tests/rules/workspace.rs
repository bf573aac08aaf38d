//! The workspace as reported by cargo.

use lockyard_check::sources::workspace;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Runs `cargo metadata` in the workspace.
///
/// # Panics
///
/// Panics if cargo fails, with its message.
pub(crate) fn metadata(options: &[&str]) -> Value {
    try_metadata(options).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `cargo metadata` in the workspace.
///
/// # Errors
///
/// Fails with cargo's message.
pub(crate) fn try_metadata(options: &[&str]) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked"]).args(options);
    let output = command.current_dir(workspace()).output().expect("cargo can be started");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("cargo prints JSON"))
}

/// A crate of the workspace.
pub(crate) struct Member {
    /// Name of the package, with hyphens.
    pub(crate) name: String,
    /// Directory of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// Targets that cargo builds from it.
    pub(crate) targets: Vec<Target>,
    /// Packages in its Cargo.toml that its library and its commands need.
    pub(crate) dependencies: Vec<String>,
    /// Packages in its Cargo.toml that only its tests and examples need.
    pub(crate) dev_dependencies: Vec<String>,
}

/// A library, a command, an example or a test.
pub(crate) struct Target {
    /// First kind that cargo gives it: `lib`, `bin`, `example`, `test`, `custom-build`.
    pub(crate) kind: String,
    /// The first file that the compiler reads.
    pub(crate) root: PathBuf,
}

impl Target {
    /// Returns true if it is built for users rather than for the project's own tests.
    pub(crate) fn is_product(&self) -> bool {
        !["example", "test", "bench"].contains(&self.kind.as_str())
    }
}

/// Returns all crates of the workspace.
pub(crate) fn members() -> Vec<Member> {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages.iter().map(member).collect()
}

fn member(package: &Value) -> Member {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |name: &str| package[name].as_array().expect("a list").iter();
    let dependencies = |dev: bool| {
        let wanted = list("dependencies").filter(move |each| (each["kind"] == "dev") == dev);
        wanted.map(|each| text(&each["name"])).collect()
    };
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    Member {
        name: text(&package["name"]),
        folder: manifest.parent().expect("a file lies in a folder").to_path_buf(),
        targets: list("targets")
            .map(|target| Target {
                kind: text(&target["kind"][0]),
                root: PathBuf::from(text(&target["src_path"])),
            })
            .collect(),
        dependencies: dependencies(false),
        dev_dependencies: dependencies(true),
    }
}
