//! Waits: percentiles of each cell, drawn on top of the distribution if that was recorded.

use crate::fact::Fact;
use crate::group::Group;
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::mark::Shape;
use crate::svg::scale::{self, Kind, Scale};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, mark, style, text_width};
use crate::text::nanoseconds;
use lockyard_results::fairness::{TOO_FEW_WAITS, Waits};
use lockyard_results::histogram::Bucket;
use lockyard_results::row::Row;

/// Height of a line, without and with a distribution.
const LINES: [f64; 2] = [24.0, 44.0];

const HEADING: f64 = 26.0;

/// A percentile: its name, its member of the document, its mark.
struct Percentile {
    name: &'static str,
    member: &'static str,
    shape: Shape,
}

const fn percentile(name: &'static str, member: &'static str, shape: Shape) -> Percentile {
    Percentile { name, member, shape }
}

const PERCENTILES: [Percentile; 5] = [
    percentile("median", "p50_ns", Shape::Circle),
    percentile("90 %", "p90_ns", Shape::Diamond),
    percentile("99 %", "p99_ns", Shape::Square),
    percentile("99.9 %", "p999_ns", Shape::Up),
    percentile("longest", "maximum_ns", Shape::Bar),
];

/// Waits of a row from one source.
struct Line<'a> {
    row: usize,
    name: String,
    source: &'static str,
    waits: Waits,
    buckets: &'a [Bucket],
}

impl Line<'_> {
    fn height(&self) -> f64 {
        LINES[usize::from(!self.buckets.is_empty())]
    }

    /// Returns the percentiles that rest on enough waits, and the longest wait.
    fn values(&self) -> Vec<(&'static Percentile, f64)> {
        let w = &self.waits;
        let values = [w.p50, w.p90, w.p99, w.p999, Some(w.maximum)];
        let known = PERCENTILES.iter().zip(values);
        known.filter_map(|(of, ns)| Some((of, ns? as f64))).collect()
    }
}

fn lines<'a>(index: usize, row: &'a Row) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let name = row.key.threads_in_words();
    if let Some(waits) = row.details.simulated.as_ref().and_then(|simulated| simulated.waits) {
        let name = name.clone();
        lines.push(Line { row: index, name, source: "simulated", waits, buckets: &[] });
    }
    let measured = row.details.measured.as_ref();
    if let Some((measured, waits)) = measured.and_then(|found| Some((found, found.waits?))) {
        let buckets = &measured.wait_histogram_ns;
        lines.push(Line { row: index, name, source: "measured", waits, buckets });
    }
    let several = lines.len() > 1;
    lines.iter_mut().filter(|_| several).for_each(|line| {
        line.name = format!("{}, {}", line.name, line.source);
    });
    lines
}

/// Returns the chart of a group; `None` if no row has a wait above zero.
pub(crate) fn chart(group: &Group) -> Option<Chart> {
    let blocks: Vec<(&str, Vec<Line>)> = group
        .variants()
        .into_iter()
        .map(|variant| {
            let rows = group.of_variant(variant);
            (variant, rows.into_iter().flat_map(|(index, row)| lines(index, row)).collect())
        })
        .filter(|(_, lines): &(_, Vec<Line>)| !lines.is_empty())
        .collect();
    let all = || blocks.iter().flat_map(|(_, lines)| lines);
    let most = all().map(|line| line.waits.maximum).max().filter(|&most| most > 0)? as f64;
    let of_line = |line: &Line| {
        let buckets = line.buckets.first().map(|bucket| bucket.from as f64);
        line.values().into_iter().map(|(_, ns)| ns).chain(buckets).fold(most, f64::min)
    };
    let least = all().map(of_line).fold(most, f64::min).max(1.0);
    let mut svg = Svg::default();
    let [experiment, machine, ..] = group.names();
    let title = format!("{experiment} on {machine}: waits");
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let shown: Vec<&Percentile> = all().flat_map(|line| line.values()).map(|(of, _)| of).collect();
    let has_buckets = all().any(|line| !line.buckets.is_empty());
    let top = 44.0 + key(&mut svg, &shown, has_buckets) + 4.0;
    let widest = all().map(|line| text_width(&line.name, 13.0)).fold(60.0, f64::max);
    let left = widest.min(230.0) + 24.0;
    let ticks = scale::powers(least, most);
    let ends = [ticks[0], ticks[ticks.len() - 1]];
    let x = Scale::new(Kind::Logarithmic, ends, [left + 10.0, WIDTH - 34.0]);
    let height: f64 = all().map(Line::height).sum::<f64>() + HEADING * blocks.len() as f64;
    for &tick in &ticks {
        svg.line("grid", [x.at(tick), top], [x.at(tick), top + height + 4.0]);
        let label = nanoseconds(tick);
        svg.text("n", [x.at(tick), top + height + 20.0], Anchor::Middle, &label);
    }
    let mut y = top;
    for (index, (variant, lines)) in blocks.iter().enumerate() {
        let heading = cut(variant, 13.0, WIDTH - 40.0);
        let width = text_width(&heading, 13.0) + 8.0;
        svg.rectangle("bg", [8.0, y + 3.0], [width, HEADING - 6.0], &Shown::default());
        svg.text("b", [12.0, y + 18.0], Anchor::Start, &heading);
        y += HEADING;
        for line in lines {
            y += line.height();
            draw(&mut svg, line, &format!("{variant}, "), index, &x, y - 12.0, left);
        }
    }
    Some(svg.chart(title, description(has_buckets), top + height + 34.0))
}

