//! Layout of tables for a screen or for Markdown: tables of words, and tables of figures.

use super::document::Format;
use super::grid::Grid;
use super::screen::Screen;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use lockyard_support::escaped;

impl Screen {
    /// Lays out a table of words. Cells are wrapped if the table is wider than the screen.
    pub fn words(&self, table: &Table) -> String {
        let mut table = table.clone();
        table.load_style(*self.style());
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        // A short name stays whole, and the words next to it are wrapped.
        let names = table.column_max_content_widths().first().copied().unwrap_or(0);
        if usize::from(names) <= self.width * 2 / 5
            && let Some(column) = table.column_mut(0)
        {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        self.characters(&table.to_string())
    }

    /// Lays out a table of words in a format for people: for the screen, or in Markdown.
    pub fn words_in(&self, table: &Table, format: Format) -> String {
        if format == Format::Markdown { in_markdown(table) } else { self.words(table) }
    }

    /// Lays out a table of figures in a format for people: for the screen, or in Markdown.
    pub fn figures_in(&self, table: &Table, keys: usize, format: Format) -> String {
        if format == Format::Markdown { in_markdown(table) } else { self.figures(table, keys) }
    }

    /// Lays out a table of figures. The first `keys` columns name a row. A table that is too wide
    /// is split into several, one below another.
    pub fn figures(&self, table: &Table, keys: usize) -> String {
        Grid::of(table, keys).render(self)
    }
}

/// Lays out a table in Markdown. Its cells end where they do here, and are no HTML.
pub(crate) fn in_markdown(table: &Table) -> String {
    let mut table = table.clone();
    for row in table.row_iter_mut() {
        let cells = row
            .cell_iter()
            .map(|cell| escaped(&cell.content()).replace('|', "\\|").replace('<', "&lt;"));
        *row = cells.collect::<Vec<String>>().into();
    }
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_screen_without_unicode_are_ascii() {
        let screen = Screen { unicode: false, ..Screen::default() };
        let mut table = Table::new();
        table.set_header(["a", "b"]);
        table.add_row(["c", "d"]);
        assert!(screen.words(&table).is_ascii() && screen.figures(&table, 1).is_ascii());
    }
}
