//! The section `[run]`.

use super::source::{Result, Source};
use crate::model::{Length, Metric, PublishedRun};
use serde::Deserialize;
use toml::Spanned;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunEntry {
    tasks: Option<Spanned<u32>>,
    tasks_unsaid: Option<Spanned<u32>>,
    operations: Option<Spanned<f64>>,
    amount: Option<Spanned<f64>>,
    seconds: Option<Spanned<f64>>,
    mean_over: Option<Spanned<f64>>,
    until_each_is_done: Option<Spanned<bool>>,
    times_of: Option<Spanned<String>>,
    #[serde(default)]
    time_divided_on: Vec<String>,
}

/// Reads the section `[run]` of a script with this metric. `plain` is true if the script has
/// neither guests nor samples.
pub(super) fn published_run(
    source: &Source,
    entry: &RunEntry,
    metric: Metric,
    plain: bool,
) -> Result<PublishedRun> {
    let count = |what: &str, tasks: &Option<Spanned<u32>>| {
        tasks.as_ref().map(|tasks| source.count(what, tasks, 1, 4096)).transpose()
    };
    let length = length(source, entry)?;
    let until_each_is_done = entry.until_each_is_done.as_ref().filter(|until| *until.get_ref());
    if let Some(until) = until_each_is_done {
        if metric != Metric::Cpu || !plain {
            let message = "`until_each_is_done` is for scripts whose metric is `cpu`, without \
                           guests and samples";
            return Err(source.error(until.span(), message));
        }
        if entry.mean_over.is_some() || length.is_some() {
            let message = "with `until_each_is_done` a run ends when its tasks are done; \
                           `mean_over`, `operations`, `amount` and `seconds` are not allowed";
            return Err(source.error(until.span(), message));
        }
    }
    let times_of = [("all-tasks", false), ("one-task", true)];
    let times_of_one_task = match &entry.times_of {
        Some(found) => source.choose("`times_of` value", found, &times_of)?,
        None => false,
    };
    Ok(PublishedRun {
        times_of_one_task,
        until_each_is_done: until_each_is_done.is_some(),
        time_divided_on: entry.time_divided_on.clone(),
        tasks: count("tasks", &entry.tasks)?,
        tasks_unsaid: count("tasks_unsaid", &entry.tasks_unsaid)?,
        length,
        mean_over: positive(source, "mean_over", &entry.mean_over)?,
    })
}

fn positive(source: &Source, what: &str, found: &Option<Spanned<f64>>) -> Result<Option<f64>> {
    found.as_ref().map(|found| source.positive(what, found, 1e15, "1e15")).transpose()
}

/// Reads the length of the run, which a script may give in one of three ways.
fn length(source: &Source, entry: &RunEntry) -> Result<Option<Length>> {
    let lengths = [
        positive(source, "operations", &entry.operations)?.map(Length::Operations),
        positive(source, "amount", &entry.amount)?.map(Length::Amount),
        positive(source, "seconds", &entry.seconds)?.map(Length::Seconds),
    ];
    let mut lengths = lengths.into_iter().flatten();
    let length = lengths.next();
    if lengths.next().is_some() {
        let at = [&entry.seconds, &entry.amount].into_iter().flatten().next();
        return Err(source.error(
            at.map_or(0..0, Spanned::span),
            "the length of a run is either `operations`, `amount` or `seconds`; allowed: one of \
             them",
        ));
    }
    Ok(length)
}
