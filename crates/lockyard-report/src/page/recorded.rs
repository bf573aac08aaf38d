//! Answers on a recorded program, at the beginning of a page of its prediction.

use super::frame::{charts, sentences};
use super::tables::{Cell, Table};
use crate::charts::recorded;
use crate::text::{percent, share};
use lockyard_results::details::Range;
use lockyard_results::growth::Growth;
use lockyard_results::recorded::{
    AccessToday, Accesses, BestChange, RecordedProgram, Replay, SATURATED_SHARE, Today,
};
use lockyard_results::render::figure;
use lockyard_results::what_if::WhatIf;

/// Maximum number of locks in a table.
const MOST: usize = 40;

/// Section of a page: identifier, title, content.
pub(super) type Section = (String, String, String);

/// Returns the sections of the answers.
pub(super) fn sections(of: &RecordedProgram, id: &mut usize) -> Vec<Section> {
    let mark = of.mark();
    let section = |name: &str, title: String, content: String| (name.to_owned(), title, content);
    let gate: Vec<String> = of.gate.iter().map(Replay::sentence).collect();
    let grows = of.growth.as_ref().map(|growth| {
        let content = sentences(&growth.sentences()) + &parts(growth).html();
        section("growth", format!("What grows with threads{mark}"), content)
    });
    let today = today(&of.today).html() + &charts(&[recorded::today(&of.today)], id);
    let today = today + &sentences(&gate);
    let mut all = Vec::new();
    if !of.what_if.is_empty() {
        let content = what_ifs(&of.what_if).html();
        all.push(section("what-helps", format!("What helps{mark}"), content));
    }
    all.extend(grows);
    all.push(section("today", "Where the time goes today".to_owned(), today));
    if let Some(chart) = recorded::saturation(of) {
        let title = format!("Which lock saturates{mark}");
        let content = saturation(of).html() + &charts(&[chart], id);
        all.push(section("saturation", title, content));
    }
    let content = match of.best_changes.as_slice() {
        [] => {
            sentences(&["No change was predicted: --what-if and --locks predict some.".to_owned()])
        }
        some => changes(some).html(),
    };
    all.push(section("best-change", format!("The best change{mark}"), content));
    all
}

fn part(value: f64, of: &'static str) -> Cell {
    Cell::Figure(share(value), of)
}

fn number(value: f64, of: &'static str) -> Cell {
    Cell::Figure(figure(value), of)
}

