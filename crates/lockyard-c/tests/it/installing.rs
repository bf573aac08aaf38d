//! The installed files: their names, what pkg-config says, exported symbols; the example in Python,
//! and the programs of the documents.

use crate::compilers::{Compiler, Language, Library, PRIVATE, compilers};
use crate::header::exported;
use crate::programs::run_bounded;
use crate::support::{exists, folder, install, installed, package, run, said};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn destdir_is_before_the_paths_and_not_in_the_pc_file() {
    let root = folder("destdir");
    // The `&` has a meaning in sed.
    let output = run(install()
        .args(["--prefix", "/opt/l&y", "--libdir", "/opt/l&y/lib64"])
        .env("DESTDIR", &root));
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("the loader"), "nobody runs programs there: {}", said(&output));
    let lib = root.join("opt/l&y/lib64");
    let link = |name: &str| fs::read_link(lib.join(name)).expect("a link");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(link("liblockyard.so"), Path::new("liblockyard.so.0"));
    assert_eq!(link("liblockyard.so.0").to_str(), Some(&*format!("liblockyard.so.{version}")));
    assert!(
        lib.join("liblockyard.a").is_file() && root.join("opt/l&y/include/lockyard.h").is_file()
    );
    let pc = fs::read_to_string(lib.join("pkgconfig/lockyard.pc")).expect("lockyard.pc");
    for line in [
        "prefix=/opt/l&y",
        "libdir=/opt/l&y/lib64",
        "includedir=/opt/l&y/include",
        &format!("Version: {version}"),
        "Libs: -L\"${libdir}\" -llockyard",
        &format!("Libs.private: {}", PRIVATE.join(" ")),
    ] {
        assert!(pc.lines().any(|there| there == line), "no `{line}` in {pc}");
    }
    assert!(!pc.contains('@') && !pc.contains(&*root.to_string_lossy()), "{pc}");
}

#[test]
fn bad_arguments_get_one_line_and_code_2() {
    for (arguments, message) in [
        (&["--prefix"][..], "install.sh: --prefix: a directory must follow\n"),
        (&["--prefix", "here"], "install.sh: here: a path that begins with / is needed"),
        (&["--prefix", "/a\"b"], "install.sh: /a\"b: lockyard.pc cannot name a path with "),
        (&["--libdir", "/a$b"], "install.sh: /a$b: lockyard.pc cannot name a path with "),
        (&["--includedir", "/a#b"], "install.sh: /a#b: lockyard.pc cannot name a path with "),
        (&["--target"], "install.sh: --target: the name of a target must follow"),
        (&["--fast"], "install.sh: --fast: no such option"),
        (&["--from", "/nowhere"], "install.sh: /nowhere/liblockyard_c.so: no such file\n"),
    ] {
        let output = run(Command::new(package().join("install.sh")).args(arguments));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with(message) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    let help = run(Command::new(package().join("install.sh")).arg("--help"));
    assert!(help.status.success() && said(&help).contains("--debug"));
}

#[test]
fn pkg_config_says_how_to_compile() {
    if !exists("pkg-config") {
        return lockyard_testing::skip!("pkg-config is not installed");
    }
    let prefix = installed().display();
    let ask = |arguments: &[&str]| {
        let path = installed().join("lib/pkgconfig");
        let output = run(Command::new("pkg-config")
            .args(arguments)
            .arg("lockyard")
            .env("PKG_CONFIG_PATH", path));
        assert!(output.status.success(), "{}", said(&output));
        said(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ask(&["--cflags"]), format!("-I{prefix}/include"));
    assert_eq!(ask(&["--libs"]), format!("-L{prefix}/lib -llockyard"));
    let all = PRIVATE.join(" ");
    assert_eq!(ask(&["--static", "--libs"]), format!("-L{prefix}/lib -llockyard {all}"));
}

/// A compiler that is called by a shell with what pkg-config says finds the library.
#[test]
fn a_prefix_with_spaces_works_with_pkg_config() {
    if !exists("pkg-config") {
        return lockyard_testing::skip!("pkg-config is not installed");
    }
    let prefix = folder("spaces").join("a prefix  that's long");
    let output = run(install().arg("--prefix").arg(&prefix));
    assert!(output.status.success(), "{}", said(&output));
    let lib = prefix.join("lib");
    let hint = format!("the loader does not know {}: run ldconfig", lib.display());
    assert!(said(&output).contains(&hint), "{}", said(&output));
    const SCRIPT: &str = "eval cc main.c $(pkg-config --cflags --libs lockyard) -pthread -o a.out";
    let folder = folder("spaces-build");
    let (program, expected) = program_and_output(&package().join("README.md"), "c");
    fs::write(folder.join("main.c"), program).expect("a source");
    let path = prefix.join("lib/pkgconfig");
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT]).current_dir(&folder).env("PKG_CONFIG_PATH", path);
    let output = run(&mut shell);
    assert!(output.status.success(), "{}", said(&output));
    let mut program = Command::new(folder.join("a.out"));
    let output = run(program.env("LD_LIBRARY_PATH", prefix.join("lib")));
    assert_eq!(said(&output), expected);
}

/// The shared library exports the functions of the header, and nothing else.
#[test]
fn exported_symbols_are_those_of_the_header() {
    if !exists("nm") {
        return lockyard_testing::skip!("nm is not installed");
    }
    let library = installed().join("lib/liblockyard.so.0");
    let output = run(Command::new("nm").args(["-D", "--defined-only", "-P"]).arg(&library));
    assert!(output.status.success(), "{}", said(&output));
    let said = said(&output);
    let found: BTreeSet<String> =
        said.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert_eq!(found, exported());
    let output = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(crate::support::said(&output).contains("soname: [liblockyard.so.0]"));
}

#[test]
fn the_example_in_python_counts() {
    if !exists("python3") {
        return lockyard_testing::skip!("python3 is not installed");
    }
    let library = installed().join("lib/liblockyard.so.0");
    let example = package().join("examples/counter.py");
    let output = run(Command::new("python3").arg(example).arg(library));
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, format!("lockyard {}: 4000\n", env!("CARGO_PKG_VERSION")));
}

/// Returns the first block of code of a language in a document, and the block of text after it,
/// without the command that its first line may have.
fn program_and_output(document: &Path, language: &str) -> (String, String) {
    let text = fs::read_to_string(document).expect("a document");
    let fence = format!("```{language}\n");
    let begin = text.find(&fence).unwrap_or_else(|| panic!("no {language}")) + fence.len();
    let rest = &text[begin..];
    let (program, rest) = rest.split_once("```\n").expect("the block ends");
    let after = rest.split_once("```text\n").expect("the output follows").1;
    let output = after.split_once("```").expect("the block ends").0;
    let lines = output.lines().filter(|line| !line.starts_with("cc "));
    (program.to_owned(), lines.map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_programs_of_the_documents_print_what_stands_beside_them() {
    let documents = ["README.md", "../../docs/use/c.md"];
    for (index, document) in documents.into_iter().enumerate() {
        let (program, expected) = program_and_output(&package().join(document), "c");
        let folder = folder(&format!("document-{index}"));
        let file = folder.join("main.c");
        fs::write(&file, program).expect("a source");
        for compiler in compilers(Language::C11) {
            let compiler: Compiler = compiler;
            let program = compiler.build(&file, &folder, Library::Shared, &[]);
            let program = program.unwrap_or_else(|said| panic!("{document}: {said}"));
            let output = run_bounded(&program, &[]);
            assert_eq!(said(&output), expected, "{document} {compiler:?}");
        }
    }
}
