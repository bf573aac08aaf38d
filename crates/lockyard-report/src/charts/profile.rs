//! Waits for a program's locks and their holds, as bars: which lock matters, at a glance.

use crate::fact::Fact;
use crate::svg::bars::{Bar, Block, Segment, Stacked};
use crate::svg::{Chart, Shown};
use crate::text::{share, short};
use serde_json::Value;

/// Width of the drawing, which a phone shows in legible letters.
const SMALL: f64 = 520.0;

/// Maximum number of locks in a block of the chart.
const MOST: usize = 10;

/// Returns the chart of a process's locks and groups, which come in the order of the waits. `at` is
/// the place of the process in the page's document.
pub(crate) fn chart(groups: &[Value], at: &str) -> Option<Chart> {
    let waited = block("Share of all waiting for locks", 0, groups, at, "share_of_waiting");
    let held = block("Share of the time for which it is held", 1, groups, at, "held_share");
    let blocks: Vec<Block> = waited.into_iter().chain(held).collect();
    if blocks.is_empty() {
        return None;
    }
    let stacked = Stacked {
        title: "Which lock matters".to_owned(),
        description: "Bars of each lock or group of locks: its share of all the time for which \
                      threads waited for locks, and the share of the run for which it was held. \
                      The share of a group is the sum of its locks; a bar ends at 100 %."
            .to_owned(),
        width: SMALL,
        parts: vec!["waited for".to_owned(), "held".to_owned()],
        blocks,
    };
    Some(stacked.draw())
}

/// Returns the bars of a figure, the largest first. Without a figure above 0 there are none.
fn block<'g>(
    heading: &str,
    part: usize,
    groups: &'g [Value],
    at: &str,
    field: &str,
) -> Option<Block> {
    let value = |(index, group): (usize, &'g Value)| Some((index, group, group[field].as_f64()?));
    let mut found: Vec<(usize, &Value, f64)> =
        groups.iter().enumerate().filter_map(value).collect();
    found.retain(|(.., value)| *value > 0.0);
    found.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    found.truncate(MOST);
    let bar = |(index, group, value): (usize, &Value, f64)| {
        let name = group["name"].as_str().or(group["hottest"].as_str()).unwrap_or_default();
        let name = format!("#{} {}", index + 1, short(name));
        let fact = Fact { at: format!("{at}/groups/{index}/{field}"), value };
        let shown = Shown::one(fact, format!("{name}: {}", share(value)));
        Bar { name, segments: vec![Segment { part, share: value, shown }] }
    };
    let bars: Vec<Bar> = found.into_iter().map(bar).collect();
    (!bars.is_empty()).then(|| Block { heading: heading.to_owned(), bars })
}
