//! Charts, compared with committed pictures.
//!
//! `LOCKYARD_BLESS=1 cargo test -p lockyard-report` writes them anew. Look at each picture in a
//! browser before you commit it.

use crate::sample::{document, page_of, page_of_comparison};
use crate::tags::charts;
use lockyard_report::picture;
use std::path::Path;

/// Compares a picture with the committed one, or writes it.
fn check(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LOCKYARD_BLESS").is_some() {
        std::fs::write(&path, picture).expect("the picture can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let (mut was, mut is) = (committed.lines(), picture.lines());
    let mut differs = (1..).map_while(|line| match (was.next(), is.next()) {
        (None, None) => None,
        pair => Some((line, pair)),
    });
    let first = differs.find(|(_, (was, is))| was != is);
    if let Some((line, (was, is))) = first {
        panic!("{}, line {line}: was {was:?}, is {is:?}; see {}", path.display(), file!());
    }
}

#[test]
fn charts_look_as_committed() {
    const NAMES: [&str; 7] = [
        "residuals.svg",
        "curves.svg",
        "cycles.svg",
        "waits.svg",
        "hand-overs-measured.svg",
        "hand-overs-simulated.svg",
        "machine.svg",
    ];
    let found = charts(&page_of(&document(), true));
    assert_eq!(found.len(), NAMES.len());
    for (name, chart) in NAMES.iter().zip(found) {
        check(name, &chart);
    }
    let found = charts(&page_of_comparison());
    assert_eq!(found.len(), 1);
    check("differences.svg", &found[0]);
}

#[test]
fn the_picture_of_curves_looks_as_committed() {
    let picture = picture::curves(&document().rows).expect("there are curves");
    assert!(picture::is_picture(&picture) && !picture::is_picture("<svg>"));
    check("picture.svg", &picture);
}