fn today(of: &Today) -> Table {
    let mut table = Table {
        caption: "Shares of the recorded threads' time".to_owned(),
        columns: vec![
            ("where", false),
            ("share", true),
            ("held", true),
            ("waited for", true),
            ("acquisitions/s", true),
            ("hold, ns", true),
            ("wait, ns", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (name, value, field) in of.parts() {
        let mut cells = vec![Cell::Text(name.to_owned()), part(value, field)];
        cells.resize(table.columns.len(), Cell::Text(String::new()));
        table.lines.push(("/recorded/today".to_owned(), cells));
    }
    let line = |name: String, of: AccessToday| {
        vec![
            Cell::Text(name),
            Cell::Text(String::new()),
            part(of.share_held, "share_held"),
            part(of.share_waited, "share_waited"),
            number(of.acquisitions_per_s, "acquisitions_per_s"),
            number(of.held_ns_each_time, "held_ns_each_time"),
            number(of.waited_ns_each_time, "waited_ns_each_time"),
        ]
    };
    for (index, lock) in of.locks.iter().enumerate().take(MOST) {
        let at = format!("/recorded/today/locks/{index}");
        table.lines.push((at.clone(), line(lock.lock.clone(), lock.all())));
        for (access, of) in lock.accesses.into_iter().flat_map(Accesses::each) {
            table.lines.push((format!("{at}/{access}"), line(format!("- its {access}"), of)));
        }
    }
    table
}

/// Returns the times of an operation that grow, by place.
fn parts(of: &Growth) -> Table {
    let mut table = Table {
        caption: "Time of an operation with the smallest and the largest recorded number of \
                  threads, in nanoseconds; and the part of the growth that the replay explains"
            .to_owned(),
        columns: vec![
            ("where", false),
            ("from, ns", true),
            ("to, ns", true),
            ("explained, ns", true),
            ("not explained, ns", true),
            ("sites", false),
        ],
        fits: true,
        lines: Vec::new(),
    };
    for (index, part) in of.parts.iter().enumerate().take(MOST) {
        let place = part.lock.clone().unwrap_or_else(|| "outside of locks".to_owned());
        let cells = vec![
            Cell::Text(place),
            number(part.from_ns, "from_ns"),
            number(part.to_ns, "to_ns"),
            number(part.explained_ns, "explained_ns"),
            number(part.not_explained_ns, "not_explained_ns"),
            Cell::Text(part.sites.join(", ")),
        ];
        table.lines.push((format!("/growth/parts/{index}"), cells));
    }
    table
}

fn saturation(of: &RecordedProgram) -> Table {
    let mut table = Table {
        caption: format!(
            "A lock is saturated where it is held or wanted for {} of the time. Busy: that share \
             at the largest number of threads; of a group of locks, it is the busiest one's. Knee: \
             estimated number of threads from which it is never free",
            share(SATURATED_SHARE)
        ),
        columns: vec![
            ("lock", false),
            ("machine", false),
            ("saturated at threads", true),
            ("knee", true),
            ("busy", true),
            ("held", true),
        ],
        fits: true,
        lines: Vec::new(),
    };
    let all = of.machines().into_iter().flat_map(|machine| of.on(machine).take(MOST));
    for (index, lock) in all {
        let at = lock.saturated_at_threads.map(|threads| threads.to_string());
        let cells = vec![
            Cell::Text(lock.lock.clone()),
            Cell::Text(lock.machine.clone()),
            Cell::of(at, "saturated_at_threads"),
            number(lock.knee_threads, "knee_threads"),
            part(lock.at_most.share_busy, "at_most/share_busy"),
            part(lock.at_most.share_held, "at_most/share_held"),
        ];
        table.lines.push((format!("/recorded/saturation/{index}"), cells));
    }
    table
}

fn changes(of: &[BestChange]) -> Table {
    let mut table = Table {
        caption: "The change that gives most at the largest number of threads, in operations/s"
            .to_owned(),
        columns: vec![
            ("machine", false),
            ("threads", true),
            ("change", false),
            ("as recorded", true),
            ("interval", true),
            ("changed", true),
            ("interval", true),
            ("gain", true),
            ("beyond the intervals", false),
        ],
        fits: true,
        lines: Vec::new(),
    };
    let ends = |range: Range| format!("{} .. {}", figure(range.low), figure(range.high));
    for (index, best) in of.iter().enumerate() {
        let cells = vec![
            Cell::Text(best.machine.clone()),
            Cell::Figure(best.threads.to_string(), "threads"),
            Cell::Text(format!("{}: {}", best.variant, best.title)),
            number(best.recorded_operations_per_s, "recorded_operations_per_s"),
            Cell::of(
                best.recorded_interval.map(ends),
                "recorded_interval/low recorded_interval/high",
            ),
            number(best.operations_per_s, "operations_per_s"),
            Cell::of(best.interval.map(ends), "interval/low interval/high"),
            Cell::Figure(percent(best.gain_share), "gain_share"),
            Cell::Text(if best.within_intervals { "no" } else { "yes" }.to_owned()),
        ];
        table.lines.push((format!("/recorded/best_changes/{index}"), cells));
    }
    table
}

fn what_ifs(of: &[WhatIf]) -> Table {
    let mut table = Table {
        caption: "Changes, and what they give beside the program as it is, in operations/s. A \
                  ceiling is no change: nothing can give more there"
            .to_owned(),
        columns: vec![
            ("change", false),
            ("gain", true),
            ("interval", true),
            ("changed", true),
            ("machine", false),
            ("threads", true),
            ("notes", false),
        ],
        fits: true,
        lines: Vec::new(),
    };
    let mut numbered: Vec<(usize, &WhatIf)> = of.iter().enumerate().collect();
    let numbered_first = numbered.clone();
    let gain = |of: &WhatIf| of.gain_share.unwrap_or(f64::NEG_INFINITY);
    let place = |of: &WhatIf| {
        let is_there = |(_, first): &(usize, &WhatIf)| {
            (&first.machine, first.threads) == (&of.machine, of.threads)
        };
        numbered_first.iter().position(is_there)
    };
    numbered.sort_by(|(_, a), (_, b)| place(a).cmp(&place(b)).then(gain(b).total_cmp(&gain(a))));
    let ends = |range: Range| format!("{} .. {}", percent(range.low), percent(range.high));
    for (index, of) in numbered {
        let note = if of.is_ceiling { "ceiling".to_owned() } else { String::new() };
        let cells = vec![
            Cell::Text(of.change.clone()),
            Cell::of(of.gain_share.map(percent), "gain_share"),
            Cell::of(of.gain_interval.map(ends), "gain_interval/low gain_interval/high"),
            Cell::of(of.operations_per_s.map(figure), "operations_per_s"),
            Cell::Text(of.machine.clone()),
            Cell::Figure(of.threads.to_string(), "threads"),
            Cell::Text(of.reason.clone().unwrap_or(note)),
        ];
        table.lines.push((format!("/what_if/{index}"), cells));
    }
    table
}
