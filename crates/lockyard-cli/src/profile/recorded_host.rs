//! The host of a recording: its machine file, from the user, from the cache, or measured now.
//!
//! The measurement does not depend on the program, so it is kept for a day (`host_cache.rs`). It is
//! made after the program has run: then it is known that there is something to predict, and the
//! program does not wait for it.

use super::host_cache::{Kept, Place};
use crate::arguments::HostOptions as Options;
use crate::errors::{Failure, complain};
use crate::progress;
use lockyard_lab::calibrate_host;
use lockyard_predict::names;
use lockyard_sim::Machine;
use lockyard_sim::machine::MAX_FILE_BYTES;
use lockyard_support::{count, jobs, read_text};
use std::time::Duration;

/// Time for which a host is measured, unless the user wants another one.
const USUAL: Duration = Duration::from_secs(10);

/// The host of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// Text of its machine file.
    pub(super) file: Option<String>,
    /// Reason for which there is no file.
    pub(super) none: Option<String>,
    /// Doubts about the file, for users of predictions.
    pub(super) notes: Vec<String>,
}

impl Host {
    pub(super) fn without_file(why: String) -> Host {
        Host { none: Some(why), ..Host::default() }
    }
}

/// Returns the host that the options give, if they do: the user has a machine file, or wants none.
///
/// # Errors
///
/// Bad input: the file is no machine file.
pub(super) fn given(options: &Options) -> Result<Option<Host>, Failure> {
    if options.no_host {
        let why = "the host was not measured (--no-host)".to_owned();
        return Ok(Some(Host::without_file(why)));
    }
    let Some(path) = &options.host_machine else { return Ok(None) };
    let shown = lockyard_support::shown(path);
    let refuse = |error: String| Failure::Input(format!("--host-machine: {error}"));
    let otherwise = "`lockyard machines calibrate` makes one";
    if let Some(missing) = names::missing(path, otherwise) {
        return Err(refuse(missing.to_string()));
    }
    // The recording has the text alone, without a family's file beside it.
    let text = read_text(path, MAX_FILE_BYTES, "a machine file is TOML").map_err(refuse)?;
    Machine::parse(&shown, &text).map_err(|error| refuse(error.to_string()))?;
    Ok(Some(Host { file: Some(text), ..Host::default() }))
}

/// Returns the host that was measured before and kept, unless the user wants it to be measured.
pub(super) fn kept(options: &Options) -> Option<Host> {
    let place = Place::of_this_host().filter(|_| options.host_seconds.is_none())?;
    let Kept { file, note, age } = place.read()?;
    complain(&format!(
        "lockyard record: the host was measured {} ago; --host-seconds measures it again",
        in_words(age)
    ));
    Some(Host { file: Some(file), none: None, notes: note.into_iter().collect() })
}

/// Measures this host, and keeps the result.
///
/// The hand-over of a virtual machine often has two values: its CPUs are siblings of a core only
/// some of the time. The file then has the median, and the recording a note. The gate decides
/// whether that is good enough for the program.
pub(super) fn measured(options: &Options) -> Host {
    let seconds = options.host_seconds.unwrap_or(USUAL).as_secs_f64();
    let bar = progress::bar(seconds.ceil() as usize, "s of measuring this host");
    let measured = calibrate_host::measure(seconds, &mut |now| bar.set_position(now as u64));
    bar.finish_and_clear();
    if jobs::interrupted() {
        return Host::without_file("the measurement of the host was interrupted".to_owned());
    }
    let calibrated = measured.and_then(|measurements| {
        let unsteady = calibrate_host::steadiness(&measurements).refused;
        let note = unsteady.map(|what| format!("the host's {what}; its file has the median"));
        let calibrated = calibrate_host::calibrate(&measurements, Some("recorded-host"))?;
        if let Some(place) = Place::of_this_host() {
            place.write(&calibrated.file, note.as_deref());
        }
        Ok(Host { file: Some(calibrated.file), none: None, notes: note.into_iter().collect() })
    });
    calibrated
        .unwrap_or_else(|why| Host::without_file(format!("no machine file of this host: {why}")))
}

/// Returns a duration in words.
fn in_words(age: Duration) -> String {
    let (number, unit) = match age.as_secs() {
        seconds if seconds < 60 => (seconds, "second"),
        seconds if seconds < 3600 => (seconds / 60, "minute"),
        seconds => (seconds / 3600, "hour"),
    };
    count(number as usize, unit)
}
