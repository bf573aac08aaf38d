//! The binary files of `record` and `profile`.

use crate::errors::check;
use lockyard_profile::records::Records;
use lockyard_recording::model::Model;
use lockyard_recording::{file, script};

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
    let host = script::HostNumbers { call: 1.0, line: 50.0 };
    match script::script(&recording, &model, host) {
        Err(error) => check(&error),
        Ok(script) => assert!(!script.variants.is_empty()),
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
