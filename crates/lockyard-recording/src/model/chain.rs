//! Classes of threads, and the Markov chain of each: visits that are alike, and which follows
//! which.

use super::shares::Shares;
use super::visits::{Meets, Operation, Run, Segment, Visit};
use std::collections::{BTreeMap, HashMap};

/// Similarity of two threads' sites from which they are of one class: the cosine of the angle
/// between their counts.
const ALIKE: f64 = 0.8;

/// Maximum number of kinds of visits of a class.
const MOST_KINDS: usize = 48;

/// Maximum number of operations of a visit. A longer one is cut.
const LONGEST: usize = 64;

/// Operations of a visit.
pub type Shape = Vec<Operation>;

/// Threads that take the same locks at the same sites.
#[derive(Clone, Debug, Default)]
pub struct ClassModel {
    /// Numbers of the threads.
    pub threads: Vec<u32>,
    /// Number of visits that are recorded.
    pub count: usize,
    /// Kinds of visits, the most frequent first.
    pub visits: Vec<VisitModel>,
    /// Numbers of visits from one at a barrier to the next, with how often they were seen.
    pub rounds: BTreeMap<usize, usize>,
}

/// Visits with the same operations.
#[derive(Clone, Debug, Default)]
pub struct VisitModel {
    /// The operations.
    pub shape: Shape,
    /// Times before each operation, of each visit.
    pub segments: Vec<Vec<Segment>>,
    /// Number of times that each kind of visit came next.
    pub next: BTreeMap<usize, usize>,
}

impl VisitModel {
    /// Returns the number of these visits.
    pub fn count(&self) -> usize {
        self.segments.len()
    }
}

/// Returns the classes of all runs' threads.
pub(super) fn classes(runs: &[Run], barriers: &[u32], shares: &mut Shares) -> Vec<ClassModel> {
    let mut sites: BTreeMap<u32, HashMap<(u32, u32), f64>> = BTreeMap::new();
    for run in runs {
        let of_thread = sites.entry(run.thread).or_default();
        for visit in &run.visits {
            let enter = visit.operations.iter().find(|of| matches!(of, Operation::Enter { .. }));
            if let Some(Operation::Enter { lock, site, .. }) = enter {
                *of_thread.entry((*lock, *site)).or_default() += 1.0;
            }
        }
    }
    let mut members: Vec<Vec<u32>> = Vec::new();
    for (thread, counts) in &sites {
        let found = members.iter_mut().find(|class| alike(counts, &sites[&class[0]]) >= ALIKE);
        match found {
            Some(class) => class.push(*thread),
            None => members.push(vec![*thread]),
        }
    }
    let (mut merged, mut all) = (0, 0);
    let mut classes = Vec::new();
    for threads in members {
        let of_class = || runs.iter().filter(|run| threads.contains(&run.thread));
        let (class, rare) = class(threads.clone(), barriers, of_class);
        merged += rare;
        all += class.count;
        classes.push(class);
    }
    classes.sort_by_key(|class| std::cmp::Reverse(class.count));
    shares.merged = merged as f64 / f64::max(all as f64, 1.0);
    classes
}

/// Returns true if all threads meet in a visit with these operations. Barriers are given by their
/// places in the model.
pub(crate) fn is_at_a_barrier(operations: &[Operation], barriers: &[u32]) -> bool {
    operations.iter().any(|operation| match operation {
        Operation::Meet { meeting, what: Meets::Waits | Meets::WaitsInside } => {
            barriers.contains(meeting)
        }
        _ => false,
    })
}

/// Returns the similarity of two threads' counts.
fn alike(a: &HashMap<(u32, u32), f64>, b: &HashMap<(u32, u32), f64>) -> f64 {
    let product: f64 = a.iter().filter_map(|(key, x)| b.get(key).map(|y| x * y)).sum();
    let length = |of: &HashMap<(u32, u32), f64>| of.values().map(|x| x * x).sum::<f64>().sqrt();
    product / (length(a) * length(b)).max(f64::MIN_POSITIVE)
}

