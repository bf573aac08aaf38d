//! The two axes of a chart of lines: figures upwards, and the values of one number to the right.

use crate::svg::scale::{self, Kind, Scale, Unit};
use crate::svg::{Anchor, Svg, WIDTH, text_width};

/// Height of the area between the axes.
pub(super) const AREA: f64 = 270.0;

/// Largest ratio between figures on a linear axis.
const LINEAR: f64 = 100.0;

/// Quantities on the axes.
pub(super) struct Axes<'a> {
    /// Least and greatest figure.
    pub range: [f64; 2],
    /// Unit in which the figures are labelled.
    pub unit: &'a Unit,
    /// Name of the figures.
    pub figures: &'a str,
    /// Values to the right, from small to large.
    pub values: &'a [f64],
    /// Name of the values.
    pub name: &'a str,
    /// Upper end.
    pub top: f64,
}

impl Axes<'_> {
    /// Draws the axes. `ticks` draws those of the values, below the height that it gets. Returns
    /// the scales to the right and upwards.
    pub(super) fn draw(
        &self,
        svg: &mut Svg,
        ticks: impl FnOnce(&mut Svg, &Scale, f64),
    ) -> (Scale, Scale) {
        let ([least, most], unit, bottom) = (self.range, self.unit, self.top + AREA);
        let is_wide = least > 0.0 && most > LINEAR * least;
        let marks = match is_wide {
            true => scale::powers(least / unit.size, most / unit.size),
            false => scale::ticks(0.0, most / unit.size, 5),
        };
        let labels: Vec<String> = marks.iter().map(|&mark| label(mark, &marks)).collect();
        let widest = labels.iter().map(|label| text_width(label, 13.0)).fold(20.0, f64::max);
        let (left, right) = (widest + 26.0, WIDTH - 28.0);
        let kind = if is_wide { Kind::Logarithmic } else { Kind::Linear };
        let ends = [marks[0] * unit.size, marks[marks.len() - 1] * unit.size];
        let y = Scale::new(kind, ends, [bottom, self.top]);
        for (&mark, label) in marks.iter().zip(&labels) {
            let at = y.at(mark * unit.size);
            svg.line("grid", [left, at], [right, at]);
            svg.text("", [left - 8.0, at + 4.5], Anchor::End, label);
        }
        svg.text("n", [16.0, self.top - 14.0], Anchor::Start, &named(self.figures, kind));
        let kind = scale::better_for(self.values);
        let ends = [self.values[0], self.values[self.values.len() - 1]];
        let x = Scale::new(kind, ends, [left + 18.0, right - 18.0]);
        svg.line("axis", [left, bottom], [right, bottom]);
        ticks(svg, &x, bottom);
        let middle = [f64::midpoint(left, right), bottom + 42.0];
        svg.text("n", middle, Anchor::Middle, &named(self.name, kind));
        (x, y)
    }
}

fn label(mark: f64, marks: &[f64]) -> String {
    if mark > 0.0 && mark < 0.1 { mark.to_string() } else { scale::label(mark, marks) }
}

fn named(name: &str, kind: Kind) -> String {
    let scale = if kind == Kind::Logarithmic { " (logarithmic)" } else { "" };
    format!("{name}{scale}")
}
