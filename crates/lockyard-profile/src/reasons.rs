//! Conclusions from the figures of locks: a reason and a remedy for each lock or group of locks,
//! and the locks that matter most.

use crate::groups::{Group, Groups};
use crate::process::{Access, Accesses, Process};
use crate::profile::Profile;
use crate::words::{grouped, si, time};
use lockyard_support::{printable, share};

/// Minimum contended share for a lock to be called contended.
const CONTENDED: f64 = 0.05;

/// Average number of waiting threads from which a lock is no longer rarely contended.
const WAITING: f64 = 0.1;

/// Minimum share of the time held for a lock to be called saturated.
const SATURATED: f64 = 0.7;

/// Minimum ratio of the 99th percentile to the median of holds for a lock to have rare long holds.
const LONG_HOLDS: f64 = 20.0;

/// Assumed time that a read occupies the cache line of its lock, in nanoseconds: it comes from
/// another core to the acquisition, and again to the release.
const MOVED_NS: f64 = 100.0;

/// Minimum share of the time that reads occupy a line, for the line to be named.
const MOVED_SHARE: f64 = 0.25;

/// Minimum number of acquisitions for a reason.
const FEW: u64 = 1000;

/// Number of locks that the verdict names.
const NAMED: usize = 3;

/// Minimum share of all waiting for a lock to be named by the verdict after the first.
const MATTERS: f64 = 0.1;

/// Returns the name of a lock: the number of its group, and its variable.
pub(crate) fn named(process: &Process, groups: &Groups, address: u64) -> String {
    let Some((group, index)) = groups.place(address) else { return format!("{address:#x}") };
    let name = process.locks[index].variable.name.as_deref();
    let name = name.map(|name| format!(" {}", printable(name))).unwrap_or_default();
    format!("#{}{name}", group + 1)
}

/// Returns the name of a group for a sentence.
fn title(group: &Group) -> String {
    let of = &group.all;
    group.name().unwrap_or_else(|| format!("the {} at {:#x}", of.kind, of.address))
}

/// Returns the sentences on a process's locks that matter most.
pub(crate) fn verdict(profile: &Profile, process: &Process, groups: &Groups) -> Vec<String> {
    let waited = |group: &Group| group.all.counts.waits.ticks as f64;
    let all: f64 = groups.list.iter().map(waited).sum();
    if groups.list.is_empty() {
        return Vec::new();
    }
    let with_moved = |first: String| {
        let moved = |(index, group): (usize, &Group)| {
            let why = moved_by_readers(profile, process, group)?;
            Some(format!("#{} {}: {why}", index + 1, printable(&title(group))))
        };
        let moved = groups.list.iter().enumerate().filter_map(moved).take(NAMED);
        [first].into_iter().chain(moved).collect()
    };
    if all == 0.0 {
        return with_moved("No thread waited for a lock.".to_owned());
    }
    let waiting = all / profile.ticks_per_ns / profile.duration_ns(process);
    let is_contended = |group: &Group| group.all.counts.contended_share() >= CONTENDED;
    if waiting < WAITING && !groups.list.iter().any(is_contended) {
        return with_moved(format!(
            "No lock keeps threads waiting: {} of the run's time of a thread was spent on it.",
            share(waiting)
        ));
    }
    let matters = |(index, group): &(usize, &Group)| *index == 0 || waited(group) / all >= MATTERS;
    let hot = groups.list.iter().enumerate().take(NAMED).filter(matters);
    let sentence = |(index, group): (usize, &Group)| {
        let first = reasons(profile, process, groups, group).into_iter().next();
        format!(
            "#{} {} has {} of all waiting for locks. {}",
            index + 1,
            printable(&title(group)),
            share(waited(group) / all),
            first.unwrap_or_default()
        )
    };
    hot.map(sentence).collect()
}

/// Returns the conclusions from the figures of a group of locks, the most important first.
pub(crate) fn reasons(
    profile: &Profile,
    process: &Process,
    groups: &Groups,
    group: &Group,
) -> Vec<String> {
    let lock = &group.all;
    let counts = &lock.counts;
    let mut reasons = vec![main_reason(profile, process, group)];
    reasons.extend(moved_by_readers(profile, process, group));
    let handed: u64 = lock.hand_overs.iter().sum();
    if counts.contended_share() >= CONTENDED && counts.acquisitions >= FEW && handed > 0 {
        let far = lock.hand_overs[3] as f64 / handed as f64;
        let far = if far > 0.0 {
            format!(", {} of them beyond the last-level cache", share(far))
        } else {
            String::new()
        };
        reasons.push(format!(
            "Handed to another thread at {} of acquisitions{far}; longest run of one thread: {}.",
            share(handed as f64 / lock.followed.max(handed) as f64),
            grouped(u64::from(lock.longest_run))
        ));
    }
    match group.side_by_side {
        0 => {}
        count => reasons.push(format!(
            "{} of these locks share a cache line with another one of them: give each a line of \
             its own.",
            grouped(count as u64)
        )),
    }
    if !lock.same_line.is_empty() {
        let others: Vec<String> =
            lock.same_line.iter().take(4).map(|other| named(process, groups, *other)).collect();
        let more = match lock.same_line.len().saturating_sub(4) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        reasons.push(format!(
            "In the same cache line: {}{more}. Give each lock a line of its own.",
            others.join(", ")
        ));
    }
    reasons
}

