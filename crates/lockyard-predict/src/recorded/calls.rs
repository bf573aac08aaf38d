//! Time of a recorded program's calls of reader-writer locks that the replay has by itself.
//!
//! From a release to the next acquisition, a recording has the call that releases, the program's
//! own time, and the call that acquires up to its wait. One thread's calls take as long as plain
//! ones, which are taken off. With several threads, each call also fetches the word of the lock
//! from another core, and may wake a thread. The replay does that too, so it must not be in its
//! times.
//!
//! The replay of the recorded run tells how long it takes. That is, beyond plain calls: waits for
//! lines in a call that acquires, and all of a call that releases. Sleep in a call that acquires is
//! a wait, which the recording has apart. With shorter times threads meet more often, so the run is
//! replayed several times. Never more is taken off than the recorded times are slower than their
//! fastest twentieth: those met nobody, or hardly anybody.

use super::replay::{on, replay};
use crate::explain::CallTime;
use crate::simulate::SimulationError;
use lockyard_recording::model::Model;
use lockyard_recording::recording::{Kind, Recording};
use lockyard_recording::script::{self, HostNumbers, RECORDED, Version};
use lockyard_sim::Machine;

/// Maximum number of replays.
const ROUNDS: usize = 4;

/// Difference in nanoseconds from which another replay is worth its time.
const NEAR: f64 = 5.0;

/// Takes the time of calls off a model whose host is known.
pub(super) fn take_off(
    recording: &Recording,
    model: &mut Model,
    host: &Machine,
    numbers: HostNumbers,
) -> Result<(), SimulationError> {
    let threads = model.whole_threads();
    if threads < 2 || model.groups.iter().all(|group| group.kind != Kind::RwLock) {
        return Ok(());
    }
    let version = Version { recorder: true, ..Version::default() };
    for _ in 0..ROUNDS {
        let title = "with the recorder".to_owned();
        let variant = script::variant(recording, model, numbers, RECORDED, title, version);
        let variant = on(host, variant.map_err(SimulationError::new)?, threads);
        let costs = replay(host, &variant, threads)?.costs;
        let names = script::lock_groups(model, &variant);
        let of_group = |names: &Vec<&str>| {
            let locks = names.iter().filter_map(|name| costs.locks.get(*name));
            let sum = |a: [CallTime; 2], b: [CallTime; 2]| [a[0] + b[0], a[1] + b[1]];
            locks.map(|lock| lock.calls).fold([CallTime::default(); 2], sum)
        };
        let found: Vec<[CallTime; 2]> = names.iter().map(of_group).collect();
        let plain = numbers.read_write_calls.map(|beyond| recording.about.costs.plain - beyond);
        let mut change: f64 = 0.0;
        for (group, found) in model.groups.iter_mut().zip(found) {
            if group.kind != Kind::RwLock {
                continue;
            }
            for ((calls, of), plain) in group.calls.iter_mut().zip(found).zip(plain) {
                if of.acquired == 0 {
                    continue;
                }
                let time = (of.stalled + of.left) as f64 * costs.cycle / of.acquired as f64;
                // Half of the plain calls is the one that releases.
                let beyond = (time - plain / 2.0).clamp(0.0, calls.slower);
                change = change.max((beyond - calls.taken_off).abs());
                calls.taken_off = beyond;
            }
        }
        if change < NEAR {
            break;
        }
    }
    Ok(())
}
