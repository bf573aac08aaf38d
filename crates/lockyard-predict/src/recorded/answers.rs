//! Answers on a recorded program: where its time goes today, from the recording; which lock
//! saturates, and which change gives most, from the predicted rows.

use lockyard_recording::model::{GroupTime, Model};
use lockyard_recording::recording::Kind;
use lockyard_recording::script::{self, RECORDED};
use lockyard_results::details::{CostsDetail, Range};
use lockyard_results::recorded::{
    AccessToday, Accesses, BestChange, LockSaturation, LockToday, LockUse, RecordedProgram,
    SATURATED_SHARE, Today,
};
use lockyard_results::row::Row;
use lockyard_scenarios::Script;
use std::collections::BTreeMap;

/// Returns the answers. The rows' variants have the names of the script.
pub(super) fn of(model: &Model, script: &Script, rows: &[Row], gated: bool) -> RecordedProgram {
    let mut machines: Vec<&str> = Vec::new();
    // Runs may have figures in addition to the script's metric.
    let metric = rows.first().map(|row| row.key.metric.as_str()).unwrap_or_default();
    let rows: Vec<&Row> = rows.iter().filter(|row| row.key.metric == metric).collect();
    for row in &rows {
        if !machines.contains(&row.key.machine.as_str()) {
            machines.push(&row.key.machine);
        }
    }
    let groups = script::lock_groups(model, &script.variants[0]);
    let on = || machines.iter().copied();
    RecordedProgram {
        gated,
        gate: None,
        refused: None,
        advice: Vec::new(),
        today: today(model, &groups),
        saturation: on().flat_map(|machine| saturation(machine, &rows, &groups)).collect(),
        best_changes: on().filter_map(|machine| best_change(script, machine, &rows)).collect(),
    }
}

/// Names of each group's simulated locks.
type Groups<'r> = [Vec<&'r str>];

fn name(groups: &Groups, index: usize) -> String {
    groups.get(index).and_then(|locks| locks.first()).copied().unwrap_or_default().to_owned()
}

fn today(model: &Model, groups: &Groups) -> Today {
    let of = &model.today;
    let lock = |(index, time): (usize, &GroupTime)| {
        let access = |held: f64, waited: f64, acquired: f64| {
            let acquisitions_per_s = model.undisturbed_rate() * acquired;
            // Share of the time of all threads, by the acquisitions in that time.
            let each = |share: f64| match acquisitions_per_s {
                0.0 => 0.0,
                rate => share * model.threads * 1e9 / rate,
            };
            AccessToday {
                acquisitions_per_s,
                share_held: held,
                share_waited: waited,
                held_ns_each_time: each(held),
                waited_ns_each_time: each(waited),
            }
        };
        let all = access(time.held, time.waited, time.acquired);
        let of = time.shared;
        let is_read_write = model.groups[index].kind == Kind::RwLock;
        let accesses = is_read_write.then(|| Accesses {
            reads: access(of.held, of.waited, of.acquired),
            writes: access(
                time.held - of.held,
                time.waited - of.waited,
                time.acquired - of.acquired,
            ),
        });
        LockToday {
            lock: name(groups, index),
            acquisitions_per_s: all.acquisitions_per_s,
            share_held: time.held,
            share_waited: time.waited,
            held_ns_each_time: all.held_ns_each_time,
            waited_ns_each_time: all.waited_ns_each_time,
            accesses,
        }
    };
    let mut locks: Vec<LockToday> = of.groups.iter().enumerate().map(lock).collect();
    let cost = |lock: &LockToday| lock.share_held + lock.share_waited;
    locks.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    Today {
        threads: model.threads,
        acquisitions_per_s: model.undisturbed_rate(),
        share_outside: of.outside,
        share_asleep: of.slept,
        share_without_cpu: of.preempted,
        share_held: of.groups.iter().map(|group| group.held).sum(),
        share_waited: of.groups.iter().map(|group| group.waited).sum(),
        locks,
    }
}

