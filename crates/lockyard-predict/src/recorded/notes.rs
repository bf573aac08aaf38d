//! Notes on waits of threads for each other without a lock.

use lockyard_recording::model::Model;
use lockyard_recording::recording::Recording;

/// Least number of calls a second of waits in user space that are named.
const LEAST_CALLS: f64 = 1000.0;

/// Maximum number of places of waits in user space that are named.
const MOST_PLACES: usize = 3;

/// Returns what the replay has of waits without a lock, and what it has not.
pub(super) fn of_waits(recording: &Recording, model: &Model) -> Vec<String> {
    let mut all = Vec::new();
    if !model.meetings.is_empty() {
        let names: Vec<String> =
            model.meetings.iter().map(|meeting| format!("`{}`", meeting.name)).collect();
        all.push(format!(
            "Waits for {} end in the replay by what another of its threads does, not after a \
             recorded time.",
            names.join(", ")
        ));
    }
    if !model.undecided.is_empty() {
        all.push(format!(
            "What ends a wait is not decided by the recording, so these waits stay sleep of the \
             recorded length: {}.",
            model.undecided.join(", ")
        ));
    }
    if !model.never_waited.is_empty() {
        let names: Vec<String> =
            model.never_waited.iter().map(|name| format!("`{name}`")).collect();
        all.push(format!(
            "Threads signal {}, and no recorded thread waits there. So the replay has no such \
             waits with more threads either, and a queue has no bound: record a number of threads \
             with which some wait.",
            names.join(", ")
        ));
    }
    let places = in_user_space(recording);
    if !places.is_empty() {
        all.push(format!(
            "Waits in user space, which are not in the replay: {}.",
            places.join("; ")
        ));
    }
    all
}

/// Returns the places where threads wait in user space, with their calls a second.
fn in_user_space(recording: &Recording) -> Vec<String> {
    let about = &recording.about;
    let seconds = about.seconds.max(f64::MIN_POSITIVE);
    let named = about.user_waits.iter().flat_map(|wait| {
        let site = &about.sites[wait.site as usize];
        let calls = [("sched_yield", wait.yields), ("short sleeps", wait.naps)];
        calls.into_iter().filter_map(move |(what, calls)| {
            let per_s = calls as f64 / seconds;
            (per_s >= LEAST_CALLS).then(|| format!("{what} at {site}, {per_s:.0} a second"))
        })
    });
    named.take(MOST_PLACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_recording::recording::{About, UserWait};

    #[test]
    fn waits_are_named_with_what_the_replay_does_of_them() {
        let user_waits = vec![
            UserWait { site: 1, yields: 50_000, naps: 0 },
            UserWait { site: 0, yields: 0, naps: 900 },
        ];
        let sites = ["idle", "leader"].map(str::to_owned).to_vec();
        let about = About { seconds: 2.0, sites, user_waits, ..About::default() };
        let recording = Recording { about, windows: Vec::new() };
        let undecided = vec!["`turn` (threads take turns)".to_owned()];
        let never_waited = vec!["emptied".to_owned()];
        let model = Model { undecided, never_waited, ..Model::default() };
        let mut notes = of_waits(&recording, &model);
        assert_eq!(notes.len(), 3, "{notes:?}");
        let never = notes.remove(1);
        assert!(never.starts_with("Threads signal `emptied`, and no recorded thread"), "{never}");
        assert!(notes[0].ends_with("recorded length: `turn` (threads take turns)."), "{notes:?}");
        let wanted = "Waits in user space, which are not in the replay: sched_yield at leader, \
                      25000 a second.";
        assert_eq!(notes[1], wanted);
    }
}
