//! Curves over thread counts, drawn with characters.
//!
//! Each series has a letter, so readers can distinguish curves without colours. A small letter
//! marks a point of the curve, a capital letter a published figure. Points are connected by braille
//! patterns, or by full stops in ASCII.

use super::raster::{Mark, Raster};
use super::screen::Screen;
use super::si::si;

/// Number of lines of the plot.
const HEIGHT: usize = 15;

/// If the greatest thread count exceeds the least one by more than this factor, the axis is
/// logarithmic.
const LINEAR_SPAN: f64 = 8.0;

/// If the greatest figure exceeds the least one by more than this factor, the axis is logarithmic.
const LINEAR_FIGURES: f64 = 100.0;

/// Maximum number of series, one per letter.
pub(super) const MOST_SERIES: usize = 26;

/// Curve of a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// Name of the variant.
    pub(super) name: String,
    /// Figures by thread count, in ascending order.
    pub(super) curve: Vec<(usize, f64)>,
    /// Published figures by thread count.
    pub(super) published: Vec<(usize, f64)>,
    /// Thread counts at which the figure is an input of the simulation, so it proves nothing.
    pub(super) inputs: Vec<usize>,
}

impl Series {
    fn all(&self) -> impl Iterator<Item = &(usize, f64)> {
        self.curve.iter().chain(&self.published)
    }
}

/// An axis: its ends, and the mapping from figures to positions.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.logarithmic { value.ln() } else { value };
        let span = of(self.high) - of(self.low);
        if span > 0.0 { ((of(value) - of(self.low)) / span).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Returns the axis of thread counts.
    fn of_threads(least: f64, most: f64) -> Axis {
        Axis { low: least, high: most, logarithmic: most / least > LINEAR_SPAN }
    }

    /// Returns the axis of figures and its ticks. A linear axis begins at 0.
    fn of_figures(least: f64, most: f64) -> (Axis, Vec<f64>) {
        if least > 0.0 && most / least > LINEAR_FIGURES {
            let low = 10f64.powf(least.log10().floor());
            let mut ticks = vec![low];
            while ticks[ticks.len() - 1] < most * (1.0 - 1e-9) {
                ticks.push(ticks[ticks.len() - 1] * 10.0);
            }
            let axis = Axis { low, high: ticks[ticks.len() - 1], logarithmic: true };
            return (axis, ticks);
        }
        let step = nice(most / 4.0);
        let steps = (most / step * (1.0 - 1e-9)).ceil().max(1.0);
        let ticks = (0..=steps as usize).map(|index| index as f64 * step).collect();
        (Axis { low: 0.0, high: steps * step, logarithmic: false }, ticks)
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.map(|step| step * power).into_iter().find(|step| *step >= value).unwrap_or(value)
}

/// Draws the curves of some series; `None` if there is nothing to draw.
pub(super) fn render(heading: &str, series: &[Series], screen: &Screen) -> Option<String> {
    let figures = || series.iter().flat_map(Series::all);
    let values = || figures().map(|(_, value)| *value);
    let threads = || figures().map(|(threads, _)| *threads);
    if series.len() > MOST_SERIES || !values().all(|value| value.is_finite() && value >= 0.0) {
        return None;
    }
    let most = values().fold(0.0, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    let (fewest, greatest) = (threads().min()?, threads().max()?);
    if most <= 0.0 || fewest == 0 {
        return None;
    }
    let x = Axis::of_threads(fewest as f64, greatest as f64);
    let (y, ticks) = Axis::of_figures(least, most);
    let labels: Vec<String> = ticks.iter().map(|&tick| si(tick)).map(shorter).collect();
    let left = labels.iter().map(|label| label.chars().count()).max()? + 2;
    let width = screen.width.saturating_sub(left + 1);
    let mut raster = Raster::new(width, HEIGHT);
    // Scale to `width - 1`, to keep the markers at both ends within the plot.
    let column = |threads: usize| x.place(threads as f64) * (width - 1) as f64;
    let row = |value: f64| (1.0 - y.place(value)) * (HEIGHT - 1) as f64;
    for (index, of) in series.iter().enumerate() {
        for pair in of.curve.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|(n, value)| (column(n), row(value)));
            raster.line(from, to, index);
        }
    }
    for (index, of) in series.iter().enumerate() {
        let letter = |first: u8| char::from(first + index as u8);
        for (points, first) in [(&of.curve, b'a'), (&of.published, b'A')] {
            for &(threads, value) in points {
                let mark = Mark { character: letter(first), series: index };
                raster.mark((column(threads), row(value)), mark);
            }
        }
    }
    let at: Vec<(usize, &str)> = ticks
        .iter()
        .zip(&labels)
        .map(|(&tick, label)| (row(tick).round() as usize, label.as_str()))
        .collect();
    let mut text = format!("{}\n", screen.wrap(&title(heading, series, &y)));
    text.push_str(&framed(&raster, &at, left, screen));
    let mut counts: Vec<usize> = threads().collect();
    counts.sort_unstable();
    counts.dedup();
    let places: Vec<(usize, usize)> =
        counts.into_iter().map(|n| (column(n).round() as usize, n)).collect();
    text.push_str(&below(&places, left, width, screen));
    text.push_str(&legend(series, raster.overlaps(), screen));
    Some(text)
}

