//! Tests of the readers themselves, on made-up files. The readers must find each way to name
//! something, and ignore everything that is not an import.

use super::cycles::{Graph, cycles, way_round};
use super::modules::Tree;
use super::names::{Arrows, arrows};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Writes the files of a made-up crate, and reads them.
fn made_up(name: &str, files: &[(&str, &str)]) -> (Tree, Arrows) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("arrows-{name}"));
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }
    let tree = Tree::read(&folder.join(files[0].0), &folder);
    let crates = BTreeSet::from(["other_crate".to_owned()]);
    let arrows = arrows(&tree, &crates);
    (tree, arrows)
}

fn file_name(tree: &Tree, index: usize) -> String {
    let path = &tree.files[index];
    let name = path.file_name().expect("it has a name").to_string_lossy();
    match name.as_ref() {
        "mod.rs" => format!("{}/mod.rs", path.parent().unwrap().file_name().unwrap().display()),
        name => name.to_owned(),
    }
}

/// Returns the arrows between files, as `a.rs -> b.rs`.
fn between_files(tree: &Tree, arrows: &Arrows) -> Vec<String> {
    let name = |index| file_name(tree, index);
    arrows.files.keys().map(|&(from, to)| format!("{} -> {}", name(from), name(to))).collect()
}

fn found(name: &str, text: &str) -> Vec<String> {
    let (tree, arrows) = made_up(
        name,
        &[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", text),
            ("b.rs", "pub struct B; pub enum E { One } pub fn f() {} pub(crate) use crate::c::C;"),
            ("c.rs", "pub struct C; macro_rules! m { () => {} }"),
            ("d/mod.rs", "mod inner; pub use inner::*; pub(crate) struct D;"),
            ("d/inner.rs", "pub struct I;"),
        ],
    );
    let arrows = between_files(&tree, &arrows);
    arrows.into_iter().filter(|arrow| arrow.starts_with("a.rs")).collect()
}

#[test]
fn each_way_to_name_something_is_an_arrow_to_where_it_comes_from() {
    let b = &["a.rs -> b.rs"][..];
    let c = &["a.rs -> c.rs"][..];
    let inner = &["a.rs -> inner.rs"][..];
    for (index, (text, expected)) in [
        ("use crate::b::B;", b),
        ("use super::b::B as X;", b),
        ("use crate::b::E::One;", b),
        ("use crate::b::E::*;", b),
        ("use crate::{b::{self, f}};", b),
        ("use crate::b; fn g() { b::f() }", b),
        ("use crate::b::*; fn g(_: B) {}", b),
        ("fn g() { use crate::b::f; f() }", b),
        ("fn g() { crate::b::f() }", b),
        ("fn g() { println!(\"{:?}\", super::b::f()) }", b),
        ("mod inline { fn g() { super::super::b::f() } }", b),
        ("fn g(x: u8) { match x { 0..=1 => crate::b::f(), _ => {} } }", b),
        ("impl From<crate::b::B> for u8 {}", b),
        ("macro_rules! n { () => { $crate::b::f() } }", b),
        // Re-exports.
        ("use crate::b::C;", c),
        ("use crate::d::I;", inner),
        ("fn g(_: crate::d::I) {}", inner),
        ("fn g() { m!() }", c),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(found(&format!("names-{index}"), text), expected, "{text}");
    }
}

#[test]
fn what_is_no_import_is_no_arrow() {
    for (index, text) in [
        "mod inline {}",
        "use crate::b;",
        "use std::fmt::Debug;",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)] use crate::b::B;",
        "struct B; fn g(_: B) {}",
        "// crate::b::f()\nfn g() -> &'static str { \"crate::b::f()\" }",
        "fn g(x: X) { x.f(); x.b.f() }",
        "fn g(m: u8) -> bool { m != 1 }",
        "fn h() { f!() }",
        "fn g<'a>() -> impl Iterator<Item = u8> + use<'a> { x } fn h() {}",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(found(&format!("none-{index}"), text), [""; 0], "{text}");
    }
}

#[test]
fn other_crates_and_files_by_path_are_found() {
    let (tree, arrows) = made_up(
        "paths",
        &[
            ("src/lib.rs", "#[path = \"../shared/x.rs\"] mod x; mod y; use other_crate::Thing;"),
            (
                "src/y.rs",
                "const T: &str = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/z.rs\"));",
            ),
            ("shared/x.rs", "fn g() -> other_crate::Thing { include!(\"w.rs\") }"),
        ],
    );
    let from: Vec<String> =
        arrows.crates["other_crate"].iter().map(|&file| file_name(&tree, file)).collect();
    assert_eq!(from, ["lib.rs", "x.rs"]);
    let mut by_path: Vec<String> = tree
        .by_path
        .iter()
        .map(|(from, to)| {
            let to = to.strip_prefix(env!("CARGO_TARGET_TMPDIR")).expect("below it").display();
            format!("{} -> {to}", from.file_name().expect("it has a name").display())
        })
        .collect();
    by_path.sort();
    let expected = [
        "lib.rs -> arrows-paths/shared/x.rs",
        "x.rs -> arrows-paths/shared/w.rs",
        "y.rs -> arrows-paths/z.rs",
    ];
    assert_eq!(by_path, expected);
}

#[test]
fn cycles_are_found_with_a_way_round() {
    let graph: Graph = [(1, vec![2, 4]), (2, vec![3]), (3, vec![1, 2]), (4, vec![5]), (5, vec![])]
        .map(|(from, to)| (from, to.into_iter().collect()))
        .into();
    let found = cycles(&graph);
    assert_eq!(found, [BTreeSet::from([1, 2, 3])]);
    assert_eq!(way_round(&graph, &found[0]), [2, 3, 2]);
    assert!(cycles(&[(1, [2].into()), (2, [3].into())].into()).is_empty());
}
