//! A suite: the checks of one primitive. They must notice when one of its orderings is weakened.

use crate::backends::Verdict;
use crate::hooks::{Ordered, Site, ordered_sites};
use std::collections::BTreeSet;

/// A program that must notice a weakened ordering.
pub struct Check {
    /// Name in the output.
    pub name: String,
    /// Runs it.
    pub run: Box<dyn Fn() -> Verdict + Send + Sync>,
}

/// The checks of one primitive.
pub struct Suite {
    /// The primitive.
    pub name: &'static str,
    /// Path suffixes of the files whose orderings it must notice.
    pub files: &'static [&'static str],
    /// The programs, the cheapest first.
    pub checks: Vec<Check>,
}

impl Suite {
    fn owns(&self, site: &Site) -> bool {
        self.files.iter().any(|file| site.file.ends_with(file))
    }

    /// Runs the whole suite, and returns its sites.
    ///
    /// # Errors
    ///
    /// Fails if a program fails without any change.
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

    pub(super) fn first_failure(&self) -> Option<(&str, Verdict)> {
        self.checks.iter().find_map(|check| {
            let verdict = (check.run)();
            verdict.caught.is_some().then_some((check.name.as_str(), verdict))
        })
    }
}
