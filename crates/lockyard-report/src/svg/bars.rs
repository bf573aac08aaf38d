//! Stacked bars of shares, one below another.

use super::legend::{self, Entry, Sample};
use super::scale::{Kind, Scale};
use super::{Anchor, Chart, Shown, Svg, cut, style, text_width};

/// A part of a bar.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Index of the part's name.
    pub(crate) part: usize,
    /// Share. A bar ends at 1, also if its sum is above it.
    pub(crate) share: f64,
    /// Number that the part shows.
    pub(crate) shown: Shown,
}

/// A bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Name, left of the bar.
    pub(crate) name: String,
    /// Parts, from the left.
    pub(crate) segments: Vec<Segment>,
}

/// Bars under a common heading.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Heading.
    pub(crate) heading: String,
    /// Bars.
    pub(crate) bars: Vec<Bar>,
}

/// A chart of stacked bars.
#[derive(Clone, Debug)]
pub(crate) struct Stacked {
    /// Title.
    pub(crate) title: String,
    /// Text for readers who cannot see the chart.
    pub(crate) description: String,
    /// Width of the drawing.
    pub(crate) width: f64,
    /// Names of the parts.
    pub(crate) parts: Vec<String>,
    /// Blocks.
    pub(crate) blocks: Vec<Block>,
}

const BAR: f64 = 20.0;
const HEADING: f64 = 26.0;

impl Stacked {
    /// Draws the chart.
    pub(crate) fn draw(self) -> Chart {
        let mut svg = Svg::default();
        let width = self.width;
        let names = self.blocks.iter().flat_map(|block| &block.bars);
        let names = names.map(|bar| lockyard_support::escaped(&bar.name));
        let widest = names.map(|name| text_width(&name, 13.0)).fold(60.0, f64::max);
        let left = widest.min((width * 0.4).min(230.0)) + 24.0;
        svg.text("h", [12.0, 26.0], Anchor::Start, &cut(&self.title, 17.0, width - 24.0));
        let entry = |(index, name): (usize, &String)| Entry {
            sample: Sample::Square,
            class: style::series(index),
            name: name.clone(),
        };
        let entries: Vec<Entry> = self.parts.iter().enumerate().map(entry).collect();
        let top = 42.0 + legend::draw(&mut svg, &entries, [8.0, 38.0]);
        let bars: usize = self.blocks.iter().map(|block| block.bars.len()).sum();
        let height = HEADING * self.blocks.len() as f64 + BAR * bars as f64;
        let scale = Scale::new(Kind::Linear, [0.0, 1.0], [left, width - 24.0]);
        for per_cent in [0, 25, 50, 75, 100] {
            let x = scale.at(f64::from(per_cent) / 100.0);
            svg.line("grid", [x, top + 4.0], [x, top + height + 6.0]);
            let label = format!("{per_cent} %");
            svg.text("n", [x, top + height + 22.0], Anchor::Middle, &label);
        }
        let mut y = top;
        for block in &self.blocks {
            let heading = cut(&block.heading, 13.0, width - 40.0);
            // The heading has a background, so that no line of the grid crosses it.
            let heading_width = text_width(&heading, 13.0) + 8.0;
            svg.rectangle("bg", [8.0, y + 3.0], [heading_width, HEADING - 6.0], &Shown::default());
            svg.text("b", [12.0, y + 18.0], Anchor::Start, &heading);
            y += HEADING;
            for bar in &block.bars {
                let name = cut(&bar.name, 13.0, left - 24.0);
                svg.text("", [left - 10.0, y + 14.0], Anchor::End, &name);
                segments(&mut svg, bar, &scale, y);
                y += BAR;
            }
        }
        let chart = svg.chart(self.title, self.description, top + height + 34.0);
        Chart { width, ..chart }
    }
}

fn segments(svg: &mut Svg, bar: &Bar, scale: &Scale, y: f64) {
    let mut from = 0.0;
    for segment in &bar.segments {
        let (begin, end) = (scale.at(from), scale.at((from + segment.share).min(1.0)));
        from += segment.share;
        if end - begin < 0.05 {
            continue;
        }
        let class = format!("fill gap {}", style::series(segment.part));
        svg.rectangle(&class, [begin, y + 1.0], [end - begin, BAR - 3.0], &segment.shown);
        if end - begin >= 40.0 {
            let label = format!("{:.0} %", segment.share * 100.0);
            svg.text("in", [(begin + end) / 2.0, y + 13.5], Anchor::Middle, &label);
        }
    }
}
