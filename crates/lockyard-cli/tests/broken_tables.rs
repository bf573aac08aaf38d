//! Published tables with something broken in them, at random by seed: each is read or refused with one
//! line that names the file and a line of it; nothing panics, nothing speaks to the terminal.

use lockyard_lab::published;

const TABLE: &str = include_str!("../../../published/lockref-will-it-scale.csv");

/// Splitmix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

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
        let mut begin = random.below(text.len() + 1);
        while !text.is_char_boundary(begin) {
            begin -= 1;
        }
        let mut end = (begin + random.below(12)).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
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
                    assert!(cell.threads > 0, "seed {seed}: {cell:?}");
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
    // Both happen, or the changes are too large or too small to say anything.
    assert!(read > 1_000 && refused > 1_000, "{read} read, {refused} refused");
}
