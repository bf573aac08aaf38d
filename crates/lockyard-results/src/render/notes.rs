//! Notes on rows. Each note appears once, with a number to which tables refer.

use crate::row::{Row, Status};

/// Beginning of a note for documents. There it refers to its rows by a mark.
const ORDER_MARK: &str = "in rows marked `order matters` ";

/// Notes of a document. Tables refer to them by number, starting from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    texts: Vec<String>,
}

impl Notes {
    /// Collects the notes of some rows.
    pub(super) fn of(rows: &[&Row]) -> Notes {
        let mut notes = Notes::default();
        for row in rows {
            for text in texts(row) {
                if !notes.texts.contains(&text) {
                    notes.texts.push(text);
                }
            }
        }
        notes
    }

    /// Returns the numbers of a row's notes, separated by commas.
    pub(super) fn of_row(&self, row: &Row) -> String {
        let texts = texts(row);
        let numbered = self.texts.iter().enumerate().filter(|(_, text)| texts.contains(text));
        let numbers = numbered.map(|(index, _)| (index + 1).to_string());
        numbers.collect::<Vec<String>>().join(",")
    }

    /// Returns the notes as paragraphs.
    pub(super) fn paragraphs(&self) -> Vec<String> {
        let numbered = self.texts.iter().enumerate();
        numbered.map(|(index, text)| format!("[{}] {text}.", index + 1)).collect()
    }
}

/// Returns the notes of a row, without a full stop.
fn texts(row: &Row) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(reason) = &row.reason {
        let of = match row.status {
            Status::NotModelled => "not modelled: ",
            _ => "",
        };
        texts.push(format!("{of}{reason}"));
    }
    if let Some(simulated) = &row.details.simulated {
        texts.extend(simulated.doubtful.iter().map(|why| format!("doubtful: {why}")));
        // Drop the beginning that refers to a mark; tables here refer to the note by number.
        let notes = simulated.notes.iter().map(|note| match note.strip_prefix(ORDER_MARK) {
            Some(rest) => rest.to_owned(),
            None => note.clone(),
        });
        texts.extend(notes);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::{Details, SimulatedDetail};
    use crate::row::tests::row;

    #[test]
    fn each_note_has_one_number_wherever_it_stands() {
        let with = |variant: &str, notes: &[&str]| {
            let simulated = SimulatedDetail {
                notes: notes.iter().map(|note| (*note).to_owned()).collect(),
                ..SimulatedDetail::default()
            };
            let mut row = row(variant, 1, 1.0, 1.0, Status::Predicted);
            row.details = Details::of_simulated(simulated);
            row
        };
        let rows = [with("a", &["first"]), with("b", &["second", "first"]), with("c", &[])];
        let notes = Notes::of(&rows.iter().collect::<Vec<_>>());
        assert_eq!(notes.paragraphs(), ["[1] first.", "[2] second."]);
        assert_eq!(rows.each_ref().map(|row| notes.of_row(row)), ["1", "1,2", ""]);
    }
}
