//! Errors of predictions of recorded programs, by number of threads away: the intervals of their
//! figures.
//!
//! They are from twelve programs whose rates were measured with 1 to 32 threads. `data/growth.csv`
//! has them; `cargo run --release -p lockyard-predict --example programs16 -- --write` makes it.

use lockyard_results::details::Range;

/// Errors by recordings and distance.
const ERRORS: &str = include_str!("../../data/growth.csv");

/// Spread of measured rates around predicted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// True if several recordings were given.
    pub several: bool,
    /// Number of doublings from the largest recorded number of threads.
    pub doublings: usize,
    /// Measured rate over predicted rate: nine tenths of the cells have more.
    pub low: f64,
    /// The same: nine tenths have less.
    pub high: f64,
}

impl Spread {
    /// Returns the interval of a figure.
    pub fn around(&self, figure: f64) -> Range {
        Range { low: figure * self.low, high: figure * self.high }
    }
}

/// Returns the number of doublings from one number of threads to a larger one, rounded up.
pub fn doublings(from: usize, to: usize) -> usize {
    let from = from.max(1);
    (0..usize::BITS as usize).find(|n| from.saturating_mul(1 << n) >= to).unwrap_or(0)
}

/// Returns the spread of predictions `doublings` away, or of the most that is known. It never
/// shrinks with the distance. Returns `None` if there is no distance.
pub fn of(several: bool, doublings: usize) -> Option<Spread> {
    let rows = ERRORS.lines().skip(1).filter_map(read);
    let up_to = rows.filter(|row| row.several == several && row.doublings <= doublings);
    let all: Vec<Spread> = up_to.collect();
    let low = all.iter().map(|row| row.low).reduce(f64::min)?;
    let high = all.iter().map(|row| row.high).reduce(f64::max)?;
    Some(Spread { several, doublings, low, high })
}

/// Reads a row: recordings, doublings, low, high, number of cells.
fn read(line: &str) -> Option<Spread> {
    let mut cells = line.split(',');
    let several = cells.next()? == "several";
    let doublings = cells.next()?.parse().ok()?;
    let (low, high) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    Some(Spread { several, doublings, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_distance_never_has_a_smaller_spread() {
        assert_eq!(
            [(1, 1), (1, 2), (4, 8), (4, 9), (4, 32), (0, 1)].map(|(a, b)| doublings(a, b)),
            [0, 1, 1, 2, 3, 0]
        );
        for several in [true, false] {
            assert_eq!(of(several, 0), None);
            let each: Vec<Spread> = (1..9).filter_map(|n| of(several, n)).collect();
            assert_eq!(each.len(), 8);
            assert!(each.is_sorted_by(|a, b| a.low >= b.low && a.high <= b.high), "{each:?}");
            assert!(each.iter().all(|row| row.low < 1.0 && row.high > 1.0), "{each:?}");
        }
        let around = Spread { low: 0.5, high: 2.0, ..Spread::default() }.around(10.0);
        assert_eq!((around.low, around.high), (5.0, 20.0));
    }
}
