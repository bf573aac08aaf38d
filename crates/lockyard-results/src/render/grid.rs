//! Tables of figures that are laid out to fit a screen.
//!
//! The first columns are keys, which name a row. The other columns hold figures, and may belong to
//! a titled group, such as a variant.
//!
//! If the columns do not fit side by side, the grid is split into tables, one below another, and
//! each table repeats the keys. A group is split only if it does not fit by itself.

use super::screen::Screen;
use comfy_table::Table;
use textwrap::{Options, WordSplitter};

/// Column of a grid.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    /// Title of the column's group; empty if there is none.
    pub(super) group: String,
    /// Title of the column.
    pub(super) title: String,
    /// Text of each row.
    pub(super) cells: Vec<String>,
    /// True if the column holds left-aligned text.
    pub(super) is_text: bool,
}

/// Table whose rows are named by keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// Columns that name a row.
    pub(super) keys: Vec<Column>,
    /// Columns of figures.
    pub(super) columns: Vec<Column>,
}

/// Width between two columns.
const GAP: usize = 2;

/// Width between two groups: a space, a line, a space.
const RULE: usize = 3;

/// Minimum width of a key or text column that is wrapped to make room.
const LEAST_NAME: usize = 16;

impl Grid {
    /// Converts a table to a grid. The first `keys` columns are the keys; empty columns are left
    /// out.
    pub(super) fn of(table: &Table, keys: usize) -> Grid {
        let titles: Vec<String> = match table.header() {
            Some(header) => header.cell_iter().map(|cell| cell.content()).collect(),
            None => Vec::new(),
        };
        let column = |(index, title): (usize, String)| Column {
            group: String::new(),
            title,
            cells: table
                .row_iter()
                .map(|row| row.cell_iter().nth(index).map(|cell| cell.content()))
                .map(Option::unwrap_or_default)
                .collect(),
            is_text: false,
        };
        let mut all: Vec<Column> = titles.into_iter().enumerate().map(column).collect();
        let columns = all.split_off(keys.min(all.len()));
        let is_there = |column: &Column| column.cells.iter().any(|cell| !cell.is_empty());
        let columns = columns.into_iter().filter(is_there).collect();
        let mut grid = Grid { keys: all, columns };
        if let Some(first) = grid.keys.first_mut() {
            first.is_text = true;
        }
        grid
    }

    /// Lays the grid out for a screen. The text ends without a line feed.
    pub(super) fn render(&self, screen: &Screen) -> String {
        let mut grid = self.clone();
        for column in grid.keys.iter_mut().chain(&mut grid.columns) {
            column.show_in_characters(screen);
        }
        grid.wrap_text(screen);
        let keys = grid.keys_width();
        let tables: Vec<String> = grid
            .split(screen.width.saturating_sub(keys))
            .into_iter()
            .map(|columns| grid.part(&columns, screen))
            .collect();
        tables.join("\n\n")
    }

    fn keys_width(&self) -> usize {
        let widths = self.keys.iter().map(Column::width);
        widths.sum::<usize>() + GAP * self.keys.len().saturating_sub(1)
    }

    /// Wraps text cells to make room for the figures.
    fn wrap_text(&mut self, screen: &Screen) {
        let widest = self.columns.iter().filter(|column| !column.is_text).map(Column::width).max();
        let groups = self.groups();
        let all: usize = groups.iter().map(|group| RULE + self.group_width(group)).sum();
        let others: usize =
            self.keys.iter().filter(|key| !key.is_text).map(|key| key.width() + GAP).sum();
        let texts = self.keys.iter().filter(|key| key.is_text).count().max(1);
        // Prefer narrow text columns to a second table.
        let fits = all + others + texts * (LEAST_NAME + GAP) <= screen.width;
        let most = if fits { all } else { screen.width / 2 };
        let of_figures = all.clamp((widest.unwrap_or(0) + RULE).min(most), most);
        let gaps = GAP * (texts - 1);
        let most = screen.width.saturating_sub(of_figures + others + gaps) / texts;
        for key in self.keys.iter_mut().filter(|key| key.is_text) {
            key.wrap(most.max(12));
        }
        let most = screen.width.saturating_sub(self.keys_width() + RULE);
        for column in self.columns.iter_mut().filter(|column| column.is_text) {
            column.wrap(most.clamp(12, (screen.width / 3).max(12)));
        }
    }

