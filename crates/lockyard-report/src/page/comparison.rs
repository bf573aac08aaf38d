//! The page of a comparison: totals first, then differences by experiment, then both files.

use super::frame::{Frame, charts, contents, framed, pairs, sentences};
use super::tables::{Cell, Table};
use crate::charts::differences;
use crate::fact::{Fact, attributes};
use crate::text::{escape, percent, slug};
use lockyard_results::compare::comparison::{Compared, Comparison, Mean, Method, Verdict};
use lockyard_results::compare::report;
use lockyard_results::render::{Format, figure};
use serde_json::Value;

/// Returns the page of a comparison. `version` is the version of the command.
pub fn comparison(comparison: &Comparison, version: &str) -> String {
    let json = report::render(comparison, Format::Json);
    // Parsing cannot fail, because the JSON was written just now.
    let data: Value = serde_json::from_str(&json).unwrap_or_default();
    let [(a, environment_a), (b, environment_b)] = &comparison.files;
    let mut sections = vec![("summary".to_owned(), "Summary".to_owned())];
    let (mut body, mut id) = (String::new(), 0);
    for (index, rows) in groups(comparison).iter().enumerate() {
        let title = title(rows[0].1);
        let section = format!("e{}-{}", index + 1, slug(&title));
        body.push_str(&format!("<h2 id=\"{section}\">{}</h2>\n", escape(&title)));
        let chart: Vec<_> =
            differences::chart(&title, rows, comparison.method).into_iter().collect();
        body.push_str(&charts(&chart, &mut id));
        body.push_str(&table(&title, rows).html());
        sections.push((section, title));
    }
    if !comparison.left_out.is_empty() {
        body.push_str("<h2 id=\"left-out\">Not compared</h2>\n");
        let lines = comparison.left_out.iter();
        let lines: Vec<String> = lines
            .map(|(key, reason)| format!("{}, {}: {reason}.", key.cell, key.cell.metric))
            .collect();
        body.push_str(&sentences(&lines));
        sections.push(("left-out".to_owned(), "Not compared".to_owned()));
    }
    body.push_str("<h2 id=\"files\">Files</h2>\n");
    sections.push(("files".to_owned(), "Files".to_owned()));
    for (which, file, environment) in [("A", a, environment_a), ("B", b, environment_b)] {
        body.push_str(&format!("<h3>{which}: {}</h3>\n", escape(file)));
        let entries = environment.iter();
        body.push_str(&pairs(entries.map(|(name, value)| (name.as_str(), value.as_str()))));
    }
    framed(&Frame {
        title: match comparison.method {
            Method::Runs => "Comparison of two results",
            Method::Pairs => "Comparison of two programs",
        },
        by: format!("A: {a}; B: {b}"),
        partial: None,
        content: format!("{}{}{body}", contents(&sections), summary(comparison)),
        data: &data,
        version: Some(version),
    })
}

fn summary(comparison: &Comparison) -> String {
    let mut text = String::from("<h2 id=\"summary\">Summary</h2>\n<ul class=\"lines\">\n");
    let shown = |at: &str, value: f64, text: &str| {
        let facts = attributes(&[Fact { at: at.to_owned(), value }]);
        format!("<b{facts}>{text}</b>")
    };
    let count = |name: &str, count: usize| {
        shown(&format!("/summary/{name}"), count as f64, &count.to_string())
    };
    text.push_str(&format!(
        "<li>Rows: {} faster, {} slower ({} of them beyond the threshold of {}), {} without \
         evidence, {} the same.</li>\n",
        count("faster", comparison.count(Verdict::Faster)),
        count("slower", comparison.count(Verdict::Slower)),
        count("slower_beyond_threshold", comparison.slower_beyond_threshold()),
        shown("/threshold", comparison.options.threshold, &threshold(comparison)),
        count("no_evidence", comparison.count(Verdict::NoEvidence)),
        count("same", comparison.count(Verdict::Same))
    ));
    let line = |mean: &Mean| {
        let at = format!("/geometric_mean/{}", mean.kind.name());
        let ratio =
            |name: &str, value: f64| shown(&format!("{at}/{name}"), value, &format!("{value:.4}"));
        let interval = mean.interval.map(|(low, high)| {
            format!(" ({} .. {})", ratio("ci_low", low), ratio("ci_high", high))
        });
        format!(
            "<li>Speed of B over A, geometric mean of {} {} row{}: {}{}.</li>\n",
            shown(&format!("{at}/rows"), mean.rows as f64, &mean.rows.to_string()),
            mean.kind.name(),
            if mean.rows == 1 { "" } else { "s" },
            ratio("speed", mean.speed),
            interval.unwrap_or_default()
        )
    };
    text.extend(comparison.means.iter().map(line));
    let (only_a, only_b) = comparison.only;
    if only_a + only_b > 0 {
        text.push_str(&format!(
            "<li>Figures only in A: {}; only in B: {}.</li>\n",
            shown("/only_a", only_a as f64, &only_a.to_string()),
            shown("/only_b", only_b as f64, &only_b.to_string())
        ));
    }
    text.push_str("</ul>\n");
    let mut lines = report::explained(comparison);
    lines.extend(comparison.notes.iter().cloned());
    text.push_str(&sentences(&lines));
    text
}

/// Returns the threshold in per cent, without the digits that a binary fraction adds.
fn threshold(comparison: &Comparison) -> String {
    format!("{} %", (comparison.options.threshold * 1e8).round() / 1e6)
}

fn title(row: &Compared) -> String {
    let (cell, table) = (&row.key.cell, &row.key.table);
    let of = if table.is_empty() { String::new() } else { format!(" of {table}") };
    let kind = row.key.kind.name();
    format!("{}{of} on {}: {}, {}, {kind}", cell.experiment, cell.machine, cell.metric, cell.unit)
}

fn groups(comparison: &Comparison) -> Vec<Vec<(usize, &Compared)>> {
    let mut groups: Vec<Vec<(usize, &Compared)>> = Vec::new();
    for (index, row) in comparison.rows.iter().enumerate() {
        match groups.iter_mut().find(|group| title(group[0].1) == title(row)) {
            Some(group) => group.push((index, row)),
            None => groups.push(vec![(index, row)]),
        }
    }
    groups
}

fn table(title: &str, rows: &[(usize, &Compared)]) -> Table {
    let mut table = Table {
        caption: title.to_owned(),
        columns: vec![
            ("variant", false),
            ("threads", true),
            ("A", true),
            ("B", true),
            ("difference", true),
            ("interval", true),
            ("p", true),
            ("verdict", false),
        ],
        fits: false,
        lines: Vec::with_capacity(rows.len()),
    };
    for &(index, row) in rows {
        let cell = &row.key.cell;
        let interval =
            row.interval.map(|(low, high)| format!("{} .. {}", percent(low), percent(high)));
        let p = |p: f64| if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") };
        let beyond = if row.beyond { ", beyond the threshold" } else { "" };
        let cells = vec![
            Cell::Text(cell.variant.clone()),
            Cell::of(cell.threads.map(|threads| threads.to_string()), "threads"),
            Cell::Figure(figure(row.a), "a"),
            Cell::Figure(figure(row.b), "b"),
            Cell::Figure(percent(row.difference), "difference"),
            Cell::of(interval, "ci_low ci_high"),
            Cell::of(row.probability.map(p), "p"),
            Cell::Text(format!("{}{beyond}", row.verdict.name())),
        ];
        table.lines.push((format!("/rows/{index}"), cells));
    }
    table
}
