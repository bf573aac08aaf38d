//! Shares of the time, from a profile alone: for a program whose recording cannot be replayed.

use super::chains::name;
use lockyard_profile::process::Lock;
use lockyard_profile::profile::Profile;
use lockyard_recording::model::place;
use lockyard_results::recorded::{LockToday, RecordedProgram, Today};
use lockyard_support::printable;

/// Returns the facts of the process with the most acquisitions. `why` is the reason why there
/// is no prediction.
///
/// Threads are taken to live as long as their process. Time that is neither a wait nor a hold is
/// time outside of locks, on a CPU or not.
pub(super) fn of_profile(profile: &Profile, why: String) -> RecordedProgram {
    let mut of = RecordedProgram {
        unit: "acquisitions/s".to_owned(),
        refused: Some(why),
        ..RecordedProgram::default()
    };
    let Some(process) = profile.processes.first() else { return of };
    let duration = profile.duration_ns(process);
    let all = duration * process.threads.max(1) as f64;
    let of_lock = |lock: &Lock| {
        let counts = &lock.counts;
        let (held, waited) =
            (counts.holds.total() / profile.ticks_per_ns, profile.ns(counts.waits.ticks));
        let taken = counts.acquisitions.max(1) as f64;
        let site = lock.sites.first().map(|of| printable(&of.site.text()).to_string());
        LockToday {
            lock: name(lock),
            site: site.as_deref().map(|site| place(site).to_owned()).unwrap_or_default(),
            acquisitions_per_s: counts.acquisitions as f64 / duration * 1e9,
            share_held: held / all,
            share_waited: waited / all,
            held_ns_each_time: held / taken,
            waited_ns_each_time: waited / taken,
            accesses: None,
        }
    };
    let mut locks: Vec<LockToday> = process.locks.iter().map(of_lock).collect();
    let cost = |lock: &LockToday| lock.share_held + lock.share_waited;
    locks.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let sum = |of: fn(&LockToday) -> f64| locks.iter().map(of).sum::<f64>();
    let (share_held, share_waited) = (sum(|lock| lock.share_held), sum(|lock| lock.share_waited));
    of.program = printable(&process.name).to_string();
    of.today = Today {
        threads: process.threads as f64,
        acquisitions_per_s: process.acquisitions() as f64 / duration * 1e9,
        share_outside: (1.0 - share_held - share_waited).max(0.0),
        share_held,
        share_waited,
        locks,
        ..Today::default()
    };
    of
}
