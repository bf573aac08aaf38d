//! Figures by number of threads: published figures as points, predicted ones as lines, measured
//! ones with their intervals.

use super::axes::{AREA, Axes};
use crate::fact::Fact;
use crate::group::Group;
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::scale::{Scale, Unit};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, mark, number, style, text_width};
use crate::text::percent;
use lockyard_results::render::figure;
use lockyard_results::row::{Row, Status};

/// Horizontal distance between the measured points of two variants, so that their intervals do not
/// hide each other.
const MEASURED_APART: f64 = 6.0;

/// End of a chart's description on a page. A picture alone has no table.
pub(crate) const SEE_TABLE: &str = " The table below has every figure.";

/// Returns the chart of a group; `None` without figures at two numbers of threads.
pub(crate) fn chart(group: &Group) -> Option<Chart> {
    let counts = thread_counts(group);
    if group.has_metrics() || counts.len() < 2 {
        return None;
    }
    // A chart with only published figures would show none of our results.
    group.rows.iter().find(|(_, row)| row.predicted.is_some() || row.measured.is_some())?;
    let figures: Vec<f64> = group.rows.iter().flat_map(|(_, row)| figures(row)).collect();
    let most = figures.iter().copied().fold(0.0, f64::max);
    if !most.is_finite() || most <= 0.0 {
        return None;
    }
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let unit = Unit::for_most(&group.first.key.unit, most);
    let mut svg = Svg::default();
    let title = group.title();
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let top = 40.0 + legend(&mut svg, group, 40.0) + 34.0;
    let frame = Frame::new(&mut svg, group, &counts, [least, most], &unit, top);
    let order: Vec<(usize, &str)> = group.variants().into_iter().enumerate().collect();
    for &(index, variant) in &order {
        frame.bands(&mut svg, index, &group.of_variant(variant));
    }
    for &(index, variant) in &order {
        frame.lines(&mut svg, index, &group.of_variant(variant));
    }
    for &(index, variant) in &order {
        let rows = group.of_variant(variant);
        frame.measured(&mut svg, [index, order.len()], &rows);
        frame.published(&mut svg, index, &rows);
    }
    Some(svg.chart(title, description(group, &counts), top + AREA + 52.0))
}

