//! Words that a reader would have to read twice, with their replacements.
//!
//! The table is applied to comments, to the literals of the program, to the documents, and to the
//! subject of the last commit. A finding names its file and line, and the replacement. Names in
//! backticks and code blocks of documents are no prose. (The model is tigerbeetle's `tidy`.)

use lockyard_check::sources::{CODE, prose_of, without_code, workspace};
use regex_lite::Regex;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A phrase, its replacement, and the maximum number of places that still have it. `with` is a text
/// that each match contains in lower case: only files with it are searched.
struct Phrase {
    with: &'static str,
    pattern: &'static str,
    say: &'static str,
    ceiling: usize,
}

const fn phrase(
    with: &'static str,
    pattern: &'static str,
    say: &'static str,
    ceiling: usize,
) -> Phrase {
    Phrase { with, pattern, say, ceiling }
}

/// Phrases. A ceiling only falls: whoever removes some of the places lowers it. A new phrase may
/// begin with a ceiling of the places that it has.
const PHRASES: [Phrase; 15] = [
    phrase("nobody", r"(?i)\bnobody\b", "no thread, no process, or the passive", 0),
    phrase("folder", r"(?i)\bfolders?\b", "directory", 0),
    phrase(
        "\u{2}",
        r"\x02\s*(What|Where|Which|How|When|Whether)\b",
        "a noun or a verb at the start of a doc comment",
        0,
    ),
    phrase("circle", r"(?i)\bcircles?\b", "cycle", 0),
    phrase("room", r"(?i)\brooms\b|\b(a|another) room\b", "module", 0),
    phrase("way", r"(?i)\b(line|grant|request)'s ways?\b|\bways? of (a |the )?lines?\b", "path", 0),
    phrase(
        "number",
        concat!(
            r"(?i)\bnumber\s+of\s+(the|this|that|each)\s+((running|hardware|next)\s+)?",
            r"(thread|cpu|core|node|process|processor|slot|entry|agent|plan|burst|block|turn|phase",
            r"|cell|element|object|page|shard|task|visit|slice|domain|bucket|segment)[\s.,;:)]",
        ),
        "index (of the slot) or id (of the process)",
        0,
    ),
    phrase("work", r"(?i)\bpieces?\s+of\s+work\b", "job", 0),
    phrase("tender", r"(?i)\btenders?\b", "collector", 0),
    phrase("so", r"(?i)\bfor\s+so\s+(long|many)\b", "this long, this many, N, or until", 0),
    phrase("as", r"(?i)\bas\s+\S+\s+(does|do)\s+it\b", "the verb", 0),
    phrase(
        "which",
        r"(?i)\b(by|in|for|with|from)\s+which\b",
        "a participle, or two sentences",
        415,
    ),
    phrase(
        "which",
        r"(?i)\b(at|to|on|of|after|under|through|during|without)\s+which\b",
        "a participle, or two sentences",
        262,
    ),
    phrase("of", r"(?i)\bof\s+(it|them|these)[\s.,;:)]", "the noun", 385),
    phrase("of", r"(?i)\b(that|those)\s+of\b", "the noun", 215),
];

/// Crates whose sources are not held yet.
const NOT_YET: [(&str, &str); 3] = [
    ("crates/lockyard-preload/", "signals, semaphores and barriers are being added"),
    ("crates/lockyard-recording/", "signals, semaphores and barriers are being added"),
    ("crates/lockyard-predict/", "signals, semaphores and barriers are being added"),
];

/// A place with a phrase.
struct Finding {
    file: String,
    line: usize,
    text: String,
}

/// Returns the places of `pattern` in the prose of a file.
fn findings(pattern: &Regex, file: &str, prose: &str) -> Vec<Finding> {
    let finding = |found: regex_lite::Match<'_>| Finding {
        file: file.to_owned(),
        line: prose[..found.start()].matches('\n').count() + 1,
        text: found.as_str().split_whitespace().collect::<Vec<_>>().join(" "),
    };
    pattern.find_iter(prose).map(finding).collect()
}

/// Returns prose with one space or [`CODE`] for several. Lines keep their numbers.
fn without_repetition(prose: &str) -> String {
    let mut short = String::with_capacity(prose.len());
    for each in prose.chars() {
        let repeats = match each {
            ' ' => short.ends_with([' ', CODE]),
            CODE => short.ends_with(CODE),
            _ => false,
        };
        if !repeats {
            short.push(each);
        }
    }
    short
}