fn title(heading: &str, series: &[Series], y: &Axis) -> String {
    let published = series.iter().any(|of| !of.published.is_empty());
    format!(
        "{heading} over threads{}{}",
        if published { "; capitals: published figures" } else { "" },
        if y.logarithmic { "; logarithmic axis" } else { "" }
    )
}

/// Removes trailing zero decimals.
fn shorter(label: String) -> String {
    let (number, prefix) = label.split_once(' ').unwrap_or((&label, ""));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number}{}{prefix}", if prefix.is_empty() { "" } else { " " })
}

/// Returns the lines of the plot, with the figures on the left.
fn framed(raster: &Raster, at: &[(usize, &str)], left: usize, screen: &Screen) -> String {
    let (tick, bar) = if screen.unicode { ('\u{2524}', '\u{2502}') } else { ('+', '|') };
    let mut text = String::new();
    for (index, line) in raster.lines(screen).into_iter().enumerate() {
        let label = at.iter().find(|(row, _)| *row == index).map(|(_, label)| *label);
        let edge = if label.is_some() { tick } else { bar };
        let label = label.unwrap_or_default();
        text.push_str(&format!("{label:>width$} {edge}{line}\n", width = left - 1));
    }
    text
}

/// Returns the axis of threads and its labels. A label without room is left out; the last label
/// always has room.
fn below(places: &[(usize, usize)], left: usize, width: usize, screen: &Screen) -> String {
    let (corner, dash, tick) = match screen.unicode {
        true => ('\u{2514}', '\u{2500}', '\u{252c}'),
        false => ('+', '-', '+'),
    };
    let mut axis = vec![dash; width];
    let mut labels = vec![' '; left + 1 + width];
    let end = labels.len();
    let mut put = |place: usize, threads: usize, free_until: usize, free_from: usize| {
        let label = threads.to_string();
        let begin = (left + 1 + place).saturating_sub(label.len() / 2).min(end - label.len());
        let fits = begin >= free_from && begin + label.len() <= free_until;
        if fits {
            for (offset, digit) in label.chars().enumerate() {
                labels[begin + offset] = digit;
            }
        }
        fits.then_some((begin, begin + label.len()))
    };
    let Some((&(place, threads), others)) = places.split_last() else { return String::new() };
    let last = put(place, threads, end, 0).map_or(end, |(begin, _)| begin);
    let mut free_from = 0;
    for &(place, threads) in others {
        if let Some((_, after)) = put(place, threads, last.saturating_sub(1), free_from) {
            free_from = after + 1;
        }
    }
    for &(place, _) in places {
        axis[place.min(width - 1)] = tick;
    }
    let axis: String = axis.into_iter().collect();
    let labels: String = labels.into_iter().collect();
    format!("{}{corner}{axis}\n{}\n", " ".repeat(left), labels.trim_end())
}