/// Returns the reason for which threads wait, and a remedy.
fn main_reason(profile: &Profile, process: &Process, group: &Group) -> String {
    let counts = &group.all.counts;
    let contended = counts.contended_share();
    let waiting = profile.ns(counts.waits.ticks) / profile.duration_ns(process);
    let held = group.held_most(profile, process);
    // A share that the sample leaves in doubt does not count as a reason.
    let surely = held.map(|held| held.share - held.error.unwrap_or(held.share));
    let [p50, p99] = [0.5, 0.99].map(|part| counts.holds.quantile(part));
    if counts.acquisitions < FEW {
        return "Too few acquisitions for a reason.".to_owned();
    }
    if contended < CONTENDED && waiting >= WAITING {
        if let Some(accesses) = counts.accesses.as_deref() {
            return format!(
                "Few acquisitions wait ({}), but long: {waiting:.1} threads wait on average. {}.",
                share(contended),
                between_accesses(profile, process, group, accesses)
            );
        }
        return format!(
            "Few acquisitions wait ({}), but long: {waiting:.1} threads wait on average, and one \
             thread takes the lock up to {} in a row. Make critical sections fewer and larger, or \
             use a fair lock.",
            share(contended),
            match group.all.longest_run {
                1 => "once".to_owned(),
                run => format!("{} times", grouped(u64::from(run))),
            }
        );
    }
    if contended < CONTENDED {
        return format!("Rarely contended: {} of its acquisitions waited.", share(contended));
    }
    if surely.is_some_and(|held| held >= SATURATED) {
        let which = if group.members.len() > 1 { "its hottest lock is held" } else { "held" };
        return format!(
            "Saturated: {which} {} of the time. Hold it shorter, or split it.",
            share(held.map_or(0.0, |held| held.share))
        );
    }
    match (p50, p99, held) {
        (Some(p50), Some(p99), _) if p99 > p50 * LONG_HOLDS => format!(
            "Rare long holds: one in a hundred takes {} or more, the median {}. Look for \
             allocation, I/O or a system call under the lock.",
            time(p99 / profile.ticks_per_ns),
            time(p50 / profile.ticks_per_ns)
        ),
        (_, _, Some(held)) => format!(
            "Contended though held only {} of the time: threads come for it together. Spread \
             them, or batch their work.",
            share(held.share)
        ),
        _ => {
            let accesses = counts.accesses.as_deref().map(|accesses| {
                format!(": {}", between_accesses(profile, process, group, accesses))
            });
            format!("Contended between readers and writers{}.", accesses.unwrap_or_default())
        }
    }
}

/// Returns whether readers or writers hold a reader-writer lock, and which wait for it, without the
/// end of the sentence.
fn between_accesses(
    profile: &Profile,
    process: &Process,
    group: &Group,
    Accesses { reads, writes }: &Accesses,
) -> String {
    let counts = &group.all.counts;
    let waiting = |access: &Access| access.waits.ticks as f64 / counts.waits.ticks.max(1) as f64;
    format!(
        "{} of its acquisitions write, and hold it {} of the time; readers have {} of its \
         waiting, writers {}",
        share(writes.acquisitions as f64 / counts.acquisitions.max(1) as f64),
        share(profile.held_by(process, writes).share),
        share(waiting(reads)),
        share(waiting(writes))
    )
}

/// Returns a sentence on a lock whose readers are so frequent that its cache line may be the limit.
/// In that case no thread waits, but every call takes longer.
fn moved_by_readers(profile: &Profile, process: &Process, group: &Group) -> Option<String> {
    let of_each = group.members.iter().map(|index| process.locks[*index].counts.reads);
    let most = of_each.max().unwrap_or(0);
    let busy = most as f64 * MOVED_NS / profile.duration_ns(process);
    (process.threads > 1 && busy >= MOVED_SHARE).then(|| {
        let rate = most as f64 / profile.duration_ns(process) * 1e9;
        let which = if group.members.len() > 1 { "Its hottest lock is" } else { "It is" };
        format!(
            "{which} read {} times a second, and its cache line moves between cores at each \
             acquisition and each release. That may be the limit although few wait: record the \
             program, and predict more threads.",
            si(rate as u64)
        )
    })
}
