//! A whole run as JSON.

use crate::cpus::DISTANCE_NAMES;
use crate::groups::{Group, Groups};
use crate::order::Circle;
use crate::process::{Access, Accesses, Counts, Lock, Process, SiteCounts};
use crate::profile::{HeldShare, Profile};
use crate::reasons::{reasons, verdict};
use crate::symbols::Site;
use crate::times::round;
use lockyard_records::Pair;
use serde_json::{Map, Value, json};

/// Version of the JSON document.
pub const SCHEMA: u32 = 1;

/// Maximum number of nested pairs in the JSON document.
const MOST_PAIRS: usize = 1000;

impl Profile {
    /// Returns the run as JSON.
    pub fn json(&self, version: &str) -> Value {
        json!({
            "lockyard": version,
            "schema": SCHEMA,
            "command": self.command,
            "end": self.end,
            "exit_code": self.code,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "ticks_per_ns": self.ticks_per_ns,
            "recording": {
                "timed_one_in": self.every,
                "cost_ns": self.cost_ns.map(|[near, _]| round(near)),
                "far_cost_ns": self.cost_ns.map(|[_, far]| round(far)),
                "share_of_cpu_time": self.overhead().map(|[least, _]| least),
                "far_share_of_cpu_time": self.overhead().map(|[_, most]| most),
                "lost": self.lost(),
                "saw_all": self.saw_all,
            },
            "processes": self.processes.iter().map(|of| self.process(of)).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }

    fn process(&self, process: &Process) -> Value {
        let groups = Groups::of(process);
        let group = |group: &Group| self.group(process, &groups, group);
        let pairs = process.pairs.iter().take(MOST_PAIRS);
        let pairs: Vec<Value> = pairs.map(|pair| order(process, pair)).collect();
        let circle =
            |circle: &Circle| -> Value { circle.iter().map(|pair| order(process, pair)).collect() };
        let held = process.held.iter();
        let held: Vec<Value> = held
            .map(|(lock, thread)| json!({ "lock": address(*lock), "thread": thread }))
            .collect();
        json!({
            "pid": process.pid,
            "parent": process.parent,
            "program": process.program,
            "name": process.name,
            "forked": process.forked,
            "threads": process.threads,
            "seconds": self.duration_ns(process) / 1e9,
            "acquisitions": process.acquisitions(),
            "contended": process.contended(),
            "verdict": verdict(self, process, &groups),
            "groups": groups.list.iter().map(group).collect::<Vec<_>>(),
            "locks": process.locks.iter().map(|of| self.lock(process, of)).collect::<Vec<_>>(),
            "orders": pairs,
            "contradicting_orders": process.circles.iter().map(circle).collect::<Vec<_>>(),
            "held_at_the_end": held,
            "lost": process.lost,
            "not_recorded_inside": process.inside,
            "unmatched_releases": process.unmatched,
            "too_deep": process.too_deep,
        })
    }

    fn lock(&self, process: &Process, lock: &Lock) -> Value {
        let mut value = json!({
            "address": address(lock.address),
            "name": lock.variable.name,
            "kind": lock.kind,
            "size": lock.variable.size,
            "module": lock.variable.module,
            "memory": lock.variable.place,
        });
        join(&mut value, self.figures(process, lock, self.held_share(process, lock)));
        value
    }

    /// Returns a group of locks, or a lock that is alone: the sums, with the reasons.
    fn group(&self, process: &Process, groups: &Groups, group: &Group) -> Value {
        let members = group.members.iter().map(|index| address(process.locks[*index].address));
        let mut value = json!({
            "name": group.name(),
            "kind": group.all.kind,
            "memory": group.all.variable.place,
            "locks": group.members.len(),
            "hottest": address(group.all.address),
            "members": members.collect::<Vec<_>>(),
            "reasons": reasons(self, process, groups, group),
            "share_of_waiting": group.share_of_waiting(process),
            "held_share_of_hottest": group.held_most(self, process).map(|held| held.share),
        });
        join(&mut value, self.figures(process, &group.all, group.held(self, process)));
        value
    }

    fn figures(&self, process: &Process, lock: &Lock, held: Option<HeldShare>) -> Value {
        let site = |of: &SiteCounts| {
            let mut value = site(&of.site);
            join(&mut value, self.counts(&of.counts));
            value
        };
        let hand_overs = DISTANCE_NAMES.iter().zip(lock.hand_overs);
        let hand_overs: Map<String, Value> =
            hand_overs.map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let mut value = self.counts(&lock.counts);
        if let Some(accesses) = &lock.counts.accesses {
            join(&mut value, json!({ "accesses": self.accesses(process, accesses) }));
        }
        join(
            &mut value,
            json!({
                "held_share": held.map(|held| held.share),
                "held_share_error": held.and_then(|held| held.error),
                "longest_run": lock.longest_run,
                "followed": lock.followed,
                "hand_overs": hand_overs,
                "destroyed": lock.destroyed,
                "same_line": lock.same_line.iter().map(|of| address(*of)).collect::<Vec<_>>(),
                "sites": lock.sites.iter().map(site).collect::<Vec<_>>(),
            }),
        );
        value
    }

    /// Returns the readers' section and the writers' section.
    fn accesses(&self, process: &Process, accesses: &Accesses) -> Value {
        let access = |(name, of): (&str, &Access)| {
            let held = self.held_by(process, of);
            let value = json!({
                "acquisitions": of.acquisitions,
                "contended": of.contended,
                "contended_share": of.contended_share(),
                "mean_holders": held.share,
                "mean_holders_error": held.error,
                "hold": of.holds.json(self.ticks_per_ns),
                "wait": of.waits.json(self.ticks_per_ns),
            });
            (name.to_owned(), value)
        };
        Value::Object(accesses.each().into_iter().map(access).collect())
    }

    fn counts(&self, counts: &Counts) -> Value {
        json!({
            "acquisitions": counts.acquisitions,
            "contended": counts.contended,
            "contended_share": counts.contended_share(),
            "reads": counts.reads,
            "failed": counts.failed,
            "nested": counts.nested,
            "condition_waits": counts.condition_waits,
            "condition_wait_ns": round(self.ns(counts.condition.ticks)),
            "condition_waits_timed": counts.condition.timed,
            "condition_wait_error_ns": round(counts.condition.error() / self.ticks_per_ns),
            "hold": counts.holds.json(self.ticks_per_ns),
            "wait": counts.waits.json(self.ticks_per_ns),
        })
    }
}

/// Returns an address as text: a number in JSON may lose its last digits.
fn address(address: u64) -> String {
    format!("{address:#x}")
}

fn site(site: &Site) -> Value {
    json!({
        "address": address(site.address),
        "text": site.text(),
        "function": site.function,
        "file": site.file,
        "line": site.line,
        "module": site.module,
        "offset": address(site.offset),
    })
}

fn order(process: &Process, pair: &Pair) -> Value {
    let text = |address| process.pair_sites.get(&address).map(Site::text);
    json!({
        "outer": address(pair.outer),
        "inner": address(pair.inner),
        "count": pair.waiting + pair.tried,
        "without_waiting": pair.tried,
        "outer_site": text(pair.outer_site),
        "inner_site": text(pair.inner_site),
    })
}

/// Adds the members of an object to another.
fn join(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}