fn description(has_buckets: bool) -> String {
    let below = if has_buckets { " Above the marks: a histogram of the waits." } else { "" };
    format!(
        "Percentiles of the waits for locks and references, a line for each variant and number of \
         threads. {TOO_FEW_WAITS}{below}"
    )
}

fn key(svg: &mut Svg, shown: &[&Percentile], has_buckets: bool) -> f64 {
    let is_shown = |of: &&Percentile| shown.iter().any(|other| other.name == of.name);
    let entry = |of: &Percentile| Entry {
        sample: Sample::Mark(of.shape, "pt"),
        class: "q".to_owned(),
        name: of.name.to_owned(),
    };
    let mut entries: Vec<Entry> = PERCENTILES.iter().filter(is_shown).map(entry).collect();
    if has_buckets {
        let name = "distribution".to_owned();
        entries.push(Entry { sample: Sample::Band, class: "q".to_owned(), name });
    }
    legend::draw(svg, &entries, [12.0, 38.0])
}

/// Draws a line: the distribution, and the percentiles on a stroke at height `y`.
fn draw(svg: &mut Svg, line: &Line, of: &str, series: usize, x: &Scale, y: f64, left: f64) {
    let class = style::series(series);
    svg.text("", [left - 8.0, y + 4.5], Anchor::End, &cut(&line.name, 13.0, left - 20.0));
    let most = line.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(1) as f64;
    for (index, bucket) in line.buckets.iter().enumerate() {
        let (from, to) = (x.at(bucket.from.max(1) as f64), x.at(bucket.to.max(2) as f64));
        let height = (bucket.count as f64 / most * 25.0).max(1.0);
        let at = format!("detail/measured/wait_histogram_ns/{index}/2");
        let tip = format!(
            "{of}{}: {} from {} to {}",
            line.name,
            lockyard_support::count(bucket.count as usize, "wait"),
            nanoseconds(bucket.from as f64),
            nanoseconds(bucket.to as f64)
        );
        let shown = Shown::one(Fact::of_row(line.row, &at, bucket.count as f64), tip);
        let size = [(to - from).max(0.5), height];
        svg.rectangle(&format!("soft {class}"), [from, y - 5.0 - height], size, &shown);
    }
    let values = line.values();
    let at = |ns: f64| x.at(ns.max(1.0));
    if let (Some(&(_, first)), Some(&(_, last))) = (values.first(), values.last()) {
        svg.line(&format!("thin {class}"), [at(first), y], [at(last), y]);
    }
    for (percentile, ns) in values {
        let member = format!("detail/{}/waits/{}", line.source, percentile.member);
        let tip = format!("{of}{}: {} {}", line.name, percentile.name, nanoseconds(ns));
        let shown = Shown::one(Fact::of_row(line.row, &member, ns), tip);
        let path = mark::path(percentile.shape, [at(ns), y], 4.6);
        svg.path(&format!("pt {class}"), &path, &shown);
    }
}
