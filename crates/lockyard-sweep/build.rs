//! Determines the version of the program that computes rows: the package's version, the git commit,
//! and a hash of uncommitted changes to the files that a row can depend on.

use std::path::Path;
use std::process::Command;

/// Files and directories that a row can depend on, from the workspace's root.
const SOURCES: [&str; 6] =
    ["Cargo.lock", "Cargo.toml", "crates", "machines", "published", "scenarios"];

fn git(directory: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn line(directory: &Path, arguments: &[&str]) -> Option<String> {
    let text = String::from_utf8(git(directory, arguments)?).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the FNV-1a hash of the uncommitted changes; `None` if there are none.
fn changes(root: &Path) -> Option<u64> {
    let of = |arguments: &[&str]| git(root, &[arguments, &["--"], &SOURCES].concat());
    let mut bytes = of(&["diff", "HEAD", "--no-ext-diff", "--binary"])?;
    let untracked = of(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    for path in untracked.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
        let name = String::from_utf8_lossy(path);
        bytes.extend_from_slice(path);
        bytes.extend(std::fs::read(root.join(name.as_ref())).unwrap_or_default());
    }
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    (!bytes.is_empty()).then(|| bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // An unpacked package may lie in some other git repository. Use the commit only if the
    // repository tracks this package.
    let own = line(Path::new("."), &["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let commit = own.then(|| line(&root, &["log", "-1", "--format=%h", "--abbrev=12"])).flatten();
    let text = match (commit, own.then(|| changes(&root)).flatten()) {
        (None, _) => version.to_owned(),
        (Some(commit), None) => format!("{version} ({commit})"),
        (Some(commit), Some(hash)) => format!("{version} ({commit}, dirty {hash:016x})"),
    };
    println!("cargo::rustc-env=LOCKYARD_SWEEP_VERSION={text}");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    // Every new commit changes the log of HEAD.
    if let Some(log) = line(&root, &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(log).display());
    }
}
