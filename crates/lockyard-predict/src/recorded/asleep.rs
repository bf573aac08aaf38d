//! Preparation of a recording, with waits that stay sleep because they would never end.

use super::replay::{numbers, on, replay, with_calls};
use super::{Recorded, calls};
use crate::simulate::SimulationError;
use lockyard_recording::model::{Asleep, Model};
use lockyard_recording::recording::Recording;
use lockyard_recording::script;
use lockyard_sim::Machine;

/// Reason for which a wait stays sleep that has no end in the replay.
const NEVER_ENDS: &str = "its waits would never end in the replay of the recorded run";

impl Recorded {
    /// Prepares a recording beside others with these numbers of threads. Waits that would
    /// never end in the replay of a recorded number stay sleep of the recorded length: the program
    /// did go on.
    pub(super) fn for_threads(
        recording: Recording,
        host: Option<Machine>,
        others: &[usize],
    ) -> Result<Recorded, String> {
        let of_file = || {
            let text = recording.about.host.as_deref()?;
            let found = Machine::parse("machine file of the recording", text);
            Some(found.map_err(|error| error.to_string()))
        };
        let costs = recording.about.costs;
        let host = host.map(Ok).or_else(of_file).transpose()?;
        let host = host.map(|host| with_calls(host, costs));
        let mut recorded = Recorded::with_asleep(recording, host, &Asleep::new())?;
        let mut asleep = Asleep::new();
        loop {
            let stuck = recorded.stuck(others);
            let known = asleep.len();
            asleep.extend(stuck.into_iter().map(|place| (place, NEVER_ENDS)));
            if asleep.len() == known {
                return Ok(recorded);
            }
            recorded = Recorded::with_asleep(recorded.recording, recorded.host, &asleep)?;
        }
    }

    fn with_asleep(
        recording: Recording,
        host: Option<Machine>,
        asleep: &Asleep,
    ) -> Result<Recorded, String> {
        let mut model = Model::with_asleep(&recording, asleep)?;
        let of_host = |host: &Machine| {
            let numbers = numbers(host, recording.about.costs.plain, &model)?;
            calls::take_off(&recording, &mut model, host, numbers)?;
            Ok(numbers)
        };
        let numbers = host.as_ref().map(of_host).transpose();
        let fail = |error: SimulationError| format!("the recording's host: {error}");
        let numbers = numbers.map_err(fail)?.unwrap_or_default();
        let script = script::script(&recording, &model, numbers)?;
        let changes = script::changes(&recording, &model, numbers);
        Ok(Recorded { recording, model, script, changes, host, numbers, several: None })
    }

    /// Returns the places in the recording where threads of the replay wait for ever, with a
    /// recorded number of threads on the recording's host.
    fn stuck(&self, others: &[usize]) -> Vec<u32> {
        let (Some(host), Some(variant)) = (&self.host, self.script.variants.first()) else {
            return Vec::new();
        };
        if self.model.meetings.is_empty() {
            return Vec::new();
        }
        let numbers = std::iter::once(self.model.whole_threads()).chain(others.iter().copied());
        let stuck = numbers.filter_map(|threads| {
            let variant = on(host, variant.clone(), threads);
            match replay(host, &variant, threads) {
                Err(SimulationError::Stuck { meetings, .. }) => Some(meetings),
                _ => None,
            }
        });
        let places = stuck.flatten().filter_map(|of| self.model.meetings.get(of));
        places.flat_map(|of| of.places.iter().copied()).collect()
    }
}
