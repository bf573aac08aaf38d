//! The matrix of operations: every pair is generated, checked and printed.
//!
//! Every unordered pair of operations has a cell. It shows what was explored, or why there is
//! nothing to explore.

use crate::backends::{graphs, model};
use crate::dpor::{Deletions, Exploration};
use crate::explore::{Bounds, Explored};
use crate::program::Program;
use std::fmt::Debug;
use std::time::Instant;

/// Explores program `P` and prints the coverage.
///
/// # Panics
///
/// Panics if the model fails. Also panics if a program with several threads has a single execution:
/// it has no race and checks nothing.
pub fn must_hold<P: Program>(title: &str, ops: &[P::Op], bounds: Bounds) -> Explored {
    match model::<P>(ops, bounds) {
        Ok((explored, outcomes)) => {
            println!("{title} {ops:?}: {bounds}, {explored}, {} outcomes", outcomes.len());
            assert!(explored.executions > 1, "{title} {ops:?}: nothing raced");
            explored
        }
        Err(failed) => {
            panic!("{title} {ops:?}: {} in execution {}", failed.caught, failed.executions)
        }
    }
}

/// Explores all executions of program `P`, by their graphs, and prints the coverage. `P` is on the
/// host [`Dpor`](crate::dpor::Dpor). Operations that do not depend on one another have one
/// execution.
///
/// # Panics
///
/// Panics if the model fails.
pub fn must_always_hold<P: Program>(title: &str, ops: &[P::Op]) -> Exploration {
    let began = Instant::now();
    match graphs::<P>(ops, Deletions::Needed) {
        Ok((explored, outcomes)) => {
            let seconds = began.elapsed().as_secs_f64();
            let outcomes = outcomes.len();
            println!("{title} {ops:?}: graphs, {explored}, {seconds:.2} s, {outcomes} outcomes");
            explored
        }
        Err(failed) => {
            panic!("{title} {ops:?}: {} in run {}", failed.caught, failed.executions)
        }
    }
}

/// Returns every unordered pair of `ops`.
pub fn pairs<O: Copy>(ops: &[O]) -> impl Iterator<Item = (O, O)> {
    ops.iter().enumerate().flat_map(|(i, &a)| ops[i..].iter().map(move |&b| (a, b)))
}

/// Checks every pair of `ops` by `check`, unless `reason` gives a reason to skip it. `check`
/// returns the number of executions, which the printed matrix shows.
pub fn check_pairs<O: Copy + PartialEq + Debug>(
    title: &str,
    ops: &[O],
    reason: impl Fn(O, O) -> Option<&'static str>,
    mut check: impl FnMut(&[O; 2]) -> u64,
) {
    let mut reasons: Vec<&'static str> = Vec::new();
    let mut executions = 0;
    let mut rows = Vec::new();
    for (row, &a) in ops.iter().enumerate() {
        let mut cells = vec![format!("{a:?}")];
        for (column, &b) in ops.iter().enumerate() {
            cells.push(if column < row {
                String::from("=")
            } else if let Some(why) = reason(a, b) {
                let known = reasons.iter().position(|&known| known == why);
                let index = known.unwrap_or_else(|| {
                    reasons.push(why);
                    reasons.len() - 1
                });
                format!("({})", index + 1)
            } else {
                let explored = check(&[a, b]);
                executions += explored;
                explored.to_string()
            });
        }
        rows.push(cells.join(" | "));
    }
    let heads: Vec<_> = ops.iter().map(|op| format!("{op:?}")).collect();
    println!("{title}: executions of each pair, {executions} in all");
    println!("| | {} |", heads.join(" | "));
    for row in rows {
        println!("| {row} |");
    }
    println!("(=) the same pair is above the diagonal");
    for (index, why) in reasons.iter().enumerate() {
        println!("({}) {why}", index + 1);
    }
    assert!(executions > 0, "{title}: nothing was explored");
}
