//! Time that a recorded thread needs for an operation: the bound of all predictions.

use super::gate::GATE;
use crate::limit::Limit;
use lockyard_recording::model::{Model, Moved};
use lockyard_recording::recording::Recording;
use lockyard_recording::script::OPEN;
use lockyard_recording::script::what_if::WITHOUT;

/// Factor by which figures may be above the bound where the gate does not vouch for them. The
/// replay of a recorded run is off by more than the gate allows there, in most cases by less than
/// this.
const NOT_GATED: f64 = 1.5;

/// Beginning of the names of variants whose locks are held half as long.
const HOLD_HALVED: &str = "hold-halved";
/// Beginnings of the names of variants that take locks less often, or not at all.
const LESS_OFTEN: [&str; 2] = ["batch", WITHOUT];

/// Returns the bound of a recording's predictions.
pub(super) fn of(recording: &Recording, model: &Model, is_gated: bool) -> Limit {
    let time = model.threads / model.undisturbed_rate().max(f64::MIN_POSITIVE) * 1e9;
    let today = &model.today;
    let waited: f64 = today.groups.iter().map(|group| group.waited).sum();
    // The data and the word that a lock brings from another thread cost one thread alone nothing.
    let of_group = today.groups.iter().zip(&model.groups);
    let moved = |share: f64, of: Moved| share * of.share * of.data.unwrap_or(0.0);
    let data: f64 = of_group
        .map(|(time, group)| {
            let reads = time.shared.acquired;
            let [writes_off, reads_off] = group.calls.map(|calls| calls.taken_off);
            let calls = (time.acquired - reads) * writes_off + reads * reads_off;
            moved(time.acquired - reads, group.exclusive) + moved(reads, group.reads) + calls
        })
        .sum();
    // Another machine may need less for the lock's own instructions.
    let calls = recording.about.costs.plain / 2.0;
    // Waits for other threads that the replay has itself are no time that an operation needs.
    let met = model.shares.met.min(today.slept);
    let own =
        time * (1.0 - waited - met - today.preempted) - data - calls - recorder(recording, model);
    // Several locks may be changed together.
    let held: f64 = today.groups.iter().map(|group| group.held).sum();
    let halved = (HOLD_HALVED, own - time * held / 2.0);
    let less_often = LESS_OFTEN.map(|name| (name, own - calls));
    // Requests from outside come in place of the recorded sleeps.
    let open = (OPEN, own - time * today.slept);
    let of_variants = [halved, open].into_iter().chain(less_often);
    Limit {
        nanoseconds: own.max(0.0),
        of_variants: of_variants.map(|(name, time)| (name.to_owned(), time.max(0.0))).collect(),
        slack: if is_gated { 1.0 + GATE } else { NOT_GATED },
    }
}

/// Returns the mean cost of recording an acquisition in the time that the rate is of, in
/// nanoseconds. Those in windows cost more.
fn recorder(recording: &Recording, model: &Model) -> f64 {
    let costs = recording.about.costs;
    if model.rate_outside.is_some() {
        return costs.counted;
    }
    let in_windows: u64 = recording.windows.iter().map(|window| window.acquired()).sum();
    let all: u64 = Model::acquisitions(recording).values().sum();
    let share = (in_windows as f64 / all.max(1) as f64).min(1.0);
    let of_events = (costs.hold + costs.think - costs.plain).max(0.0);
    costs.counted * (1.0 - share) + of_events * share
}
