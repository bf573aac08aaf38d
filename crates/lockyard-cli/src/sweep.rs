//! `lockyard sweep` and `lockyard merge`.

use crate::arguments::{Merge, MergeFormat, Sweep};
use crate::errors::{Failure, complain, first};
use crate::new_file::NewFile;
use crate::report::Reports;
use crate::screen::screen;
use crate::{output, progress};
use lockyard_predict::names;
use lockyard_scenarios::LockKinds;
use lockyard_support::count;
use lockyard_sweep::merge::{self, Format, State};
use lockyard_sweep::plan::Plan;
use lockyard_sweep::run::Runner;
use lockyard_sweep::store::Store;
use lockyard_sweep::sweep::{self, Shard, Swept};
use serde_json::{Value, json};

/// Maximum number of cells on a page.
const MOST_ON_A_PAGE: u64 = 20_000;

pub(crate) fn run(options: &Sweep, locks: &LockKinds) -> Result<(), Failure> {
    if let Some(missing) = names::missing(&options.plan, "allowed: the file of a plan") {
        return Err(missing.into());
    }
    let plan = Plan::load(&options.plan, locks)?;
    let shard = options.shard.unwrap_or(Shard::ALL);
    let cells = shard.count(plan.count());
    let (Some(out), false) = (&options.out, options.count) else {
        if !screen().quiet {
            complain(&format!("{plan}"));
        }
        return output::write(&format!("{cells}\n"));
    };
    let reports = Reports::of_page(&options.page)?;
    check_page(&reports, &plan, shard)?;
    let store = Store::create(out).map_err(Failure::Run)?;
    store.write_plan(plan.bundle()).map_err(Failure::Run)?;
    let runner = Runner::new(locks)?;
    let bar = progress::bar(cells as usize, "cells");
    let swept = sweep::run(&plan, shard, &store, &runner, options.jobs(), &|| bar.inc(1));
    bar.finish_and_clear();
    let swept = swept.map_err(Failure::Run)?;
    let interrupted = output::end_work();
    output::write(&format!("{}\n", in_words(swept)))?;
    if interrupted {
        let done = swept.present + swept.computed;
        return Err(Failure::Interrupted(format!(
            "{done} of {cells} cells are done; the same command goes on"
        )));
    }
    if reports.is_empty() { Ok(()) } else { write_page(&reports, &plan, &store) }
}

/// Returns the result of a sweep in words.
fn in_words(swept: Swept) -> String {
    let Swept { cells, present, computed, failed } = swept;
    let were = if present == 1 { "was" } else { "were" };
    let cells = count(cells as usize, "cell");
    let mut text = format!("{cells}: {computed} computed, {present} {were} there");
    if failed > 0 {
        text.push_str(&format!(", {failed} failed (their rows have an `error`)"));
    }
    text
}

/// Refuses a page that would be too large, or of a part of the cells.
fn check_page(reports: &Reports, plan: &Plan, shard: Shard) -> Result<(), Failure> {
    let cells = plan.count();
    let wrong = |what: String| Err(Failure::Input(format!("--report: {what}")));
    match () {
        () if reports.is_empty() => Ok(()),
        () if shard != Shard::ALL => {
            wrong("a shard has a part of the cells; allowed: after `lockyard merge`".to_owned())
        }
        () if cells > MOST_ON_A_PAGE => {
            wrong(format!("the plan has {cells} cells; allowed on a page: {MOST_ON_A_PAGE}"))
        }
        () => Ok(()),
    }
}

/// Writes the page of a directory.
fn write_page(reports: &Reports, plan: &Plan, store: &Store) -> Result<(), Failure> {
    let mut cells: Vec<Value> = Vec::new();
    let state = merge::rows(plan, store, |cell, row| {
        cells.push(merge::merged(cell, row));
        Ok(())
    });
    let state = state.map_err(Failure::Run)?;
    let parameters: Vec<&str> = plan.parameters().iter().map(|p| p.name.as_str()).collect();
    let document = json!({
        "schema": lockyard_sweep::SCHEMA,
        "program": lockyard_sweep::version::VERSION,
        "title": plan.title(),
        "count": plan.count(),
        "parameters": parameters,
        "missing": state.cells - state.present,
        "cells": cells,
    });
    reports.write_sweep(&document)
}

pub(crate) fn merge(options: &Merge, locks: &LockKinds) -> Result<(), Failure> {
    let store = Store::open(&options.directory)?;
    let format = format(options)?;
    let plan = merge::plan(&store, locks)?;
    let out = NewFile::at("--out", &options.out, options.force)?;
    let reports = Reports::of_page(&options.page)?;
    reports.check_apart("--out", &out)?;
    check_page(&reports, &plan, Shard::ALL)?;
    let mut state = Ok(State::default());
    out.write_by(|file| {
        let mut file = std::io::BufWriter::new(file);
        state = merge::write(&plan, &store, format, &mut file);
        std::io::Write::flush(&mut file)
    })?;
    let state = state.map_err(Failure::Run)?;
    output::write(&format!("{} of {} cells in {}\n", state.present, state.cells, out.shown()))?;
    if state.others > 0 {
        let others = count(state.others as usize, "file");
        complain(&format!("note: left out, of another plan or version: {others}"));
    }
    let page = if reports.is_empty() { Ok(()) } else { write_page(&reports, &plan, &store) };
    first([page, complete(&state)])
}

/// Returns an error if rows are missing or damaged.
fn complete(state: &State) -> Result<(), Failure> {
    if state.is_complete() {
        return Ok(());
    }
    let mut lines = Vec::new();
    if state.damaged > 0 {
        let (damaged, named) = (state.damaged, state.damaged_named.join(", "));
        let more = if damaged > state.damaged_named.len() as u64 { ", ..." } else { "" };
        let files = count(damaged as usize, "damaged file");
        lines.push(format!("{files}: {named}{more}"));
    }
    if state.missing > 0 {
        let (missing, named) = (state.missing, state.missing_named.join(", "));
        let more = if missing > state.missing_named.len() as u64 { ", ..." } else { "" };
        lines.push(format!("{missing} of {} cells are missing: {named}{more}", state.cells));
    }
    Err(Failure::Run(format!("{}; `lockyard sweep` computes them", lines.join("; "))))
}

fn format(options: &Merge) -> Result<Format, Failure> {
    match (options.format, options.out.extension().and_then(|e| e.to_str())) {
        (Some(MergeFormat::Json), _) | (None, Some("json")) => Ok(Format::Json),
        (Some(MergeFormat::Csv), _) | (None, Some("csv")) => Ok(Format::Csv),
        (None, _) => Err(Failure::Input(
            "--out: the name of the file gives no format; allowed: *.json, *.csv, or --format"
                .to_owned(),
        )),
    }
}
