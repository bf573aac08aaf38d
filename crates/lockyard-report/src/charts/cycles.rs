//! Cycles of simulated threads by phase: a stacked bar for each variant and number of threads.

use crate::fact::Fact;
use crate::group::Group;
use crate::svg::bars::{Bar, Block, Segment, Stacked};
use crate::svg::{Chart, Shown, WIDTH};
use crate::text::share;
use lockyard_results::details::CostsDetail;
use lockyard_results::row::Row;
use std::collections::BTreeMap;

/// Phases in the order of the bars. Other phases follow in alphabetical order.
const ORDER: [&str; 7] = [
    "working",
    "moving_lines",
    "draining_stores",
    "waiting",
    "waiting_for_answers",
    "off_the_cpu",
    "system_calls",
];

/// Returns the chart of a group; `None` if no row has costs.
pub(crate) fn chart(group: &Group) -> Option<Chart> {
    let mut names: Vec<&str> = Vec::new();
    let costs = |row: &Row| row.details.simulated.as_ref()?.costs.clone();
    let rows: Vec<(usize, &Row, CostsDetail)> =
        group.rows.iter().filter_map(|&(index, row)| Some((index, row, costs(row)?))).collect();
    let found: BTreeMap<&str, f64> = rows
        .iter()
        .flat_map(|(.., costs)| costs.share.iter().map(|(name, &share)| (name.as_str(), share)))
        .fold(BTreeMap::new(), |mut all, (name, share)| {
            *all.entry(name).or_insert(0.0) += share;
            all
        });
    let is_there = |name: &&str| found.get(name).is_some_and(|&share| share > 0.0);
    names.extend(ORDER.iter().copied().filter(is_there));
    let others: Vec<&str> = found.keys().copied().filter(|name| !ORDER.contains(name)).collect();
    names.extend(others.into_iter().filter(is_there));
    if names.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    for variant in group.variants() {
        let of = rows.iter().filter(|(_, row, _)| row.key.variant == variant);
        let bars: Vec<Bar> =
            of.map(|(index, row, costs)| bar(*index, row, costs, &names)).collect();
        if !bars.is_empty() {
            blocks.push(Block { heading: variant.to_owned(), bars });
        }
    }
    let [experiment, machine, ..] = group.names();
    let stacked = Stacked {
        title: format!("{experiment} on {machine}: where the cycles go"),
        description: format!(
            "Shares of the simulated threads' cycles by phase, a bar for each variant and number \
             of threads. Phases: {}.",
            names.join(", ").replace('_', " ")
        ),
        width: WIDTH,
        parts: names.iter().map(|name| name.replace('_', " ")).collect(),
        blocks,
    };
    Some(stacked.draw())
}

fn bar(index: usize, row: &Row, costs: &CostsDetail, names: &[&str]) -> Bar {
    let segment = |(part, &name): (usize, &&str)| {
        let value = *costs.share.get(name)?;
        let fact = Fact::of_row(index, &format!("detail/simulated/costs/share/{name}"), value);
        let tip = format!("{} {}", name.replace('_', " "), share(value));
        Some(Segment { part, share: value, shown: Shown::one(fact, tip) })
    };
    let segments = names.iter().enumerate().filter_map(segment).collect();
    Bar { name: row.key.threads_in_words(), segments }
}
