//! Cycles of a graph: its strongly connected components of more than one node, each with its
//! shortest cycle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Edges of each node.
pub(crate) type Graph = BTreeMap<usize, BTreeSet<usize>>;

/// Returns the sets of nodes that all reach each other, the largest first.
pub(crate) fn cycles(graph: &Graph) -> Vec<BTreeSet<usize>> {
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        graph.keys().map(|&node| (node, reachable(graph, node))).collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for (&node, others) in &reached {
        if !others.contains(&node) || found.iter().any(|cycle| cycle.contains(&node)) {
            continue;
        }
        let back = |other: &&usize| reached.get(other).is_some_and(|them| them.contains(&node));
        found.push(others.iter().filter(back).copied().collect());
    }
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    found
}

/// Returns the nodes to which a path of at least one edge leads.
fn reachable(graph: &Graph, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for &next in graph.get(&node).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// Returns the shortest path from a node of the cycle back to itself. The path begins and ends
/// with that node.
pub(crate) fn way_round(graph: &Graph, cycle: &BTreeSet<usize>) -> Vec<usize> {
    let ways = cycle.iter().filter_map(|&node| way_back(graph, node));
    ways.min_by_key(Vec::len).unwrap_or_default()
}

fn way_back(graph: &Graph, start: usize) -> Option<Vec<usize>> {
    let mut came_from = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &next in graph.get(&node).into_iter().flatten() {
            if next == start {
                let mut way = vec![start, node];
                while way[way.len() - 1] != start {
                    way.push(came_from[&way[way.len() - 1]]);
                }
                way.reverse();
                return Some(way);
            }
            if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    None
}
