//! Sleeps of an operation, measured and simulated, in each format.

use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{Details, MeasuredDetail, SimulatedDetail};
use lockyard_results::fairness::Fairness;
use lockyard_results::render::{Document, Format, Screen, render, render_on};
use lockyard_results::row::{Measured, Row};

fn document(measured: f64, simulated: f64) -> Document {
    let fairness = Fairness::of(&[&[10, 10]]);
    let sleeps = Some(measured);
    let measured = MeasuredDetail { sleeps, fairness, ..MeasuredDetail::default() };
    let sleeps = Some(simulated);
    let simulated = SimulatedDetail { sleeps, ..SimulatedDetail::default() };
    let both =
        Details { measured: Some(measured), simulated: Some(simulated), ..Details::default() };
    let key = CellKey::throughput_here("a-script", "a", 2);
    let rows = vec![Row::measured(key, Measured::once(1e6), both)];
    Document { rows, ..Document::default() }
}

#[test]
fn measured_and_predicted_sleeps_stand_side_by_side() {
    let document = document(0.25, 0.125);
    for format in [Format::Markdown, Format::Table] {
        let screen = Screen { waits: true, ..Screen::default() };
        let text = render_on(&document, format, &screen);
        assert!(text.contains("sleeps") && text.contains("0.25"), "{text}");
        assert!(text.contains("predicted") && text.contains("0.12"), "{text}");
    }
    let csv = render(&document, Format::Csv);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |name| lines[0].iter().position(|column| *column == name).expect("a column");
    assert_eq!(lines[1][at("sleeps")], "0.25");
    assert_eq!(lines[1][at("predicted_sleeps")], "0.125");
    let json = render(&document, Format::Json);
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let detail = &json["rows"][0]["detail"];
    assert_eq!(
        (&detail["measured"]["sleeps"], &detail["simulated"]["sleeps"]),
        (&0.25.into(), &0.125.into())
    );
}

#[test]
fn tables_of_locks_that_never_sleep_have_no_such_column() {
    for format in [Format::Markdown, Format::Table] {
        let text = render(&document(0.0, 0.0), format);
        assert!(!text.contains("sleeps"), "{text}");
    }
}