/// Returns the letters and names of the series.
fn legend(series: &[Series], overlaps: bool, screen: &Screen) -> String {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let names = series.iter().enumerate().map(|(index, of)| {
        let text = format!("{} {}", char::from(b'a' + index as u8), screen.characters(&of.name));
        let width = text.chars().count();
        let colour = Raster::colour(index);
        let text = if screen.colour { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text };
        (width, text)
    });
    let more = overlaps.then(|| "* several".to_owned());
    for (width, text) in names.chain(more.map(|text| (text.len(), text))) {
        match lines.last_mut() {
            Some((used, line)) if *used + 3 + width <= screen.width => {
                line.push_str(&format!("   {text}"));
                *used += 3 + width;
            }
            _ => lines.push((width + 2, format!("  {text}"))),
        }
    }
    lines.into_iter().map(|(_, line)| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        let curve =
            |of: fn(f64) -> f64| [1, 2, 4, 8, 16, 32].map(|n: usize| (n, of(n as f64))).to_vec();
        vec![
            Series {
                name: "flat".into(),
                curve: curve(|_| 1e6),
                published: vec![(8, 2e6)],
                ..Series::default()
            },
            Series { name: "linear".into(), curve: curve(|n| n * 1e6), ..Series::default() },
        ]
    }

    #[test]
    fn each_point_has_its_letter_at_its_place() {
        let screen = Screen { unicode: false, ..Screen::of_width(60) };
        let text = render("throughput, op/s", &series(), &screen).expect("there are curves");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("throughput, op/s over threads; capitals"), "{text}");
        assert!(text.is_ascii() && lines.iter().all(|line| line.len() <= 60), "{text}");
        // The top right is 32 M, on an axis up to 40 M. The flat curve is at the bottom.
        assert!(lines[1].trim_start().starts_with("40 M +"), "{text}");
        assert!(lines[HEIGHT].trim_start().starts_with("0 +"), "{text}");
        let row = |letter: char| -> Vec<usize> {
            let body = lines.iter().enumerate().skip(1).take(HEIGHT);
            body.filter(|(_, line)| line.contains(letter)).map(|(index, _)| index).collect()
        };
        assert_eq!(row('b')[0], 1 + (8.0 / 40.0 * 14.0f64).round() as usize, "{text}");
        assert!(lines[row('b')[0]].ends_with('b'), "{text}");
        assert_eq!(row('A'), [HEIGHT - 1], "{text}");
        assert_eq!(row('*'), [HEIGHT], "both start at 1 M: {text}");
        let counts: Vec<&str> = lines[HEIGHT + 2].split_whitespace().collect();
        assert_eq!(counts, ["1", "2", "4", "8", "16", "32"], "{text}");
        assert!(text.ends_with("  a flat   b linear   * several\n"), "{text}");
    }

    #[test]
    fn a_chart_fits_and_has_braille_only_on_a_screen_that_can_show_it() {
        for width in [60, 80, 120, 200] {
            let text = render("time, ns", &series(), &Screen::of_width(width)).expect("curves");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "{text}");
            assert!(!text.contains('\u{1b}'));
        }
        let colour = Screen { colour: true, ..Screen::default() };
        assert!(render("t", &series(), &colour).expect("curves").contains("\u{1b}["));
    }

    #[test]
    fn axes_are_logarithmic_where_the_span_is_wide() {
        assert!(!Axis::of_threads(1.0, 8.0).logarithmic);
        let axis = Axis::of_threads(1.0, 16.0);
        assert!((axis.place(4.0) - 0.5).abs() < 1e-12);
        let (axis, ticks) = Axis::of_figures(2.8, 789.0);
        assert!(axis.logarithmic && ticks == [1.0, 10.0, 100.0, 1000.0], "{ticks:?}");
        let (axis, ticks) = Axis::of_figures(1.15e6, 7.12e6);
        assert!(!axis.logarithmic && ticks == [0.0, 2e6, 4e6, 6e6, 8e6], "{ticks:?}");
    }

    #[test]
    fn figures_that_cannot_be_drawn_are_not() {
        let of = |value: f64| Series {
            name: "x".into(),
            curve: vec![(1, value), (2, value), (3, value)],
            ..Series::default()
        };
        assert!(render("t", &[of(f64::INFINITY)], &Screen::default()).is_none());
        assert!(render("t", &[of(0.0)], &Screen::default()).is_none());
        assert!(render("t", &[], &Screen::default()).is_none());
        assert!(render("t", &[of(5.0)], &Screen::default()).is_some());
    }
}
