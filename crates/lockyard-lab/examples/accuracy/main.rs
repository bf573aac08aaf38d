//! Writes the tables of `docs/evidence/accuracy.md`.
//!
//! ```text
//! cargo run --release -p lockyard-lab --example accuracy [-- [--check] [SECTION...]]
//! ```
//!
//! Each section of the page that a command writes stands between two comments with its name. This
//! program simulates the cells of a section, and replaces the section. Without a name it does so
//! for all sections. With `--check` it changes nothing, and fails if a section of the file is out
//! of date. The figures are the same on every host.
//!
//! | section | contents | file |
//! | --- | --- | --- |
//! | `tables` | errors on published tables | `tables.rs` |
//! | `training` | errors on the tables on which the protocol was fitted | `tables.rs` |
//! | `left-out` | errors on each host's table with a protocol of other hosts | `left_out.rs` |
//! | `coverage` | share of figures within the interval that `predict` prints, by host | `coverage.rs`, `covered.rs`, `unseen.rs` |
//! | `ablation` | errors with each mechanism switched off | `ablation.rs` |

mod ablation;
mod coverage;
mod covered;
mod left_out;
mod shown;
mod tables;
mod unseen;

use std::process::ExitCode;

/// Writes a section, with a number of threads of this host.
type Section = fn(usize) -> String;

/// Sections of the page, with the functions that return their texts.
const SECTIONS: [(&str, Section); 5] = [
    ("tables", tables::published),
    ("training", tables::training),
    ("left-out", left_out::section),
    ("coverage", coverage::section),
    ("ablation", ablation::section),
];

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence/accuracy.md");

/// Returns the page with another text between the comments of a section. Returns `None` if the page
/// does not have both comments.
fn with_section(page: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim()))
}

fn run(check: bool, names: &[String]) -> Result<(), String> {
    let all = SECTIONS.map(|(name, _)| name);
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(format!("there is no section `{unknown}`; there are {}", all.join(", ")));
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut old = Vec::new();
    for (name, text) in SECTIONS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let text = text(jobs);
        // The file is read again each time, so that another section may be written meanwhile.
        let page = std::fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
        let new = with_section(&page, name, &text)
            .ok_or_else(|| format!("{PAGE} has no section `{name}` between two comments"))?;
        let said = match (new == page, check) {
            (true, _) => "current",
            (false, true) => {
                println!("{name}:\n\n{text}");
                old.push(name);
                "out of date"
            }
            (false, false) => {
                std::fs::write(PAGE, new).map_err(|error| format!("{PAGE}: {error}"))?;
                "written"
            }
        };
        eprintln!("{name}: {said}");
    }
    if old.is_empty() { Ok(()) } else { Err(format!("out of date: {}", old.join(", "))) }
}

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let check = names.first().is_some_and(|first| first == "--check");
    if check {
        names.remove(0);
    }
    match run(check, &names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("accuracy: {what}");
            ExitCode::from(if what.starts_with("out of date") { 1 } else { 2 })
        }
    }
}
