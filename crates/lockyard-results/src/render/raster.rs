//! A raster of characters with lines and marks. A braille character holds 2 by 4 dots.

use super::screen::Screen;

/// Dots per character: columns and rows.
const DOTS: (usize, usize) = (2, 4);

/// Terminal colour numbers of the series: blue, red, green, magenta, yellow, cyan.
const COLOURS: [u8; 6] = [34, 31, 32, 35, 33, 36];

/// A letter that marks a point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Letter.
    pub(super) character: char,
    /// Index of its series.
    pub(super) series: usize,
}

/// One character of the raster.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Dots, encoded as in Unicode braille patterns.
    dots: u8,
    /// Series of the line drawn last through the cell.
    series: usize,
    mark: Option<Mark>,
    /// True if several series have marks here.
    overlaps: bool,
}

/// A raster of characters.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    width: usize,
    cells: Vec<Cell>,
}

impl Raster {
    /// Returns an empty raster.
    pub(super) fn new(width: usize, height: usize) -> Raster {
        Raster { width, cells: vec![Cell::default(); width * height] }
    }

    /// Returns the colour number of a series.
    pub(super) fn colour(series: usize) -> u8 {
        COLOURS[series % COLOURS.len()]
    }

    /// Draws a line between two characters, from centre to centre. Both are given as column and
    /// row.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), series: usize) {
        let dot =
            |(x, y): (f64, f64)| ((x + 0.5) * DOTS.0 as f64 - 0.5, (y + 0.5) * DOTS.1 as f64 - 0.5);
        let ((x0, y0), (x1, y1)) = (dot(from), dot(to));
        let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let (x, y) = (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
            self.dot(x.round() as usize, y.round() as usize, series);
        }
    }

    fn dot(&mut self, x: usize, y: usize, series: usize) {
        // Bit of each dot, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let index = y / DOTS.1 * self.width + x / DOTS.0;
        if let Some(cell) = self.cells.get_mut(index).filter(|_| x / DOTS.0 < self.width) {
            cell.dots |= BITS[y % DOTS.1][x % DOTS.0];
            cell.series = series;
        }
    }

    /// Puts a letter at a column and a row.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), mark: Mark) {
        let index = y.round() as usize * self.width + x.round() as usize;
        if let Some(cell) = self.cells.get_mut(index) {
            cell.overlaps |= cell.mark.is_some_and(|before| before.series != mark.series);
            cell.mark = Some(mark);
        }
    }

    /// Returns true if several series have marks in the same cell.
    pub(super) fn overlaps(&self) -> bool {
        self.cells.iter().any(|cell| cell.overlaps)
    }

    /// Returns the lines, without trailing spaces.
    pub(super) fn lines(&self, screen: &Screen) -> Vec<String> {
        let rows = self.cells.chunks(self.width.max(1));
        rows.map(|row| {
            let used = row.iter().rposition(|cell| cell.mark.is_some() || cell.dots != 0);
            let row = &row[..used.map_or(0, |last| last + 1)];
            row.iter().map(|cell| cell.text(screen)).collect()
        })
        .collect()
    }
}

impl Cell {
    fn text(&self, screen: &Screen) -> String {
        let (character, series) = match self.mark {
            _ if self.overlaps => return "*".to_owned(),
            Some(mark) => (mark.character, mark.series),
            None if self.dots == 0 => return " ".to_owned(),
            None if !screen.unicode => ('.', self.series),
            None => {
                let braille = char::from_u32(0x2800 + u32::from(self.dots));
                (braille.unwrap_or('.'), self.series)
            }
        };
        if !screen.colour {
            return character.to_string();
        }
        format!("\u{1b}[{}m{character}\u{1b}[0m", Raster::colour(series))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_of_dots() {
        let mut raster = Raster::new(3, 2);
        raster.line((0.0, 0.0), (2.0, 0.0), 0);
        let lines = raster.lines(&Screen::default());
        // The dots lie in one row, from the centre of the first character to the centre of the
        // last.
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].chars().count(), 3, "{lines:?}");
        assert_eq!(lines[1], "");
    }

    #[test]
    fn marks_of_two_series_at_one_place_are_a_star() {
        let mut raster = Raster::new(2, 1);
        raster.mark((0.0, 0.0), Mark { character: 'a', series: 0 });
        raster.mark((1.0, 0.0), Mark { character: 'a', series: 0 });
        raster.mark((1.0, 0.0), Mark { character: 'b', series: 1 });
        assert!(raster.overlaps());
        assert_eq!(raster.lines(&Screen::default()), ["a*"]);
    }
}
