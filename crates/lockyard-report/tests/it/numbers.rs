//! Every number of a page is in the document that it embeds.

use crate::sample::{document, page_of, page_of_comparison, page_of_sweep, recorded};
use crate::tags::{Tag, charts, embedded, tags};
use lockyard_results::render::{Format, figure, render};
use serde_json::Value;

/// Returns the numbers that a chart element names, each with its JSON pointer into the embedded
/// document.
fn facts(tag: &Tag) -> Vec<(String, f64)> {
    let Some((at, values)) = tag.get("data-at").zip(tag.get("data-value")) else {
        return Vec::new();
    };
    let at: Vec<&str> = at.split(' ').collect();
    let values: Vec<f64> =
        values.split(' ').map(|value| value.parse().expect("a number")).collect();
    assert_eq!(at.len(), values.len());
    at.into_iter().map(|at| at.replace("%20", " ")).zip(values).collect()
}

fn number(document: &Value, at: &str) -> f64 {
    let found = document.pointer(at).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("the document has no number at {at}"))
}

/// Checks the numbers of charts and sentences. Returns how many there are.
fn check_facts(page: &str) -> usize {
    let document = embedded(page);
    let facts: Vec<(String, f64)> = tags(page).iter().flat_map(facts).collect();
    for (at, value) in &facts {
        let expected = number(&document, at);
        let off = (expected - value).abs();
        assert!(off <= expected.abs() * 1e-12, "{at} is {expected}, shown as {value}");
    }
    facts.len()
}

/// Returns the text that a table's cell shows for a member of the document.
fn shown(of: &str, value: f64) -> String {
    match of {
        "threads" | "cells" | "winners_right" | "winners_total" => value.to_string(),
        "median_abs_error" | "p90_abs_error" => format!("{:.1} %", value * 100.0),
        "saturated_at_threads" => value.to_string(),
        of if of.contains("share_") => format!("{:.1} %", value * 100.0),
        "error" | "difference" | "gain_share" => format!("{:+.1} %", value * 100.0),
        "row/fairness/jain" => format!("{value:.2}"),
        "row/waits/p50_ns" => format!("{value:.0} ns"),
        "p" if value < 0.0001 => "< 0.0001".to_owned(),
        "p" => format!("{value:.4}"),
        _ => figure(value),
    }
}

/// Checks the figures of tables. Returns how many there are.
fn check_tables(page: &str, ends_are_shares: bool) -> usize {
    let document = embedded(page);
    let mut line = String::new();
    let mut count = 0;
    for tag in tags(page) {
        if tag.name == "tr" {
            line = tag.get("data-at").unwrap_or_default().to_owned();
        }
        let Some(of) = tag.get("data-of") else { continue };
        let texts: Vec<String> = of
            .split(' ')
            .map(|of| {
                let value = number(&document, &format!("{line}/{of}"));
                let is_share = ends_are_shares && of.starts_with("ci_");
                shown(if is_share { "difference" } else { of }, value)
            })
            .collect();
        assert_eq!(tag.text, texts.join(" .. "), "{line} {of}");
        count += 1;
    }
    count
}

#[test]
fn figures_of_tables_and_charts_are_in_the_document() {
    for in_detail in [true, false] {
        let page = page_of(&document(), in_detail);
        assert!(check_facts(&page) > 60);
        // In order: threads and published figures, predicted figures with intervals, errors,
        // measured figures with intervals, and the summaries of two models.
        assert_eq!(check_tables(&page, false), 9 * 2 + 8 * 2 + 6 + 4 * 2 + 5 + 4);
    }
    let page = page_of_comparison();
    assert!(check_facts(&page) >= 9);
    assert_eq!(check_tables(&page, true), 3 * 6);
    let page = page_of_sweep();
    // The best variant at 6 places, each with 2 seeds; 2 maps of variants; lines over 2 and 3
    // values of 2 variants.
    assert_eq!(check_facts(&page), 6 * 2 + 2 * 6 * 2 + (2 + 3) * 2 * 2);
    assert_eq!(check_tables(&page, false), 24 * 3);
}

#[test]
fn figures_of_a_recorded_program_are_in_the_document() {
    let without = page_of(&document(), true);
    let page = page_of(&recorded(), true);
    let more = |of: fn(&str) -> usize| of(&page) - of(&without);
    // All time but what another thread had, two locks held and waited for; two locks at three
    // numbers of threads: held, and wanted with its two shares. The summary has the curve of the
    // last experiment once more.
    assert_eq!(more(check_facts), 4 + 2 * 2 + 2 * 3 * 3 + 44);
    // Five parts, five figures of each lock; a knee and two shares of each lock, and one number at
    // which it saturates; the best change's seven with its intervals; four times of two places that
    // grow; five figures of one lock's readers and of its writers.
    assert_eq!(more(|page| check_tables(page, false)), 5 + 2 * 5 + 2 * 3 + 1 + 6 + 2 * 4 + 2 * 5);
    for text in [
        "What grows with threads",
        "outside of locks: +38 % from 1 to 4 threads",
        "Where the time goes today",
        "Gate: passed",
        "Which lock saturates",
        "The best change",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_page_in_detail_embeds_the_document_that_the_command_prints() {
    let document = document();
    let printed: Value = serde_json::from_str(&render(&document, Format::Json)).expect("JSON");
    let mut embedded = embedded(&page_of(&document, true));
    let more = embedded.as_object_mut().expect("an object").remove("report").expect("more");
    assert_eq!(embedded, printed);
    assert_eq!(more["verdicts"][0], "The fast one wins.");
    assert_eq!(more["machines"][0]["cores"], 48);
}

#[test]
fn curves_have_a_mark_for_each_figure() {
    let page = page_of(&document(), true);
    let chart = charts(&page).into_iter().find(|chart| chart.contains(": throughput</title>"));
    let facts: Vec<String> = tags(&chart.expect("the curves"))
        .iter()
        .flat_map(facts)
        .map(|(at, _)| at.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    let count = |name: &str| facts.iter().filter(|of| *of == name).count();
    assert_eq!((count("published"), count("predicted")), (8, 8));
    assert_eq!((count("measured"), count("ci_low"), count("low")), (4, 4, 8));
}

#[test]
fn a_percentile_of_few_waits_is_not_drawn() {
    let mut document = document();
    let draws = |document: &_| page_of(document, true).matches("/waits/p999_ns").count();
    assert_eq!(draws(&document), 12, "8 simulated figures and 4 measured ones");
    for row in &mut document.rows {
        let (simulated, measured) = (&mut row.details.simulated, &mut row.details.measured);
        let simulated = simulated.iter_mut().flat_map(|of| &mut of.waits);
        for waits in simulated.chain(measured.iter_mut().flat_map(|of| &mut of.waits)) {
            waits.p999 = None;
        }
    }
    assert_eq!(draws(&document), 0);
}

/// At a hold time of 20, both variants give the same: neither is the best one, whatever the order.
#[test]
fn a_place_where_all_variants_are_tied_is_nobody_s() {
    let page = page_of_sweep();
    let map = page.split("<svg class=\"chart\"").nth(1).expect("a map");
    assert!(map.contains("best variant"), "{map}");
    // Three hold times by two numbers of threads.
    assert_eq!(map.matches(">=</text>").count(), 2, "{map}");
    assert!(map.contains("A a (2)"), "{map}");
    assert_eq!(map.matches("<rect class=\"fill bg\"").count(), 2, "{map}");
}
