//! The header is made from the Rust sources, and is current. `LOCKYARD_BLESS=1` writes it anew.

use crate::support::package;
use std::collections::BTreeSet;
use std::fs;

/// The files of the interface, in the order of the header.
const FILES: [&str; 17] = [
    "version", "mutex", "cond", "qspin", "ticket", "tas", "pvqspin", "pvticket", "lockref",
    "pageref", "reclaim", "stats", "value", "ids", "conns", "bufs", "hook",
];

fn part(name: &str) -> String {
    fs::read_to_string(package().join("header").join(name)).expect("a part of the header")
}

fn config() -> cbindgen::Config {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(part("begin.h").trim_end().to_owned()),
        include_guard: Some("LOCKYARD_H".to_owned()),
        after_includes: Some(part("types.h").replace("@VERSION@", env!("CARGO_PKG_VERSION"))),
        cpp_compat: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        no_includes: true,
        usize_is_size_t: true,
        line_length: 100,
        tab_width: 4,
        style: cbindgen::Style::Both,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        ..cbindgen::Config::default()
    };
    config.function.must_use = Some("LY_MUST_USE".to_owned());
    config.function.postfix = Some("LY_NOEXCEPT".to_owned());
    config
}

/// Makes the header.
fn header() -> String {
    let builder = FILES.iter().fold(cbindgen::Builder::new().with_config(config()), |all, file| {
        all.with_src(package().join(format!("src/{file}.rs")))
    });
    let mut bytes = Vec::new();
    builder.generate().expect("cbindgen reads the sources").write(&mut bytes);
    let text = String::from_utf8(bytes).expect("it is text");
    // Safety is a section of Rust's documentation. In C it is a sentence.
    let text = text.replace(" * # Safety\n *\n * ", " * Requires: ");
    // The last part is within the guard.
    let guard = "#endif  /* LOCKYARD_H */";
    assert_eq!(text.matches(guard).count(), 1, "the guard ends once");
    let text = text.replace(guard, &format!("{}\n{guard}", part("end.h")));
    let lines = text.lines().map(str::trim_end).map(parenthesised);
    let lines = lines.flat_map(|line| wrapped(&line)).collect::<Vec<_>>();
    format!("{}\n", lines.join("\n"))
}

/// Returns a line with parentheses around its number, if it defines a negative one.
fn parenthesised(line: &str) -> String {
    match line.rsplit_once(' ') {
        Some((name, number)) if name.starts_with("#define") && number.starts_with('-') => {
            format!("{name} ({number})")
        }
        _ => line.to_owned(),
    }
}

/// Number of columns of the header.
const COLUMNS: usize = 100;

/// Returns a line as one or several, if it is one of a comment and too long.
fn wrapped(line: &str) -> Vec<String> {
    const START: &str = " * ";
    let Some(text) = line.strip_prefix(START).filter(|_| line.len() > COLUMNS) else {
        return vec![line.to_owned()];
    };
    let mut lines = vec![START.trim_end().to_owned()];
    for word in text.split(' ') {
        if lines.last().is_some_and(|last| last.len() + 1 + word.len() > COLUMNS) {
            lines.push(START.trim_end().to_owned());
        }
        let last = lines.last_mut().expect("there is one");
        last.push(' ');
        last.push_str(word);
    }
    lines
}

#[test]
fn the_header_is_current() {
    let path = package().join("include/lockyard.h");
    let made = header();
    if std::env::var_os("LOCKYARD_BLESS").is_some() {
        return fs::write(&path, &made).expect("it can be written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let line = made.lines().zip(there.lines()).position(|(made, there)| made != there);
    assert!(
        made == there,
        "include/lockyard.h is not current from line {:?} on: \
         LOCKYARD_BLESS=1 cargo test -p lockyard-c --test it header",
        line.map_or_else(|| made.lines().count().min(there.lines().count()) + 1, |line| line + 1)
    );
}

/// Returns the names of all functions that the sources export.
pub(crate) fn exported() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in FILES {
        let source = fs::read_to_string(package().join(format!("src/{file}.rs"))).expect("a file");
        let parts = source.split("#[unsafe(no_mangle)]").skip(1);
        names.extend(parts.map(|part| {
            let rest = part.split("extern \"C\" fn ").nth(1).expect("a function of C");
            rest.split('(').next().expect("a name").to_owned()
        }));
    }
    names
}

#[test]
fn each_function_is_in_the_header_with_its_cost_and_what_it_requires() {
    let header = fs::read_to_string(package().join("include/lockyard.h")).expect("it is there");
    let exported = exported();
    assert!(exported.len() > 100, "{} functions were found", exported.len());
    for name in &exported {
        let place = header.find(&format!("{name}(")).unwrap_or_else(|| panic!("no {name}"));
        let comment = &header[..place];
        let comment = &comment[comment.rfind("/*").expect("a comment")..];
        let comment = comment.split_whitespace().filter(|word| *word != "*").collect::<Vec<_>>();
        let comment = comment.join(" ");
        let says = |word: &str| comment.contains(word);
        assert_eq!(comment.matches("*/").count(), 1, "{name} has no comment of its own");
        let has_cost = ["Cost", "As `", "Frees", "Never fails"].into_iter().any(says);
        assert!(has_cost, "{name} does not say what it costs: {comment}");
        let takes_nothing = header[place..].starts_with(&format!("{name}(void)"));
        assert!(says("Requires: ") || takes_nothing, "{name}: {comment}");
        assert!(!says("[`") && !says("Safety"), "{name}: links of Rust mean nothing in C");
    }
}
