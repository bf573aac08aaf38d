//! Heat maps of a sweep: the best variant at each place of two axes, and the figures of a variant
//! relative to the best.

use crate::points::{Point, Set};
use crate::svg::legend::{self, Entry, Sample};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, style, text_width};
use lockyard_results::render::figure;

/// Largest height of a square of the map.
const TALLEST: f64 = 30.0;

/// Height of the map, unless the squares would be taller than [`TALLEST`].
const AREA: f64 = 420.0;

/// Figures closer than this share are a tie.
const TIE: f64 = 0.01;

/// Maximum number of variants with a map of their own.
const MOST_MAPS: usize = 12;

/// Returns the two axes with the most values, the one with more values first; `None` if fewer than
/// two axes vary.
fn axes(set: &Set) -> Option<[usize; 2]> {
    let mut all: Vec<usize> =
        (0..set.axes.len()).filter(|&index| !set.axes[index].is_optional).collect();
    all.sort_by_key(|&index| std::cmp::Reverse(set.axes[index].values.len()));
    match all.as_slice() {
        [x, y, ..] => Some([*x, *y]),
        _ => None,
    }
}

/// Returns the maps of a set: the best variants first, then one for each variant.
pub(crate) fn charts(set: &Set) -> Vec<Chart> {
    let Some(axes) = axes(set) else { return Vec::new() };
    let variants = set.variants();
    let places = places(set, axes);
    let mut charts = Vec::new();
    if variants.len() > 1 {
        charts.push(best(set, axes, &places));
    }
    let maps = variants.iter().take(MOST_MAPS);
    charts.extend(maps.map(|variant| of_variant(set, axes, &places, variant)));
    charts
}

/// A place on the map, and its points, the best one first.
struct Spot<'a> {
    /// Indices of the values on both axes.
    at: [usize; 2],
    points: Vec<&'a Point>,
}

impl Spot<'_> {
    /// Tells if the figure of a point is as good as the best one here, or nearly.
    fn is_tied(&self, point: &Point) -> bool {
        (point.figure() / self.points[0].figure() - 1.0).abs() <= TIE
    }

    /// Returns the number of variants that are as good as the best one.
    fn ties(&self) -> usize {
        self.points.iter().filter(|point| self.is_tied(point)).count()
    }

    /// Tells if all variants are as good as each other, so that none is the best.
    fn is_any(&self) -> bool {
        self.points.len() > 1 && self.ties() == self.points.len()
    }
}

fn places(set: &Set, axes: [usize; 2]) -> Vec<Spot<'_>> {
    let mut spots: Vec<Spot> = Vec::new();
    for point in set.through(&axes) {
        let index = |axis: usize| {
            let value = point.values[axis]?;
            set.axes[axis].values.iter().position(|&other| other == value)
        };
        let (Some(x), Some(y)) = (index(axes[0]), index(axes[1])) else { continue };
        match spots.iter_mut().find(|spot| spot.at == [x, y]) {
            Some(spot) => spot.points.push(point),
            None => spots.push(Spot { at: [x, y], points: vec![point] }),
        }
    }
    for spot in &mut spots {
        let order = |a: &&Point, b: &&Point| match set.is_better(a.figure(), b.figure()) {
            true => std::cmp::Ordering::Less,
            false if a.figure() == b.figure() => std::cmp::Ordering::Equal,
            false => std::cmp::Ordering::Greater,
        };
        spot.points.sort_by(order);
    }
    spots
}

