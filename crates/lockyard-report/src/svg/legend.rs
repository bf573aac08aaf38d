//! Legends: samples of lines and marks with their names, in as many lines as they need.

use super::mark::{self, Shape};
use super::{Anchor, Shown, Svg, WIDTH, cut, text_width};

/// Sample before a name.
#[derive(Clone, Debug)]
pub(crate) enum Sample {
    /// A line with a mark on it.
    Line(Shape),
    /// A line of this class, without a mark.
    Stroke(&'static str),
    /// A mark of this class.
    Mark(Shape, &'static str),
    /// A filled square.
    Square,
    /// A whisker with a mark.
    Whisker(Shape),
    /// A band.
    Band,
}

/// An entry of a legend.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Sample.
    pub(crate) sample: Sample,
    /// Class of its colour.
    pub(crate) class: String,
    /// Name.
    pub(crate) name: String,
}

/// Height of a line of the legend.
const LINE: f64 = 21.0;

/// Distance from the beginning of a sample to its name.
const INDENT: f64 = 32.0;

/// Draws the entries to the right of `left` and below `top`. Returns their height.
pub(crate) fn draw(svg: &mut Svg, entries: &[Entry], [left, top]: [f64; 2]) -> f64 {
    let (mut x, mut y) = (left, top);
    for entry in entries {
        let name = cut(&entry.name, 13.0, 420.0);
        let width = INDENT + text_width(&name, 13.0) + 18.0;
        if x > left && x + width > WIDTH {
            (x, y) = (left, y + LINE);
        }
        sample(svg, entry, [x, y + LINE / 2.0]);
        svg.text("", [x + INDENT, y + LINE / 2.0 + 4.5], Anchor::Start, &name);
        x += width;
    }
    if entries.is_empty() { 0.0 } else { y + LINE - top }
}

fn sample(svg: &mut Svg, entry: &Entry, [x, y]: [f64; 2]) {
    let class = |kind: &str| format!("{kind} {}", entry.class);
    let (ends, middle) = ([[x, y], [x + 26.0, y]], [x + 13.0, y]);
    let nothing = Shown::default();
    match &entry.sample {
        Sample::Line(shape) => {
            svg.line(&class("ln"), ends[0], ends[1]);
            svg.path(&class("pt"), &mark::path(*shape, middle, 5.0), &nothing);
        }
        Sample::Stroke(kind) => svg.line(&class(kind), ends[0], ends[1]),
        Sample::Mark(shape, kind) => {
            svg.path(&class(kind), &mark::path(*shape, middle, 5.0), &nothing);
        }
        Sample::Square => {
            svg.rectangle(&class("fill"), [x + 7.0, y - 6.5], [13.0, 13.0], &nothing);
        }
        Sample::Whisker(shape) => {
            svg.line(&class("thin"), [x + 13.0, y - 8.0], [x + 13.0, y + 8.0]);
            svg.path(&class("open"), &mark::path(*shape, middle, 3.5), &nothing);
        }
        Sample::Band => svg.rectangle(&class("band"), [x, y - 6.5], [26.0, 13.0], &nothing),
    }
}
