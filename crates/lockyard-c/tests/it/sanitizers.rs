//! Programs under the sanitizers of the C compiler. These do not see into the library: the header
//! tells the thread sanitizer what the calls order.

use crate::compilers::{Compiler, LIBRARIES, Language, Library, compilers, source};
use crate::programs::run_bounded;
use crate::support::{done, folder, said};
use std::fs;

/// Exit code of a program where the thread sanitizer found something.
const FOUND: i32 = 66;

/// Returns false, and says so, if programs cannot be built or run with a sanitizer here.
fn works(compiler: Compiler, option: &str, test: &str) -> bool {
    let folder = folder(&format!("empty-{test}-{}{option}", compiler.name));
    let empty = folder.join("empty.c");
    fs::write(&empty, "int main(void) { return 0; }\n").expect("a source");
    let failure = match compiler.build(&empty, &folder, Library::Static, &[option]) {
        Err(said) => Some(said),
        Ok(program) => {
            let output = run_bounded(&program, &[]);
            (!output.status.success()).then(|| said(&output))
        }
    };
    done(&folder);
    if let Some(failure) = &failure {
        let last = failure.lines().last().unwrap_or_default();
        lockyard_testing::skip!("{} {option} does not work: {last}", compiler.name);
    }
    failure.is_none()
}

fn is_clean_with(option: &'static str) {
    for (language, names) in [
        (Language::C11, &["torture.c", "tables.c", "semantics.c"][..]),
        (Language::Cxx17, &["wrapped.cc", "tables.c"][..]),
    ] {
        for compiler in
            compilers(language).into_iter().filter(|&found| works(found, option, "clean"))
        {
            for library in LIBRARIES {
                for name in names {
                    let stem = name.split('.').next().expect("a name");
                    let folder = folder(&format!("{stem}-{}-{library:?}{option}", compiler.name));
                    let program = compiler.build(&source(name), &folder, library, &[option]);
                    let program = program.unwrap_or_else(|said| panic!("{compiler:?}: {said}"));
                    let output = run_bounded(&program, &[]);
                    let said = said(&output);
                    let is_clean = output.status.success() && !said.contains("Sanitizer");
                    assert!(is_clean, "{name} {compiler:?} {library:?} {option}: {said}");
                    done(&folder);
                }
            }
        }
    }
}

#[test]
fn the_address_sanitizer_finds_nothing() {
    is_clean_with("-fsanitize=address,undefined");
}

#[test]
fn the_thread_sanitizer_finds_nothing() {
    is_clean_with("-fsanitize=thread");
}

/// Without this, the test above would show nothing.
#[test]
fn the_thread_sanitizer_finds_races_beside_the_locks() {
    const OPTION: &str = "-fsanitize=thread";
    for compiler in
        compilers(Language::C11).into_iter().filter(|&found| works(found, OPTION, "race"))
    {
        let folder = folder(&format!("race-{}", compiler.name));
        let program = compiler.build(&source("race.c"), &folder, Library::Shared, &[OPTION]);
        let program = program.unwrap_or_else(|said| panic!("{compiler:?}: {said}"));
        for (kind, expected) in [
            ("locked", None),
            ("late", Some("data race")),
            ("referenced", Some("data race")),
            ("inverted", Some("lock-order-inversion")),
            ("dropped", None),
        ] {
            let output = run_bounded(&program, &[kind]);
            let said = said(&output);
            match expected {
                None => assert!(output.status.success(), "{kind} {compiler:?}: {said}"),
                Some(what) => {
                    let found = output.status.code() == Some(FOUND) && said.contains(what);
                    assert!(found, "{kind} {compiler:?}: {said}");
                }
            }
        }
    }
}
