//! Differences of a comparison, with their intervals and the threshold.

use crate::fact::Fact;
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::scale::{self, Kind, Scale};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, mark, style, text_width};
use crate::text::percent;
use lockyard_results::compare::comparison::{Compared, Method, Verdict};

const LINE: f64 = 24.0;

/// Largest difference that is drawn to scale. Larger ones are drawn at the edge.
const EDGE: f64 = 1.5;

/// Returns the chart of rows, by their numbers in the comparison; `None` without a row.
pub(crate) fn chart(title: &str, rows: &[(usize, &Compared)], method: Method) -> Option<Chart> {
    let ends = |row: &Compared| {
        let (low, high) = row.interval.unwrap_or((row.difference, row.difference));
        [row.difference.min(low), row.difference.max(high)].map(|end| end.clamp(-EDGE, EDGE))
    };
    rows.first()?;
    let least = rows.iter().map(|(_, row)| ends(row)[0]).fold(-0.05, f64::min);
    let most = rows.iter().map(|(_, row)| ends(row)[1]).fold(0.05, f64::max);
    let mut svg = Svg::default();
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(title, 17.0, WIDTH - 32.0));
    let top = 44.0 + key(&mut svg, rows) + 8.0;
    let names: Vec<String> = rows.iter().map(|(_, row)| name(row)).collect();
    let widest = names.iter().map(|name| text_width(name, 13.0)).fold(80.0, f64::max);
    let left = widest.min(310.0) + 24.0;
    let ticks = scale::ticks(least * 100.0, most * 100.0, 6);
    let x =
        Scale::new(Kind::Linear, [ticks[0], ticks[ticks.len() - 1]], [left + 10.0, WIDTH - 34.0]);
    let bottom = top + LINE * rows.len() as f64;
    for &tick in &ticks {
        let class = if tick == 0.0 { "axis" } else { "grid" };
        svg.line(class, [x.at(tick), top], [x.at(tick), bottom + 4.0]);
        let label = match tick {
            0.0 => "0 %".to_owned(),
            _ => format!("{} %", signed(tick, &ticks)),
        };
        svg.text("n", [x.at(tick), bottom + 20.0], Anchor::Middle, &label);
    }
    let [axis, described] = wording(method);
    svg.text("n", [f64::midpoint(left, WIDTH - 24.0), bottom + 40.0], Anchor::Middle, axis);
    for (index, (&(number, row), name)) in rows.iter().zip(&names).enumerate() {
        let y = top + LINE * (index as f64 + 0.5);
        svg.text("", [left - 8.0, y + 4.5], Anchor::End, &cut(name, 13.0, left - 20.0));
        let [low, high] = ends(row).map(|end| x.at(end * 100.0));
        let class = style::series(series(row.verdict));
        if high - low > 0.1 {
            svg.line(&format!("thin {class}"), [low, y], [high, y]);
        }
        let at = x.at(row.difference.clamp(-EDGE, EDGE) * 100.0);
        let tip = format!("{name}: {}, {}", percent(row.difference), row.verdict.name());
        let shown = Shown { facts: facts(number, row), tip };
        svg.path(&format!("pt {class}"), &mark::path(shape(row.verdict), [at, y], 5.0), &shown);
    }
    let description = format!(
        "{title}: {described} in per cent for each row, with its interval where there are \
         enough rounds. The table below has every figure."
    );
    Some(svg.chart(title.to_owned(), description, bottom + 54.0))
}

/// Returns the label of the axis, and its meaning in words.
fn wording(method: Method) -> [&'static str; 2] {
    match method {
        Method::Runs => ["B / A - 1", "difference of B to A"],
        Method::Pairs => {
            ["B / A - 1 within a round, centre", "centre of the difference within a round,"]
        }
    }
}

fn signed(tick: f64, ticks: &[f64]) -> String {
    let text = scale::label(tick, ticks);
    if tick > 0.0 { format!("+{text}") } else { text }
}

fn name(row: &Compared) -> String {
    format!("{}, {}", row.key.cell.variant, row.key.cell.threads_in_words())
}

fn facts(number: usize, row: &Compared) -> Vec<Fact> {
    let mut facts = vec![Fact::of_row(number, "difference", row.difference)];
    if let Some((low, high)) = row.interval {
        facts.push(Fact::of_row(number, "ci_low", low));
        facts.push(Fact::of_row(number, "ci_high", high));
    }
    facts
}

fn series(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Faster => 2,
        Verdict::Slower => 1,
        Verdict::NoEvidence | Verdict::Same => 7,
    }
}

fn shape(verdict: Verdict) -> mark::Shape {
    match verdict {
        Verdict::Faster => mark::Shape::Circle,
        Verdict::Slower => mark::Shape::Diamond,
        Verdict::NoEvidence => mark::Shape::Square,
        Verdict::Same => mark::Shape::Hexagon,
    }
}

fn key(svg: &mut Svg, rows: &[(usize, &Compared)]) -> f64 {
    let verdicts = [Verdict::Faster, Verdict::Slower, Verdict::NoEvidence, Verdict::Same];
    let is_there = |verdict: &Verdict| rows.iter().any(|(_, row)| row.verdict == *verdict);
    let entry = |verdict: Verdict| Entry {
        sample: Sample::Mark(shape(verdict), "pt"),
        class: style::series(series(verdict)),
        name: match verdict {
            Verdict::Faster => "B is faster".to_owned(),
            Verdict::Slower => "B is slower".to_owned(),
            other => other.name().to_owned(),
        },
    };
    let entries: Vec<Entry> = verdicts.into_iter().filter(is_there).map(entry).collect();
    legend::draw(svg, &entries, [12.0, 38.0])
}