    /// Returns the column indices of each group. A column without a group forms its own group.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let before = groups.last_mut().filter(|group| {
                let before = group.first().map(|&first| &self.columns[first].group);
                !column.group.is_empty() && before == Some(&column.group)
            });
            match before {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        groups
    }

    fn group_width(&self, columns: &[usize]) -> usize {
        let widths: usize = columns.iter().map(|&index| self.columns[index].width()).sum();
        let title = columns.first().map_or(0, |&first| self.columns[first].group.chars().count());
        (widths + GAP * columns.len().saturating_sub(1)).max(title)
    }

    /// Splits the columns into tables that fit into the room.
    fn split(&self, room: usize) -> Vec<Vec<usize>> {
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        for group in self.groups() {
            if RULE + self.group_width(&group) <= room {
                pieces.push(group);
                continue;
            }
            let mut piece: Vec<usize> = Vec::new();
            for index in group {
                piece.push(index);
                if piece.len() > 1 && RULE + self.group_width(&piece) > room {
                    piece.pop();
                    pieces.push(std::mem::replace(&mut piece, vec![index]));
                }
            }
            pieces.push(piece);
        }
        let mut tables: Vec<(usize, Vec<usize>)> = Vec::new();
        for piece in pieces {
            let grouped = piece.first().is_some_and(|&first| !self.columns[first].group.is_empty());
            let before = match (tables.last(), grouped) {
                (Some(_), false) => GAP,
                _ => RULE,
            };
            let width = before + self.group_width(&piece);
            match tables.last_mut() {
                Some((used, columns)) if *used + width <= room => {
                    *used += width;
                    columns.extend(piece);
                }
                _ => tables.push((RULE + self.group_width(&piece), piece)),
            }
        }
        if tables.is_empty() {
            return vec![Vec::new()];
        }
        tables.into_iter().map(|(_, columns)| columns).collect()
    }

    /// Lays out the keys and some of the columns.
    fn part(&self, columns: &[usize], screen: &Screen) -> String {
        let (bar, dash, cross) = match screen.unicode {
            true => ('\u{2502}', '\u{2500}', '\u{253c}'),
            false => ('|', '-', '+'),
        };
        let groups = self.parts(columns);
        let named = groups.iter().any(|group| !self.columns[group[0]].group.is_empty());
        let keys = self.keys_width();
        let mut lines = Vec::new();
        if named {
            let mut line = " ".repeat(keys);
            for group in &groups {
                let width = self.group_width(group);
                line.push_str(&format!(" {bar} {:<width$}", self.columns[group[0]].group));
            }
            lines.push(line);
        }
        let titles = |column: &Column| column.title.clone();
        lines.extend(self.line(&groups, &titles, bar));
        let mut rule = String::from(dash).repeat(keys + 1);
        for group in &groups {
            rule.push(cross);
            rule.push_str(&String::from(dash).repeat(self.group_width(group) + 2));
        }
        rule.pop();
        lines.push(rule);
        let rows = self.keys.first().or(self.columns.first()).map_or(0, |c| c.cells.len());
        for row in 0..rows {
            let cell = |column: &Column| column.cells.get(row).cloned().unwrap_or_default();
            lines.extend(self.line(&groups, &cell, bar));
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }

    /// Returns the groups within these columns. Adjacent columns without a group count as one
    /// group.
    fn parts(&self, columns: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &index in columns {
            let group = &self.columns[index].group;
            match groups.last_mut() {
                Some(last) if self.columns[last[0]].group == *group => last.push(index),
                _ => groups.push(vec![index]),
            }
        }
        groups
    }

    /// Returns the lines of a row. A cell may span several lines.
    fn line(
        &self,
        groups: &[Vec<usize>],
        cell: &dyn Fn(&Column) -> String,
        bar: char,
    ) -> Vec<String> {
        let columns = groups.iter().flatten().map(|&index| &self.columns[index]);
        let height = self.keys.iter().chain(columns).map(|column| cell(column).lines().count());
        let height = height.max().unwrap_or(1).max(1);
        let lines = (0..height).map(|index| {
            let text = |column: &Column| {
                let cell = cell(column);
                let text = cell.lines().nth(index).unwrap_or_default();
                let width = column.width();
                if column.is_text { format!("{text:<width$}") } else { format!("{text:>width$}") }
            };
            let keys: Vec<String> = self.keys.iter().map(text).collect();
            let mut line = keys.join(&" ".repeat(GAP));
            for group in groups {
                let cells: Vec<String> =
                    group.iter().map(|&index| text(&self.columns[index])).collect();
                let cells = cells.join(&" ".repeat(GAP));
                line.push_str(&format!(" {bar} {cells:<width$}", width = self.group_width(group)));
            }
            line
        });
        lines.collect()
    }
}

