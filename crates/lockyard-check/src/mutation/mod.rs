//! Ordering mutation: a check of the checks. It weakens each ordering of a primitive, one after
//! another, and the model checks must then fail. If none fails, the ordering is stronger than
//! necessary, or is not covered.
//!
//! - [`part`]: a part of the suites.
//! - [`suites`]: the table of primitives, with the programs that must notice.
//! - [`survivors`]: the table of weakenings that no check can notice, with reasons.
//! - [`reach`]: orderings in the sources that no program reaches.
//!
//! A *site* is one ordering at one place of a primitive's source, in one suite. A line that two
//! primitives share (a lock and its variant) counts as two sites, because each primitive needs its
//! own check.

mod mutant;
pub mod part;
pub mod reach;
mod suite;
pub mod suites;
pub mod survivors;

pub use mutant::{Mutant, Report, Totals, weakenings};
pub(crate) use suite::is_in;
pub use suite::{Check, Suite};

use crate::hooks::{Site, with_weakened};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering as Plain};

/// Weakens every site of `suites`, on `threads` threads. Calls `seen` with each mutant. Lists the
/// orderings in the library's sources that no suite reaches.
///
/// # Errors
///
/// Fails if a program fails without any change.
pub fn run(
    suites: &[Suite],
    explained: &'static [survivors::Survivor],
    threads: usize,
    seen: impl Fn(&Mutant) + Sync,
) -> Result<Report, String> {
    let (mutants, reached) = weaken(suites, explained, threads, seen)?;
    let mut complaints = survivors::unused(explained, suites, &mutants);
    complaints.extend(survivors::killed(&mutants));
    let unreached = reach::unreached(suites, &reached);
    Ok(Report { mutants, complaints, unreached })
}

/// Weakens every site of `suites`. Returns the mutants, and the sites.
pub(crate) fn weaken(
    suites: &[Suite],
    explained: &'static [survivors::Survivor],
    threads: usize,
    seen: impl Fn(&Mutant) + Sync,
) -> Result<(Vec<Mutant>, Vec<Site>), String> {
    let found = parallel(suites, threads, Suite::sites);
    let mut work = Vec::new();
    let mut reached = Vec::new();
    for (suite, sites) in suites.iter().zip(found) {
        for (site, order) in sites? {
            reached.push(site);
            work.extend(weakenings(order).iter().map(|&weakened| (suite, site, order, weakened)));
        }
    }
    let mutants = parallel(&work, threads, |&(suite, site, order, weakened)| {
        let killed = with_weakened(site, weakened, || suite.first_failure());
        let killed = killed.map(|(check, verdict)| {
            let found = verdict.caught.map_or(String::new(), |c| format!("{:?}", c.finding));
            (check.to_owned(), found, verdict.runs)
        });
        let reason = survivors::reason(explained, suite.name, &site, weakened);
        let mutant = Mutant { suite: suite.name, site, order, weakened, killed, reason };
        seen(&mutant);
        mutant
    });
    Ok((mutants, reached))
}

/// Does `work` on each of `items`, on several threads. Returns the results in the items' order.
fn parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Plain::Relaxed)) {
                    let result = work(item);
                    let index = items.element_offset(item).expect("it is one of them");
                    *results[index].lock().expect("no thread panics with it") = Some(result);
                }
            });
        }
    });
    let result = |r: Mutex<Option<R>>| r.into_inner().expect("no thread panics with it");
    results.into_iter().map(|r| result(r).expect("every item was worked on")).collect()
}
