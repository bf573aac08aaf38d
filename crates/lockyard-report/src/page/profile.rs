//! The page of a profile: what matters most, a chart, the reasons, then the figures of each
//! process's locks and call sites. All of it comes from the part of the profile's JSON document
//! that the page embeds: a program may have thousands of locks, and a page of them would be too
//! large to be read or sent.

use super::frame::{Frame, charts, contents, framed, pairs, sentences};
use super::profile_tables::{accesses, call_sites, heading, holds, list, name, text, waits};
use crate::charts::profile::chart;
use crate::text::{escape, grouped, nanoseconds, share, short};
use serde_json::{Value, json};

/// Maximum size of a page in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Maximum number of processes on a page.
const MOST_PROCESSES: usize = 16;

/// Maximum number of locks of a process whose reasons are on a page.
const EXPLAINED: usize = 8;

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
        // Groups have the same locks and sites again, which are counted above.
        let again = |value: &mut Value, most: usize| {
            value.as_array_mut().into_iter().for_each(|list| list.truncate(most));
        };
        again(&mut process["groups"], most_locks);
        for group in process["groups"].as_array_mut().into_iter().flatten() {
            again(&mut group["sites"], most_sites);
            again(&mut group["same_line"], 8);
            again(&mut group["members"], 8);
        }
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
        ("processes", ["process", "processes"]),
        ("locks", ["lock", "locks"]),
        ("sites", ["call site", "call sites"]),
        ("orders", ["order of locks", "orders of locks"]),
        ("same_line", ["neighbour of a lock", "neighbours of locks"]),
        ("held_at_the_end", ["hold at the end", "holds at the end"]),
    ];
    let left = names.iter().filter_map(|(key, [one, many])| {
        let count = part["left_out"][key].as_u64().filter(|count| *count > 0)?;
        Some(format!("{} {}", grouped(count), if count == 1 { one } else { many }))
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
    let mut body = String::new();
    let mut id = 0;
    let processes = list(&profile["processes"]);
    if processes.is_empty() {
        let why = texts(&profile["warnings"]);
        body.push_str("<p>No lock was recorded.</p>\n");
        body.push_str(&sentences(&why));
    }
    for (index, process) in processes.iter().enumerate() {
        let section = format!("p{}", index + 1);
        let name = process["name"]
            .as_str()
            .unwrap_or_else(|| base(process["program"].as_str().unwrap_or_default()));
        let title = format!("{} (process {})", short(name), process["pid"]);
        body.push_str(&format!("<h2 id=\"{section}\">{}</h2>\n", escape(&title)));
        body.push_str(&of_process(process, &format!("/processes/{index}"), &mut id));
        sections.push((section, title));
    }
    body.push_str("<h2 id=\"recording\">Recording</h2>\n");
    sections.push(("recording".to_owned(), "Recording".to_owned()));
    body.push_str(&sentences(&left_out(profile)));
    let number = |value: &Value| value.as_f64();
    let range = |from: &str, to: &str, shown: fn(f64) -> String| {
        let ends = [from, to].map(|name| number(&profile["recording"][name]).map(shown));
        let mut ends: Vec<String> = ends.into_iter().flatten().collect();
        // Both may read the same.
        ends.dedup();
        ends.join(" to ")
    };
    let facts = [
        ("end of the program", text(&profile["end"])),
        ("duration", number(&profile["seconds"]).map(|s| nanoseconds(s * 1e9)).unwrap_or_default()),
        ("cost of a recorded pair", range("cost_ns", "far_cost_ns", nanoseconds)),
        ("share of CPU time", range("share_of_cpu_time", "far_share_of_cpu_time", share)),
        ("records lost", profile["recording"]["lost"].to_string()),
    ];
    body.push_str(&pairs(facts.iter().map(|(name, value)| (*name, value.as_str()))));
    if !processes.is_empty() {
        body.push_str(&sentences(&texts(&profile["warnings"])));
    }
    framed(&Frame {
        title: "Locks of a program",
        by: format!("lockyard profile -- {}", lockyard_support::escaped(&command)),
        partial: None,
        content: format!("{}{body}", contents(&sections)),
        data: profile,
        version: profile["lockyard"].as_str(),
    })
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(|line| lockyard_support::escaped(&text(line))).collect()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the answers first, then a chart, the reasons, and the figures.
fn of_process(process: &Value, at: &str, id: &mut usize) -> String {
    let groups = list(&process["groups"]);
    let mut html = sentences(&texts(&process["verdict"]));
    html.push_str(&charts(&chart(groups, at).into_iter().collect::<Vec<_>>(), id));
    let of_locks = [Some(waits(groups, at)), accesses(groups, at), Some(holds(groups, at))];
    let of_locks = of_locks.into_iter().flatten();
    html.push_str(&reasons(groups));
    html.extend(of_locks.map(|table| table.without_empty_columns().html()));
    html.push_str(&circles(process));
    html.push_str(&call_sites(groups, at).without_empty_columns().html());
    html
}

/// Reasons that are short of advice: locks that have no other one share a line.
const NO_ADVICE: [&str; 2] = ["Rarely contended", "Too few acquisitions for a reason"];

/// Returns the reasons and the advice for each lock or group.
fn reasons(groups: &[Value]) -> String {
    let mut html = String::new();
    let mut alike = NO_ADVICE.map(|reason| (reason, Vec::new()));
    let mut explained = 0;
    for (index, group) in groups.iter().enumerate() {
        let reasons = texts(&group["reasons"]);
        let of = alike
            .iter_mut()
            .find(|(reason, _)| matches!(reasons.as_slice(), [only] if only.starts_with(reason)));
        if let Some((_, names)) = of {
            names.push(short(&name(index, group)));
        } else if explained < EXPLAINED {
            explained += 1;
            html.push_str(&format!("<h3>{}</h3>\n", escape(&heading(index, group))));
            html.push_str(&sentences(&reasons));
        }
    }
    let line = |(reason, names): (&str, Vec<String>)| {
        let more = match names.len().saturating_sub(EXPLAINED) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        let first = names.get(..EXPLAINED).unwrap_or(&names).join(", ");
        (!names.is_empty()).then(|| format!("{reason}: {first}{more}."))
    };
    let lines: Vec<String> = alike.into_iter().filter_map(line).collect();
    if explained > 0 && !lines.is_empty() {
        html.push_str("<h3>Other locks</h3>\n");
    }
    html + &sentences(&lines)
}

fn circles(process: &Value) -> String {
    let circles = list(&process["contradicting_orders"]);
    if circles.is_empty() {
        return String::new();
    }
    let locks = list(&process["locks"]);
    let named = |address: &Value| {
        let found = locks.iter().find(|lock| lock["address"] == *address);
        found.and_then(|lock| lock["name"].as_str()).map_or_else(|| text(address), str::to_owned)
    };
    let arrow = |pair: &Value| {
        let site = short(&text(&pair["inner_site"]));
        format!(
            "{} then {} at {site}",
            short(&named(&pair["outer"])),
            short(&named(&pair["inner"]))
        )
    };
    let line = |circle: &Value| list(circle).iter().map(arrow).collect::<Vec<_>>().join("; ");
    let lines: Vec<String> = circles.iter().map(line).collect();
    let title = "<h3>Locks taken in contradicting orders, which may deadlock</h3>\n";
    format!("{title}{}", sentences(&lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_the_answers_first_and_then_the_figures_of_its_document() {
        let document = json!({
            "command": ["app", "<b>"],
            "end": "exit code 0",
            "processes": [{
                "pid": 7, "program": "/bin/app",
                "verdict": ["#1 table_lock has 97.0 % of all waiting for locks."],
                "groups": [{
                    "name": "table_lock", "kind": "mutex", "locks": 1, "acquisitions": 1_234_567,
                    "contended_share": 0.000_25, "share_of_waiting": 0.97, "held_share": 0.4,
                    "held_share_of_hottest": 0.4, "held_share_error": 0.02,
                    "hold": { "p50_ns": 1500.0, "total_ns": 3e9, "max_ns": 2e6 },
                    "wait": { "total_ns": 2e9 }, "reasons": ["Saturated.", "Give it a line."],
                    "sites": [{ "text": "work (app.c:7)", "acquisitions": 1234 }],
                }],
                "locks": [{ "address": "0x10", "name": "table_lock" }],
                "contradicting_orders":
                    [[{ "outer": "0x10", "inner": "0x20", "inner_site": "f (a.c:1)" }]],
            }],
        });
        let page = profile(&document);
        assert!(crate::page::is_page(&page));
        let at = |wanted: &str| page.find(wanted).unwrap_or_else(|| panic!("{wanted}: {page}"));
        let order = [
            "<li>#1 table_lock has 97.0 % of all waiting for locks.</li>",
            "<svg class=\"chart small\"",
            "<li>Saturated.</li>",
            "<li>Give it a line.</li>",
            "<caption>Who waits",
            "<td data-of=\"acquisitions\" data-name=\"acquisitions\">1 234 567</td>",
            "&lt;0.1 %",
            "<caption>How long locks are held",
            "<td data-of=\"hold/total_ns\" data-name=\"held in all\">3 s</td>",
            "1.5 µs",
            "<td data-of=\"hold/max_ns\" data-name=\"longest hold\">2 ms</td>",
            "table_lock then 0x20 at f (a.c:1)",
            "data-at=\"/processes/0/groups/0/sites/0\"",
            "work (app.c:7)",
        ];
        for (before, after) in order.iter().zip(&order[1..]) {
            assert!(at(before) < at(after), "{before} is not before {after}: {page}");
        }
        assert!(page.contains("data-at=\"/processes/0/groups/0/share_of_waiting\""), "{page}");
        assert!(!page.contains("<b>"), "{page}");
        assert!(!page.contains("Not on this page"), "{page}");
        // Nothing is known of these.
        for empty in [
            "wait p99",
            "condition waits",
            "without a CPU",
            "longest run",
            "<th scope=\"col\" class=\"r\">locks",
        ] {
            assert!(!page.contains(empty), "{empty}: {page}");
        }
    }

    /// A group has the heading of the text. Locks of which there is nothing to say share a line,
    /// and chart and table have one figure.
    #[test]
    fn groups_have_headings_as_in_the_text_and_one_figure() {
        let group = |reasons: &[&str], memory: &str| {
            json!({
                "name": null, "kind": "mutex", "memory": memory, "locks": 2069,
                "hottest": "0x10", "reasons": reasons, "held_share": 1.25,
                "held_share_of_hottest": 0.01,
                "sites": [{ "text": format!("o\nb{} (g.cc:19)", "q".repeat(5000)) }],
            })
        };
        let rare = ["Rarely contended: 0.0 % of its acquisitions waited."];
        let mut groups = vec![group(&["Saturated."], "heap")];
        groups.extend((0..11).map(|_| group(&rare, "other")));
        let process = json!({ "program": "app", "pid": 1, "groups": groups });
        let page = profile(&json!({ "processes": [process] }));
        let text = &page[page.find("<main").unwrap_or(0)..page.find("<footer").unwrap_or(0)];
        let heading = "<h3>#1 2,069 locks of kind mutex: on the heap, of o\\nbqqq";
        assert!(text.contains(heading), "{text}");
        assert_eq!(text.matches("<h3>").count(), 2, "{text}");
        assert_eq!(text.matches("Rarely contended").count(), 1, "{text}");
        assert!(text.contains("#9 0x10 in memory and 3 more."), "{text}");
        assert!(text.contains("#1 0x10: 125.0 %</title>"), "{text}");
        assert!(text.contains("data-name=\"held\">125.0 %</td>"), "{text}");
        assert!(text.contains("class=\"chart small\""), "{text}");
        // No word overflows: a tooltip has more of a long name.
        let words = text.split(|letter: char| "<> \n".contains(letter));
        let longest = words.map(|word| word.chars().count()).filter(|count| *count < 900).max();
        assert!(longest < Some(81), "{longest:?}");
        assert!(text.contains(" title=\"o\\nbqqq"), "{text}");
        assert!(!text.contains(&"q".repeat(1000)), "{text}");
    }

    #[test]
    fn a_page_without_locks_says_why() {
        let why = "the program took no lock of POSIX threads";
        let page = profile(&json!({ "processes": [], "warnings": [why] }));
        assert_eq!(page.matches(&format!("<li>{why}</li>")).count(), 1, "{page}");
        assert!(page.find(why) < page.find("<h2 id=\"recording\""), "{page}");
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
            "Not on this page: 2,900 locks, 800 call sites. --format json --out FILE writes";
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
