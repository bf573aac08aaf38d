//! Scales: values to positions, and the values at which an axis has ticks.

use lockyard_results::render::figure;

/// Kind of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances.
    Logarithmic,
}

/// A scale: values, and the positions of its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    values: [f64; 2],
    positions: [f64; 2],
}

impl Scale {
    /// Returns a scale from the first to the second of `values`.
    pub(crate) fn new(kind: Kind, values: [f64; 2], positions: [f64; 2]) -> Scale {
        let [low, high] = values;
        // If there is only one value, it is in the middle of the scale.
        let values = match kind {
            _ if high > low => values,
            Kind::Linear => [low - 0.5, low + 0.5],
            Kind::Logarithmic => [low / 2.0, low * 2.0],
        };
        Scale { kind, values, positions }
    }

    /// Returns the position of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let [low, high] = self.values;
        let [from, to] = self.positions;
        let share = match self.kind {
            Kind::Linear => (value - low) / (high - low),
            Kind::Logarithmic => (value / low).ln() / (high / low).ln(),
        };
        from + share * (to - from)
    }
}

/// Returns round values from at most `low` to at least `high`, about `count` of them.
pub(crate) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = ((high - low) / count.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power);
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    let number = (last - first).clamp(0.0, 100.0) as usize;
    (0..=number).map(|index| (first + index as f64) * step).collect()
}

/// Returns the powers of ten from at most `low` to at least `high`, both positive.
pub(crate) fn powers(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last.max(first + 1)).map(|power| 10f64.powi(power)).collect()
}

/// Formats a tick in as few digits as all the `ticks` need.
pub(crate) fn label(tick: f64, ticks: &[f64]) -> String {
    let digits = (0..4).find(|&digits| {
        let factor = 10f64.powi(digits);
        ticks.iter().all(|tick| (tick * factor - (tick * factor).round()).abs() < 1e-6 * factor)
    });
    match digits {
        Some(0) if tick.abs() >= 1000.0 => figure(tick),
        Some(digits) => format!("{tick:.*}", digits as usize),
        None => format!("{tick:.1e}"),
    }
}

/// Returns the kind of scale on which the closest two values are further apart. The values are in
/// ascending order.
pub(crate) fn better_for(values: &[f64]) -> Kind {
    let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return Kind::Linear };
    if low <= 0.0 || high <= low {
        return Kind::Linear;
    }
    let closest = |place: &dyn Fn(f64) -> f64| {
        let gaps = values.windows(2).map(|pair| place(pair[1]) - place(pair[0]));
        gaps.fold(f64::INFINITY, f64::min) / (place(high) - place(low))
    };
    if closest(&f64::ln) > 1.2 * closest(&|value| value) { Kind::Logarithmic } else { Kind::Linear }
}

/// A unit in which figures have few digits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Name.
    pub(crate) name: String,
    /// Size, as a number of the original units.
    pub(crate) size: f64,
}

impl Unit {
    /// Returns a unit for figures up to `most`. Units of time and shares are not changed.
    pub(crate) fn for_most(unit: &str, most: f64) -> Unit {
        let stays = ["s", "ms", "us", "µs", "ns", "%", "ratio", ""].contains(&unit);
        let (prefix, size) = match most {
            _ if stays => ("", 1.0),
            most if most >= 1e9 => ("G ", 1e9),
            most if most >= 1e6 => ("M ", 1e6),
            most if most >= 1e4 => ("k ", 1e3),
            _ => ("", 1.0),
        };
        Unit { name: format!("{prefix}{unit}"), size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        assert_eq!(ticks(0.0, 6.6, 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(-0.3, 0.3, 6).len(), 7);
        assert_eq!(powers(30.0, 2000.0), [10.0, 100.0, 1000.0, 10000.0]);
        let ticks = ticks(0.0, 1.2, 5);
        assert_eq!(label(ticks[1], &ticks), "0.5");
        assert_eq!(label(20_000.0, &[0.0, 20_000.0]), "20 000");
    }

    #[test]
    fn the_scale_of_threads_leaves_room_between_them() {
        assert_eq!(better_for(&[1.0, 2.0, 8.0, 24.0, 48.0, 96.0]), Kind::Logarithmic);
        assert_eq!(better_for(&[1.0, 2.0, 3.0, 4.0]), Kind::Linear);
        assert_eq!(better_for(&[1.0]), Kind::Linear);
    }

    #[test]
    fn a_value_has_a_position() {
        let linear = Scale::new(Kind::Linear, [0.0, 10.0], [100.0, 0.0]);
        assert_eq!(linear.at(2.5), 75.0);
        let log = Scale::new(Kind::Logarithmic, [1.0, 100.0], [0.0, 100.0]);
        assert!((log.at(10.0) - 50.0).abs() < 1e-9);
        assert_eq!(Scale::new(Kind::Linear, [3.0, 3.0], [0.0, 10.0]).at(3.0), 5.0);
    }

    #[test]
    fn units_are_short() {
        assert_eq!(Unit::for_most("op/s", 6.6e6), Unit { name: "M op/s".into(), size: 1e6 });
        assert_eq!(Unit::for_most("ns", 6.6e6), Unit { name: "ns".into(), size: 1.0 });
    }
}
