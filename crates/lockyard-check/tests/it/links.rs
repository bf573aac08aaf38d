//! Checks of the documents. Every relative link and anchor has a target, and every page is in the
//! table of contents. The README, the glossary and the changelog's entries respect their maximum
//! lengths. The guide to an own lock shows the code of its example.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum number of words in the README, including sample output, and in its text outside code
/// blocks.
const README_WORDS: usize = 720;
const README_WORDS_OUTSIDE_CODE: usize = 700;
/// Maximum number of pages of evidence, and of their words with tables. A word contains a letter,
/// so bars of tables and bare numbers do not count.
const EVIDENCE_PAGES: usize = 12;
const EVIDENCE_WORDS: usize = 25_000;
/// Maximum number of lines of the glossary.
const GLOSSARY_LINES: usize = 60;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is there")
}

/// Adds the Markdown files below `directory` to `found`, except in build outputs and hidden
/// directories.
fn find_documents(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                find_documents(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// A Markdown file: the anchors of its headings, the targets of its links, and its words outside
/// code blocks.
#[derive(Default)]
struct Document {
    anchors: BTreeSet<String>,
    links: Vec<String>,
    words_outside_code: usize,
}

/// Returns the anchor that GitHub and mdBook give a heading, without the number of a repeated
/// heading.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

impl Document {
    fn read(path: &Path) -> Document {
        Document::parse(&fs::read_to_string(path).expect("it is text"))
    }

    fn parse(text: &str) -> Document {
        let mut document = Document::default();
        let mut heading: Option<String> = None;
        let mut is_code = false;
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor_of(&heading.take().expect("it began"));
                    let times = repeated.entry(anchor.clone()).or_default();
                    let numbered = format!("{anchor}-{times}");
                    document.anchors.insert(if *times == 0 { anchor } else { numbered });
                    *times += 1;
                }
                Event::Start(Tag::CodeBlock(_)) => is_code = true,
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                    if !is_code {
                        document.words_outside_code += words.split_whitespace().count();
                    }
                }
                _ => {}
            }
        }
        document
    }
}

/// Returns `path` without `.` and `..`, or `None` if it leaves the file system's root.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Returns the reason why `link` in the file `from` has no target; `None` if it has one.
fn fault_of(
    link: &str,
    from: &Path,
    root: &Path,
    documents: &BTreeMap<PathBuf, Document>,
) -> Option<&'static str> {
    // Links with a scheme leave the repository. Those with `::` are paths of items, which rustdoc
    // checks.
    if link.contains("://") || link.starts_with("mailto:") || link.contains("::") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => Some(from.to_owned()),
        file => without_dots(&from.parent().expect("a file is in a folder").join(file)),
    };
    let Some(target) = target.filter(|target| target.starts_with(root)) else {
        return Some("is outside of the repository");
    };
    if !target.exists() {
        return Some("is not there");
    }
    if anchor.is_empty() {
        return None;
    }
    match documents.get(&target) {
        None => Some("has an anchor in a file that is no document"),
        Some(document) if document.anchors.contains(anchor) => None,
        Some(_) => Some("has an anchor that is no heading there"),
    }
}

fn all_documents(root: &Path) -> BTreeMap<PathBuf, Document> {
    let mut found = Vec::new();
    find_documents(root, &mut found);
    found.into_iter().map(|path| (path.clone(), Document::read(&path))).collect()
}

