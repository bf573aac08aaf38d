//! Cells of a sweep as points: each has a variant, values of the lists that vary, and a figure.

use crate::fact::Fact;
use lockyard_results::compare::direction::Direction;
use serde_json::Value;

/// Name of the list of thread counts.
pub(crate) const THREADS: &str = "threads";

/// A point: cells that differ in their seeds only.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Variant.
    pub(crate) variant: String,
    /// Value on each axis; `None` if the cell leaves the parameter unchanged.
    pub(crate) values: Vec<Option<f64>>,
    /// Figures of the cells, with their places.
    pub(crate) facts: Vec<Fact>,
}

impl Point {
    /// Returns the mean figure.
    pub(crate) fn figure(&self) -> f64 {
        self.facts.iter().map(|fact| fact.value).sum::<f64>() / self.facts.len() as f64
    }
}

/// A list that varies: thread counts, or the values of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Name.
    pub(crate) name: String,
    /// Values, in ascending order.
    pub(crate) values: Vec<f64>,
    /// True if some cells leave the parameter unchanged.
    pub(crate) is_optional: bool,
}

impl Axis {
    /// Returns the value at which the other axes are shown: the one in the middle, or unchanged.
    pub(crate) fn fixed(&self) -> Option<f64> {
        if self.is_optional { None } else { self.values.get(self.values.len() / 2).copied() }
    }
}

/// Points of one scenario on one machine, in one unit.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// Scenario and machine.
    pub(crate) title: String,
    /// Kind of figure.
    pub(crate) metric: String,
    /// Unit of the figures.
    pub(crate) unit: String,
    /// Axes.
    pub(crate) axes: Vec<Axis>,
    /// Points.
    pub(crate) points: Vec<Point>,
}

impl Set {
    /// Returns the points of a sweep's document by scenario and machine.
    pub(crate) fn all(document: &Value) -> Vec<Set> {
        let mut sets: Vec<Set> = Vec::new();
        let names = parameters(document);
        for (index, cell) in document["cells"].as_array().into_iter().flatten().enumerate() {
            let Some(predicted) = cell["row"]["predicted"].as_f64() else { continue };
            let (inputs, row) = (&cell["inputs"], &cell["row"]);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let title = format!("{} on {}", text(&inputs["scenario"]), text(&inputs["machine"]));
            let (metric, unit) = (text(&row["metric"]), text(&row["unit"]));
            let fact = Fact { at: format!("/cells/{index}/row/predicted"), value: predicted };
            let threads = std::iter::once(inputs["threads"].as_f64());
            let values =
                threads.chain(names.iter().map(|name| inputs["parameters"][name].as_f64()));
            let (variant, values) = (text(&inputs["variant"]), values.collect());
            let is = |set: &Set| (&set.title, &set.unit) == (&title, &unit);
            let set = match sets.iter().position(is) {
                Some(set) => &mut sets[set],
                None => {
                    sets.push(Set { title, metric, unit, axes: Vec::new(), points: Vec::new() });
                    let last = sets.len() - 1;
                    &mut sets[last]
                }
            };
            set.points.push(Point { variant, values, facts: vec![fact] });
        }
        sets.iter_mut().for_each(|set| set.settle(&names));
        sets
    }

    /// Joins the points that differ in their seeds only, and finds the axes that vary.
    fn settle(&mut self, names: &[String]) {
        let mut seen = std::collections::HashMap::new();
        let mut points: Vec<Point> = Vec::new();
        for point in self.points.drain(..) {
            let bits: Vec<Option<u64>> = point.values.iter().map(|v| v.map(f64::to_bits)).collect();
            match seen.entry((point.variant.clone(), bits)) {
                std::collections::hash_map::Entry::Occupied(known) => {
                    let known: &usize = known.get();
                    points[*known].facts.extend(point.facts);
                }
                std::collections::hash_map::Entry::Vacant(new) => {
                    new.insert(points.len());
                    points.push(point);
                }
            }
        }
        let axes: Vec<Axis> = std::iter::once(THREADS.to_owned())
            .chain(names.iter().cloned())
            .enumerate()
            .map(|(index, name)| axis(name, index, &points))
            .collect();
        let varies: Vec<bool> =
            axes.iter().map(|axis| axis.values.len() > 1 || axis.is_optional).collect();
        for point in &mut points {
            let mut varies = varies.iter();
            point.values.retain(|_| varies.next() == Some(&true));
        }
        let kept = axes.into_iter().zip(&varies).filter(|(_, varies)| **varies);
        self.axes = kept.map(|(axis, _)| axis).collect();
        self.points = points;
    }

    /// Returns the variants, in order.
    pub(crate) fn variants(&self) -> Vec<&str> {
        let mut variants: Vec<&str> = Vec::new();
        for point in &self.points {
            if !variants.contains(&point.variant.as_str()) {
                variants.push(&point.variant);
            }
        }
        variants
    }

    /// Returns the points that have the fixed values on all axes but `free`.
    pub(crate) fn through(&self, free: &[usize]) -> Vec<&Point> {
        let is_fixed = |point: &Point| {
            let mut values = point.values.iter().enumerate();
            values.all(|(index, value)| free.contains(&index) || *value == self.axes[index].fixed())
        };
        self.points.iter().filter(|point| is_fixed(point)).collect()
    }

    /// Returns the fixed values of all axes but `free`, in words.
    pub(crate) fn fixed_in_words(&self, free: &[usize]) -> String {
        let others = self.axes.iter().enumerate().filter(|(index, _)| !free.contains(index));
        let words: Vec<String> = others
            .filter_map(|(_, axis)| Some(format!("{} = {}", axis.name, axis.fixed()?)))
            .collect();
        words.join(", ")
    }

    /// Returns true if the first figure is better than the second.
    pub(crate) fn is_better(&self, a: f64, b: f64) -> bool {
        match Direction::of(&self.metric, &self.unit) {
            Some(Direction::Down) => a < b,
            _ => a > b,
        }
    }
}

/// Returns the names of a document's parameters.
fn parameters(document: &Value) -> Vec<String> {
    let names = document["parameters"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn axis(name: String, index: usize, points: &[Point]) -> Axis {
    let mut values: Vec<f64> = points.iter().filter_map(|point| point.values[index]).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let is_missing = points.iter().any(|point| point.values[index].is_none());
    Axis { name, is_optional: is_missing && !values.is_empty(), values }
}
