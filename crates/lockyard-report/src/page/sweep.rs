//! The page of a sweep: heat maps, lines by parameter, and the rows. All of it comes from the JSON
//! document of the sweep, which the page embeds.

use super::frame::{Frame, charts, contents, framed, sentences};
use super::tables::{Cell, Table};
use crate::charts::{by_parameter, heat_map};
use crate::points::Set;
use crate::text::{escape, nanoseconds, slug};
use lockyard_results::render::figure;
use lockyard_support::count;
use serde_json::Value;

/// Maximum number of pairs of scenario and machine with charts.
const MOST_SETS: usize = 24;

/// Maximum number of lines of the table.
const MOST_LINES: usize = 2000;

/// Returns the page of a sweep, given its JSON document.
pub fn sweep(document: &Value) -> String {
    let title = document["title"].as_str().unwrap_or("Sweep");
    let cells = document["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sets = Set::all(document);
    let (mut sections, mut body, mut id) = (Vec::new(), String::new(), 0);
    for set in sets.iter().take(MOST_SETS) {
        let found: Vec<_> =
            heat_map::charts(set).into_iter().chain(by_parameter::charts(set)).collect();
        if found.is_empty() {
            continue;
        }
        let anchor = slug(&format!("{} {}", set.title, set.unit));
        body.push_str(&format!("<h2 id=\"{anchor}\">{}</h2>\n", escape(&set.title)));
        body.push_str(&charts(&found, &mut id));
        sections.push((anchor, set.title.clone()));
    }
    body.push_str("<h2 id=\"rows\">Rows</h2>\n");
    sections.push(("rows".to_owned(), "Rows".to_owned()));
    body.push_str(&notes(&sets, cells));
    body.push_str(&rows(cells).html());
    let errors = errors(cells);
    if !errors.is_empty() {
        body.push_str("<h2 id=\"errors\">Errors</h2>\n");
        sections.push(("errors".to_owned(), "Errors".to_owned()));
        body.push_str(&sentences(&errors));
    }
    let missing = document["missing"].as_u64().unwrap_or_default();
    let why = |count: u64| format!("{count} of {} cells are missing.", document["count"]);
    framed(&Frame {
        title,
        by: format!(
            "{}, simulated by lockyard {}",
            count(cells.len(), "cell"),
            text(&document["program"])
        ),
        partial: (missing > 0).then(|| why(missing)),
        content: format!("{}{body}", contents(&sections)),
        data: document,
        version: document["program"].as_str(),
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn notes(sets: &[Set], cells: &[Value]) -> String {
    let mut notes = Vec::new();
    if sets.len() > MOST_SETS {
        let more = sets.len() - MOST_SETS;
        notes.push(format!("{more} more pairs of scenario and machine have no charts here."));
    }
    if cells.len() > MOST_LINES {
        let more = cells.len() - MOST_LINES;
        notes.push(format!("{more} more rows are in the embedded document."));
    }
    sentences(&notes)
}

/// Returns the errors of failed cells.
fn errors(cells: &[Value]) -> Vec<String> {
    let one = |cell: &Value| {
        let error = cell["error"].as_str()?;
        Some(format!("{}: {error}", of(&cell["inputs"])))
    };
    cells.iter().filter_map(one).take(100).collect()
}

/// Returns the inputs of a cell in words, without its variant.
fn of(inputs: &Value) -> String {
    let mut words = vec![text(&inputs["scenario"]), text(&inputs["machine"])];
    words.push(count(inputs["threads"].as_u64().unwrap_or_default() as usize, "thread"));
    if !inputs["seed"].is_null() {
        words.push(format!("seed {}", inputs["seed"]));
    }
    let parameters = inputs["parameters"].as_object().into_iter().flatten();
    words.extend(parameters.map(|(name, value)| format!("{name} = {value}")));
    words.join(", ")
}

fn rows(cells: &[Value]) -> Table {
    let mut table = Table {
        caption: "Rows".to_owned(),
        columns: vec![
            ("variant", false),
            ("cell", false),
            ("predicted", true),
            ("unit", false),
            ("fairness (Jain)", true),
            ("wait p50", true),
            ("wait p99", true),
            ("dominating cost", false),
        ],
        fits: false,
        lines: Vec::new(),
    };
    for (index, cell) in cells.iter().enumerate().take(MOST_LINES) {
        let (inputs, row) = (&cell["inputs"], &cell["row"]);
        let number = |at: &str| row.pointer(at).and_then(Value::as_f64);
        let cells = vec![
            Cell::Text(text(&inputs["variant"])),
            Cell::Text(of(inputs)),
            Cell::of(number("/predicted").map(figure), "row/predicted"),
            Cell::Text(text(&row["unit"])),
            Cell::of(
                number("/fairness/jain").map(|jain| format!("{jain:.2}")),
                "row/fairness/jain",
            ),
            Cell::of(number("/waits/p50_ns").map(nanoseconds), "row/waits/p50_ns"),
            Cell::of(number("/waits/p99_ns").map(nanoseconds), "row/waits/p99_ns"),
            Cell::Text(text(&row["dominating_cost"])),
        ];
        table.lines.push((format!("/cells/{index}"), cells));
    }
    table
}
