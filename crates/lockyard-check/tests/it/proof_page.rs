//! The table of model checks in `docs/evidence/proof.md`, made from the checks themselves.
//!
//! `LOCKYARD_BLESS=1 cargo test -p lockyard-check --test it proof_page` writes it again.

use lockyard_check::mutation::suites;
use lockyard_check::soak::{BackEnd, draw, subjects};
use lockyard_check::sources::workspace;
use std::fmt::Write;
use std::fs;

/// Number of threads of a check, by its name: a list of operations, and bounds.
fn threads(name: &str) -> usize {
    let list = name.split(']').next().unwrap_or_default();
    let inside = list.split('[').nth(1).unwrap_or_default();
    inside.split(", ").filter(|op| !op.is_empty()).count()
}

/// The bounds of a check, by its name.
fn bounds(name: &str) -> &str {
    name.split("], ").nth(1).unwrap_or_default()
}

/// Returns the table of the model checks.
fn models() -> String {
    let mut table =
        "| primitive | model checks | no bound on preemptions | most threads, with bounds \
                     |\n| --- | ---: | ---: | --- |\n"
            .to_owned();
    for suite in suites::all() {
        let names: Vec<&str> = suite.checks.iter().map(|check| check.name.as_str()).collect();
        let most = names.iter().map(|name| threads(name)).max().unwrap_or(0);
        let largest = names.iter().filter(|name| threads(name) == most);
        let mut all: Vec<&str> = largest.map(|name| bounds(name)).collect();
        all.sort_unstable();
        all.dedup();
        let unbounded = names.iter().filter(|name| bounds(name).starts_with("no bound")).count();
        let (number, bounds) = (names.len(), all.join("; "));
        writeln!(table, "| {} | {number} | {unbounded} | {most}: {bounds} |", suite.name)
            .expect("it is a string");
    }
    table
}

/// Returns the table of the soak's primitives: which back-ends a seed can choose.
fn programs() -> String {
    let plans: Vec<_> = (0..20_000).map(|seed| draw(seed, "")).collect();
    let mut table =
        "| primitive | operations | native | simulated | model |\n| --- | ---: | --- | --- | --- |\n"
            .to_owned();
    for (index, subject) in subjects().iter().enumerate() {
        let most = |back_end| {
            let of = plans.iter().filter(|p| (p.subject, p.back_end) == (index, back_end));
            let most = of.map(|plan| plan.ops.len()).max();
            most.map_or("none".to_owned(), |threads| format!("to {threads} threads"))
        };
        let cells = [BackEnd::Native, BackEnd::Simulated, BackEnd::Model].map(most).join(" | ");
        writeln!(table, "| {} | {} | {cells} |", subject.name, subject.ops.len())
            .expect("it is a string");
    }
    table
}

#[test]
fn the_tables_of_the_page_are_those_of_the_checks() {
    let path = workspace().join("docs/evidence/proof.md");
    let mut page = fs::read_to_string(&path).expect("it is committed");
    for (name, table) in [("models", models()), ("programs", programs())] {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
        let from = page.find(&begin).expect("the page has the mark") + begin.len();
        let to = page.find(&end).expect("the page has the mark");
        let made = format!("\n{table}\n");
        if std::env::var_os("LOCKYARD_BLESS").is_some() {
            page.replace_range(from..to, &made);
            fs::write(&path, &page).expect("the page can be written");
        } else {
            assert_eq!(&page[from..to], made, "write the page again: see {}", file!());
        }
    }
}
