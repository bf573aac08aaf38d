//! `lockyard compare`.

use crate::arguments::Compare;
use crate::errors::Failure;
use crate::{ab, baselines, verdict};
use lockyard_results::compare::{self, Options};

pub(crate) fn run(options: &Compare) -> Result<(), Failure> {
    let threshold = verdict::threshold(&options.threshold)?;
    let choices = Options { threshold, anyway: options.anyway };
    let comparison = if options.ab {
        ab::run(options, choices)?
    } else {
        let a = baselines::load(&options.a, &options.directory)?;
        let b = baselines::load(&options.b, &options.directory)?;
        compare::compare(&a, &b, choices)?
    };
    verdict::print(&comparison, options.output.format.into(), &options.threshold)
}
