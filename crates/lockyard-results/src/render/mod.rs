//! Output of rows, for readers and for programs.

pub mod boxes;
mod cell_format;
mod cells;
mod chart;
pub mod columns;
mod compact;
mod csv;
mod document;
mod figures;
mod fits;
mod grid;
mod json;
mod layout;
mod notes;
mod of_row;
mod people;
mod plain;
pub mod print;
mod raster;
mod recorded;
mod screen;
mod si;
mod summary_tables;
mod table;
mod verdict;

pub use self::csv::csv;
pub use cells::{figure, new_table};
pub use document::{Document, Extent, Format, Partial, is_partial, mark_partial};
pub use json::{SCHEMA, json, pretty};
pub(crate) use layout::in_markdown;
pub use people::{short_answer, table, verdicts};
pub use screen::{LEAST_WIDTH, Screen, USUAL_WIDTH};
pub use si::si;
pub use table::markdown;

/// Renders the document in a format. The text ends with a line feed. Only [`Format::Table`] depends
/// on the width of the screen. On a quiet one it and [`Format::Markdown`] have no notes.
pub fn render_on(document: &Document, format: Format, screen: &Screen) -> String {
    match format {
        Format::Table => table(document, screen),
        Format::Json => json(document),
        Format::Csv => self::csv(document),
        Format::Markdown if screen.quiet => table::markdown_without_notes(document),
        Format::Markdown => markdown(document),
    }
}

/// Renders the document in a format, for a screen of the default width.
pub fn render(document: &Document, format: Format) -> String {
    render_on(document, format, &Screen::default())
}
