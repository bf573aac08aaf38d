//! Small table of many variants: a line for each, the best one first, and few numbers of threads.
//! A table with intervals of a dozen variants fills several screens.

use super::cells::new_table;
use super::screen::Screen;
use super::si::si;
use crate::compare::direction::Direction;
use crate::row::Row;
use comfy_table::presets;

/// Number of variants from which the small table is shown.
const MANY: usize = 5;

/// Maximum number of thread counts in it.
const MOST_COUNTS: usize = 6;

/// Returns the table of a group of rows, if it has many variants that are predicted over threads.
pub(super) fn table(rows: &[&Row], screen: &Screen) -> Option<String> {
    let first = rows.first()?;
    let direction = Direction::of("", &first.key.unit)?;
    let mut variants: Vec<&str> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for row in rows {
        let is_plain = row.published.is_none() && row.measured.is_none();
        if !is_plain || row.key.metric != first.key.metric {
            return None;
        }
        let variant = row.key.variant.as_str();
        if !variants.contains(&variant) {
            variants.push(variant);
        }
        counts.push(row.key.threads?);
    }
    counts.sort_unstable();
    counts.dedup();
    if variants.len() < MANY || counts.len() < 2 {
        return None;
    }
    let cell = |variant: &str, threads: usize| {
        let is_one = |row: &&&Row| row.key.variant == variant && row.key.threads == Some(threads);
        rows.iter().find(is_one).and_then(|row| row.predicted)
    };
    let most = *counts.last()?;
    variants.sort_by(|a, b| match (cell(a, most), cell(b, most)) {
        (Some(a), Some(b)) => direction.speed(a, b).total_cmp(&1.0),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    let counts = some_of(&counts);
    let header: Vec<String> = std::iter::once("variant".to_owned())
        .chain(counts.iter().map(|threads| format!("{threads} thr.")))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = new_table(&presets::NOTHING, &header, 1);
    for variant in variants {
        let figures = counts.iter().map(|threads| cell(variant, *threads).map_or("-".into(), si));
        table.add_row(std::iter::once(variant.to_owned()).chain(figures));
    }
    Some(screen.figures(&table, 1))
}

/// Returns thread counts from the least to the most, evenly among them.
fn some_of(counts: &[usize]) -> Vec<usize> {
    if counts.len() <= MOST_COUNTS {
        return counts.to_vec();
    }
    let last = counts.len() - 1;
    (0..MOST_COUNTS).map(|place| counts[place * last / (MOST_COUNTS - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Status;
    use crate::row::tests::row;

    fn rows(variants: &[&str]) -> Vec<Row> {
        let of = |(number, variant): (usize, &&str)| {
            let figure = |threads: usize| (threads * (number + 1)) as f64 * 1e6;
            let one = |threads| Row {
                published: None,
                ..row(variant, threads, 1.0, figure(threads), Status::Predicted)
            };
            (1..=8).map(one).collect::<Vec<Row>>()
        };
        variants.iter().enumerate().flat_map(of).collect()
    }

    #[test]
    fn many_variants_are_lines_and_the_best_is_first() {
        let all = rows(&["a", "b", "c", "d", "e"]);
        let all: Vec<&Row> = all.iter().collect();
        let text = table(&all, &Screen::default()).expect("there are many");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 5, "{text}");
        assert!(lines[2].starts_with('e') && lines[6].starts_with('a'), "{text}");
        assert!(lines[2].contains("40.0 M") && lines[0].contains("8 thr."), "{text}");
        assert_eq!(lines[0].matches("thr.").count(), 6, "{text}");
        assert!(table(&all[..32], &Screen::default()).is_none(), "four are few");
    }

    #[test]
    fn published_figures_keep_their_table() {
        let mut all = rows(&["a", "b", "c", "d", "e"]);
        all[3].published = Some(1.0);
        let all: Vec<&Row> = all.iter().collect();
        assert_eq!(table(&all, &Screen::default()), None);
    }

    #[test]
    fn the_first_and_the_last_count_are_always_there() {
        assert_eq!(some_of(&[1, 2, 3]), [1, 2, 3]);
        let counts: Vec<usize> = (1..=96).collect();
        let some = some_of(&counts);
        assert_eq!((some.len(), some[0], some[5]), (6, 1, 96));
        assert!(some.is_sorted_by(|a, b| a < b));
    }
}
