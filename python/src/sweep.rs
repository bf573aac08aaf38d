//! Plans, cells, and directories of rows.

use crate::{errors, work};
use lockyard_scenarios::LockKinds;
use lockyard_support::jobs;
use lockyard_sweep::merge::{self as rows, Format};
use lockyard_sweep::run::Runner;
use lockyard_sweep::sweep::{self, Shard};
use lockyard_sweep::{Bundle, plan, store};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A plan, and the calibrations that its cells share.
#[pyclass(frozen, module = "lockyard._lockyard")]
pub(crate) struct Plan {
    plan: plan::Plan,
    runner: Runner,
    done: AtomicU64,
}

impl Plan {
    fn new(
        py: Python<'_>,
        read: Result<plan::Plan, lockyard_support::InputError>,
    ) -> PyResult<Plan> {
        let plan = read.map_err(|error| errors::input(py, &error))?;
        let runner =
            Runner::new(&LockKinds::default()).map_err(|error| errors::input(py, &error))?;
        Ok(Plan { plan, runner, done: AtomicU64::new(0) })
    }

    fn check(&self, number: u64) -> PyResult<()> {
        let count = self.plan.count();
        if number < count {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!(
            "the plan has no cell {number}; allowed: 0 to {}",
            count - 1
        )))
    }
}

#[pymethods]
impl Plan {
    /// Reads a plan file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Plan> {
        Plan::new(py, plan::Plan::load(&path, &LockKinds::default()))
    }

    /// Reads the text of a plan.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Plan> {
        Plan::new(py, plan::Plan::parse("plan", text, &LockKinds::default()))
    }

    /// Reads a plan from a bundle, without other files.
    #[staticmethod]
    fn of_bundle(py: Python<'_>, text: &str) -> PyResult<Plan> {
        let bundle = Bundle::parse("bundle", text).map_err(|error| errors::input(py, &error))?;
        Plan::new(py, plan::Plan::of_bundle(&bundle, &LockKinds::default()))
    }

    /// Returns the plan with all files that it names, as JSON text.
    fn bundle(&self) -> String {
        self.plan.bundle().json()
    }

    #[getter]
    fn title(&self) -> &str {
        self.plan.title()
    }

    /// Lengths of the lists, in words.
    fn describe(&self) -> String {
        self.plan.to_string()
    }

    /// Names and values of the parameters, as JSON text.
    fn parameters(&self) -> String {
        let parameters = self.plan.parameters().iter();
        let all: Vec<Value> =
            parameters.map(|p| json!({ "name": p.name, "values": p.values })).collect();
        Value::from(all).to_string()
    }

    fn __len__(&self) -> usize {
        self.plan.count() as usize
    }

    /// Returns the id of a cell.
    fn id(&self, number: u64) -> PyResult<String> {
        self.check(number)?;
        Ok(self.plan.cell(number).id())
    }

    /// Returns the inputs of a cell as JSON text.
    fn inputs(&self, number: u64) -> PyResult<String> {
        self.check(number)?;
        Ok(self.plan.cell(number).inputs().to_string())
    }

    /// Runs cells, one after another. Returns the id and the file's text of each.
    fn run(&self, py: Python<'_>, numbers: Vec<u64>) -> PyResult<Vec<(String, String)>> {
        numbers.iter().try_for_each(|&number| self.check(number))?;
        let work = || {
            let one = |number: u64| {
                let cell = self.plan.cell(number);
                let outcome = self.runner.run(&cell)?;
                Some((cell.id(), outcome.text(&cell)))
            };
            numbers.into_iter().map_while(one).collect::<Vec<_>>()
        };
        work::without_the_lock(py, work)
    }

    /// Runs the cells of a shard, and writes their rows. Returns the numbers of cells: all, present
    /// before, computed, failed.
    #[pyo3(signature = (out, shard, of, jobs))]
    fn sweep(
        &self,
        py: Python<'_>,
        out: PathBuf,
        shard: u64,
        of: u64,
        jobs: Option<usize>,
    ) -> PyResult<(u64, u64, u64, u64)> {
        self.done.store(0, Ordering::Relaxed);
        let work = || {
            let store = store::Store::create(&out)?;
            store.write_plan(self.plan.bundle())?;
            let done = || {
                self.done.fetch_add(1, Ordering::Relaxed);
            };
            let shard = Shard { index: shard, of };
            sweep::run(&self.plan, shard, &store, &self.runner, work::jobs(jobs), &done)
        };
        let swept = work::without_the_lock(py, work)?.map_err(|what| errors::run(py, what))?;
        Ok((swept.cells, swept.present, swept.computed, swept.failed))
    }

    /// Number of cells that the running sweep has finished.
    fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// A directory of rows.
#[pyclass(frozen, module = "lockyard._lockyard")]
pub(crate) struct Store {
    store: store::Store,
}

#[pymethods]
impl Store {
    /// Opens a directory for the rows of a plan.
    #[new]
    fn new(py: Python<'_>, directory: PathBuf, plan: &Plan) -> PyResult<Store> {
        let made = store::Store::create(&directory)
            .and_then(|store| store.write_plan(plan.plan.bundle()).map(|()| Store { store }));
        made.map_err(|what| errors::run(py, what))
    }

    /// Returns true if the row with this id is there and is not damaged.
    fn has(&self, id: &str) -> bool {
        self.store.has(id)
    }

    /// Writes the row with this id.
    fn write(&self, py: Python<'_>, id: &str, text: &str) -> PyResult<()> {
        self.store.write(id, text).map_err(|what| errors::run(py, what))
    }
}

/// Joins the rows of a directory in a JSON or CSV file. Returns the state of the rows as JSON text.
#[pyfunction]
pub(crate) fn merge(
    py: Python<'_>,
    directory: PathBuf,
    out: PathBuf,
    csv: bool,
) -> PyResult<String> {
    let store = store::Store::open(&directory).map_err(|error| errors::input(py, &error))?;
    let plan = rows::plan(&store, &LockKinds::default());
    let plan = plan.map_err(|error| errors::input(py, &error))?;
    let work = || {
        let failed =
            |error: std::io::Error| format!("{} cannot be written: {error}", out.display());
        let format = if csv { Format::Csv } else { Format::Json };
        let mut file = BufWriter::new(File::create(&out).map_err(failed)?);
        let state = rows::write(&plan, &store, format, &mut file)?;
        file.flush().map_err(failed)?;
        Ok(state)
    };
    let state = work::without_the_lock(py, work)?.map_err(|what: String| errors::run(py, what))?;
    let named = [state.missing_named, state.damaged_named].concat();
    let state = json!({
        "cells": state.cells,
        "present": state.present,
        "failed": state.failed,
        "missing": state.missing,
        "damaged": state.damaged,
        "others": state.others,
        "named": named,
        "interrupted": jobs::interrupted(),
    });
    Ok(state.to_string())
}
