//! Answers on a recorded program: where its time goes today, from the recording; which lock
//! saturates, and which change gives most, from the predicted rows.

use lockyard_recording::model::{GroupTime, Model, place};
use lockyard_recording::recording::MeetingKind;
use lockyard_recording::recording::{Kind, Recording};
use lockyard_recording::script::what_if::WITHOUT;
use lockyard_recording::script::{self, OPEN, RECORDED};
use lockyard_recording::waiting::{self, Waiting};
use lockyard_results::details::{CostsDetail, Range};
use lockyard_results::open::OpenLoad;
use lockyard_results::recorded::{
    AccessToday, Accesses, BestChange, LockSaturation, LockToday, LockUse, RecordedProgram,
    SATURATED_SHARE, Today,
};
use lockyard_results::row::Row;
use lockyard_results::what_if::{EndedBy, Scaling, WaitsFor, WhatIf};
use lockyard_scenarios::Script;
use std::collections::BTreeMap;

/// Variants of the program as it is.
const NO_CHANGES: [&str; 2] = [RECORDED, OPEN];

/// What answers are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'r> {
    /// The recording with the most threads: where time goes is of most interest there.
    pub(super) today: &'r Recording,
    /// Statistics of the recording that is replayed.
    pub(super) model: &'r Model,
    pub(super) script: &'r Script,
    /// Changes that the script has.
    pub(super) changes: &'r [script::what_if::WhatIf],
    /// Statistics of the recording with the most threads, if there are several.
    pub(super) last: Option<&'r Model>,
}

/// Returns the answers. The rows' variants have the names of the script.
pub(super) fn of(recorded: &Facts, rows: &[Row], gated: bool) -> RecordedProgram {
    let Facts { model, script, .. } = *recorded;
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
    let unit = rows.first().map_or("acquisitions/s", |row| row.key.unit.as_str());
    RecordedProgram {
        program: script.name.clone(),
        unit: unit.to_owned(),
        gated,
        gate: None,
        growth: None,
        refused: None,
        advice: Vec::new(),
        today: today(recorded, &groups),
        waits_for: waits_for(recorded),
        saturation: on().flat_map(|machine| saturation(machine, &rows, &groups)).collect(),
        best_changes: on().filter_map(|machine| best_change(script, machine, &rows)).collect(),
        scaling: on().filter_map(|machine| scaling(machine, &rows)).collect(),
        what_if: what_ifs(recorded, &rows, &groups),
        open: open(script, &rows),
        ..RecordedProgram::default()
    }
}

/// Returns the share of the time in which each group of locks is busy on a machine.
pub(super) fn uses(recorded: &Facts, rows: &[Row], machine: &str) -> Vec<(usize, f64)> {
    let groups = script::lock_groups(recorded.model, &recorded.script.variants[0]);
    let rows: Vec<&Row> = rows.iter().collect();
    let place = |of: &LockSaturation| {
        groups.iter().position(|locks| locks.first().copied() == Some(of.lock.as_str()))
    };
    let found = saturation(machine, &rows, &groups);
    found.iter().filter_map(|of| Some((place(of)?, of.at_most.share_busy))).collect()
}

/// Names of each group's simulated locks.
type Groups<'r> = [Vec<&'r str>];

fn name(groups: &Groups, index: usize) -> String {
    groups.get(index).and_then(|locks| locks.first()).copied().unwrap_or_default().to_owned()
}

/// Returns who waits for whom.
fn waits_for(recorded: &Facts) -> Vec<WaitsFor> {
    let Facts { today, model, last, .. } = *recorded;
    let about = &today.about;
    let site = |index: u32| {
        about.sites.get(index as usize).map(|site| place(site).to_owned()).unwrap_or_default()
    };
    let lock = |index: u32| about.locks.get(index as usize).map(|lock| lock.name.clone());
    let ended = |by: &waiting::EndedBy| EndedBy { site: site(by.site), share: by.share };
    let meeting = |waits: &Waiting| about.meetings.get(waits.meeting? as usize);
    let kind = |waits: &Waiting| match meeting(waits).map(|of| of.kind) {
        None | Some(MeetingKind::Condition) => "condition",
        Some(MeetingKind::Semaphore) => "semaphore",
        Some(MeetingKind::Barrier) => "barrier",
    };
    let per_s = |count: u64| count as f64 / about.seconds.max(f64::MIN_POSITIVE);
    let all = last.unwrap_or(model).whole_threads();
    let one = |waits: Waiting| WaitsFor {
        lock: waits.lock.and_then(lock).unwrap_or_default(),
        meeting: meeting(&waits).map(|of| of.name.clone()),
        kind: kind(&waits),
        signals_per_s: meeting(&waits).map(|of| per_s(of.signals)),
        site: site(waits.site),
        // Of long waits that windows rarely see, the estimate may be of more threads than there
        // are.
        threads: waits.threads.min(all as f64),
        of_threads: all,
        waits_per_s: waits.waits_per_s,
        waited_ns_each_time: waits.wait_ns,
        ended_by: waits.ended_by.iter().map(ended).collect(),
        share_unknown: waits.share_unknown,
    };
    today.waiting().into_iter().map(one).collect()
}

