//! Other users cannot replace one of our files by their own, even after the recording.

use crate::support::{fresh, locks, profile};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

#[test]
fn no_other_user_can_take_the_place_of_the_library() {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let is_safe = |path: &Path| {
        path.ancestors().all(|folder| folder.metadata().is_ok_and(|of| of.mode() & 0o022 == 0))
    };
    if !Path::new(&home).is_absolute() || !is_safe(Path::new(&home)) {
        lockyard_testing::skip!("HOME is no directory of this user alone");
        return;
    }
    let script = "printenv LD_PRELOAD LOCKYARD_RECORDS";
    let mut command = profile(&[], Path::new("/bin/sh"), &["-c", script]);
    let output = command.env_remove("XDG_RUNTIME_DIR").output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("it is text");
    let library = Path::new(said.lines().next().expect("it is set")).to_path_buf();
    assert!(!library.exists(), "{said}");
    let parent = library.parent().and_then(Path::parent).expect("it has one");
    assert!(is_safe(parent), "{said}");
}

#[test]
fn a_directory_that_others_may_write_gets_no_records() {
    let Some(program) = locks() else { return };
    // The path of the library while a program runs; a copy of it stays.
    let copy = fresh("library.so");
    let script = format!("cp \"$LD_PRELOAD\" {}", copy.display());
    let output = profile(&[], Path::new("/bin/sh"), &["-c", &script]).output().expect("it runs");
    assert!(output.status.success() && copy.exists());
    for (mode, files) in [(0o700, 1), (0o777, 0)] {
        let folder = fresh("records");
        std::fs::create_dir(&folder).expect("there is room");
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).expect("it is ours");
        let mut command = Command::new(&program);
        command.args(["counts", "1", "1", "1"]);
        command.env("LD_PRELOAD", &copy).env("LOCKYARD_RECORDS", &folder);
        assert!(command.status().expect("it runs").success());
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), files, "{mode:o}");
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[test]
fn a_relative_directory_is_the_same_after_the_program_has_changed_its_own() {
    let name = fresh("relative");
    std::fs::create_dir(&name).expect("there is room");
    let script = "printenv LD_PRELOAD LOCKYARD_RECORDS";
    let mut command = profile(&[], Path::new("/bin/sh"), &["-c", script]);
    command.current_dir(name.parent().expect("it has one"));
    command.env("TMPDIR", name.file_name().expect("it has one"));
    command.env("HOME", "").env("XDG_CACHE_HOME", "").env("XDG_RUNTIME_DIR", "");
    let said = String::from_utf8(command.output().expect("it runs").stdout).expect("it is text");
    assert!(said.lines().count() == 2 && said.lines().all(|line| line.starts_with('/')), "{said}");
    let _ = std::fs::remove_dir(name);
}
