//! Histogram of the waits of a run: buckets for programs, a picture for readers.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Number of values of at least `from` and below `to` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "[u64; 3]")]
pub struct Bucket {
    /// Lower end, included.
    pub from: u64,
    /// Upper end, excluded.
    pub to: u64,
    /// Number of values in the bucket.
    pub count: u64,
}

impl From<Bucket> for [u64; 3] {
    fn from(bucket: Bucket) -> [u64; 3] {
        [bucket.from, bucket.to, bucket.count]
    }
}

/// Number of buckets per doubling.
const PARTS: u64 = 4;

/// Returns the bucket of a value. Each value from 0 to 7 has its own bucket. Above 7, there are
/// four buckets per doubling.
fn bucket(value: u64) -> (u64, u64) {
    if value < 2 * PARTS {
        return (value, value + 1);
    }
    let width = (1u64 << value.ilog2()) / PARTS;
    let from = value / width * width;
    (from, from.saturating_add(width))
}

/// Returns the non-empty buckets in ascending order, four per doubling.
pub fn buckets(histogram: &Histogram<u64>) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    for step in histogram.iter_recorded() {
        let (from, to) = bucket(step.value_iterated_to());
        let count = step.count_since_last_iteration();
        match buckets.last_mut() {
            Some(last) if last.from == from => last.count += count,
            _ => buckets.push(Bucket { from, to, count }),
        }
    }
    buckets
}

/// Length of the longest bar in characters.
const WIDTH: usize = 20;

/// Returns the next bucket edge of the picture.
fn double(edge: u64) -> u64 {
    edge.saturating_mul(2).max(1)
}

/// Draws one line per doubling: its lower end, and a bar for its share of the values. Three dots
/// replace two or more consecutive empty doublings.
///
/// `marks` are pairs of a name and a value. Each is written on the line that contains its value.
/// The text ends with a line feed, and is empty if there are no buckets.
pub fn picture(heading: &str, buckets: &[Bucket], marks: &[(&str, u64)]) -> String {
    let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
    let Some((first, last)) = buckets.first().zip(buckets.last()) else { return String::new() };
    let mut text = format!("{heading}\n");
    let (mut from, mut empty) = (first.from.checked_ilog2().map_or(0, |log| 1u64 << log), 0);
    let count_in = |from: u64, to: u64| -> u64 {
        let inside = buckets.iter().filter(|bucket| from <= bucket.from && bucket.from < to);
        inside.map(|bucket| bucket.count).sum()
    };
    let most = {
        let mut most = 1;
        let mut edge: u64 = from;
        while edge <= last.from && edge < u64::MAX {
            let next = double(edge);
            most = most.max(count_in(edge, next));
            edge = next;
        }
        most
    };
    while from <= last.from && from < u64::MAX {
        let to = double(from);
        let count = count_in(from, to);
        empty = if count == 0 { empty + 1 } else { 0 };
        if empty == 2 {
            text.push_str(&format!("{:>12}\n", "..."));
        }
        if empty == 0 || empty == 1 && count_in(to, double(to)) > 0 {
            // Draw at least a short bar if there are any values.
            let length = (count as f64 / most as f64 * WIDTH as f64).round() as usize;
            let bar = if count > 0 && length == 0 { ".".to_owned() } else { "#".repeat(length) };
            let within = |value: u64| from <= value && value < to;
            let marked: Vec<&str> =
                marks.iter().filter(|(_, value)| within(*value)).map(|(name, _)| *name).collect();
            let line = format!(
                "{from:>12} |{bar:<WIDTH$}| {:>10} {count:>9}  {}",
                format!("{:.4} %", count as f64 / total as f64 * 100.0),
                marked.join(", ")
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        from = to;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_value_is_in_the_bucket_that_has_it() {
        assert_eq!([0, 7, 8, 9].map(bucket), [(0, 1), (7, 8), (8, 10), (8, 10)]);
        assert_eq!([100, 111, 112].map(bucket), [(96, 112), (96, 112), (112, 128)]);
        let (from, to) = bucket(u64::MAX);
        assert!(from > u64::MAX / 2 && to == u64::MAX);
    }

    #[test]
    fn the_picture_has_a_line_for_each_doubling_and_the_marks() {
        let buckets = [
            Bucket { from: 20, to: 24, count: 30 },
            Bucket { from: 28, to: 32, count: 10 },
            Bucket { from: 96, to: 112, count: 1 },
        ];
        let text = picture("waits", &buckets, &[("50 %", 21), ("longest", 100)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "a heading, 16, 32 (empty), 64:\n{text}");
        assert!(lines[1].contains(&"#".repeat(WIDTH)) && lines[1].ends_with("50 %"), "{text}");
        assert!(lines[1].contains("97.5610 %"), "{text}");
        assert!(!lines[2].contains('#') && !lines[2].contains("|."), "{text}");
        assert!(lines[3].contains("|#") && lines[3].ends_with("longest"), "{text}");
        assert_eq!(picture("nothing", &[], &[]), "");
    }

    #[test]
    fn where_there_is_nothing_for_long_there_are_dots() {
        let buckets =
            [Bucket { from: 16, to: 20, count: 3 }, Bucket { from: 4096, to: 5120, count: 1 }];
        let text = picture("waits", &buckets, &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[2].trim(), "...");
    }

    #[test]
    fn what_is_rare_is_a_point_and_not_nothing() {
        let buckets =
            [Bucket { from: 0, to: 1, count: 100_000 }, Bucket { from: 4, to: 5, count: 1 }];
        let text = picture("waits", &buckets, &[]);
        assert!(text.lines().last().unwrap().contains("|."), "{text}");
    }

    proptest! {
        #[test]
        fn buckets_hold_every_value_once(
            values in prop::collection::vec(0u64..10_000_000_000, 0..200),
        ) {
            let mut histogram = crate::fairness::histogram();
            values.iter().for_each(|&value| histogram.saturating_record(value));
            let buckets = buckets(&histogram);
            prop_assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), values.len() as u64);
            prop_assert!(buckets.iter().all(|b| b.from < b.to && b.count > 0));
            prop_assert!(buckets.windows(2).all(|pair| pair[0].to <= pair[1].from));
            for value in values {
                // The histogram keeps three significant digits, so compare with a tolerance.
                let near = |b: &&Bucket| {
                    b.from as f64 <= value as f64 * 1.001 + 1.0
                        && value as f64 <= b.to as f64 * 1.001 + 1.0
                };
                prop_assert!(buckets.iter().any(|b| near(&b)), "{}", value);
            }
        }

        #[test]
        fn a_picture_of_anything_ends(froms in prop::collection::vec(0u64..u64::MAX, 1..20)) {
            let mut froms = froms;
            froms.sort_unstable();
            let buckets: Vec<Bucket> = froms
                .iter()
                .map(|&from| Bucket { from: bucket(from).0, to: bucket(from).1, count: 1 })
                .collect();
            prop_assert!(picture("x", &buckets, &[]).lines().count() <= 66);
        }
    }
}
