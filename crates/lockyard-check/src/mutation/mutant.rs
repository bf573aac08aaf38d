//! Mutants: sites with a weakened ordering, and the result of checking each.

use crate::hooks::Site;
use lockyard::platform::Ordering;
use std::collections::BTreeSet;
use std::fmt;

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
