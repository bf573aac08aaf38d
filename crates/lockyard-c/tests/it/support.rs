//! Shared parts of the tests: places, the installed library, and commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns the directory of this package.
pub(crate) fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns an empty directory for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockyard-c").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("an old folder goes");
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Removes the directory of a test that has passed: programs with the static library are large.
pub(crate) fn done(folder: &Path) {
    std::fs::remove_dir_all(folder).expect("a folder goes");
}

/// Returns the directory in which cargo has built the library: that of this test.
pub(crate) fn built() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    let folder = test.parent().expect("it is in a folder").to_owned();
    for file in ["liblockyard_c.so", "liblockyard_c.a"] {
        assert!(folder.join(file).is_file(), "no {file} in {}", folder.display());
    }
    folder
}

/// Returns the prefix below which the library is installed, by the script.
pub(crate) fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = folder("installed");
        let output = run(install().arg("--prefix").arg(&prefix));
        assert!(output.status.success(), "{}", said(&output));
        prefix
    })
}

/// Returns the command that installs what cargo has built.
pub(crate) fn install() -> Command {
    let mut command = Command::new(package().join("install.sh"));
    command.arg("--from").arg(built()).env_remove("DESTDIR");
    command
}

/// Runs a command, which must exist.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns both streams of a command as text.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns true if a program exists.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
