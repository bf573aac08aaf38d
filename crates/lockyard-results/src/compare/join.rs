//! Joins the figures of two files. Two figures match if they have the same table, experiment,
//! machine, variant, number of threads, metric and unit. Both must also be simulated, or both
//! measured.

use super::read::{Figure, FigureKey, ResultFile};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Joined figures of two files.
#[derive(Clone, Debug)]
pub struct Joined<'r> {
    /// Figures in both files, in the order of the first file.
    pub pairs: Vec<(&'r Figure, &'r Figure)>,
    /// Figures only in the first file.
    pub only_a: Vec<&'r Figure>,
    /// Figures only in the second file.
    pub only_b: Vec<&'r Figure>,
}

/// Joins the figures of `a` and `b`.
///
/// # Errors
///
/// If the files have no figure in common, or report different metrics of the same run. The message
/// names the difference.
pub fn join<'r>(a: &'r ResultFile, b: &'r ResultFile) -> Result<Joined<'r>, String> {
    let of_b: HashMap<&FigureKey, &Figure> = b.figures.iter().map(|f| (&f.key, f)).collect();
    let of_a: HashSet<&FigureKey> = a.figures.iter().map(|f| &f.key).collect();
    let mut joined = Joined { pairs: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    for figure in &a.figures {
        match of_b.get(&figure.key) {
            Some(other) => joined.pairs.push((figure, other)),
            None => joined.only_a.push(figure),
        }
    }
    joined.only_b = b.figures.iter().filter(|f| !of_a.contains(&f.key)).collect();
    let found: HashSet<Run<'_>> = joined.pairs.iter().map(|(a, _)| run(a)).collect();
    let runs: HashMap<Run<'_>, &Figure> = joined.only_b.iter().map(|f| (run(f), *f)).collect();
    for figure in &joined.only_a {
        let run = run(figure);
        if let (Some(other), false) = (runs.get(&run), found.contains(&run)) {
            return Err(differs(&figure.key, &other.key));
        }
    }
    if joined.pairs.is_empty() {
        return Err(nothing_in_common(a, b));
    }
    Ok(joined)
}

/// Key of a figure's run: its table, and its cell without the metric.
type Run<'f> = (&'f str, (&'f str, &'f str, &'f str, Option<usize>));

fn run(figure: &Figure) -> Run<'_> {
    (&figure.key.table, figure.key.cell.run())
}

/// Describes the difference between two figures of one run.
fn differs(a: &FigureKey, b: &FigureKey) -> String {
    let cell = &a.cell;
    if (&a.cell.metric, &a.cell.unit) != (&b.cell.metric, &b.cell.unit) {
        return format!(
            "{cell}: A has {} in {}, B {} in {}; only figures of the same metric and unit are \
             compared",
            a.cell.metric, a.cell.unit, b.cell.metric, b.cell.unit
        );
    }
    format!(
        "{cell}: A's figure is {}, B's is {}; only figures obtained in the same way are compared",
        a.kind.name(),
        b.kind.name()
    )
}

/// Property in which figures may differ: its name, and a function that returns its value.
type Dimension = (&'static str, fn(&Figure) -> String);

/// Explains why two files have no figure in common: returns the first property in which all their
/// figures differ.
pub(super) fn nothing_in_common(a: &ResultFile, b: &ResultFile) -> String {
    let all = |results: &ResultFile, what: fn(&Figure) -> String| -> BTreeSet<String> {
        results.figures.iter().map(what).collect()
    };
    let list = |values: &BTreeSet<String>| {
        let shown: Vec<&str> = values.iter().take(8).map(String::as_str).collect();
        let more = if values.len() > 8 { ", ..." } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let machines = |results| all(results, |f| f.key.cell.machine.clone());
    let (kinds_a, kinds_b) =
        (all(a, |f| f.key.kind.name().to_owned()), all(b, |f| f.key.kind.name().to_owned()));
    if kinds_a.is_disjoint(&kinds_b) {
        return format!(
            "nothing in common: A's figures are {} (on {}), B's are {} (on {}); \
             `reproduce` sets simulated and measured figures side by side",
            list(&kinds_a),
            list(&machines(a)),
            list(&kinds_b),
            list(&machines(b))
        );
    }
    let dimensions: [Dimension; 5] = [
        ("experiments", |f| f.key.cell.experiment.clone()),
        ("machines", |f| f.key.cell.machine.clone()),
        ("variants", |f| f.key.cell.variant.clone()),
        ("numbers of threads", |f| f.key.cell.threads_text()),
        ("tables", |f| f.key.table.clone()),
    ];
    for (name, what) in dimensions {
        let (of_a, of_b) = (all(a, what), all(b, what));
        if of_a.is_disjoint(&of_b) {
            return format!("nothing in common: {name}: A has {}, B {}", list(&of_a), list(&of_b));
        }
    }
    let count = |results: &ResultFile| results.figures.len();
    format!(
        "nothing in common: none of A's {} figures and B's {} has the same experiment, machine, \
         variant, threads, metric and unit",
        count(a),
        count(b)
    )
}
