//! A whole run: the program, how it ended, its processes; and the run as JSON.

use crate::cpus::DISTANCE_NAMES;
use crate::order::Circle;
use crate::process::{Counts, Lock, Process};
use crate::symbols::Site;
use crate::times::round;
use lockyard_records::Pair;
use serde_json::{Map, Value, json};

/// Version of the JSON document.
pub const SCHEMA: u32 = 1;

/// Maximum number of nested pairs in the JSON document.
const MOST_PAIRS: usize = 1000;

/// A run of a program.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Program and arguments.
    pub command: Vec<String>,
    /// End of the program, in words: `exit code 0`, `killed by SIGKILL`.
    pub end: String,
    /// Exit code, as a shell gives it.
    pub code: u8,
    /// Duration in seconds.
    pub seconds: f64,
    /// Processor time of the program and its children in seconds.
    pub cpu_seconds: f64,
    /// Ticks in a nanosecond.
    pub ticks_per_ns: f64,
    /// End of the run in ticks.
    pub end_ticks: u64,
    /// Mean number of holds for each one that is timed; 1 if all are.
    pub every: u64,
    /// Cost of a recorded acquisition and release, in nanoseconds: of a lock in the nearest cache,
    /// and of one of thousands.
    pub cost_ns: Option<[f64; 2]>,
    /// Processes that took a lock, that with the most acquisitions first.
    pub processes: Vec<Process>,
    /// True if no sign was found of locks that went past the recorder.
    pub saw_all: bool,
    /// Notes on what spoils the figures, or is left out.
    pub warnings: Vec<String>,
}

impl Profile {
    /// Returns a number of ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns
    }

    /// Returns the time from a process's start to the end of the run, in nanoseconds.
    pub fn duration_ns(&self, process: &Process) -> f64 {
        let ticks = self.end_ticks.saturating_sub(process.start);
        self.ns(ticks).min(self.seconds * 1e9).max(1.0)
    }

    /// Returns the share of the time for which a lock was held. Readers hold a lock together, so
    /// that there is no share for one that was read.
    pub fn held_share(&self, process: &Process, lock: &Lock) -> Option<f64> {
        let share = lock.counts.holds.total() / self.ticks_per_ns / self.duration_ns(process);
        (lock.counts.reads == 0).then(|| share.min(1.0))
    }

    /// Returns the time that recording took, as shares of the processor time: by the lower and by
    /// the higher cost of a pair.
    pub fn overhead(&self) -> Option<[f64; 2]> {
        let pairs: u64 = self.processes.iter().map(Process::recorded).sum();
        let share = |cost: f64| (cost * pairs as f64 / 1e9 / self.cpu_seconds).min(1.0);
        (self.cpu_seconds > 0.0).then_some(self.cost_ns?.map(share))
    }

    /// Returns the number of events that had no room.
    pub fn lost(&self) -> u64 {
        self.processes.iter().map(|process| process.lost).sum()
    }

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
        let sites = lock.sites.iter().map(|of| {
            let mut value = site(&of.site);
            join(&mut value, self.counts(&of.counts));
            value
        });
        let hand_overs = DISTANCE_NAMES.iter().zip(lock.hand_overs);
        let hand_overs: Map<String, Value> =
            hand_overs.map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        join(&mut value, self.counts(&lock.counts));
        join(
            &mut value,
            json!({
                "held_share": self.held_share(process, lock),
                "longest_run": lock.longest_run,
                "followed": lock.followed,
                "hand_overs": hand_overs,
                "destroyed": lock.destroyed,
                "same_line": lock.same_line.iter().map(|of| address(*of)).collect::<Vec<_>>(),
                "sites": sites.collect::<Vec<_>>(),
            }),
        );
        value
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
            "condition_wait_ns": round(self.ns(counts.condition_ticks)),
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
