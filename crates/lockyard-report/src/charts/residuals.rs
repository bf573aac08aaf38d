//! Errors of predictions, `predicted / published - 1`: a mark for each cell, a line for each
//! experiment on a machine.

use crate::fact::Fact;
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::scale::{self, Kind, Scale};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, mark, style, text_width};
use crate::text::percent;
use lockyard_results::row::{Row, Status};

const LINE: f64 = 26.0;

/// Errors of an experiment on a machine: for each row its index, the row itself, and its error.
struct Line<'a> {
    name: String,
    errors: Vec<(usize, &'a Row, f64)>,
}

/// Returns the chart of all errors of a document; `None` if there are fewer than two.
pub(crate) fn chart(rows: &[Row]) -> Option<Chart> {
    let lines = lines(rows);
    let errors = || lines.iter().flat_map(|line| line.errors.iter().map(|&(.., error)| error));
    if errors().count() < 2 {
        return None;
    }
    let mut svg = Svg::default();
    let title = "Errors of the predictions by cell".to_owned();
    svg.text("h", [16.0, 28.0], Anchor::Start, &title);
    let top = 44.0 + key(&mut svg, rows) + 8.0;
    let names = lines.iter().map(|line| text_width(&line.name, 13.0));
    let left = names.fold(80.0, f64::max).min(400.0) + 24.0;
    let (least, most) = (errors().fold(-0.1, f64::min), errors().fold(0.1, f64::max));
    let ticks = scale::ticks(least * 100.0, most * 100.0, 6);
    let ends = [ticks[0], ticks[ticks.len() - 1]];
    let x = Scale::new(Kind::Linear, ends, [left + 10.0, WIDTH - 34.0]);
    let bottom = top + LINE * lines.len() as f64;
    for &tick in &ticks {
        let class = if tick == 0.0 { "axis" } else { "grid" };
        svg.line(class, [x.at(tick), top], [x.at(tick), bottom + 4.0]);
        let label = if tick == 0.0 { "0 %".to_owned() } else { format!("{tick:+.0} %") };
        svg.text("n", [x.at(tick), bottom + 20.0], Anchor::Middle, &label);
    }
    let middle = f64::midpoint(left, WIDTH - 24.0);
    svg.text("n", [middle, bottom + 40.0], Anchor::Middle, "predicted / published - 1");
    for (index, line) in lines.iter().enumerate() {
        let y = top + LINE * (index as f64 + 0.5);
        svg.text("", [left - 8.0, y + 4.5], Anchor::End, &cut(&line.name, 13.0, left - 20.0));
        svg.line("grid", [left, y], [WIDTH - 24.0, y]);
        for &(number, row, error) in &line.errors {
            point(&mut svg, number, row, error, [x.at(error * 100.0), y]);
        }
    }
    let description = format!(
        "Error of each predicted cell that has a published figure, a line for each experiment on a \
         machine: {}.",
        lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>().join("; ")
    );
    Some(svg.chart(title, description, bottom + 54.0))
}

fn lines(rows: &[Row]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(error) = row.error().filter(|error| error.is_finite()) else { continue };
        let name = format!("{}, {}", row.key.experiment, row.key.machine);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.errors.push((index, row, error)),
            None => lines.push(Line { name, errors: vec![(index, row, error)] }),
        }
    }
    lines
}

fn key(svg: &mut Svg, rows: &[Row]) -> f64 {
    let has = |status| rows.iter().any(|row| row.status == status && row.error().is_some());
    let entry = |class: &'static str, series, name: &str| Entry {
        sample: Sample::Mark(mark::Shape::Circle, class),
        class: style::series(series),
        name: name.to_owned(),
    };
    let mut entries = Vec::new();
    if has(Status::Predicted) {
        entries.push(entry("soft", 0, "a predicted cell"));
    }
    if has(Status::Training) {
        entries.push(entry("open", 1, "a cell to which the machine was fitted"));
    }
    legend::draw(svg, &entries, [12.0, 38.0])
}

fn point(svg: &mut Svg, number: usize, row: &Row, error: f64, place: [f64; 2]) {
    let class = match row.status {
        Status::Training => format!("open {}", style::series(1)),
        _ => format!("soft {}", style::series(0)),
    };
    let key = &row.key;
    let tip =
        format!("{}, {}, {}: {}", key.variant, key.threads_in_words(), key.metric, percent(error));
    let path = mark::path(mark::Shape::Circle, place, 4.6);
    svg.path(&class, &path, &Shown::one(Fact::of_row(number, "error", error), tip));
}
