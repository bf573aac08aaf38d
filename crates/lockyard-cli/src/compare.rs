//! `lockyard compare`.

use crate::arguments::Compare;
use crate::errors::Failure;
use crate::report::Reports;
use crate::{ab, baselines, verdict};
use lockyard_results::compare::{self, Options};

pub(crate) fn run(options: &Compare) -> Result<(), Failure> {
    let threshold = verdict::threshold(&options.threshold)?;
    let choices = Options { threshold, anyway: options.anyway };
    let reports = Reports::of_page(&options.report)?;
    let comparison = if options.ab {
        ab::run(options, choices)?
    } else {
        let a = baselines::load(&options.a, &options.directory)?;
        let b = baselines::load(&options.b, &options.directory)?;
        compare::compare(&a, &b, choices)?
    };
    let verdict = verdict::print(&comparison, options.output.format.into(), &options.threshold);
    reports.write_comparison(&comparison)?;
    verdict
}