#[test]
fn every_relative_link_and_anchor_leads_somewhere() {
    let root = root();
    let documents = all_documents(&root);
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        assert!(documents.contains_key(&root.join(name)), "{name} is not looked at");
    }
    assert!(documents.contains_key(&root.join("crates/lockyard/README.md")));
    let mut faults = Vec::new();
    let mut held = 0;
    for (path, document) in &documents {
        for link in &document.links {
            held += 1;
            if let Some(fault) = fault_of(link, path, &root, &documents) {
                let name = path.strip_prefix(&root).expect("it is below").display();
                faults.push(format!("{name}: `{link}` {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {held} links:\n{}", faults.len(), faults.join("\n"));
    assert!(held > 200, "only {held} links were found");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let root = root();
    let from = root.join("docs/SUMMARY.md");
    let page = root.join("docs/glossary.md");
    let documents = BTreeMap::from([
        (from.clone(), Document::parse("# Here\n\n# Here\n")),
        (page, Document::parse("# `A` word, and *another*\n\n```text\n# no heading\n```\n")),
    ]);
    let fault = |link| fault_of(link, &from, &root, &documents);
    for right in
        ["glossary.md", "#here", "#here-1", "glossary.md#a-word-and-another", "../README.md", "use"]
    {
        assert_eq!(fault(right), None, "{right}");
    }
    assert_eq!(fault("glossaries.md"), Some("is not there"));
    assert_eq!(fault("../../outside.md"), Some("is outside of the repository"));
    assert_eq!(fault("#here-2"), Some("has an anchor that is no heading there"));
    assert_eq!(fault("glossary.md#no-heading"), Some("has an anchor that is no heading there"));
    assert_eq!(fault("../LICENSE-MIT#a"), Some("has an anchor in a file that is no document"));
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let docs = root().join("docs");
    let mut pages = Vec::new();
    find_documents(&docs, &mut pages);
    let summary = docs.join("SUMMARY.md");
    let pages: BTreeSet<PathBuf> = pages.into_iter().filter(|page| *page != summary).collect();
    let mut listed = BTreeSet::new();
    for link in Document::read(&summary).links {
        assert!(listed.insert(docs.join(&link)), "{link} is listed twice");
    }
    let not_listed: Vec<_> = pages.difference(&listed).collect();
    assert!(not_listed.is_empty(), "not in SUMMARY.md: {not_listed:?}");
    let not_there: Vec<_> = listed.difference(&pages).collect();
    assert!(not_there.is_empty(), "in SUMMARY.md only: {not_there:?}");
    let book = fs::read_to_string(docs.join("book.toml")).expect("it is there");
    assert!(book.contains("src = \".\""), "the pages are beside book.toml");
}

/// Two pages of one title, or of one file name, cannot be told apart in the index or in a search.
#[test]
fn no_two_pages_have_one_title_or_one_file_name() {
    let docs = root().join("docs");
    let mut pages = Vec::new();
    find_documents(&docs, &mut pages);
    let mut seen = BTreeMap::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("it is text");
        let title = text.lines().find(|line| line.starts_with("# ")).expect("a page has a title");
        let file = page.file_name().expect("it is a file").to_string_lossy().into_owned();
        for name in [title.to_owned(), file] {
            let other = seen.insert(name.clone(), page.clone());
            assert!(other.is_none(), "{name}: {page:?} and {other:?}");
        }
    }
}

/// The pages of evidence are at most this many, and all of them have at most this many words.
#[test]
fn the_evidence_is_short() {
    let mut pages = Vec::new();
    find_documents(&root().join("docs/evidence"), &mut pages);
    assert!(pages.len() <= EVIDENCE_PAGES, "{} pages of evidence", pages.len());
    let is_word = |word: &&str| word.contains(|c: char| c.is_ascii_alphabetic());
    let read = |page: &PathBuf| fs::read_to_string(page).expect("it is text");
    let count = |page| read(page).split_whitespace().filter(is_word).count();
    let words: usize = pages.iter().map(count).sum();
    assert!(words <= EVIDENCE_WORDS, "{words} words of evidence");
}

/// Returns the lines of the Rust code in a document.
fn rust_lines(text: &str) -> Vec<&str> {
    let mut is_rust = false;
    let inside = |line: &&str| {
        let is_fence = line.starts_with("```");
        is_rust = if is_fence { *line == "```rust" } else { is_rust };
        is_rust && !is_fence && !line.is_empty()
    };
    text.lines().filter(inside).collect()
}

#[test]
fn the_guide_to_a_lock_of_your_own_shows_the_tested_example() {
    let root = root();
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("it is there");
    let files = ["src/lib.rs", "src/main.rs", "tests/check.rs"];
    let example = files.map(|file| read(&format!("examples/own-lock/{file}"))).concat();
    let example: BTreeSet<&str> = example.lines().collect();
    let guide = read("docs/use/your-own-lock.md");
    let shown = rust_lines(&guide);
    assert!(shown.len() > 40, "{} lines are shown", shown.len());
    let stale: Vec<_> = shown.into_iter().filter(|line| !example.contains(line)).collect();
    assert!(stale.is_empty(), "not in the example: {stale:#?}");
}

#[test]
fn the_readme_and_the_glossary_are_short() {
    let root = root();
    let readme = fs::read_to_string(root.join("README.md")).expect("it is there");
    let words = readme.split_whitespace().count();
    assert!(words <= README_WORDS, "the README has {words} words");
    let outside = Document::parse(&readme).words_outside_code;
    assert!(outside <= README_WORDS_OUTSIDE_CODE, "the README has {outside} words beside code");
    for command in ["cargo run --release -- reproduce", "cargo test --workspace"] {
        assert!(readme.contains(command), "the README has no `{command}`");
    }
    let glossary = fs::read_to_string(root.join("docs/glossary.md")).expect("it is there");
    let lines = glossary.lines().count();
    assert!(lines <= GLOSSARY_LINES, "the glossary has {lines} lines");
}

/// Returns the faults of a changelog: a section that is neither an addition, a change nor a fix,
/// and entries that are too long.
fn changelog_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut lines_of_entry = 0;
    for (index, line) in text.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("CHANGELOG.md:{}: {what}", index + 1));
        let is_section = line.starts_with("### ");
        if is_section && !["### Added", "### Changed", "### Fixed"].contains(&line) {
            fault("sections are Added, Changed and Fixed");
        }
        lines_of_entry = match line.get(..2) {
            Some("- ") => 1,
            Some("  ") => lines_of_entry + 1,
            _ => 0,
        };
        if lines_of_entry == 3 {
            fault("an entry has at most two lines");
        }
        if line.chars().count() > 100 {
            fault("a line has at most 100 columns");
        }
    }
    faults
}

#[test]
fn the_changelog_has_three_sections_and_entries_of_two_lines() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("it is there");
    assert!(text.lines().filter(|line| line.starts_with("- ")).count() > 100, "few entries");
    let faults = changelog_faults(&text);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let wrong = format!("### News\n\n- One\n  two\n  three\n- {}\n", "x".repeat(99));
    assert_eq!(changelog_faults(&wrong).len(), 3);
}
