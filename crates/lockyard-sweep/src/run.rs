//! The row of a cell, as one JSON text. It depends on the cell and on the version of the program
//! only: it has no time, host or path.

use crate::cell::{Cell, hash};
use crate::version::{SCHEMA, VERSION};
use lockyard_predict::calibration::{Calibrated, calibrated};
use lockyard_predict::failure::Failure;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::request::{PredictRequest, check, run_calibrated};
use lockyard_results::details::SimulatedDetail;
use lockyard_results::published::{PublishedTable, shipped};
use lockyard_results::row::Row;
use lockyard_scenarios::{LockKinds, Script, Variant};
use lockyard_support::{InputError, jobs};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of remembered calibrations.
const MOST_CALIBRATIONS: usize = 1000;

/// One calibration, which the first cell that needs it computes.
type Calibration = Arc<OnceLock<Option<Result<Calibrated, String>>>>;

/// Runs cells. It remembers calibrations, which many cells share and which take longer than a cell.
pub struct Runner {
    locks: LockKinds,
    tables: Vec<PublishedTable>,
    calibrations: Mutex<HashMap<String, Calibration>>,
}

/// The row of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Figures of the row; the error if the cell failed.
    pub row: Result<Value, String>,
}

impl Outcome {
    /// Returns the text of the cell's file.
    pub fn text(&self, cell: &Cell) -> String {
        let (name, value) = match &self.row {
            Ok(row) => ("row", row.clone()),
            Err(error) => ("error", Value::from(error.as_str())),
        };
        let (id, inputs) = (cell.id(), cell.inputs());
        let check = check_sum(&id, &inputs, &value);
        let object = json!({
            "schema": SCHEMA,
            "program": VERSION,
            "id": id,
            "inputs": inputs,
            name: value,
            "check": check,
        });
        format!("{object}\n")
    }
}

/// Returns a hash by which a damaged file is noticed.
pub(crate) fn check_sum(id: &str, inputs: &Value, value: &Value) -> String {
    hash(&format!("{id}\n{inputs}\n{value}"))
}

impl Runner {
    /// Makes a runner. Scenarios can name the own locks of `locks`.
    ///
    /// # Errors
    ///
    /// Never in practice: a test reads all shipped tables.
    pub fn new(locks: &LockKinds) -> Result<Runner, InputError> {
        Ok(Runner { locks: locks.clone(), tables: shipped()?, calibrations: Mutex::default() })
    }

    /// Returns the outcome of a cell; `None` after an interrupt. A cell that fails, or whose
    /// simulation has a fault, has an error as its outcome.
    pub fn run(&self, cell: &Cell) -> Option<Outcome> {
        let row = catch_unwind(AssertUnwindSafe(|| self.row(cell)));
        let row = row.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("the simulation has a fault: {}", text.unwrap_or("a panic")))
        });
        (!jobs::interrupted()).then_some(Outcome { row })
    }

    fn row(&self, cell: &Cell) -> Result<Value, String> {
        if let Some(broken) = &cell.broken {
            return Err(broken.clone());
        }
        let script = Script::parse_with(&cell.origin, &cell.text, &self.locks)
            .map_err(|error| error.to_string())?;
        let placement = cell.placement.as_deref();
        let placement = placement.map(|text| MachinePlacement::parse(text, &cell.machine));
        let request = PredictRequest {
            variants: vec![cell.variant.clone()],
            placement: placement.transpose().map_err(|error| error.to_string())?,
            runs: cell.runs(),
            intervals: cell.intervals,
            ..PredictRequest::new(script, cell.machine.clone(), vec![cell.threads])
        };
        check(&request).map_err(|error| error.to_string())?;
        let Some(variant) = request.script.variant(&cell.variant) else {
            return Err(format!("the scenario has no variant `{}`", cell.variant));
        };
        let Some(calibrated) = self.calibrated(cell, &request.script, variant) else {
            return Err("interrupted".to_owned());
        };
        let found = run_calibrated(&request, &[calibrated?], &self.tables, &|| ());
        let found = found.map_err(|error: Failure| error.to_string())?;
        let row = found.rows.first().ok_or("the simulation gave no row")?;
        Ok(figures(row, cell))
    }

    /// Returns the calibration of a variant; `None` after an interrupt. It depends on the scenario,
    /// the variant and the machine's name, not on the machine's numbers.
    fn calibrated(
        &self,
        cell: &Cell,
        script: &Script,
        variant: &Variant,
    ) -> Option<Result<Calibrated, String>> {
        let machine = cell.machine.name();
        let find = || {
            let found = calibrated(script, variant, machine, &self.tables);
            // An interrupt may have ended a run half-way.
            (!jobs::interrupted()).then(|| found.map_err(|error| error.to_string()))
        };
        if script.calibration.is_none() {
            return find();
        }
        let key = hash(&format!("{}\n{}\n{machine}", cell.text, variant.name));
        let shared = {
            let mut known = self.calibrations.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST_CALIBRATIONS && !known.contains_key(&key) {
                known.clear();
            }
            Arc::clone(known.entry(key.clone()).or_default())
        };
        let found = shared.get_or_init(find).clone();
        if found.is_none() {
            // Another request, after this interrupt, computes it again.
            self.calibrations.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }
        found
    }
}

/// Returns the figures of a row as JSON.
fn figures(row: &Row, cell: &Cell) -> Value {
    let none = SimulatedDetail::default();
    let simulated = row.details.simulated.as_ref().unwrap_or(&none);
    // A published figure is not one of a changed scenario or machine.
    let published = row.published.filter(|_| cell.parameters.is_empty() && cell.seed.is_none());
    let costs = simulated.costs.as_ref();
    let mut figures = json!({
        "metric": row.key.metric,
        "unit": row.key.unit,
        "predicted": row.predicted,
        "reason": row.reason,
        "published": published,
        "throughput": simulated.throughput,
        "range": simulated.range,
        "interval": simulated.interval,
        "fairness": simulated.fairness,
        "waits": simulated.waits,
        "dominating_cost": costs.map(|costs| &costs.dominating_cost),
        "bottleneck_lock": costs.and_then(|costs| costs.bottleneck_lock.as_ref()),
        "share_lock_held": costs.map(|costs| costs.share_lock_held),
        "simulated_runs": simulated.seeds,
    });
    if let Some(figures) = figures.as_object_mut() {
        figures.retain(|_, value| !value.is_null());
        if cell.details {
            figures.insert("detail".to_owned(), row.details.json());
        }
    }
    without_nulls(figures)
}

/// Removes members without a value from the objects of an object.
fn without_nulls(mut value: Value) -> Value {
    let objects = value.as_object_mut().into_iter().flat_map(Map::values_mut);
    for object in objects.filter_map(Value::as_object_mut) {
        object.retain(|_, value| !value.is_null());
    }
    value
}