/// Returns the prose of a document: its text outside code blocks, words in backticks and targets of
/// links.
fn prose_of_document(text: &str) -> String {
    let mut is_code = false;
    let line = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { CODE.to_string() } else { line.to_owned() }
    };
    let kept: Vec<String> = text.lines().map(line).collect();
    let kept = without_code(&kept.join("\n"), '`', '`');
    Regex::new(r"\]\([^)\s]*\)").expect("it is a pattern").replace_all(&kept, "]").into_owned()
}

/// Adds the files below `directory` that have prose, by paths from the root, with their prose.
fn add_prose(root: &Path, directory: &Path, prose: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let from_root = path.strip_prefix(root).expect("it lies below the root");
        let file = from_root.to_string_lossy().replace('\\', "/");
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                add_prose(root, &path, prose);
            }
        } else if !NOT_YET.iter().any(|(without, _)| file.starts_with(without)) {
            let text = || fs::read_to_string(&path).expect("it is text");
            if name.ends_with(".rs") {
                let strings = file.contains("/src/") && !file.contains("/tests/");
                prose.push((file, without_repetition(&prose_of(&text(), strings))));
            } else if name.ends_with(".md") {
                prose.push((file, prose_of_document(&text())));
            }
        }
    }
}

/// Returns the subject of the last commit, if the sources are a checkout.
fn last_subject() -> Option<String> {
    let mut git = Command::new("git");
    let output = git.args(["log", "-1", "--format=%s"]).current_dir(workspace()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn what_people_read_has_no_word_of_the_table() {
    let root = workspace().canonicalize().expect("the workspace is there");
    let mut prose = Vec::new();
    add_prose(&root, &root, &mut prose);
    prose.retain(|(file, _)| file != "crates/lockyard-check/tests/rules/words.rs");
    prose.sort();
    prose.extend(last_subject().map(|subject| ("subject of the last commit".to_owned(), subject)));
    assert!(prose.len() > 800, "only {} files were found", prose.len());
    let mut faults = Vec::new();
    for Phrase { with, pattern, say, ceiling } in PHRASES {
        let regex = Regex::new(pattern).expect("it is a pattern");
        let searched = prose.iter().filter(|(_, prose)| prose.to_lowercase().contains(with));
        let places = searched.flat_map(|(file, prose)| findings(&regex, file, prose));
        let places: Vec<Finding> = places.collect();
        println!("{} of at most {ceiling}: {pattern}", places.len());
        if places.len() > ceiling {
            let list = |each: &Finding| format!("{}:{}: \"{}\"", each.file, each.line, each.text);
            let list: Vec<String> = places.iter().map(list).collect();
            let head = format!("{} places, at most {ceiling}; say {say}:", places.len());
            faults.push(format!("{head}\n{}", list.join("\n")));
        } else if places.len() < ceiling - ceiling / 5 {
            faults.push(format!("{pattern}: lower its ceiling to {}", places.len()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Checks that the test above searches correctly: each pattern finds its phrase in a comment, a
/// literal and a document, with the line.
#[test]
fn a_phrase_is_found_wherever_people_read() {
    let rust = "fn one() {\n    // It waits for\n    // nobody.\n    two(\"nobody\");\n}\n";
    let regex = Regex::new(PHRASES[0].pattern).expect("it is a pattern");
    let lines = |prose: &str| -> Vec<usize> {
        findings(&regex, "file", prose).iter().map(|finding| finding.line).collect()
    };
    assert_eq!(lines(&prose_of(rust, true)), [3, 4]);
    assert_eq!(lines(&prose_of(rust, false)), [3]);
    let document = "Nobody\n`nobody`\n```text\nnobody\n```\n[it](nobody.md)\n| nobody |\n";
    assert_eq!(lines(&prose_of_document(document)), [1, 7]);
    let examples = [
        "sees nobody ",
        "a folder ",
        "\u{2} What it is ",
        "a circle of files ",
        "the rooms ",
        "the line's way ",
        "Number of the thread. ",
        "a piece\n of work ",
        "the tender ",
        "for so long ",
        "as glibc does it ",
        "in which ",
        "to which ",
        "of them ",
        "that of ",
    ];
    for (phrase, example) in PHRASES.iter().zip(examples) {
        let regex = Regex::new(phrase.pattern).expect("it is a pattern");
        assert_eq!(findings(&regex, "file", example).len(), 1, "{}", phrase.pattern);
        assert!(example.to_lowercase().contains(phrase.with), "{}", phrase.pattern);
    }
}