fn thread_counts(group: &Group) -> Vec<f64> {
    let with_figure = group.rows.iter().filter(|(_, row)| figures(row).next().is_some());
    let mut counts: Vec<usize> = with_figure.filter_map(|(_, row)| row.key.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().map(|count| count as f64).collect()
}

/// Returns all figures of a row that the chart shows.
fn figures(row: &Row) -> impl Iterator<Item = f64> {
    let measured = row.measured.map_or([None; 3], |m| [m.value, m.ci_low, m.ci_high].map(Some));
    let band = interval(row).map_or([None; 2], |(low, high)| [Some(low), Some(high)]);
    let of = [row.published, row.predicted].into_iter().chain(measured).chain(band);
    let found: Vec<f64> = of.flatten().filter(|value| value.is_finite()).collect();
    found.into_iter()
}

/// Returns the interval of the predicted figure.
fn interval(row: &Row) -> Option<(f64, f64)> {
    let range = row.details.simulated.as_ref()?.interval?;
    Some((range.low, range.high))
}

fn is_input(row: &Row) -> bool {
    matches!(row.status, Status::Calibration | Status::Training)
}

fn description(group: &Group, counts: &[f64]) -> String {
    let counts: Vec<String> = counts.iter().map(f64::to_string).collect();
    format!(
        "{} in {} over {} threads. Variants: {}.{SEE_TABLE}",
        group.title(),
        group.first.key.unit,
        counts.join(", "),
        group.variants().join(", ")
    )
}

/// Draws the legend and returns its height.
fn legend(svg: &mut Svg, group: &Group, top: f64) -> f64 {
    let has = |of: fn(&Row) -> bool| group.rows.iter().any(|(_, row)| of(row));
    let variants = group.variants();
    let of_variant = |(index, variant): (usize, &&str)| {
        let name = (*variant).to_owned();
        let shape = mark::shape(index);
        let sample = match has(|row| row.predicted.is_some()) {
            true => Sample::Line(shape),
            false => Sample::Mark(shape, "pt"),
        };
        Entry { sample, class: style::series(index), name }
    };
    let mut entries: Vec<Entry> = variants.iter().enumerate().map(of_variant).collect();
    let mut add = |sample: Sample, name: &str| {
        entries.push(Entry { sample, class: "q".to_owned(), name: name.to_owned() });
    };
    if has(|row| row.predicted.is_some()) {
        add(Sample::Stroke("ln"), "predicted");
    }
    if has(|row| interval(row).is_some()) {
        add(Sample::Band, "its interval");
    }
    if has(|row| row.published.is_some() && !is_input(row)) {
        add(Sample::Mark(mark::Shape::Circle, "pt"), "published");
    }
    if has(|row| row.published.is_some() && is_input(row)) {
        add(Sample::Mark(mark::Shape::Circle, "open"), "published, an input");
    }
    if has(|row| row.measured.is_some()) {
        add(Sample::Whisker(mark::Shape::Circle), "measured here, interval");
    }
    legend::draw(svg, &entries, [12.0, top])
}

/// The axes of a chart.
struct Frame {
    x: Scale,
    y: Scale,
    /// Horizontal distance between the measured points of two variants.
    apart: f64,
    unit: String,
}

impl Frame {
    /// Draws the axes.
    fn new(
        svg: &mut Svg,
        group: &Group,
        counts: &[f64],
        range: [f64; 2],
        unit: &Unit,
        top: f64,
    ) -> Frame {
        let figures = match unit.name.as_str() {
            "" => group.first.key.metric.as_str(),
            name => name,
        };
        let axes = Axes { range, unit, figures, values: counts, name: "threads", top };
        let (x, y) = axes.draw(svg, |svg, x, bottom| thread_ticks(svg, x, counts, bottom));
        let measured = group.rows.iter().filter(|(_, row)| row.measured.is_some());
        let apart = if measured.count() > 0 { MEASURED_APART } else { 0.0 };
        Frame { x, y, apart, unit: group.first.key.unit.clone() }
    }

    fn place(&self, row: &Row, value: f64) -> Option<[f64; 2]> {
        let threads = row.key.threads?;
        value.is_finite().then(|| [self.x.at(threads as f64), self.y.at(value)])
    }

    /// Draws the band of the intervals of predicted figures.
    fn bands(&self, svg: &mut Svg, index: usize, rows: &[(usize, &Row)]) {
        let class = style::series(index);
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for &(number, row) in &by_threads(rows) {
            let Some((low, high)) = interval(row) else { continue };
            let ends = self.place(row, low).zip(self.place(row, high));
            let Some((bottom, top)) = ends else { continue };
            upper.push(top);
            lower.push(bottom);
            let of = |end: &str, value| {
                Fact::of_row(number, &format!("detail/simulated/interval/{end}"), value)
            };
            let shown = Shown { facts: vec![of("low", low), of("high", high)], tip: String::new() };
            svg.path(&format!("soft {class}"), &upright(bottom, top[1]), &shown);
        }
        if upper.len() > 1 {
            upper.extend(lower.into_iter().rev());
            let path = format!("{}Z", polyline(&upper));
            svg.path(&format!("band {class}"), &path, &Shown::default());
        }
    }

    /// Draws the line of the predicted figures, and a dot for each figure.
    fn lines(&self, svg: &mut Svg, index: usize, rows: &[(usize, &Row)]) {
        let class = style::series(index);
        let rows = by_threads(rows);
        let knots: Vec<(usize, &Row, f64, [f64; 2])> = rows
            .iter()
            .filter_map(|&(number, row)| {
                let value = row.predicted?;
                Some((number, row, value, self.place(row, value)?))
            })
            .collect();
        let places: Vec<[f64; 2]> = knots.iter().map(|&(.., place)| place).collect();
        if places.len() > 1 {
            svg.path(&format!("ln {class}"), &polyline(&places), &Shown::default());
        }
        let is_line = places.len() > 1;
        for (number, row, value, place) in knots {
            let shown = Shown::one(
                Fact::of_row(number, "predicted", value),
                self.tip(row, "predicted", value),
            );
            let radius = if is_line { 2.4 } else { 4.0 };
            svg.path(
                &format!("fill {class}"),
                &mark::path(mark::Shape::Circle, place, radius),
                &shown,
            );
        }
    }

    /// Draws the measured figures, with their intervals on a dashed line.
    fn measured(&self, svg: &mut Svg, [index, of]: [usize; 2], rows: &[(usize, &Row)]) {
        let class = style::series(index);
        let aside = self.apart * (index as f64 - (of as f64 - 1.0) / 2.0);
        let place = |row: &Row, value: f64| self.place(row, value).map(|[x, y]| [x + aside, y]);
        let rows = by_threads(rows);
        let found = rows.iter().filter_map(|(number, row)| Some((*number, *row, row.measured?)));
        let found: Vec<_> = found.filter(|(_, row, m)| place(row, m.value).is_some()).collect();
        let places: Vec<[f64; 2]> =
            found.iter().filter_map(|(_, row, m)| place(row, m.value)).collect();
        if places.len() > 1 {
            svg.path(&format!("dash {class}"), &polyline(&places), &Shown::default());
        }
        for ((number, row, measured), at) in found.into_iter().zip(places) {
            let ends = [measured.ci_low, measured.ci_high].map(|end| place(row, end));
            if let [Some(low), Some(high)] = ends {
                svg.line(&format!("thin {class}"), low, high);
            }
            let facts = vec![
                Fact::of_row(number, "measured", measured.value),
                Fact::of_row(number, "ci_low", measured.ci_low),
                Fact::of_row(number, "ci_high", measured.ci_high),
            ];
            let tip = self.tip(row, "measured here", measured.value);
            let path = mark::path(mark::shape(index), at, 3.8);
            svg.path(&format!("open {class}"), &path, &Shown { facts, tip });
        }
    }

    /// Draws the published figures.
    fn published(&self, svg: &mut Svg, index: usize, rows: &[(usize, &Row)]) {
        let class = style::series(index);
        for &(number, row) in rows {
            let place = row.published.and_then(|value| Some((value, self.place(row, value)?)));
            let Some((value, place)) = place else { continue };
            let tip = self.tip(row, "published", value);
            let shown = Shown::one(Fact::of_row(number, "published", value), tip);
            let kind = if is_input(row) { "open" } else { "pt" };
            let path = mark::path(mark::shape(index), place, 5.4);
            svg.path(&format!("{kind} {class}"), &path, &shown);
        }
    }

    fn tip(&self, row: &Row, what: &str, value: f64) -> String {
        let key = &row.key;
        let error = match row.error().filter(|_| what == "published") {
            Some(error) => format!("; error of the prediction {}", percent(error)),
            None => String::new(),
        };
        let (variant, threads) = (&key.variant, key.threads_in_words());
        format!("{variant}, {threads}: {what} {} {}{error}", figure(value), self.unit)
    }
}

/// Draws a tick for each number of threads, and the labels for which there is room.
fn thread_ticks(svg: &mut Svg, x: &Scale, counts: &[f64], bottom: f64) {
    // The last number always has a label, so room is kept for it.
    let last = counts[counts.len() - 1];
    let width = |count: f64| text_width(&count.to_string(), 13.0) + 8.0;
    let keep = x.at(last) - width(last) / 2.0;
    let mut free = f64::NEG_INFINITY;
    for &count in counts {
        let (at, half) = (x.at(count), width(count) / 2.0);
        svg.line("axis", [at, bottom], [at, bottom + 5.0]);
        if count == last || (at - half >= free && at + half <= keep) {
            svg.text("", [at, bottom + 21.0], Anchor::Middle, &count.to_string());
            free = at + half;
        }
    }
}

fn by_threads<'a>(rows: &[(usize, &'a Row)]) -> Vec<(usize, &'a Row)> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|(_, row)| row.key.threads);
    rows
}

fn polyline(places: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (index, [x, y]) in places.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        path.push_str(&format!("{command}{} {}", number(*x), number(*y)));
    }
    path
}

/// Returns the path of a thin upright bar.
fn upright([x, from]: [f64; 2], to: f64) -> String {
    let (left, right) = (number(x - 1.0), number(x + 1.0));
    let (from, to) = (number(from), number(to));
    format!("M{left} {from}L{right} {from}L{right} {to}L{left} {to}Z")
}