fn today(recorded: &Facts, groups: &Groups) -> Today {
    let Facts { model, last, .. } = *recorded;
    let (model, sites) = (last.unwrap_or(model), &recorded.today.about.sites);
    let of = &model.today;
    let name = |index: usize| match last {
        Some(_) => model.groups.get(index).map(|group| group.name.clone()).unwrap_or_default(),
        None => name(groups, index),
    };
    let site = |index: usize| {
        let group = model.groups.get(index)?;
        Some(place(sites.get(group.site? as usize)?).to_owned())
    };
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
            lock: name(index),
            site: site(index).unwrap_or_default(),
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
    let is_change = |row: &&Row| {
        !NO_CHANGES.contains(&row.key.variant.as_str()) && !row.key.variant.starts_with(WITHOUT)
    };
    let changes = || at_most().filter(is_change);
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

/// Gain of a doubling of the threads below which a curve is saturated.
const LITTLE_GAIN: f64 = 0.05;

/// Returns the throughput of the program as it is on a machine.
fn scaling(machine: &str, rows: &[&Row]) -> Option<Scaling> {
    let is_one = |row: &&&Row| row.key.machine == machine && row.key.variant == RECORDED;
    let cell = |row: &&Row| {
        let figure = row.predicted.filter(|figure| *figure > 0.0)?;
        let interval = row.details.simulated.as_ref().and_then(|detail| detail.interval);
        Some((row.key.threads?, figure, interval.unwrap_or(Range { low: figure, high: figure })))
    };
    let mut curve: Vec<(usize, f64, Range)> = rows.iter().filter(is_one).filter_map(cell).collect();
    curve.sort_by_key(|(threads, ..)| *threads);
    let (first, last) = (*curve.first()?, *curve.last()?);
    if first.0 == last.0 {
        return None;
    }
    let best = curve.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let before = curve.iter().rev().find(|(threads, ..)| *threads * 2 <= last.0);
    let gains = before.is_none_or(|before| {
        let doublings = (last.0 as f64 / before.0 as f64).log2();
        last.1 >= before.1 * (1.0 + LITTLE_GAIN).powf(doublings)
    });
    // The line of the rate of few threads meets the most that there is.
    let meets = |most: f64, few: f64| most / few * first.0 as f64;
    let ends =
        [meets(best.1, first.1), meets(best.2.low, first.2.low), meets(best.2.high, first.2.high)];
    Some(Scaling {
        machine: machine.to_owned(),
        saturates_at_threads: (!gains).then(|| Range {
            low: ends.into_iter().fold(f64::INFINITY, f64::min),
            high: ends.into_iter().fold(0.0, f64::max),
        }),
        best_threads: best.0,
        best_operations_per_s: best.1,
        most_threads: last.0,
        most_operations_per_s: last.1,
    })
}

/// Returns the open loads that were predicted.
fn open(script: &Script, rows: &[&Row]) -> Vec<OpenLoad> {
    let of_row = |row: &&Row| {
        let requests = row.details.simulated.as_ref()?.requests?;
        let threads = row.key.threads?;
        let offered = script::offered(script.variant(OPEN)?, threads);
        Some(OpenLoad::of(&row.key.machine, threads, offered, requests))
    };
    let is_open = |row: &&&Row| row.key.variant == OPEN;
    rows.iter().filter(is_open).filter_map(of_row).collect()
}

/// Returns the changes that were predicted, those of the cell with most of them first.
fn what_ifs(recorded: &Facts, rows: &[&Row], groups: &Groups) -> Vec<WhatIf> {
    let detail = |row: &Row| row.details.simulated.as_ref().and_then(|detail| detail.interval);
    let of_row = |row: &&Row| {
        let variant = row.key.variant.as_str();
        let title = recorded.script.variant(variant).map(|variant| variant.title.clone());
        let (machine, threads) = (row.key.machine.as_str(), row.key.threads?);
        let now = rows.iter().find(|now| {
            let key = &now.key;
            key.variant == RECORDED && key.machine == machine && key.threads == Some(threads)
        })?;
        let today = now.predicted.filter(|today| *today > 0.0);
        let gain = |with: f64, without: f64| with / without - 1.0;
        let gain_share = row.predicted.zip(today).map(|(with, today)| gain(with, today));
        let of_interval = |share: f64| {
            let (with, without) = (detail(row)?, detail(now)?);
            let ends = [share, gain(with.low, without.low), gain(with.high, without.high)];
            let (low, high) =
                (ends.into_iter().fold(share, f64::min), ends.into_iter().fold(share, f64::max));
            Some(Range { low, high })
        };
        let of_change = recorded.changes.iter().find(|of| of.name == variant);
        let places = of_change.map(|of| of.groups.as_slice()).unwrap_or_default();
        Some(WhatIf {
            machine: machine.to_owned(),
            threads,
            variant: variant.to_owned(),
            change: title.unwrap_or_default(),
            locks: places.iter().map(|group| name(groups, *group)).collect(),
            operations_per_s: row.predicted,
            gain_share,
            gain_interval: gain_share.and_then(of_interval),
            is_ceiling: variant.starts_with(WITHOUT),
            reason: row.reason.clone(),
        })
    };
    let is_change = |row: &&&Row| !NO_CHANGES.contains(&row.key.variant.as_str());
    let mut all: Vec<WhatIf> = rows.iter().filter(is_change).filter_map(of_row).collect();
    // Most changes are asked about in one cell. Cells with as many: the last machine first.
    let cell = |of: &WhatIf| (of.machine.clone(), of.threads);
    let mut counts: BTreeMap<(String, usize), usize> = BTreeMap::new();
    all.iter().for_each(|of| *counts.entry(cell(of)).or_default() += 1);
    let place = |of: &WhatIf| rows.iter().position(|row| row.key.machine == of.machine);
    let order = |of: &WhatIf| (counts[&cell(of)], place(of), of.threads);
    all.sort_by_key(|of| std::cmp::Reverse(order(of)));
    all
}