/// Returns the use of each group of locks on a machine, the busiest first.
fn saturation(machine: &str, rows: &[&Row], groups: &Groups) -> Vec<LockSaturation> {
    let is_recorded = |row: &&&Row| row.key.machine == machine && row.key.variant == RECORDED;
    let mut cells: Vec<(usize, &CostsDetail)> = rows
        .iter()
        .filter(is_recorded)
        .filter_map(|row| Some((row.key.threads?, row.details.simulated.as_ref()?.costs.as_ref()?)))
        .collect();
    cells.sort_by_key(|(threads, _)| *threads);
    let of_lock: BTreeMap<&str, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(index, locks)| locks.iter().map(move |lock| (*lock, index)))
        .collect();
    let mut found: Vec<LockSaturation> = (0..groups.len())
        .map(|index| LockSaturation {
            machine: machine.to_owned(),
            lock: name(groups, index),
            knee_threads: f64::INFINITY,
            ..LockSaturation::default()
        })
        .collect();
    for (threads, costs) in cells {
        let mut uses =
            vec![(LockUse { threads, ..LockUse::default() }, f64::INFINITY); found.len()];
        for lock in &costs.locks {
            let Some(&index) = of_lock.get(lock.lock.as_str()) else { continue };
            let (of, knee) = &mut uses[index];
            *knee = knee.min(lock.knee_threads);
            let (share_held, share_busy) = (lock.share_held_alone, lock.share_serial);
            if share_busy > of.share_busy {
                *of = LockUse { threads, share_held, share_busy };
            }
        }
        for (of, (now, knee)) in found.iter_mut().zip(uses) {
            let is_saturated = now.share_busy >= SATURATED_SHARE;
            if is_saturated && of.saturated_at_threads.is_none() {
                of.saturated_at_threads = Some(threads);
            }
            // A lock that no thread has taken yet has no knee.
            let is_first = of.knee_threads.is_infinite();
            if knee.is_finite() && (is_first || of.saturated_at_threads.is_none()) {
                of.knee_threads = knee;
            }
            of.at_most = now;
            of.use_by_threads.push(now);
        }
    }
    // A lock that no simulated thread took has no knee.
    found.retain(|of| of.knee_threads.is_finite());
    found.sort_by(|a, b| b.at_most.share_busy.total_cmp(&a.at_most.share_busy));
    found
}

/// Returns the best change at the machine's largest number of threads; `None` if no change was
/// predicted there.
fn best_change(script: &Script, machine: &str, rows: &[&Row]) -> Option<BestChange> {
    let is_on = |row: &&Row| row.key.machine == machine && row.predicted.is_some();
    let on = || rows.iter().copied().filter(is_on);
    let threads = on().filter_map(|row| row.key.threads).max()?;
    let at_most = || on().filter(|row| row.key.threads == Some(threads));
    let interval = |row: &Row| row.details.simulated.as_ref().and_then(|detail| detail.interval);
    let figure = |row: &Row| row.predicted.unwrap_or_default();
    let now = at_most().find(|row| row.key.variant == RECORDED && figure(row) > 0.0)?;
    let changes = || at_most().filter(|row| row.key.variant != RECORDED);
    let best = changes().max_by(|a, b| figure(a).total_cmp(&figure(b)))?;
    let overlap = |a: Range, b: Range| a.low <= b.high && b.low <= a.high;
    let title = script.variant(&best.key.variant).map(|variant| variant.title.clone());
    Some(BestChange {
        machine: machine.to_owned(),
        threads,
        compared: changes().count(),
        variant: best.key.variant.clone(),
        title: title.unwrap_or_default(),
        operations_per_s: figure(best),
        interval: interval(best),
        recorded_operations_per_s: figure(now),
        recorded_interval: interval(now),
        gain_share: figure(best) / figure(now) - 1.0,
        within_intervals: interval(now).zip(interval(best)).is_some_and(|(a, b)| overlap(a, b)),
    })
}
