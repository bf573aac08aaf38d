//! Properties of every page: an order, names, nothing from the network, and no markup from a
//! script's names.

use crate::sample::{
    HOSTILE, comparison, comparison_in_pairs, document, page_of, page_of_comparison, page_of_sweep,
    recorded,
};
use crate::tags::{Tag, charts, embedded, tags};
use lockyard_report::{page, picture};
use lockyard_results::compare::report;
use lockyard_results::render::{Document, Extent};
use std::collections::BTreeSet;

fn pages() -> Vec<String> {
    vec![
        page_of(&document(), true),
        page_of(&document(), false),
        page_of(&recorded(), true),
        page_of_comparison(),
        page_of_sweep(),
    ]
}

#[test]
fn identifiers_are_unique_and_every_reference_has_its_target() {
    for page in pages() {
        let tags = tags(&page);
        let ids: Vec<&str> = tags.iter().filter_map(|tag| tag.get("id")).collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{ids:?}");
        for tag in &tags {
            for id in tag.get("aria-labelledby").unwrap_or_default().split_whitespace() {
                assert!(unique.contains(id), "{id}");
            }
            match tag.get("href") {
                Some(link) if link.starts_with('#') => {
                    assert!(unique.contains(&link[1..]), "{link}");
                }
                Some(link) => assert_eq!(link, "data:,", "a page loads nothing"),
                None => {}
            }
        }
    }
}

#[test]
fn nothing_comes_from_the_network_and_nothing_runs() {
    for page in pages() {
        assert!(!page.contains("http://") && !page.contains("https://"), "a link to the network");
        assert!(!page.contains("url(") && !page.contains("@import"), "a load by a style");
        assert!(tags(&page).iter().all(|tag| tag.get("src").is_none()), "a load");
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, 1, "only the data");
        assert!(page.contains("default-src 'none'"), "a policy");
    }
}

#[test]
fn headings_go_down_by_one_and_tables_have_captions_and_scopes() {
    for page in pages() {
        let tags = tags(&page);
        let level = |tag: &Tag| match tag.name.as_bytes() {
            [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
            _ => None,
        };
        let levels: Vec<u8> = tags.iter().filter_map(level).collect();
        assert_eq!(levels.iter().filter(|&&level| level == 1).count(), 1);
        assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1));
        let count = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
        assert!(count("table") > 0 && count("table") == count("caption"));
        let scoped = |tag: &Tag| tag.get("scope").is_some();
        assert!(tags.iter().filter(|tag| tag.name == "th").all(scoped));
        let html = tags.iter().find(|tag| tag.name == "html").expect("the root");
        assert_eq!(html.get("lang"), Some("en"));
        assert_eq!(count("main"), 1);
    }
}

#[test]
fn every_chart_has_a_title_and_a_description() {
    for page in pages() {
        let charts = charts(&page);
        assert!(!charts.is_empty());
        for chart in charts {
            let tags = tags(&chart);
            assert_eq!((tags[0].name.as_str(), tags[0].get("role")), ("svg", Some("img")));
            let text = |name: &str| tags.iter().find(|tag| tag.name == name).map(|tag| &tag.text);
            assert!(text("title").is_some_and(|text| text.len() > 5), "{chart}");
            assert!(text("desc").is_some_and(|text| text.len() > 20), "{chart}");
        }
    }
}

#[test]
fn names_of_scripts_are_text() {
    for page in pages() {
        assert!(!page.contains("<script>alert"), "markup by a name");
        assert!(
            page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"),
            "the name is shown"
        );
        let found = embedded(&page);
        let rows = found["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_there = |row: &serde_json::Value| row["experiment"] == HOSTILE;
        let in_rows = rows.iter().any(is_there);
        assert!(in_rows || found["title"] == HOSTILE, "and is in the document");
    }
    let mut document = document();
    document.rows.iter_mut().for_each(|row| row.key.experiment = HOSTILE.to_owned());
    let picture = picture::curves(&document.rows).expect("there are curves");
    assert!(!picture.contains("<script") && picture.contains("&lt;script&gt;"));
}

#[test]
fn a_comparison_says_how_it_was_made() {
    let (runs, pairs) = (comparison(), comparison_in_pairs());
    for (found, title, axis) in [
        (&runs, "Comparison of two results", ">B / A - 1<"),
        (&pairs, "Comparison of two programs", ">B / A - 1 within a round, centre<"),
    ] {
        let page = page::comparison(found, "1.2.3");
        assert!(page.contains(&format!("<title>{title}</title>")), "{title}");
        assert!(charts(&page).concat().contains(axis), "{axis}");
        let lines = report::explained(found);
        assert!(lines[0].contains("a probability of at most 5 %"), "{lines:?}");
        for line in lines {
            assert!(page.contains(&format!("<li>{line}</li>")), "{line}");
        }
        let interval = found.means[0].interval.expect("there are twelve rounds");
        let shown = format!(">{:.4}</b> .. <b", interval.0);
        assert!(page.contains(&shown), "{shown}");
    }
    let mut few = runs;
    few.rows.iter_mut().for_each(|row| row.interval = None);
    let page = page::comparison(&few, "1.2.3");
    assert!(page.contains("<li>With fewer than 5 rounds there is no interval.</li>"));
}

#[test]
fn pages_of_partial_results_say_so() {
    let whole = page_of(&document(), true);
    let mut document = document();
    document.incomplete("interrupted", Extent::rows(9, 20));
    let partial = page_of(&document, true);
    assert!(partial.contains("Partial results: interrupted, with 9 of 20 rows."));
    assert!(page::is_page(&whole) && page::is_page(&partial));
    assert!(page::is_partial(&partial) && !page::is_partial(&whole));
    assert!(!page::is_page("<!DOCTYPE html>\n<html>\n<!-- a report of lockyard"));
}

#[test]
fn without_rows_there_is_a_page_and_no_picture() {
    let page = page_of(&Document::default(), true);
    assert!(page.contains("<b data-at=\"/report/rows\" data-value=\"0\">0</b> rows"));
    assert_eq!(picture::curves(&[]), None);
}
