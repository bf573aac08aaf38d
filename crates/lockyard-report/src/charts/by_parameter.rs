//! Figures of a sweep by one axis, a line for each variant. All other axes are at a fixed value.

use super::axes::{AREA, Axes};
use crate::points::{Point, Set, THREADS};
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::scale::{Scale, Unit};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, mark, number, style, text_width};
use lockyard_results::render::figure;

/// Returns the charts of a set: one for each axis.
pub(crate) fn charts(set: &Set) -> Vec<Chart> {
    (0..set.axes.len()).filter_map(|axis| chart(set, axis)).collect()
}

fn chart(set: &Set, axis: usize) -> Option<Chart> {
    let points = set.through(&[axis]);
    let points: Vec<&Point> = points.into_iter().filter(|p| p.values[axis].is_some()).collect();
    let figures = || points.iter().map(|point| point.figure()).filter(|f| f.is_finite());
    let (least, most) = (figures().fold(f64::INFINITY, f64::min), figures().fold(0.0, f64::max));
    let values = &set.axes[axis].values;
    if most <= 0.0 || values.len() < 2 {
        return None;
    }
    let name = &set.axes[axis].name;
    let fixed = set.fixed_in_words(&[axis]);
    let at = if fixed.is_empty() { String::new() } else { format!(" at {fixed}") };
    let title = format!("{}: by {name}{at}", set.title);
    let mut svg = Svg::default();
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let variants = set.variants();
    let entry = |(index, variant): (usize, &&str)| Entry {
        sample: Sample::Line(mark::shape(index)),
        class: style::series(index),
        name: (*variant).to_owned(),
    };
    let entries: Vec<Entry> = variants.iter().enumerate().map(entry).collect();
    let top = 40.0 + legend::draw(&mut svg, &entries, [12.0, 40.0]) + 34.0;
    let unit = Unit::for_most(&set.unit, most);
    let axes = Axes { range: [least, most], unit: &unit, figures: &unit.name, values, name, top };
    let (x, y) = axes.draw(&mut svg, |svg, x, bottom| value_ticks(svg, x, values, bottom));
    for (index, variant) in variants.iter().enumerate() {
        let own: Vec<&Point> = points.iter().copied().filter(|p| p.variant == *variant).collect();
        line(&mut svg, set, index, axis, &own, [&x, &y]);
    }
    let description = format!(
        "{title}, in {}. Variants: {}. The table below has every figure.",
        set.unit,
        variants.join(", ")
    );
    Some(svg.chart(title, description, top + AREA + 52.0))
}

/// Draws a tick for each value, and the labels for which there is room.
fn value_ticks(svg: &mut Svg, x: &Scale, values: &[f64], bottom: f64) {
    let mut free = f64::NEG_INFINITY;
    for &value in values {
        let (label, at) = (value.to_string(), x.at(value));
        let half = (text_width(&label, 13.0) + 8.0) / 2.0;
        svg.line("axis", [at, bottom], [at, bottom + 5.0]);
        if at - half >= free && at + half <= WIDTH {
            svg.text("", [at, bottom + 21.0], Anchor::Middle, &label);
            free = at + half;
        }
    }
}

/// Draws the line of a variant, and a mark for each figure.
fn line(
    svg: &mut Svg,
    set: &Set,
    index: usize,
    axis: usize,
    points: &[&Point],
    [x, y]: [&Scale; 2],
) {
    let class = style::series(index);
    let mut knots: Vec<(f64, &Point)> =
        points.iter().filter_map(|point| Some((point.values[axis]?, *point))).collect();
    knots.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places: Vec<[f64; 2]> =
        knots.iter().map(|(value, point)| [x.at(*value), y.at(point.figure())]).collect();
    let step = |(index, [x, y]): (usize, &[f64; 2])| {
        format!("{}{} {}", if index == 0 { 'M' } else { 'L' }, number(*x), number(*y))
    };
    if places.len() > 1 {
        let path: String = places.iter().enumerate().map(step).collect();
        svg.path(&format!("ln {class}"), &path, &Shown::default());
    }
    let axis = &set.axes[axis].name;
    for ((value, point), place) in knots.into_iter().zip(places) {
        let at = match axis.as_str() {
            THREADS if value == 1.0 => "1 thread".to_owned(),
            THREADS => format!("{value} threads"),
            name => format!("{name} = {value}"),
        };
        let tip = format!("{}, {at}: {} {}", point.variant, figure(point.figure()), set.unit);
        let shown = Shown { facts: point.facts.clone(), tip };
        svg.path(&format!("pt {class}"), &mark::path(mark::shape(index), place, 4.0), &shown);
    }
}
