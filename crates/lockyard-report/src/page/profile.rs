//! The page of a profile: each process with its locks, call sites, and contradicting orders. All of
//! it comes from the part of the profile's JSON document that the page embeds: a program may have
//! thousands of locks, and a page of them would be too large to be read or sent.

use super::frame::{Frame, contents, framed, pairs, sentences};
use super::tables::{Cell, Table};
use crate::text::{escape, nanoseconds, share};
use serde_json::{Value, json};

/// Maximum size of a page in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Maximum number of processes on a page.
const MOST_PROCESSES: usize = 16;

/// Numbers of locks of a process, and of call sites of a lock, that a page may have. The first one
/// with which the page is small enough is taken.
const SIZES: [(usize, usize); 5] = [(100, 12), (40, 8), (16, 4), (6, 2), (1, 1)];

/// Returns the page of a profile, given its JSON document.
pub fn profile(profile: &Value) -> String {
    let mut page = String::new();
    for (locks, sites) in SIZES {
        page = page_of(&excerpt(profile, locks, sites));
        if page.len() <= MOST_BYTES {
            break;
        }
    }
    page
}

/// Returns the part of a document that a page has, with the numbers of what it leaves out.
fn excerpt(profile: &Value, most_locks: usize, most_sites: usize) -> Value {
    let mut part = profile.clone();
    let mut left_out = [0; 6];
    let mut cut = |value: &mut Value, most: usize, what: usize| {
        if let Some(list) = value.as_array_mut() {
            left_out[what] += list.len().saturating_sub(most);
            list.truncate(most);
        }
    };
    cut(&mut part["processes"], MOST_PROCESSES, 0);
    for process in part["processes"].as_array_mut().into_iter().flatten() {
        cut(&mut process["locks"], most_locks, 1);
        for lock in process["locks"].as_array_mut().into_iter().flatten() {
            cut(&mut lock["sites"], most_sites, 2);
            // Other locks in the line: few, unless locks are smaller than a word. They and those
            // that are held at the end are locks of the list above, which are counted there.
            cut(&mut lock["same_line"], 8, 4);
        }
        cut(&mut process["orders"], most_locks, 3);
        cut(&mut process["held_at_the_end"], most_locks, 5);
    }
    let [processes, locks, sites, orders, neighbours, holds] = left_out;
    part["left_out"] = json!({
        "processes": processes, "locks": locks, "sites": sites, "orders": orders,
        "same_line": neighbours, "held_at_the_end": holds,
    });
    part
}

/// Returns the sentence on what a page leaves out, if there is something.
fn left_out(part: &Value) -> Vec<String> {
    let names = [
        ("processes", "processes"),
        ("locks", "locks"),
        ("sites", "call sites"),
        ("orders", "orders of locks"),
        ("same_line", "neighbours of locks"),
        ("held_at_the_end", "holds at the end"),
    ];
    let left = names.iter().filter_map(|(key, name)| {
        let count = part["left_out"][key].as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} {name}"))
    });
    let left: Vec<String> = left.collect();
    if left.is_empty() {
        return Vec::new();
    }
    let left = left.join(", ");
    vec![format!("Not on this page: {left}. --format json --out FILE writes all of them.")]
}

