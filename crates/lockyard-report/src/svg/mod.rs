//! Writer of SVG: elements, text, and descriptions for assistive technology.
//!
//! Colours are classes (`style.rs`), so that a chart follows the page's light or dark scheme.

pub(crate) mod bars;
pub(crate) mod legend;
pub(crate) mod mark;
pub(crate) mod scale;
pub(crate) mod style;

use crate::fact::{Fact, attributes};
use crate::text::escape;

/// Width of a chart, unless it says otherwise.
pub(crate) const WIDTH: f64 = 800.0;

/// Alignment of a text at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The text begins at the position.
    Start,
    /// The text is centred on the position.
    Middle,
    /// The text ends at the position.
    End,
}

/// Elements of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Svg {
    body: String,
}

/// Numbers that an element shows, and the text of its tooltip.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Numbers.
    pub(crate) facts: Vec<Fact>,
    /// Text of the tooltip; empty for none.
    pub(crate) tip: String,
}

impl Shown {
    /// Returns one number and its tooltip.
    pub(crate) fn one(fact: Fact, tip: String) -> Shown {
        Shown { facts: vec![fact], tip }
    }
}

impl Svg {
    /// Adds a straight line.
    pub(crate) fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        let ([x1, y1], [x2, y2]) = (from.map(number), to.map(number));
        self.body.push_str(&format!("<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>\n"));
    }

    /// Adds a path.
    pub(crate) fn path(&mut self, class: &str, path: &str, shown: &Shown) {
        self.element("path", class, &format!("d=\"{path}\""), shown);
    }

    /// Adds a rectangle, by its corner and its size.
    pub(crate) fn rectangle(&mut self, class: &str, at: [f64; 2], size: [f64; 2], shown: &Shown) {
        let ([x, y], [width, height]) = (at.map(number), size.map(number));
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        self.element("rect", class, &place, shown);
    }

    /// Adds a rectangle of this opacity, from 0 to 1.
    pub(crate) fn shaded(
        &mut self,
        class: &str,
        opacity: f64,
        at: [f64; 2],
        size: [f64; 2],
        shown: &Shown,
    ) {
        let ([x, y], [width, height]) = (at.map(number), size.map(number));
        let place = format!(
            "x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill-opacity=\"{opacity:.2}\""
        );
        self.element("rect", class, &place, shown);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, class: &str, at: [f64; 2], anchor: Anchor, text: &str) {
        let [x, y] = at.map(number);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escape(text);
        self.body.push_str(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>\n"
        ));
    }

    fn element(&mut self, name: &str, class: &str, place: &str, shown: &Shown) {
        let facts = attributes(&shown.facts);
        let tip = match shown.tip.as_str() {
            "" => "/>".to_owned(),
            tip => format!("><title>{}</title></{name}>", escape(tip)),
        };
        self.body.push_str(&format!("<{name} class=\"{class}\" {place}{facts}{tip}\n"));
    }

    /// Returns the elements as a chart.
    pub(crate) fn chart(self, title: String, description: String, height: f64) -> Chart {
        Chart { title, description, width: WIDTH, height, body: self.body }
    }
}

/// A chart, without its frame.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    title: String,
    description: String,
    /// Width of the drawing: [`WIDTH`], or less for a chart that is legible in a narrow window.
    pub(crate) width: f64,
    /// Height at this width.
    pub(crate) height: f64,
    body: String,
}

impl Chart {
    /// Returns the chart as an element of a page. `id` is unique there.
    pub(crate) fn in_page(&self, id: &str) -> String {
        let (title, description) = (escape(&self.title), escape(&self.description));
        let class = if self.width < WIDTH { "chart small" } else { "chart" };
        format!(
            "<svg class=\"{class}\" role=\"img\" viewBox=\"0 0 {} {}\" \
             aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{title}</title>\n\
             <desc id=\"{id}-d\">{description}</desc>\n{}</svg>\n",
            number(self.width),
            number(self.height),
            self.body
        )
    }

    /// Returns the title.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Returns the description for readers who cannot see the chart.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// Returns the elements, moved down by `down`.
    pub(crate) fn moved(&self, down: f64) -> String {
        format!("<g transform=\"translate(0 {})\">\n{}</g>\n", number(down), self.body)
    }
}

/// Formats a coordinate.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Estimates the width of a text. Fonts differ, so the estimate is for a wide one.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// Returns a text of one line and at most this width, with an ellipsis where it is cut.
pub(crate) fn cut(text: &str, size: f64, width: f64) -> String {
    let text = lockyard_support::escaped(text);
    if text_width(&text, size) <= width {
        return text;
    }
    let most = (width / (size * 0.6)).floor().max(2.0) as usize;
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}
