//! Chrome's trace event format: JSON, one event per line.
//!
//! The format has only processes, threads and counters. So each track of slices becomes a thread,
//! and a sort index keeps its position. Times are microseconds with three decimals. A viewer
//! attaches an arrow to the slice that is open at the arrow's time. So an arrow leaves just before
//! its slice ends, and arrives just after the next slice begins.

use crate::model::{Event, Kind, Process, Trace, Track, What};
use serde_json::{Value, json};

/// First characters of every file.
pub(crate) const BEGIN: &str = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";

/// Returns the trace as JSON.
pub(crate) fn events(trace: &Trace) -> String {
    let about: serde_json::Map<String, Value> =
        trace.about.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let mut lines = vec![
        named(0, 0, "process_name", json!({ "name": "about this trace" })),
        format!(
            r#"{{"ph":"X","pid":0,"tid":0,"ts":0,"dur":{},"name":"about this trace","args":{}}}"#,
            microseconds(trace.end()),
            Value::Object(about.clone())
        ),
    ];
    let names: Vec<String> = trace.names.iter().map(|name| quoted(name)).collect();
    for (index, process) in trace.processes.iter().enumerate() {
        let mut written = Written {
            pid: index + 1,
            names: &names,
            open: vec![Vec::new(); process.tracks.len()],
            lines: &mut lines,
        };
        written.describe(process);
        for event in &process.events {
            written.event(event, &process.tracks[event.track]);
        }
    }
    // The first character of the facts is in `BEGIN`.
    let about = Value::Object(about).to_string();
    format!("{BEGIN}{},\"traceEvents\":[\n{}\n]}}\n", &about[1..], lines.join(",\n"))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Formats nanoseconds as microseconds with three decimals.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// Returns a line that names a process or a thread, or gives its sort index.
fn named(pid: usize, tid: usize, what: &str, arguments: Value) -> String {
    format!(r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"{what}","args":{arguments}}}"#)
}

/// Events of a process that are being written.
struct Written<'a> {
    pid: usize,
    names: &'a [String],
    /// Arrows that leave at the end of each open slice, by track.
    open: Vec<Vec<Option<u64>>>,
    lines: &'a mut Vec<String>,
}

impl Written<'_> {
    fn describe(&mut self, process: &Process) {
        let pid = self.pid;
        self.lines.push(named(pid, 0, "process_name", json!({ "name": process.name })));
        for (track, one) in process.tracks.iter().enumerate() {
            if !matches!(one.kind, Kind::Thread | Kind::Slices) {
                continue;
            }
            let tid = track + 1;
            self.lines.push(named(pid, tid, "thread_name", json!({ "name": one.name })));
            self.lines.push(named(pid, tid, "thread_sort_index", json!({ "sort_index": track })));
        }
    }

    fn event(&mut self, event: &Event, track: &Track) {
        let at = |kind: &str| {
            let (pid, tid, time) = (self.pid, event.track + 1, microseconds(event.time));
            format!(r#"{{"ph":"{kind}","pid":{pid},"tid":{tid},"ts":{time}"#)
        };
        let arrow = |kind: &str, number: u64, more: &str| {
            let at = at(kind);
            format!(r#"{at},"id":{number},"cat":"hand-over","name":"hand-over"{more}}}"#)
        };
        match event.what {
            What::Begin { name, incoming, outgoing } => {
                self.lines.push(format!(r#"{},"name":{}}}"#, at("B"), self.names[name]));
                if let Some(number) = incoming {
                    self.lines.push(arrow("f", number, r#","bp":"e""#));
                }
                self.open[event.track].push(outgoing);
            }
            What::End => {
                if let Some(number) = self.open[event.track].pop().flatten() {
                    self.lines.push(arrow("s", number, ""));
                }
                self.lines.push(format!("{}}}", at("E")));
            }
            What::Count(value) => {
                let name = quoted(&track.name);
                self.lines
                    .push(format!(r#"{},"name":{name},"args":{{"value":{value}}}}}"#, at("C")));
            }
        }
    }
}
