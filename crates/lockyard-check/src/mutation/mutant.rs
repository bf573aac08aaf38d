//! Mutants: sites with a weakened ordering, and the result of checking each.

use crate::hooks::Site;
use lockyard::platform::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// Returns the orderings to which `order` is weakened, one after another.
pub fn weakenings(order: &str) -> &'static [Ordering] {
    match order {
        "AcqRel" => &[Ordering::Acquire, Ordering::Release, Ordering::Relaxed],
        "SeqCst" => &[Ordering::AcqRel, Ordering::Acquire, Ordering::Release, Ordering::Relaxed],
        _ => &[Ordering::Relaxed],
    }
}

/// One weakening, and its result.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The suite.
    pub suite: &'static str,
    /// Site of the ordering.
    pub site: Site,
    /// The ordering in the source.
    pub order: &'static str,
    /// Its replacement.
    pub weakened: Ordering,
    /// The check that noticed, its finding, and the number of executions; `None` if no check
    /// noticed.
    pub killed: Option<(String, String, u64)>,
    /// The reason why no check can notice, if the table of survivors has one.
    pub reason: Option<&'static str>,
}

impl Mutant {
    fn result(&self) -> String {
        match (&self.killed, self.reason) {
            (Some((check, found, execution)), None) => {
                format!("killed by {check}: {found}, execution {execution}")
            }
            (Some((check, ..)), Some(_)) => format!("killed by {check}, AND EXPLAINED"),
            (None, Some(reason)) => format!("survives: {reason}"),
            (None, None) => "SURVIVES, UNEXPLAINED".to_owned(),
        }
    }
}

/// A row of a Markdown table.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (site, order, weakened) = (self.site, self.order, self.weakened);
        write!(f, "| {} | {site} | {order} -> {weakened:?} | {} |", self.suite, self.result())
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every mutant.
    pub mutants: Vec<Mutant>,
    /// Entries of the table of survivors that are not needed, as messages.
    pub complaints: Vec<String>,
    /// Functions with orderings that no program reaches, as messages. If only some suites run,
    /// there are many such functions.
    pub unreached: Vec<String>,
}

/// Two lines for each mutant, the complaints, and the line of [`Totals`].
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mutant in &self.mutants {
            let (site, order, weakened) = (mutant.site, mutant.order, mutant.weakened);
            writeln!(f, "{site}, {order} -> {weakened:?}\n    {}", mutant.result())?;
        }
        self.all_complaints().try_for_each(|complaint| writeln!(f, "{complaint}"))?;
        f.write_str(&self.totals().line())
    }
}

/// Numbers of sites: all, killed and explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// All sites.
    pub sites: usize,
    /// Sites of which every weakening is noticed.
    pub killed: usize,
    /// Sites with an unnoticed weakening. Each of their weakenings is either noticed or has a
    /// reason.
    pub explained: usize,
}

impl Totals {
    /// Returns the last line of the command.
    pub fn line(self) -> String {
        format!(
            "ordering sites killed {} of {}, explained {}",
            self.killed, self.sites, self.explained
        )
    }
}

impl Report {
    /// Mutants that no check noticed.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|mutant| mutant.killed.is_none())
    }

    /// Counts the sites.
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

    /// Returns all messages.
    pub fn all_complaints(&self) -> impl Iterator<Item = &String> {
        self.complaints.iter().chain(&self.unreached)
    }

    /// Returns true if every site is killed or explained, every explanation is needed, and every
    /// ordering is covered.
    pub fn is_clean(&self) -> bool {
        let Totals { sites, killed, explained } = self.totals();
        sites > 0 && killed + explained == sites && self.all_complaints().next().is_none()
    }
}
