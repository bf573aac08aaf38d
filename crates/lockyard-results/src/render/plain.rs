//! Documents whose texts are text: names from outside (files, recordings, published tables) are
//! neither obeyed by a terminal nor markup in Markdown.

use super::document::Document;
use lockyard_support::{escaped, escaped_lines, markdown_name, markdown_text};

/// Kinds of texts of a document, each with its own rule.
struct Rules {
    /// Names: of experiments, machines, variants, locks.
    name: fn(&str) -> String,
    /// Sentences, in which names may stand.
    sentence: fn(&str) -> String,
}

/// Returns the document with escapes in place of characters that a terminal obeys, or that change
/// the direction of what is shown.
pub(super) fn shown(document: &Document) -> Document {
    with(document, &Rules { name: escaped, sentence: escaped })
}

/// Returns the document for Markdown: the same, and nothing in a name is markup.
pub(super) fn in_markdown(document: &Document) -> Document {
    with(document, &Rules { name: markdown_name, sentence: markdown_text })
}

fn with(document: &Document, rules: &Rules) -> Document {
    let mut document = document.clone();
    let name = |text: &mut String| *text = (rules.name)(text);
    let sentence = |text: &mut String| *text = (rules.sentence)(text);
    for row in &mut document.rows {
        let key = &mut row.key;
        [&mut row.table, &mut key.experiment, &mut key.machine, &mut key.variant]
            .into_iter()
            .for_each(name);
        [&mut key.metric, &mut key.unit].into_iter().for_each(name);
        row.reason.iter_mut().for_each(sentence);
        if let Some(simulated) = &mut row.details.simulated {
            simulated.notes.iter_mut().chain(&mut simulated.doubtful).for_each(sentence);
        }
        if let Some(measured) = &mut row.details.measured {
            measured.warnings.iter_mut().chain(&mut measured.note).for_each(sentence);
            measured.ratio.iter_mut().for_each(|ratio| name(&mut ratio.to));
        }
    }
    document.summaries.iter_mut().for_each(|summary| name(&mut summary.table));
    for fit in &mut document.fits {
        [&mut fit.experiment, &mut fit.machine, &mut fit.variant].into_iter().for_each(name);
    }
    if let Some(recorded) = &mut document.recorded {
        for part in recorded.growth.iter_mut().flat_map(|growth| &mut growth.parts) {
            part.lock.iter_mut().chain(&mut part.sites).for_each(name);
        }
        [&mut recorded.program, &mut recorded.unit].into_iter().for_each(name);
        for lock in &mut recorded.today.locks {
            [&mut lock.lock, &mut lock.site].into_iter().for_each(name);
        }
        for of in &mut recorded.what_if {
            [&mut of.machine, &mut of.variant, &mut of.change].into_iter().for_each(name);
            of.locks.iter_mut().for_each(name);
        }
        recorded.scaling.iter_mut().for_each(|of| name(&mut of.machine));
        for of in &mut recorded.waits_for {
            [&mut of.lock, &mut of.site].into_iter().chain(&mut of.meeting).for_each(name);
            of.ended_by.iter_mut().for_each(|ended| name(&mut ended.site));
        }
        for lock in &mut recorded.saturation {
            [&mut lock.machine, &mut lock.lock].into_iter().for_each(name);
        }
        for best in &mut recorded.best_changes {
            [&mut best.machine, &mut best.variant, &mut best.title].into_iter().for_each(name);
        }
    }
    // Their lines are laid out already, and a fence surrounds them in Markdown.
    document.explanations.iter_mut().for_each(|text| *text = escaped_lines(text));
    document.notes.iter_mut().for_each(sentence);
    document
}