impl Column {
    /// Returns a column of figures.
    pub(super) fn figures(group: &str, title: &str, cells: Vec<String>) -> Column {
        Column { group: group.to_owned(), title: title.to_owned(), cells, is_text: false }
    }

    /// Returns a column of text without a group.
    pub(super) fn text(title: &str, cells: Vec<String>) -> Column {
        Column { group: String::new(), title: title.to_owned(), cells, is_text: true }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.title]);
        cells.flat_map(|cell| cell.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
    }

    fn show_in_characters(&mut self, screen: &Screen) {
        self.group = screen.characters(&self.group);
        self.title = screen.characters(&self.title);
        for cell in &mut self.cells {
            *cell = screen.characters(cell);
        }
    }

    fn wrap(&mut self, width: usize) {
        // The indent tells a continued cell from the next row.
        let options = Options::new(width.max(1))
            .word_splitter(WordSplitter::HyphenSplitter)
            .subsequent_indent("  ");
        for cell in self.cells.iter_mut().chain([&mut self.title]) {
            if cell.chars().count() > width {
                *cell = textwrap::fill(cell, &options);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(groups: usize) -> Grid {
        let texts = |text: &str| vec![text.to_owned(); 3];
        let columns = (0..groups).flat_map(|group| {
            let name = format!("variant-{group}");
            let column = |title: &str| Column::figures(&name, title, texts("1.23 M"));
            ["predicted", "published", "error"].map(column)
        });
        Grid {
            columns: columns.collect(),
            keys: vec![Column::figures("", "threads", texts("128"))],
        }
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_grid_that_fits_is_one_table() {
        let text = grid(2).render(&Screen::of_width(80));
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.lines().next().expect("lines").contains("variant-1"), "{text}");
    }

    #[test]
    fn a_grid_that_is_too_wide_is_split_between_groups() {
        for width in [60, 80, 100, 120] {
            let text = grid(5).render(&Screen::of_width(width));
            assert!(widest(&text) <= width, "{text}");
            for group in 0..5 {
                assert_eq!(text.matches(&format!("variant-{group}")).count(), 1, "{text}");
            }
            let tables = text.matches("threads").count();
            assert_eq!(
                tables,
                match width {
                    60 => 5,
                    80 => 3,
                    _ => 2,
                },
                "{text}"
            );
        }
    }

    #[test]
    fn a_group_that_is_too_wide_is_broken_and_named_again() {
        let mut grid = grid(1);
        for index in 0..6 {
            let cells = vec!["123456789".to_owned(); 3];
            grid.columns.push(Column::figures("variant-0", &format!("more {index}"), cells));
        }
        let text = grid.render(&Screen::of_width(60));
        assert!(widest(&text) <= 60 && text.matches("variant-0").count() > 1, "{text}");
    }

    #[test]
    fn long_names_are_wrapped() {
        let mut table = Table::new();
        table.set_header(["name", "threads", "a", "b", "none"]);
        table.add_row(["a-very-long-name-".repeat(8).as_str(), "1", "2.5", "3.5", ""]);
        let text = Grid::of(&table, 2).render(&Screen::of_width(60));
        assert!(widest(&text) <= 60 && text.contains("3.5") && !text.contains("none"), "{text}");
    }
}
