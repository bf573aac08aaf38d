//! HTML tables. Each figure has its place in the embedded document.

use crate::text::{escape, short};

/// Maximum number of characters of a name that its tooltip has.
const TOOLTIP: usize = 1000;

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// Text.
    Text(String),
    /// A name from outside, which may be long.
    Name(String),
    /// Sentences, which may take several lines.
    Words(String),
    /// A figure as text, and the JSON pointers to its numbers, relative to the place of the table's
    /// line.
    Figure(String, &'static str),
}

impl Cell {
    /// Returns the cell of a figure that may be missing.
    pub(super) fn of(text: Option<String>, of: &'static str) -> Cell {
        match text {
            Some(text) => Cell::Figure(text, of),
            None => Cell::Text(String::new()),
        }
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Caption.
    pub(super) caption: String,
    /// Names of the columns, each with true for a column of figures.
    pub(super) columns: Vec<(&'static str, bool)>,
    /// True if the table fits any window: cells wrap, and in a narrow window each line is a card.
    pub(super) fits: bool,
    /// Lines: the place in the embedded document, and the cells. The first cell is the heading.
    pub(super) lines: Vec<(String, Vec<Cell>)>,
}

impl Table {
    /// Returns the table without columns in which nothing is known.
    pub(super) fn without_empty_columns(mut self) -> Table {
        let is_empty = |cell: &Cell| matches!(cell, Cell::Text(text) if text.is_empty());
        let has = |column: usize| self.lines.iter().any(|(_, cells)| !is_empty(&cells[column]));
        let kept: Vec<bool> =
            (0..self.columns.len()).map(|column| column == 0 || has(column)).collect();
        let mut next = kept.iter();
        self.columns.retain(|_| next.next() == Some(&true));
        for (_, cells) in &mut self.lines {
            let mut next = kept.iter();
            cells.retain(|_| next.next() == Some(&true));
        }
        self
    }

    /// Returns the table in a region that scrolls horizontally.
    pub(super) fn html(&self) -> String {
        let caption = escape(&self.caption);
        let mut text = format!(
            "<div class=\"pan\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n\
             <table{}>\n<caption>{caption}</caption>\n<thead><tr>",
            if self.fits { " class=\"fits\"" } else { "" }
        );
        for &(name, is_figure) in &self.columns {
            let class = if is_figure { " class=\"r\"" } else { "" };
            text.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(name)));
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        for (at, cells) in &self.lines {
            text.push_str(&format!("<tr data-at=\"{}\">", escape(at)));
            for (index, cell) in cells.iter().enumerate() {
                let (name, is_figure) = self.columns.get(index).copied().unwrap_or_default();
                let name = if self.fits { name } else { "" };
                text.push_str(&html(cell, index == 0, is_figure, name));
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody>\n</table>\n</div>\n");
        text
    }
}

/// Returns a cell. Its column's name is shown in a card; it is empty if there are no cards.
fn html(cell: &Cell, is_heading: bool, is_figure: bool, name: &str) -> String {
    if let Cell::Name(whole) = cell {
        let text = short(whole);
        // A name that is cut is whole in the tooltip.
        let begin: String = whole.chars().take(TOOLTIP).collect();
        let tip = match lockyard_support::escaped(&begin) {
            tip if tip == text => String::new(),
            tip => format!(" title=\"{}\"", escape(&tip)),
        };
        return match is_heading {
            true => format!("<th scope=\"row\"{tip}>{}</th>", escape(&text)),
            false => format!("<td{tip} data-name=\"{}\">{}</td>", escape(name), escape(&text)),
        };
    }
    let class = if is_figure { " class=\"r\"" } else { "" };
    let name = match (name, cell) {
        ("", _) => String::new(),
        // A card has no place for what is not known.
        (_, Cell::Text(text)) if text.is_empty() => " data-none".to_owned(),
        _ => format!(" data-name=\"{}\"", escape(name)),
    };
    match cell {
        Cell::Text(text) if is_heading => {
            format!("<th scope=\"row\">{}</th>", escape(text))
        }
        Cell::Text(text) => format!("<td{class}{name}>{}</td>", escape(text)),
        Cell::Name(text) | Cell::Words(text) => {
            format!("<td class=\"w\"{name}>{}</td>", escape(text))
        }
        Cell::Figure(text, of) => {
            format!("<td data-of=\"{of}\"{name}>{}</td>", escape(text))
        }
    }
}
