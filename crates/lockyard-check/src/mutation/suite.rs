//! A suite: the checks of one primitive. They must notice when one of its orderings is weakened.

use crate::backends::Verdict;
use crate::hooks::{Ordered, Site, ordered_sites};
use std::collections::BTreeSet;
use std::path::Path;

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
    /// Files whose orderings it must notice: suffixes of their paths, or absolute paths.
    pub files: &'static [&'static str],
    /// The programs, the cheapest first.
    pub checks: Vec<Check>,
}

/// Returns true if the site is in `file`, which is a suffix of its path, or an absolute path. (The
/// compiler names a file of a workspace by its path from the workspace's root.)
pub(crate) fn is_in(site: &Site, file: &str) -> bool {
    let file = Path::new(file);
    let path = Path::new(site.file);
    path.ends_with(file) || file.is_absolute() && file.ends_with(path)
}

impl Suite {
    fn owns(&self, site: &Site) -> bool {
        self.files.iter().any(|file| is_in(site, file))
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
