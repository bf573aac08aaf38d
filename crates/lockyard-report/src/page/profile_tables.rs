//! Tables of a profile's page: waits and holds of each lock or group of locks, and call sites. `at`
//! is the place of the process in the page's document.

use super::tables::{Cell, Table};
use crate::text::{grouped, nanoseconds, share, short};
use lockyard_results::render::figure;
use serde_json::Value;

/// Returns the elements of a list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a text.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the name of a lock or group: its number, and its variable or memory.
pub(super) fn name(index: usize, group: &Value) -> String {
    let name = group["name"].as_str().map(str::to_owned);
    let name = name.unwrap_or_else(|| format!("{} {}", text(&group["hottest"]), place(group)));
    format!("#{} {name}", index + 1)
}

/// Returns where a lock without a name is.
fn place(group: &Value) -> &'static str {
    match group["memory"].as_str() {
        Some("heap") => "on the heap",
        Some("stack") => "on the stack",
        _ => "in memory",
    }
}

/// Returns the heading of a lock or group, as the text of the profile has it.
pub(super) fn heading(index: usize, group: &Value) -> String {
    let site = group["sites"][0]["text"].as_str();
    let name = match (group["name"].as_str(), site) {
        (Some(name), _) => short(name),
        (None, Some(site)) => format!("{}, of {}", place(group), short(site)),
        (None, None) => place(group).to_owned(),
    };
    let (number, kind) = (index + 1, text(&group["kind"]));
    match group["locks"].as_u64() {
        Some(many) if many > 1 => {
            format!("#{number} {} locks of kind {kind}: {name}", grouped(many))
        }
        _ => format!("#{number} {kind} {name}, {}", text(&group["hottest"])),
    }
}

/// Returns a cell with a number above 0, in groups of three digits.
fn count(value: &Value, of: &'static str) -> Cell {
    let digits = |count: u64| if count < 1000 { count.to_string() } else { figure(count as f64) };
    Cell::of(value.as_u64().filter(|count| *count > 0).map(digits), of)
}

fn time(value: &Value, of: &'static str) -> Cell {
    Cell::of(value.as_f64().filter(|ns| *ns > 0.0).map(nanoseconds), of)
}

fn part(value: &Value, of: &'static str) -> Cell {
    Cell::of(value.as_f64().map(share), of)
}

/// Returns a cell with the number of locks of a group.
fn locks(group: &Value) -> Cell {
    let locks = &group["locks"];
    if locks.as_u64() > Some(1) { count(locks, "locks") } else { Cell::Text(String::new()) }
}