/// Returns the map of the best variants. Each has a colour and a letter. Ties are lighter; a place
/// where all variants are tied has no colour, and counts for none.
fn best(set: &Set, axes: [usize; 2], spots: &[Spot]) -> Chart {
    let wins = |variant: &str| {
        let is_first = |spot: &&Spot| spot.points.first().is_some_and(|p| p.variant == variant);
        spots.iter().filter(is_first).filter(|spot| !spot.is_any()).count()
    };
    let mut winners: Vec<(&str, usize)> =
        set.variants().into_iter().map(|v| (v, wins(v))).filter(|(_, wins)| *wins > 0).collect();
    winners.sort_by_key(|(_, wins)| std::cmp::Reverse(*wins));
    let letter = |index: usize| char::from(b'A' + (index % 26) as u8).to_string();
    let mut svg = Svg::default();
    let title = title(set, axes, "best variant");
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let entry = |(index, (variant, wins)): (usize, &(&str, usize))| Entry {
        sample: Sample::Square,
        class: style::series(index),
        name: format!("{} {variant} ({wins})", letter(index)),
    };
    let entries: Vec<Entry> = winners.iter().enumerate().map(entry).collect();
    let under = 40.0 + legend::draw(&mut svg, &entries, [12.0, 40.0]) + 14.0;
    let ties = "light: the next variant is within 1 %; = and no colour: all variants are";
    svg.text("n", [16.0, under], Anchor::Start, ties);
    let frame = Frame::new(&mut svg, set, axes, under + 32.0);
    for spot in spots {
        let Some(first) = spot.points.first() else { continue };
        let index = winners.iter().position(|(variant, _)| *variant == first.variant);
        let next = spot.points.get(1).map(|next| {
            let ratio = first.figure() / next.figure();
            format!("; next {}, behind by a factor of {:.2}", next.variant, ratio.max(1.0 / ratio))
        });
        let tip = format!("{}{}", frame.tip(set, spot, first), next.unwrap_or_default());
        let shown = Shown { facts: first.facts.clone(), tip };
        match index.filter(|_| !spot.is_any()) {
            Some(index) => {
                let opacity = if spot.ties() > 1 { 0.2 } else { 0.55 };
                frame.square(&mut svg, spot.at, &style::series(index), opacity, &shown);
                frame.label(&mut svg, spot.at, &letter(index));
            }
            None => {
                frame.square(&mut svg, spot.at, "bg", 0.0, &shown);
                frame.label(&mut svg, spot.at, "=");
            }
        }
    }
    let description = format!(
        "{title}: the variant with the best {} at each of {} places, lighter where the next one is \
         within 1 %, without a colour where all are. The table below has every figure.",
        set.metric,
        spots.len()
    );
    svg.chart(title, description, frame.bottom + 52.0)
}

/// Returns the map of a variant. The darker a square, the closer its figure is to the best one of
/// any variant at that place; with only one variant, to the best one of the map.
fn of_variant(set: &Set, axes: [usize; 2], spots: &[Spot], variant: &str) -> Chart {
    let own =
        |spot: &Spot| spot.points.iter().copied().find(|point| point.variant == variant).cloned();
    let is_alone = set.variants().len() == 1;
    let best = spots.iter().filter_map(|spot| own(spot).map(|point| point.figure()));
    let best = best.reduce(|a, b| if set.is_better(b, a) { b } else { a }).unwrap_or(1.0);
    let mut svg = Svg::default();
    let title = title(set, axes, variant);
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let what = match is_alone {
        true => "dark: near the best figure of the map; light: far from it",
        false => {
            "dark: as good as the best variant at that place; light: far behind it; number: \
                  per cent of the best"
        }
    };
    svg.text("n", [16.0, 48.0], Anchor::Start, &cut(what, 12.0, WIDTH - 32.0));
    let frame = Frame::new(&mut svg, set, axes, 84.0);
    for spot in spots {
        let Some(point) = own(spot) else { continue };
        let to = if is_alone { best } else { spot.points[0].figure() };
        let ratio = point.figure() / to;
        let share = ratio.min(1.0 / ratio);
        let tip = format!("{}, {:.0} % of the best", frame.tip(set, spot, &point), share * 100.0);
        let shown = Shown { facts: point.facts.clone(), tip };
        frame.square(&mut svg, spot.at, &style::series(0), 0.04 + 0.56 * share, &shown);
        frame.label(&mut svg, spot.at, &format!("{:.0}", share * 100.0));
    }
    let description =
        format!("{title}: {} relative to the best. The table below has every figure.", set.metric);
    svg.chart(title, description, frame.bottom + 52.0)
}

