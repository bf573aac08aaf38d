//! Ordering mutation: a check of the checks. Each ordering of a primitive is weakened, one after another, and the model
//! checks must then fail; an ordering that nobody misses is stronger than it need be, or is not covered.
//!
//! - [`suites`]: the table of primitives, with the programs that must notice.
//! - [`survivors`]: the table of weakenings that nobody can notice, with the reasons.
//! - [`reach`]: whether every ordering in the sources is reached at all.
//!
//! A *site* is one ordering at one place of a primitive's source, in one suite: the same line in two primitives (a lock
//! and its variant) is two sites, because each must have a check of its own.

pub mod reach;
pub mod suites;
pub mod survivors;

use crate::backends::Verdict;
use crate::hooks::{Ordered, Site, ordered_sites, with_weakened};
use lockyard::platform::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering as Plain};

/// A program that must notice, by name.
pub struct Check {
    /// What it is, for people.
    pub name: String,
    /// Runs it.
    pub run: Box<dyn Fn() -> Verdict + Send + Sync>,
}

/// The checks of one primitive.
pub struct Suite {
    /// The primitive.
    pub name: &'static str,
    /// The ends of the paths of the files whose orderings it must notice.
    pub files: &'static [&'static str],
    /// The programs, the cheapest first.
    pub checks: Vec<Check>,
}

impl Suite {
    fn owns(&self, site: &Site) -> bool {
        self.files.iter().any(|file| site.file.ends_with(file))
    }

    /// The sites of this suite, by running all of it.
    ///
    /// # Errors
    ///
    /// If a program fails as it stands.
    pub fn sites(&self) -> Result<BTreeSet<Ordered>, String> {
        let (failed, sites) = ordered_sites(|| self.first_failure());
        match failed {
            Some((check, verdict)) => {
                let caught = verdict.caught.map_or(String::new(), |caught| caught.to_string());
                Err(format!("{}: {check} fails as it stands: {caught}", self.name))
            }
            None => Ok(sites.into_iter().filter(|(site, _)| self.owns(site)).collect()),
        }
    }

    fn first_failure(&self) -> Option<(&str, Verdict)> {
        self.checks.iter().find_map(|check| {
            let verdict = (check.run)();
            verdict.caught.is_some().then_some((check.name.as_str(), verdict))
        })
    }
}

/// What an ordering is weakened to, one after another.
pub fn weakenings(order: &str) -> &'static [Ordering] {
    match order {
        "AcqRel" => &[Ordering::Acquire, Ordering::Release, Ordering::Relaxed],
        "SeqCst" => &[Ordering::AcqRel, Ordering::Acquire, Ordering::Release, Ordering::Relaxed],
        _ => &[Ordering::Relaxed],
    }
}

/// One weakening, and what came of it.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The suite.
    pub suite: &'static str,
    /// Where.
    pub site: Site,
    /// The ordering in the source.
    pub order: &'static str,
    /// What it was replaced by.
    pub weakened: Ordering,
    /// The check that noticed, what it found, and in which execution; `None` if nobody did.
    pub killed: Option<(String, String, u64)>,
    /// Why nobody can, if the table of survivors says so.
    pub reason: Option<&'static str>,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (site, order, weakened) = (self.site, self.order, self.weakened);
        write!(f, "| {} | {site} | {order} -> {weakened:?} | ", self.suite)?;
        match (&self.killed, self.reason) {
            (Some((check, found, execution)), None) => {
                write!(f, "killed by {check}: {found}, execution {execution} |")
            }
            (Some((check, ..)), Some(_)) => write!(f, "killed by {check}, AND EXPLAINED |"),
            (None, Some(reason)) => write!(f, "survives: {reason} |"),
            (None, None) => write!(f, "SURVIVES, UNEXPLAINED |"),
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every mutant.
    pub mutants: Vec<Mutant>,
    /// What else is wrong: a stale entry of a table, an ordering that no program reaches.
    pub complaints: Vec<String>,
}

/// How many sites there are, of how many all mutants were killed, of how many a survivor is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Sites.
    pub sites: usize,
    /// All weakenings of the site are noticed.
    pub killed: usize,
    /// A weakening is not noticed, and the table says why; the others are.
    pub explained: usize,
}

impl Totals {
    /// The last line of the command.
    pub fn line(self) -> String {
        format!(
            "ordering sites killed {} of {}, explained {}",
            self.killed, self.sites, self.explained
        )
    }
}

impl Report {
    /// Sums up.
    pub fn totals(&self) -> Totals {
        let sites: BTreeSet<_> = self.mutants.iter().map(|m| (m.suite, m.site)).collect();
        let of = |site: &(&'static str, Site)| {
            let site = *site;
            self.mutants.iter().filter(move |m| (m.suite, m.site) == site)
        };
        let killed = sites.iter().filter(|site| of(site).all(|m| m.killed.is_some()));
        let explained = sites.iter().filter(|site| {
            of(site).any(|m| m.killed.is_none())
                && of(site).all(|m| m.killed.is_some() != m.reason.is_some())
        });
        Totals { sites: sites.len(), killed: killed.count(), explained: explained.count() }
    }

    /// Whether every site is killed or explained, no explanation is stale, and nothing is left out.
    pub fn is_clean(&self) -> bool {
        let Totals { sites, killed, explained } = self.totals();
        let stale = self.mutants.iter().any(|m| m.killed.is_some() && m.reason.is_some());
        sites > 0 && killed + explained == sites && !stale && self.complaints.is_empty()
    }
}

/// Weakens every site of `suites`, on `threads` threads; `seen` is called with each mutant.
///
/// # Errors
///
/// If a program fails as it stands.
pub fn run(
    suites: &[Suite],
    explained: &'static [survivors::Survivor],
    threads: usize,
    seen: impl Fn(&Mutant) + Sync,
) -> Result<Report, String> {
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
    let mut complaints = survivors::unused(explained, suites, &mutants);
    complaints.extend(reach::unreached(suites, &reached));
    Ok(Report { mutants, complaints })
}

/// `work` on each of `items`, on several threads; results in the order of the items.
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
                    *results[index].lock().expect("nobody panics with it") = Some(result);
                }
            });
        }
    });
    let result = |r: Mutex<Option<R>>| r.into_inner().expect("nobody panics with it");
    results.into_iter().map(|r| result(r).expect("every item was worked on")).collect()
}
