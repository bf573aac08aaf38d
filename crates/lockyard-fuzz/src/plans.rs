//! Plans of sweeps, and the bundles that go to other machines. A plan is the same after it was
//! bundled, written and read.

use crate::errors::{ORIGIN, check, check_in, text};
use lockyard_scenarios::LockKinds;
use lockyard_sweep::plan::Plan;
use lockyard_sweep::{Bundle, SCHEMA};
use serde_json::json;

/// A scenario that plans can name as a file.
const OWN: &str = "name = \"own\"\nvariants = [{ name = \"a\" }]\n\
                   objects = [{ name = \"l\", kind = \"lock\", lock = \"queued\" }]\n\
                   steps = [{ do = \"lock\", object = \"l\" }, \
                   { do = \"unlock\", object = \"l\" }]\n";

/// Maximum number of cells whose inputs are looked at.
const CELLS: u64 = 8;

pub(crate) fn plan(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let files = json!({ "own.toml": OWN });
    let json = json!({
        "schema": SCHEMA, "program": "", "origin": ORIGIN, "plan": text, "files": files,
    });
    let bundle = Bundle::parse(ORIGIN, &json.to_string()).expect("it is a bundle");
    match Plan::of_bundle(&bundle, &LockKinds::default()) {
        Err(error) => {
            let message = error.to_string();
            assert!(!message.starts_with("own.toml:"), "the plan's own file is wrong: {message}");
            check_in(text, &message);
        }
        Ok(plan) => round_trip(&plan),
    }
}

pub(crate) fn bundle(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let bundle = match Bundle::parse(ORIGIN, text) {
        Err(error) => return check(&error.to_string()),
        Ok(bundle) => bundle,
    };
    assert_eq!(Bundle::parse(ORIGIN, &bundle.json()).as_ref(), Ok(&bundle));
    match Plan::of_bundle(&bundle, &LockKinds::default()) {
        Err(error) => check(&error.to_string()),
        Ok(plan) => round_trip(&plan),
    }
}

/// Checks that a plan has the same cells in another process.
fn round_trip(plan: &Plan) {
    let json = plan.bundle().json();
    let bundle = Bundle::parse(ORIGIN, &json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let again = Plan::of_bundle(&bundle, &LockKinds::default());
    let again = again.unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!((plan.title(), plan.count()), (again.title(), again.count()), "{json}");
    let last = (plan.count() - CELLS.min(plan.count())..plan.count()).rev();
    for number in (0..CELLS.min(plan.count())).chain(last) {
        let (cell, other) = (plan.cell(number), again.cell(number));
        assert_eq!(cell.inputs(), other.inputs(), "cell {number}: {json}");
    }
}