fn title(set: &Set, axes: [usize; 2], what: &str) -> String {
    let fixed = set.fixed_in_words(&axes);
    let at = if fixed.is_empty() { String::new() } else { format!(" at {fixed}") };
    format!("{}: {what}{at}", set.title)
}

/// The axes of a map.
struct Frame {
    axes: [usize; 2],
    left: f64,
    bottom: f64,
    size: [f64; 2],
}

impl Frame {
    fn new(svg: &mut Svg, set: &Set, axes: [usize; 2], top: f64) -> Frame {
        let [x, y] = axes.map(|axis| &set.axes[axis]);
        let labels: Vec<String> = y.values.iter().map(f64::to_string).collect();
        let widest = labels.iter().map(|label| text_width(label, 13.0)).fold(20.0, f64::max);
        let left = widest + 26.0;
        let width = (WIDTH - 28.0 - left) / x.values.len() as f64;
        let height = (AREA / y.values.len() as f64).min(TALLEST);
        let bottom = top + height * y.values.len() as f64;
        let frame = Frame { axes, left, bottom, size: [width, height] };
        svg.text("n", [16.0, top - 12.0], Anchor::Start, &y.name);
        let every = (16.0 / height).ceil() as usize;
        for (index, label) in labels.iter().enumerate().step_by(every) {
            let at = bottom - height * (index as f64 + 0.5);
            svg.text("", [left - 8.0, at + 4.5], Anchor::End, label);
        }
        let labels: Vec<String> = x.values.iter().map(f64::to_string).collect();
        let widest = labels.iter().map(|label| text_width(label, 13.0)).fold(0.0, f64::max);
        let every = ((widest + 6.0) / width).ceil().max(1.0) as usize;
        for (index, label) in labels.iter().enumerate().step_by(every) {
            let middle = left + width * (index as f64 + 0.5);
            // A label at the edge stays inside of the chart.
            let half = text_width(label, 13.0) / 2.0;
            let at = middle.min(WIDTH - 4.0 - half);
            svg.text("", [at, bottom + 18.0], Anchor::Middle, label);
        }
        let middle = f64::midpoint(left, WIDTH - 28.0);
        svg.text("n", [middle, bottom + 40.0], Anchor::Middle, &x.name);
        frame
    }

    fn corner(&self, [x, y]: [usize; 2]) -> [f64; 2] {
        let [width, height] = self.size;
        [self.left + width * x as f64, self.bottom - height * (y as f64 + 1.0)]
    }

    fn square(&self, svg: &mut Svg, at: [usize; 2], class: &str, opacity: f64, shown: &Shown) {
        let size = self.size.map(|side| (side - 1.0).max(1.0));
        svg.shaded(&format!("fill {class}"), opacity, self.corner(at), size, shown);
    }

    /// Writes a label into a square, if there is room.
    fn label(&self, svg: &mut Svg, at: [usize; 2], label: &str) {
        let [width, height] = self.size;
        if width < text_width(label, 12.0) + 2.0 || height < 14.0 {
            return;
        }
        let [x, y] = self.corner(at);
        svg.text("", [x + width / 2.0, y + height / 2.0 + 4.5], Anchor::Middle, label);
    }

    fn tip(&self, set: &Set, spot: &Spot, point: &Point) -> String {
        let value = |index: usize| {
            let axis = &set.axes[self.axes[index]];
            format!("{} = {}", axis.name, axis.values[spot.at[index]])
        };
        let (x, y) = (value(0), value(1));
        format!("{x}, {y}: {} {} {}", point.variant, figure(point.figure()), set.unit)
    }
}