fn page_of(profile: &Value) -> String {
    let command = list(&profile["command"]).iter().map(text).collect::<Vec<_>>().join(" ");
    let mut sections = Vec::new();
    let mut body = sentences(&left_out(profile));
    for (index, process) in list(&profile["processes"]).iter().enumerate() {
        let id = format!("p{}", index + 1);
        let name = process["name"]
            .as_str()
            .unwrap_or_else(|| base(process["program"].as_str().unwrap_or_default()));
        let title = format!("{name} (process {})", process["pid"]);
        body.push_str(&format!("<h2 id=\"{id}\">{}</h2>\n", escape(&title)));
        body.push_str(&of_process(process, &format!("/processes/{index}")));
        sections.push((id, title));
    }
    body.push_str("<h2 id=\"recording\">Recording</h2>\n");
    sections.push(("recording".to_owned(), "Recording".to_owned()));
    let number = |value: &Value| value.as_f64();
    let range = |from: &str, to: &str, shown: fn(f64) -> String| {
        let ends = [from, to].map(|name| number(&profile["recording"][name]).map(shown));
        ends.into_iter().flatten().collect::<Vec<_>>().join(" to ")
    };
    let facts = [
        ("end of the program", text(&profile["end"])),
        ("duration", number(&profile["seconds"]).map(|s| nanoseconds(s * 1e9)).unwrap_or_default()),
        ("cost of a recorded pair", range("cost_ns", "far_cost_ns", nanoseconds)),
        ("share of CPU time", range("share_of_cpu_time", "far_share_of_cpu_time", share)),
        ("records lost", profile["recording"]["lost"].to_string()),
    ];
    body.push_str(&pairs(facts.iter().map(|(name, value)| (*name, value.as_str()))));
    let warnings: Vec<String> = list(&profile["warnings"]).iter().map(text).collect();
    body.push_str(&sentences(&warnings));
    framed(&Frame {
        title: "Locks of a program",
        by: format!("lockyard profile -- {command}"),
        partial: None,
        content: format!("{}{body}", contents(&sections)),
        data: profile,
        version: profile["lockyard"].as_str(),
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn count(value: &Value, of: &'static str) -> Cell {
    Cell::of(value.as_u64().map(|count| count.to_string()), of)
}

fn time(value: &Value, of: &'static str) -> Cell {
    Cell::of(value.as_f64().map(nanoseconds), of)
}

fn part(value: &Value, of: &'static str) -> Cell {
    Cell::of(value.as_f64().map(share), of)
}

/// Returns the name of a lock: its variable, or its memory.
fn name(lock: &Value) -> String {
    let name = lock["name"].as_str().map(str::to_owned);
    name.unwrap_or_else(|| format!("{} in {}", text(&lock["address"]), text(&lock["memory"])))
}

fn of_process(process: &Value, at: &str) -> String {
    let locks = list(&process["locks"]);
    let mut html = locks_table(locks, at).html();
    html.push_str(&sites_table(locks, at).html());
    let circles = list(&process["contradicting_orders"]);
    if !circles.is_empty() {
        html.push_str("<h3>Locks taken in contradicting orders, which may deadlock</h3>\n");
        let named = |address: &Value| {
            locks
                .iter()
                .find(|lock| lock["address"] == *address)
                .map_or_else(|| text(address), name)
        };
        let arrow = |pair: &Value| {
            let site = text(&pair["inner_site"]);
            format!("{} then {} at {site}", named(&pair["outer"]), named(&pair["inner"]))
        };
        let line = |circle: &Value| list(circle).iter().map(arrow).collect::<Vec<_>>().join("; ");
        html.push_str(&sentences(&circles.iter().map(line).collect::<Vec<_>>()));
    }
    html
}

fn locks_table(locks: &[Value], at: &str) -> Table {
    let mut table = Table {
        caption: "Locks, those for which threads waited longest first".to_owned(),
        columns: vec![
            ("lock", false),
            ("kind", false),
            ("acquisitions", true),
            ("contended", true),
            ("waited", true),
            ("wait p50", true),
            ("wait p99", true),
            ("longest wait", true),
            ("held", true),
            ("hold p50", true),
            ("hold p99", true),
            ("longest hold", true),
            ("longest run", true),
            ("condition waits", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, lock) in locks.iter().enumerate() {
        let (hold, wait) = (&lock["hold"], &lock["wait"]);
        let cells = vec![
            Cell::Text(name(lock)),
            Cell::Text(text(&lock["kind"])),
            count(&lock["acquisitions"], "acquisitions"),
            part(&lock["contended_share"], "contended_share"),
            time(&wait["total_ns"], "wait/total_ns"),
            time(&wait["p50_ns"], "wait/p50_ns"),
            time(&wait["p99_ns"], "wait/p99_ns"),
            time(&wait["max_ns"], "wait/max_ns"),
            part(&lock["held_share"], "held_share"),
            time(&hold["p50_ns"], "hold/p50_ns"),
            time(&hold["p99_ns"], "hold/p99_ns"),
            time(&hold["max_ns"], "hold/max_ns"),
            count(&lock["longest_run"], "longest_run"),
            count(&lock["condition_waits"], "condition_waits"),
        ];
        table.lines.push((format!("{at}/locks/{index}"), cells));
    }
    table
}

fn sites_table(locks: &[Value], at: &str) -> Table {
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
    for (index, lock) in locks.iter().enumerate() {
        for (number, site) in list(&lock["sites"]).iter().enumerate() {
            let cells = vec![
                Cell::Text(text(&site["text"])),
                Cell::Text(name(lock)),
                count(&site["acquisitions"], "acquisitions"),
                part(&site["contended_share"], "contended_share"),
                time(&site["wait"]["total_ns"], "wait/total_ns"),
                time(&site["hold"]["p50_ns"], "hold/p50_ns"),
                count(&site["condition_waits"], "condition_waits"),
            ];
            table.lines.push((format!("{at}/locks/{index}/sites/{number}"), cells));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_the_figures_of_its_document() {
        let document = json!({
            "command": ["app", "<b>"],
            "end": "exit code 0",
            "processes": [{
                "pid": 7, "program": "/bin/app",
                "locks": [{
                    "address": "0x10", "name": "table_lock", "kind": "mutex", "acquisitions": 1234,
                    "contended_share": 0.25, "hold": { "p50_ns": 1500.0 }, "wait": {},
                    "sites": [{ "text": "work (app.c:7)", "acquisitions": 1234 }],
                }],
                "contradicting_orders":
                    [[{ "outer": "0x10", "inner": "0x20", "inner_site": "f (a.c:1)" }]],
            }],
        });
        let page = profile(&document);
        assert!(crate::page::is_page(&page));
        for wanted in [
            "table_lock",
            "<td data-of=\"acquisitions\" data-name=\"acquisitions\">1234</td>",
            "25.0 %",
            "1.5 µs",
            "work (app.c:7)",
            "table_lock then 0x20 at f (a.c:1)",
            "data-at=\"/processes/0/locks/0/sites/0\"",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("<b>"), "{page}");
        assert!(!page.contains("Not on this page"), "{page}");
    }

    #[test]
    fn a_page_of_thousands_of_locks_is_small_and_says_what_it_leaves_out() {
        let site = |number: usize| json!({ "text": format!("f{number} (a.c:1)"), "hold": {} });
        let lock = |number: usize| {
            let sites: Vec<Value> = (0..20).map(site).collect();
            json!({ "address": format!("{number:#x}"), "name": null, "wait": {}, "sites": sites })
        };
        let locks: Vec<Value> = (0..3000).map(lock).collect();
        let document = json!({ "processes": [{ "program": "app", "pid": 1, "locks": locks }] });
        let page = profile(&document);
        assert!(page.len() <= MOST_BYTES, "{}", page.len());
        let wanted =
            "Not on this page: 2900 locks, 800 call sites. --format json --out FILE writes";
        assert!(page.contains(wanted), "{}", &page[page.find("<main").unwrap_or(0)..][..2000]);
    }

    /// A lock that is also held at the end, or a neighbour of others, is one lock.
    #[test]
    fn a_lock_that_is_left_out_is_counted_once() {
        let locks: Vec<Value> = (0..103)
            .map(|number| {
                let neighbours = vec![json!("0x1"); if number == 0 { 10 } else { 0 }];
                let address = format!("{number:#x}");
                json!({ "address": address, "wait": {}, "sites": [], "same_line": neighbours })
            })
            .collect();
        let held = vec![json!({ "lock": "0x1", "thread": 1 }); 105];
        let process =
            json!({ "program": "app", "pid": 1, "locks": locks, "held_at_the_end": held });
        let page = profile(&json!({ "processes": [process] }));
        let wanted = "Not on this page: 3 locks, 2 neighbours of locks, 5 holds at the end. ";
        assert!(page.contains(wanted), "{}", &page[page.find("<main").unwrap_or(0)..][..2000]);
    }
}
