//! Who waits for whom, as far as a profile tells: threads in waits for a condition, by its mutex
//! and by the call site that waits.

use lockyard_profile::process::Lock;
use lockyard_profile::profile::Profile;
use lockyard_recording::model::place;
use lockyard_results::what_if::WaitsFor;
use lockyard_support::printable;

/// Share of the threads' time from which waits for a condition are named.
const NAMED: f64 = 0.05;

/// Returns the waits for conditions of the process with the most acquisitions, the longest in all
/// first.
pub(super) fn waits_for(profile: &Profile) -> Vec<WaitsFor> {
    let Some(process) = profile.processes.first() else { return Vec::new() };
    let duration = profile.duration_ns(process);
    let of_lock = |lock: &Lock| {
        let counts = &lock.counts;
        let time = profile.ns(counts.condition.ticks);
        let threads = time / duration;
        let longest = lock.sites.iter().max_by_key(|of| of.counts.condition.ticks)?;
        let of_threads = process.threads as usize;
        (threads >= NAMED * of_threads as f64).then(|| WaitsFor {
            lock: name(lock),
            meeting: None,
            kind: "condition",
            signals_per_s: None,
            site: place(&printable(&longest.site.text()).to_string()).to_owned(),
            threads,
            of_threads,
            waits_per_s: counts.condition_waits as f64 / duration * 1e9,
            waited_ns_each_time: time / counts.condition_waits.max(1) as f64,
            ended_by: Vec::new(),
            share_unknown: 1.0,
        })
    };
    let mut all: Vec<WaitsFor> = process.locks.iter().filter_map(of_lock).collect();
    all.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    all
}

/// Returns the waits of a profile, which sees them all, with the call sites that end them: a
/// recording tells these.
pub(super) fn with_ends(mut waits: Vec<WaitsFor>, recorded: &[WaitsFor]) -> Vec<WaitsFor> {
    for of in &mut waits {
        if let Some(same) = recorded.iter().find(|other| other.site == of.site) {
            (of.ended_by, of.share_unknown) = (same.ended_by.clone(), same.share_unknown);
            (of.meeting, of.signals_per_s) = (same.meeting.clone(), same.signals_per_s);
        }
    }
    // A profile has no semaphores and no barriers.
    let is_other = |of: &&WaitsFor| of.kind != "condition" && of.threads >= NAMED;
    waits.extend(recorded.iter().filter(is_other).cloned());
    waits.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    waits
}

/// Returns the name of a lock: its variable, or its address.
pub(super) fn name(lock: &Lock) -> String {
    let variable = lock.variable.name.as_deref();
    let name = variable.map_or_else(|| format!("{:#x}", lock.address), str::to_owned);
    printable(&name).to_string()
}
