//! The binary files of `record` and `profile`.

use crate::errors::{ORIGIN, check, check_in, text};
use lockyard_profile::records::Records;
use lockyard_recording::model::Model;
use lockyard_recording::runs::Run;
use lockyard_recording::{file, rates, runs, script};

/// A recording is the same after it was written and read. What is made of it has only numbers.
pub(crate) fn recording(input: &[u8]) {
    let recording = match file::read(input) {
        Err(error) => return check(&error),
        Ok(recording) => recording,
    };
    assert_eq!(file::read(&file::write(&recording)).as_ref(), Ok(&recording));
    let model = match Model::of(&recording) {
        Err(error) => return check(&error),
        Ok(model) => model,
    };
    assert!(model.threads.is_finite() && model.rate.is_finite(), "{model:?}");
    let host = script::HostNumbers { call: 1.0, line: 50.0, ..Default::default() };
    match script::script(&recording, &model, host) {
        Err(error) => check(&error),
        Ok(script) => assert!(!script.variants.is_empty()),
    }
}

/// Recordings of several runs are the same after they were written and read.
pub(crate) fn recordings(input: &[u8]) {
    match runs::read(input) {
        Err(error) => check(&error),
        Ok(found) => {
            assert!(found.runs.is_sorted_by(|a, b| a.threads < b.threads), "{found:?}");
            let rates = found.runs.iter().filter_map(Run::rate);
            assert!(rates.into_iter().all(|rate| rate.is_finite() && rate > 0.0), "{found:?}");
            assert_eq!(runs::read(&runs::write(&found)).as_ref(), Ok(&found));
        }
    }
}

/// Rates are numbers.
pub(crate) fn rates(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match rates::parse(ORIGIN, text) {
        Err(error) => check_in(text, &error),
        Ok(rates) => {
            let is_one = |(threads, rate): &(usize, f64)| *threads > 0 && rate.is_normal();
            assert!(!rates.is_empty() && rates.iter().all(is_one), "{rates:?}");
        }
    }
}

/// Records of any bytes take a bounded amount of memory.
pub(crate) fn records(input: &[u8]) {
    match Records::read(input) {
        Err(error) => check(&error),
        Ok(None) => {}
        Ok(Some(records)) => {
            let events = records.events.len() + records.pairs.len() + records.held.len();
            assert!(events <= 64 * input.len() + 64, "{events} entries of {} bytes", input.len());
        }
    }
}
