//! Published tables that are broken at random, by seed. Each is read, or refused with one line that
//! names the file and a line of it. Nothing panics, and nothing writes to the terminal.

use crate::support::Random;
use lockyard_results::published;
use std::ops::Range;

const TABLE: &str = include_str!("../../../../published/lockref-will-it-scale.csv");

const PIECES: [&str; 18] = [
    "",
    ",",
    ",,",
    "\"",
    "\n",
    "\r\n",
    "#",
    "0",
    "-1",
    "1e308",
    "NaN",
    "inf",
    "\u{1b}[31m",
    "\0",
    "99999999999999999999",
    "\u{feff}",
    "é",
    "1e-320",
];

fn broken(random: &mut Random) -> String {
    let mut text = TABLE.to_owned();
    for _ in 0..=random.below(3) {
        let Range { start: begin, end } = random.some_of(&text);
        match random.below(4) {
            0 => text.replace_range(begin..end, ""),
            1 => text.insert_str(begin, PIECES[random.below(PIECES.len())]),
            2 => text.replace_range(begin..end, PIECES[random.below(PIECES.len())]),
            _ => text.truncate(begin),
        }
    }
    text
}

#[test]
fn a_broken_table_is_read_or_refused_with_its_line() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let text = broken(&mut Random(seed));
        match published::parse("t", "t.csv", &text) {
            Ok(table) => {
                read += 1;
                assert!(!table.cells.is_empty(), "seed {seed}");
                for cell in &table.cells {
                    assert!(cell.value > 0.0 && cell.value.is_finite(), "seed {seed}: {cell:?}");
                    assert!(cell.key.threads != Some(0), "seed {seed}: {cell:?}");
                }
            }
            Err(error) => {
                refused += 1;
                let error = error.to_string();
                let line: usize = error
                    .strip_prefix("t.csv:")
                    .and_then(|rest| rest.split_once(": "))
                    .and_then(|(line, _)| line.parse().ok())
                    .unwrap_or_else(|| panic!("seed {seed}: no place: {error}"));
                assert!(
                    (1..=text.lines().count().max(1) + 1).contains(&line),
                    "seed {seed}: {error}"
                );
                assert!(!error.contains(char::is_control), "seed {seed}: {error:?}");
                assert!(error.len() < 600, "seed {seed}: {error}");
            }
        }
    }
    // Both outcomes occur. Otherwise the changes would be too large or too small to prove anything.
    assert!(read > 1_000 && refused > 1_000, "{read} read, {refused} refused");
}