/// Returns a class, and the number of its visits of rare kinds.
fn class<'r, R: Iterator<Item = &'r Run>>(
    threads: Vec<u32>,
    barriers: &[u32],
    runs: impl Fn() -> R,
) -> (ClassModel, usize) {
    let mut counts: HashMap<&[Operation], usize> = HashMap::new();
    for visit in runs().flat_map(|run| &run.visits) {
        *counts.entry(visit.operations.as_slice()).or_default() += 1;
    }
    let mut kinds: Vec<(&[Operation], usize)> =
        counts.into_iter().filter(|(shape, _)| shape.len() <= LONGEST).collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| order(a.0).cmp(&order(b.0))));
    kinds.truncate(MOST_KINDS);
    let by_shape: HashMap<&[Operation], usize> =
        kinds.iter().enumerate().map(|(index, (shape, _))| (*shape, index)).collect();
    let mut visits: Vec<VisitModel> = kinds
        .iter()
        .map(|(shape, _)| VisitModel { shape: shape.to_vec(), ..VisitModel::default() })
        .collect();
    let (mut count, mut rare) = (0, 0);
    let mut rounds = BTreeMap::new();
    for run in runs() {
        let mut before = None;
        // Visits since the latest one at a barrier.
        let mut since: Option<usize> = None;
        for visit in &run.visits {
            count += 1;
            since = since.map(|since| since + 1);
            if is_at_a_barrier(&visit.operations, barriers)
                && let Some(length) = since.replace(0)
            {
                *rounds.entry(length).or_default() += 1;
            }
            let found = by_shape.get(visit.operations.as_slice()).copied();
            rare += usize::from(found.is_none());
            let Some(index) = found.or_else(|| nearest(&kinds, visit)) else { continue };
            if found.is_some() {
                visits[index].segments.push(visit.segments.clone());
            } else {
                visits[index].segments.push(stretched(visit, kinds[index].0));
            }
            if let Some(before) = before.replace(index) {
                let before: &mut VisitModel = &mut visits[before];
                *before.next.entry(index).or_default() += 1;
            }
        }
    }
    (ClassModel { threads, count, visits, rounds }, rare)
}

/// Returns numbers by which shapes of equal counts are ordered.
fn order(shape: &[Operation]) -> Vec<(u32, u32, bool)> {
    let each = shape.iter().map(|operation| match *operation {
        Operation::Enter { lock, site, shared } => (lock + 1, site, shared),
        Operation::Leave => (0, 0, false),
        Operation::Meet { meeting, what } => (0, meeting * 8 + what as u32 + 1, false),
    });
    each.collect()
}

/// Returns the most frequent kind with the same first lock and site, or the most frequent one.
fn nearest(kinds: &[(&[Operation], usize)], visit: &Visit) -> Option<usize> {
    let enters = |of: &[Operation]| {
        of.iter().find(|operation| matches!(operation, Operation::Enter { .. })).copied()
    };
    let first = enters(&visit.operations);
    let same = kinds.iter().position(|(shape, _)| enters(shape) == first);
    same.or(if kinds.is_empty() { None } else { Some(0) })
}

/// Returns the times of a visit for other operations: the time before it, and all of its time under
/// locks, shared among the operations.
fn stretched(visit: &Visit, shape: &[Operation]) -> Vec<Segment> {
    let sum = |of: fn(&Segment) -> f64| visit.segments.iter().skip(1).map(of).sum::<f64>();
    let parts = (shape.len() - 1).max(1) as f64;
    let inner = Segment {
        busy: sum(|segment| segment.busy) / parts,
        slept: sum(|segment| segment.slept) / parts,
    };
    let first = visit.segments.first().copied().unwrap_or_default();
    std::iter::once(first).chain(std::iter::repeat_n(inner, shape.len() - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_visit_counts_for_one_of_the_same_lock_whatever_it_waits_for() {
        let enter = |lock| Operation::Enter { lock, site: 1, shared: false };
        let waits = Operation::Meet { meeting: 0, what: Meets::Waits };
        let [a, b] = [[waits, enter(0), Operation::Leave], [waits, enter(1), Operation::Leave]];
        let kinds = [(&a[..], 9), (&b[..], 3)];
        let visit = |operations: &[Operation]| Visit {
            operations: operations.to_vec(),
            ..Visit::default()
        };
        assert_eq!(nearest(&kinds, &visit(&[waits, waits, enter(1), Operation::Leave])), Some(1));
        assert_eq!(nearest(&kinds, &visit(&[enter(2), Operation::Leave])), Some(0));
    }
}
