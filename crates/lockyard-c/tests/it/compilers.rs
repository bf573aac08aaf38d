//! Compilers of C and C++, and programs that they build.

use crate::support::{done, exists, folder, installed, package, run, said};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language, with the compilers that are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C11,
    Cxx17,
}

/// A library: shared or static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Library {
    Shared,
    Static,
}

pub(crate) const LIBRARIES: [Library; 2] = [Library::Shared, Library::Static];

/// A compiler that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiler {
    pub(crate) name: &'static str,
    language: Language,
}

/// Returns the compilers of a language that are there. Says which are not. `cc` is always there,
/// because cargo links with it.
pub(crate) fn compilers(language: Language) -> Vec<Compiler> {
    let names = match language {
        Language::C11 => ["cc", "clang"],
        Language::Cxx17 => ["c++", "clang++"],
    };
    let is_there = |name: &&'static str| {
        let is_there = exists(name);
        if !is_there {
            lockyard_testing::skip!("{name} is not installed");
        }
        is_there
    };
    let found: Vec<_> = names.into_iter().filter(is_there).collect();
    assert!(language == Language::Cxx17 || found.contains(&"cc"), "cargo links with cc");
    found.into_iter().map(|name| Compiler { name, language }).collect()
}

impl Compiler {
    /// Compiles a source to a program in `folder`. The error is what the compiler said.
    pub(crate) fn build(
        self,
        source: &Path,
        folder: &Path,
        library: Library,
        options: &[&str],
    ) -> Result<PathBuf, String> {
        let stem = source.file_stem().expect("a source has a name").to_string_lossy();
        let program = folder.join(format!("{stem}-{}-{library:?}", self.name));
        let mut command = Command::new(self.name);
        command.args(match self.language {
            Language::C11 => ["-std=c11", "-xc"],
            Language::Cxx17 => ["-std=c++17", "-xc++"],
        });
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g", "-pthread"]);
        command.args(["-D_GNU_SOURCE", "-I"]).arg(package().join("tests/c"));
        command.args(options).arg(source).args(["-xnone", "-o"]).arg(&program);
        // As pkg-config says, which a machine may lack. A test compares.
        command.arg("-I").arg(installed().join("include"));
        let lib = installed().join("lib");
        match library {
            Library::Shared => {
                command.arg(format!("-Wl,-rpath,{}", lib.display()));
                command.arg("-L").arg(lib).arg("-llockyard");
            }
            Library::Static => {
                command.arg(lib.join("liblockyard.a")).args(PRIVATE);
            }
        }
        let output = run(&mut command);
        if output.status.success() { Ok(program) } else { Err(said(&output)) }
    }

    /// Returns false, and says so, if programs cannot be built with an option here.
    pub(crate) fn takes(self, option: &str) -> bool {
        let folder = folder(&format!("empty-{}{option}", self.name));
        let empty = folder.join("empty.c");
        std::fs::write(&empty, "int main(void) { return 0; }\n").expect("a source");
        let mut command = Command::new(self.name);
        let output = run(command.args([option, "-o"]).arg(folder.join("empty")).arg(&empty));
        if !output.status.success() {
            let said = said(&output);
            let last = said.lines().last().unwrap_or_default();
            lockyard_testing::skip!("{} {option} does not work: {last}", self.name);
        }
        done(&folder);
        output.status.success()
    }
}

/// Libraries that the static library needs, as `lockyard.pc` has them.
pub(crate) const PRIVATE: [&str; 6] = ["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// Returns the source of a program of the tests.
pub(crate) fn source(name: &str) -> PathBuf {
    package().join("tests/c").join(name)
}
