//! Programs in C11 and C++17, by each compiler that is there, with both libraries.

use crate::compilers::{Compiler, LIBRARIES, Language, Library, compilers, source};
use crate::support::{done, exists, folder, package, run, said};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a program, which is killed after five minutes.
pub(crate) fn run_bounded(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "300"]).arg(program).args(arguments);
    command.env("TSAN_OPTIONS", "exitcode=66 second_deadlock_stack=1");
    for _ in 0..10 {
        let output = run(&mut command);
        // The thread sanitizer cannot work at every address at which the kernel may put a program.
        if !said(&output).contains("unexpected memory mapping") {
            return output;
        }
    }
    run(&mut command)
}

fn runs(compiler: Compiler, name: &str, library: Library, options: &[&str], prints: &str) {
    let folder = folder(&format!("{name}-{}-{library:?}{}", compiler.name, options.join("")));
    let program = compiler.build(&source(name), &folder, library, options);
    let program = program.unwrap_or_else(|said| panic!("{compiler:?} {library:?}: {said}"));
    let output = run_bounded(&program, &[]);
    let said = said(&output);
    assert!(output.status.success() && said == prints, "{name} {compiler:?} {library:?}: {said}");
    done(&folder);
}

fn runs_everywhere(name: &str, languages: &[Language], prints: &str) {
    for &language in languages {
        for compiler in compilers(language) {
            for library in LIBRARIES {
                runs(compiler, name, library, &[], prints);
            }
        }
    }
}

const BOTH: [Language; 2] = [Language::C11, Language::Cxx17];

const TORTURE: &str = "mutex qspin ticket tas pvqspin pvticket cond\n";
const TABLES: &str = "lockref pageref reclaim stats ids conns bufs\n";
const SEMANTICS: &str = "fork signals exit timeouts\n";

#[test]
fn sizes_and_initialisers_are_those_of_the_library() {
    runs_everywhere("abi.c", &BOTH, "");
}

#[test]
fn locks_exclude_and_lose_nothing() {
    runs_everywhere("torture.c", &BOTH, TORTURE);
}

#[test]
fn counts_reclamation_and_tables_lose_nothing() {
    runs_everywhere("tables.c", &BOTH, TABLES);
}

#[test]
fn forks_signals_ends_of_threads_and_timeouts_are_as_the_header_says() {
    runs_everywhere("semantics.c", &[Language::C11], SEMANTICS);
}

#[test]
fn guards_of_the_standard_library_take_the_mutex() {
    runs_everywhere("wrapped.cc", &[Language::Cxx17], "4000\n");
}

/// A program without any shared library: `cc -static`.
#[test]
fn programs_that_are_linked_statically_as_a_whole_run() {
    for compiler in compilers(Language::C11) {
        for option in ["-static", "-static-pie"] {
            if compiler.takes(option) {
                for (name, prints) in
                    [("torture.c", TORTURE), ("tables.c", TABLES), ("semantics.c", SEMANTICS)]
                {
                    runs(compiler, name, Library::Static, &[option], prints);
                }
            }
        }
    }
}

/// With musl there is a static library only. Its programs run on every Linux.
#[test]
fn programs_of_musl_run() {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    if !cfg!(target_arch = "x86_64") || !exists("musl-gcc") {
        return lockyard_testing::skip!("there is no musl-gcc for this processor");
    }
    let sysroot = run(Command::new("rustc").args(["--print", "sysroot"]).current_dir(package()));
    let target = Path::new(said(&sysroot).trim()).join("lib/rustlib").join(TARGET);
    if !target.is_dir() {
        return lockyard_testing::skip!("the target {TARGET} of Rust is not installed");
    }
    let prefix = folder("musl");
    let mut install = Command::new(package().join("install.sh"));
    install.args(["--debug", "--target", TARGET, "--prefix"]).arg(&prefix);
    // Kept from one run to the next.
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockyard-c-musl");
    install.env("CARGO_TARGET_DIR", built).env_remove("DESTDIR").env_remove("RUSTFLAGS");
    let output = run(&mut install);
    assert!(output.status.success(), "{}", said(&output));
    // As pkg-config says, which a machine may lack.
    let text = std::fs::read_to_string(prefix.join("lib/pkgconfig/lockyard.pc")).expect("it is");
    assert!(text.contains("-L\"${libdir}\" -llockyard -llockyard-unwind\n"), "{text}");
    for (name, prints) in [("torture.c", TORTURE), ("tables.c", TABLES), ("semantics.c", SEMANTICS)]
    {
        let program = prefix.join(name).with_extension("program");
        let mut compiler = Command::new("musl-gcc");
        compiler.args(["-static", "-O1", "-D_GNU_SOURCE", "-I"]).arg(prefix.join("include"));
        compiler.arg(source(name)).arg("-L").arg(prefix.join("lib"));
        compiler.args(["-llockyard", "-llockyard-unwind", "-pthread", "-o"]).arg(&program);
        let output = run(&mut compiler);
        assert!(output.status.success(), "{}", said(&output));
        let output = run_bounded(&program, &[]);
        assert!(output.status.success() && said(&output) == prints, "{name}: {}", said(&output));
    }
    done(&prefix);
}
