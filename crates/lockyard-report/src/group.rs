//! Rows that share a chart: of one experiment, one machine, and one family of metrics.

use lockyard_results::listing::{CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX};
use lockyard_results::row::Row;

/// Rows of a document that share a chart, with their indices in the document.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    /// Rows, in the order of the document.
    pub(crate) rows: Vec<(usize, &'a Row)>,
    /// First row.
    pub(crate) first: &'a Row,
}

impl<'a> Group<'a> {
    /// Returns the groups of these rows, in the order of their first rows.
    pub(crate) fn all(rows: &'a [Row]) -> Vec<Group<'a>> {
        let mut groups: Vec<Group> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            match groups.iter_mut().find(|group| group.names() == names(row)) {
                Some(group) => group.rows.push((index, row)),
                None => groups.push(Group { rows: vec![(index, row)], first: row }),
            }
        }
        groups
    }

    /// Returns the experiment, the machine, the family of metrics and the unit.
    pub(crate) fn names(&self) -> [&'a str; 4] {
        names(self.first)
    }

    /// Returns the title for people.
    pub(crate) fn title(&self) -> String {
        let [experiment, machine, family, _] = self.names();
        format!("{experiment} on {machine}: {family}")
    }

    /// Returns true if the rows have several metrics, as the rows of a profiler's listing do.
    pub(crate) fn has_metrics(&self) -> bool {
        self.rows.iter().any(|(_, row)| row.key.metric != family(row))
    }

    /// Returns the variants, in order.
    pub(crate) fn variants(&self) -> Vec<&'a str> {
        let mut variants: Vec<&str> = Vec::new();
        for (_, row) in &self.rows {
            if !variants.contains(&row.key.variant.as_str()) {
                variants.push(&row.key.variant);
            }
        }
        variants
    }

    /// Returns the rows of a variant.
    pub(crate) fn of_variant(&self, variant: &str) -> Vec<(usize, &'a Row)> {
        self.rows.iter().filter(|(_, row)| row.key.variant == variant).copied().collect()
    }
}

fn names(row: &Row) -> [&str; 4] {
    [&row.key.experiment, &row.key.machine, family(row), &row.key.unit]
}

/// Returns the family of the row's metric. Metrics of samples and of a listing share a table.
fn family(row: &Row) -> &str {
    match row.key.metric.as_str() {
        metric if metric.contains("@sample") => "throughput of samples",
        metric if metric.starts_with(CPU_SHARE_PREFIX) => "share of CPU time",
        metric if metric.starts_with(SAMPLE_COUNT_PREFIX) => "samples of a profiler",
        metric => metric,
    }
}
