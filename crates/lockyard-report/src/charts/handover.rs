//! Distance of hand-overs: from one holder of a lock to the next, or from one owner of a line to
//! the next.

use crate::fact::Fact;
use crate::group::Group;
use crate::svg::bars::{Bar, Block, Segment, Stacked};
use crate::svg::{Chart, Shown, WIDTH};
use crate::text::share;
use lockyard_results::details::{HandoversDetail, LineDetail};
use lockyard_results::row::Row;

/// Distances of measured hand-overs: the name for people, and the member of the JSON document.
const MEASURED: [[&str; 2]; 6] = [
    ["same thread", "same_thread"],
    ["same CPU", "same_cpu"],
    ["same core", "same_core"],
    ["same complex", "same_complex"],
    ["same socket", "same_socket"],
    ["another socket", "remote"],
];

fn measured_shares(of: &HandoversDetail) -> [Option<f64>; 6] {
    [of.same_thread, of.same_cpu, of.same_core, of.same_complex, of.same_socket, of.remote]
}

/// Returns the chart of the locks' measured hand-overs; `None` if no row has any.
pub(crate) fn measured(group: &Group) -> Option<Chart> {
    let bar = |index: usize, row: &Row| {
        let found = row.details.measured.as_ref()?.handovers?;
        let segment = |(part, value): (usize, Option<f64>)| {
            let value = value?;
            let [name, member] = MEASURED[part];
            let at = format!("detail/measured/handovers/{member}");
            let tip = tip(row, name, &share(value));
            Some(Segment {
                part,
                share: value,
                shown: Shown::one(Fact::of_row(index, &at, value), tip),
            })
        };
        let segments: Vec<Segment> =
            measured_shares(&found).into_iter().enumerate().filter_map(segment).collect();
        let is_any = segments.iter().any(|segment| segment.share > 0.0);
        is_any.then(|| Bar { name: row.key.threads_in_words(), segments })
    };
    let mut blocks = Vec::new();
    for variant in group.variants() {
        let rows = group.of_variant(variant);
        let bars: Vec<Bar> = rows.into_iter().filter_map(|(index, row)| bar(index, row)).collect();
        if !bars.is_empty() {
            blocks.push(Block { heading: variant.to_owned(), bars });
        }
    }
    let parts = MEASURED.map(|[name, _]| name.to_owned()).to_vec();
    drawn(group, "hand-overs of locks by distance, measured", parts, blocks)
}

/// Distances of simulated hand-overs.
const SIMULATED: [[&str; 2]; 4] = [
    ["same core", "same_core"],
    ["same complex", "same_complex"],
    ["same socket", "same_socket"],
    ["another socket", "another_socket"],
];

/// Returns the chart of the worst line's simulated hand-overs; `None` if no row has any.
pub(crate) fn simulated(group: &Group) -> Option<Chart> {
    let mut blocks = Vec::new();
    for variant in group.variants() {
        let rows = group.of_variant(variant);
        let bars: Vec<Bar> =
            rows.into_iter().filter_map(|(index, row)| line_bar(index, row)).collect();
        if !bars.is_empty() {
            blocks.push(Block { heading: variant.to_owned(), bars });
        }
    }
    let parts = SIMULATED.map(|[name, _]| name.to_owned()).to_vec();
    drawn(group, "hand-overs of the costliest line", parts, blocks)
}

/// Returns the bar of the line where a row's threads lost the most time.
fn line_bar(index: usize, row: &Row) -> Option<Bar> {
    let line: &LineDetail = row.details.simulated.as_ref()?.costs.as_ref()?.lines.first()?;
    let of = &line.hand_overs_per_operation;
    let counts = [of.same_core, of.same_complex, of.same_socket, of.another_socket];
    let all: f64 = counts.iter().sum();
    if all <= 0.0 {
        return None;
    }
    let segment = |(part, &count): (usize, &f64)| {
        let [name, member] = SIMULATED[part];
        let at = format!("detail/simulated/costs/lines/0/hand_overs_per_operation/{member}");
        let what = format!("{count:.3} hand-overs of `{}` per operation", line.line);
        let shown = Shown::one(Fact::of_row(index, &at, count), tip(row, name, &what));
        Segment { part, share: count / all, shown }
    };
    let segments = counts.iter().enumerate().map(segment).collect();
    Some(Bar { name: format!("{}, {}", line.line, row.key.threads_in_words()), segments })
}

fn tip(row: &Row, distance: &str, value: &str) -> String {
    format!("{}, {}: {distance}: {value}", row.key.variant, row.key.threads_in_words())
}

fn drawn(group: &Group, what: &str, parts: Vec<String>, blocks: Vec<Block>) -> Option<Chart> {
    if blocks.is_empty() {
        return None;
    }
    let [experiment, machine, ..] = group.names();
    let title = format!("{experiment} on {machine}: {what}");
    let description = format!(
        "Shares of the hand-overs that stayed near or went far, a bar for each variant and number \
         of threads. Distances: {}.",
        parts.join(", ")
    );
    Some(Stacked { title, description, width: WIDTH, parts, blocks }.draw())
}
