//! Programs that cannot be profiled, found before they run: their locks cannot be interposed, or
//! the loader would ignore the preload library.

use crate::image::{Image, MOST_OF_A_FILE, Source};
use lockyard_support::open_regular;
use object::{Object, ObjectSection, ObjectSymbol};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum number of scripts that run scripts.
const MOST_SCRIPTS: usize = 4;

/// Finds a command like the shell.
///
/// # Errors
///
/// Returns a message with the searched places if there is no such command.
pub fn find(command: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, String> {
    let shown = lockyard_support::printable(&command.to_string_lossy());
    if command.is_empty() {
        return Err("the name of the program is empty".to_owned());
    }
    let direct = Path::new(command);
    if direct.components().count() > 1 || direct.is_absolute() {
        return match fs::metadata(direct) {
            Ok(about) if about.is_dir() => Err(format!("{shown} is a directory, not a program")),
            Ok(_) => Ok(direct.to_path_buf()),
            Err(error) => Err(format!("{shown} cannot be run: {error}")),
        };
    }
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let mut candidates = folders.map(|folder| folder.join(direct));
    candidates
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| format!("{shown} is not a command: it is in no directory of PATH"))
}

fn is_executable(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let allowed = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let allowed = true;
    about.is_file() && allowed
}

/// Checks that the locks of a program can be recorded.
///
/// # Errors
///
/// Returns a message with the reason if they cannot.
pub fn check(path: &Path) -> Result<(), String> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_SCRIPTS {
        let shown = lockyard_support::printable(&path.display().to_string()).to_string();
        check_privileges(&path, &shown)?;
        match interpreter(&path).map_err(|error| format!("{shown} cannot be read: {error}"))? {
            Some(next) => path = next,
            None => return check_file(&path, &shown),
        }
    }
    Ok(())
}

/// Returns the program that runs a script.
fn interpreter(path: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut first = [0u8; 256];
    let count = open_regular(path)?.read(&mut first)?;
    let Some(line) = first[..count].strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_whitespace();
    let Some(program) = words.next() else { return Ok(None) };
    // `env` executes the next word.
    let of =
        if program.ends_with("/env") { words.find(|word| !word.starts_with('-')) } else { None };
    let path = std::env::var_os("PATH");
    let found = of.and_then(|name| find(OsStr::new(name), path.as_deref()).ok());
    Ok(Some(found.unwrap_or_else(|| PathBuf::from(program))))
}

/// Refuses a program that runs with more rights than its caller: the loader then ignores
/// `LD_PRELOAD`.
fn check_privileges(path: &Path, shown: &str) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        const SET_USER: u32 = 0o4000;
        const SET_GROUP: u32 = 0o2000;
        let Ok(about) = fs::metadata(path) else { return Ok(()) };
        let Ok(own) = fs::metadata("/proc/self") else { return Ok(()) };
        let gains = (about.mode() & SET_USER != 0 && about.uid() != own.uid())
            || (about.mode() & SET_GROUP != 0 && about.gid() != own.gid());
        if gains {
            return Err(format!(
                "{shown} runs with its owner's rights (set-uid or set-gid), and so the loader \
                 ignores LD_PRELOAD; profile it as its owner"
            ));
        }
    }
    let _ = (path, shown);
    Ok(())
}

fn check_file(path: &Path, shown: &str) -> Result<(), String> {
    let opened = open_regular(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let Some(image) = Image::of(opened, MOST_OF_A_FILE) else { return Ok(()) };
    // A script without a first line is run by the shell.
    let Some(file) = image.object() else { return Ok(()) };
    if file.architecture() != object::Architecture::X86_64 || !file.is_64() {
        return Err(format!("{shown} is not a program for x86-64, which alone can be profiled"));
    }
    let loader = loader(image.source());
    // With cgo a Go program has a loader, and its C code may call lock functions. The locks of its
    // Go code make no such calls.
    if is_go(&file) {
        return Err(format!(
            "{shown} is a Go program: its locks are compiled in, and have no calls that can be \
             interposed, with or without cgo"
        ));
    }
    let Some(loader) = loader else {
        return Err(format!(
            "{shown} is statically linked: it has no calls of a lock that can be interposed; link \
             it dynamically, or record its locks by lockyard-recorded"
        ));
    };
    if !loader.contains("ld-linux") {
        return Err(format!(
            "{shown} runs on the loader {}, and not on the GNU C library, which the preload library \
             needs",
            lockyard_support::printable(&loader)
        ));
    }
    let has = |wanted: &str| {
        let mut symbols = file.dynamic_symbols().chain(file.symbols());
        symbols.any(|symbol| symbol.name().is_ok_and(|name| name == wanted))
    };
    if has("__tsan_init") {
        return Err(format!(
            "{shown} is built with the thread sanitizer, which interposes the same functions; \
             build it without -fsanitize=thread"
        ));
    }
    if has("__asan_init") {
        return Err(format!(
            "{shown} is built with the address sanitizer, which must be loaded before all other \
             libraries; build it without -fsanitize=address"
        ));
    }
    Ok(())
}

/// Returns true for a program that the Go compiler has made. A C program that contains Go code as
/// an archive does not count: the Go compiler records how code was built.
fn is_go<'i>(file: &object::File<'i, Source<'i>>) -> bool {
    const ARCHIVE: &[u8] = b"build\t-buildmode=c-archive\n";
    let has = |name: &str| file.section_by_name(name).is_some();
    let is_archive = file.section_by_name(".go.buildinfo").is_some_and(|section| {
        section.data().is_ok_and(|data| data.windows(ARCHIVE.len()).any(|part| part == ARCHIVE))
    });
    [".note.go.buildid", ".gopclntab", ".go.buildinfo"].into_iter().any(has) && !is_archive
}

/// Returns the loader that a program names.
fn loader<'d>(bytes: impl object::ReadRef<'d>) -> Option<String> {
    use object::elf::{FileHeader64, PT_INTERP};
    use object::read::elf::{FileHeader, ProgramHeader};
    let header = FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let segment = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP)?;
    let text = segment.data(endian, bytes).ok()?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_as_the_shell_finds_it() {
        let path = std::env::var_os("PATH");
        assert!(find(OsStr::new("sh"), path.as_deref()).is_ok());
        let error =
            find(OsStr::new("no-such-command"), path.as_deref()).expect_err("there is none");
        assert_eq!(error, "no-such-command is not a command: it is in no directory of PATH");
        let error = find(OsStr::new(""), path.as_deref()).expect_err("there is none");
        assert_eq!(error, "the name of the program is empty");
        let error = find(OsStr::new("/no/such"), None).expect_err("there is none");
        assert!(error.starts_with("/no/such cannot be run: "), "{error}");
        assert!(
            find(OsStr::new("/tmp"), None).expect_err("a directory").contains("is a directory")
        );
    }

    #[test]
    fn the_loader_of_a_program_is_known() {
        let itself =
            fs::read(std::env::current_exe().expect("it has a path")).expect("it is there");
        if cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
            assert!(loader(&itself[..]).is_some_and(|loader| loader.contains("ld-linux")));
        }
        assert!(loader(&b"no program"[..]).is_none());
    }
}