/// Returns the table of acquisitions and waits.
pub(super) fn waits(groups: &[Value], at: &str) -> Table {
    let mut table = Table {
        caption:
            "Who waits: locks for which threads waited longest come first. Where threads wait \
                  often, a sample of the waits is timed; the sum has its error beside it"
                .to_owned(),
        columns: vec![
            ("lock", false),
            ("kind", false),
            ("locks", true),
            ("acquisitions", true),
            ("contended", true),
            ("waited", true),
            ("±", true),
            ("timed", true),
            ("of all waiting", true),
            ("wait p99", true),
            ("longest wait", true),
            ("condition waits", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, group) in groups.iter().enumerate() {
        let wait = &group["wait"];
        let cells = vec![
            Cell::Name(name(index, group)),
            Cell::Text(text(&group["kind"])),
            locks(group),
            count(&group["acquisitions"], "acquisitions"),
            part(&group["contended_share"], "contended_share"),
            time(&wait["total_ns"], "wait/total_ns"),
            time(&wait["total_error_ns"], "wait/total_error_ns"),
            count(&wait["timed"], "wait/timed"),
            part(&group["share_of_waiting"], "share_of_waiting"),
            time(&wait["p99_ns"], "wait/p99_ns"),
            time(&wait["max_ns"], "wait/max_ns"),
            count(&group["condition_waits"], "condition_waits"),
        ];
        table.lines.push((format!("{at}/groups/{index}"), cells));
    }
    table
}

/// Returns the table of holds.
pub(super) fn holds(groups: &[Value], at: &str) -> Table {
    let mut table = Table {
        caption: "How long locks are held. The sum and the share come from a sample, with the \
                  error beside them; of a group of locks they are sums"
            .to_owned(),
        columns: vec![
            ("lock", false),
            ("held", true),
            ("±", true),
            ("held in all", true),
            ("hold p50", true),
            ("hold p99", true),
            ("longest hold", true),
            ("without a CPU", true),
            ("longest run", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, group) in groups.iter().enumerate() {
        let hold = &group["hold"];
        let cells = vec![
            Cell::Name(name(index, group)),
            part(&group["held_share"], "held_share"),
            part(&group["held_share_error"], "held_share_error"),
            time(&hold["total_ns"], "hold/total_ns"),
            time(&hold["p50_ns"], "hold/p50_ns"),
            time(&hold["p99_ns"], "hold/p99_ns"),
            time(&hold["max_ns"], "hold/max_ns"),
            time(&hold["without_cpu_ns"], "hold/without_cpu_ns"),
            count(&group["longest_run"], "longest_run"),
        ];
        table.lines.push((format!("{at}/groups/{index}"), cells));
    }
    table
}

/// Returns the table of readers and writers, if a lock is a reader-writer lock.
pub(super) fn accesses(groups: &[Value], at: &str) -> Option<Table> {
    let mut table = Table {
        caption: "Readers and writers of reader-writer locks. Mean holders: of writers it is the \
                  share of the time for which they have the lock"
            .to_owned(),
        columns: vec![
            ("lock", false),
            ("access", false),
            ("acquisitions", true),
            ("contended", true),
            ("waited", true),
            ("wait p99", true),
            ("longest wait", true),
            ("mean holders", true),
            ("held in all", true),
            ("hold p50", true),
            ("hold p99", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, group) in groups.iter().enumerate() {
        for access in ["reads", "writes"] {
            let of = &group["accesses"][access];
            if !of.is_object() {
                continue;
            }
            let (wait, hold) = (&of["wait"], &of["hold"]);
            let holders = of["mean_holders"].as_f64().map(figure);
            let cells = vec![
                Cell::Name(name(index, group)),
                Cell::Text(access.to_owned()),
                count(&of["acquisitions"], "acquisitions"),
                part(&of["contended_share"], "contended_share"),
                time(&wait["total_ns"], "wait/total_ns"),
                time(&wait["p99_ns"], "wait/p99_ns"),
                time(&wait["max_ns"], "wait/max_ns"),
                Cell::of(holders, "mean_holders"),
                time(&hold["total_ns"], "hold/total_ns"),
                time(&hold["p50_ns"], "hold/p50_ns"),
                time(&hold["p99_ns"], "hold/p99_ns"),
            ];
            table.lines.push((format!("{at}/groups/{index}/accesses/{access}"), cells));
        }
    }
    (!table.lines.is_empty()).then_some(table)
}

/// Returns the table of call sites.
pub(super) fn call_sites(groups: &[Value], at: &str) -> Table {
    let mut table = Table {
        caption: "Call sites".to_owned(),
        columns: vec![
            ("call site", false),
            ("lock", false),
            ("acquisitions", true),
            ("contended", true),
            ("waited", true),
            ("hold p50", true),
            ("condition waits", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, group) in groups.iter().enumerate() {
        for (number, site) in list(&group["sites"]).iter().enumerate() {
            let cells = vec![
                Cell::Name(text(&site["text"])),
                Cell::Name(name(index, group)),
                count(&site["acquisitions"], "acquisitions"),
                part(&site["contended_share"], "contended_share"),
                time(&site["wait"]["total_ns"], "wait/total_ns"),
                time(&site["hold"]["p50_ns"], "hold/p50_ns"),
                count(&site["condition_waits"], "condition_waits"),
            ];
            table.lines.push((format!("{at}/groups/{index}/sites/{number}"), cells));
        }
    }
    table
}
