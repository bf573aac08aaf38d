//! Which figures of two files belong together: those of the same experiment, machine, variant,
//! number of threads, metric and unit, that came about in the same way.

use super::read::{Figure, Key, Place, Results};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The figures of two files.
#[derive(Clone, Debug)]
pub struct Joined<'r> {
    /// Figures that both have, in the order of the first file.
    pub pairs: Vec<(&'r Figure, &'r Figure)>,
    /// Figures that only the first file has.
    pub only_a: Vec<&'r Figure>,
    /// Figures that only the second file has.
    pub only_b: Vec<&'r Figure>,
}

/// Joins the figures of `a` and `b`.
///
/// # Errors
///
/// If they have none in common, or measured different things of the same place: the message says
/// what differs.
pub fn join<'r>(a: &'r Results, b: &'r Results) -> Result<Joined<'r>, String> {
    let of_b: HashMap<&Key, &Figure> = b.figures.iter().map(|f| (&f.key, f)).collect();
    let of_a: HashSet<&Key> = a.figures.iter().map(|f| &f.key).collect();
    let mut joined = Joined { pairs: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    for figure in &a.figures {
        match of_b.get(&figure.key) {
            Some(other) => joined.pairs.push((figure, other)),
            None => joined.only_a.push(figure),
        }
    }
    joined.only_b = b.figures.iter().filter(|f| !of_a.contains(&f.key)).collect();
    let found: HashSet<&Place> = joined.pairs.iter().map(|(a, _)| &a.key.place).collect();
    let places: HashMap<&Place, &Figure> =
        joined.only_b.iter().map(|f| (&f.key.place, *f)).collect();
    for figure in &joined.only_a {
        let place = &figure.key.place;
        if let (Some(other), false) = (places.get(place), found.contains(place)) {
            return Err(differs(&figure.key, &other.key));
        }
    }
    if joined.pairs.is_empty() {
        return Err(nothing_in_common(a, b));
    }
    Ok(joined)
}

/// What differs between the figures of one place.
fn differs(a: &Key, b: &Key) -> String {
    let place = &a.place;
    if (&a.metric, &a.unit) != (&b.metric, &b.unit) {
        return format!(
            "{place}: A has {} in {}, B {} in {}; only figures of the same metric and unit are \
             compared",
            a.metric, a.unit, b.metric, b.unit
        );
    }
    format!(
        "{place}: A's figure is {}, B's is {}; only figures obtained in the same way are compared",
        a.kind.name(),
        b.kind.name()
    )
}

/// Something in which figures may differ: its name, and what it is of a figure.
type Dimension = (&'static str, fn(&Figure) -> String);

/// Why two files have no figure in common: the first thing in which all of theirs differ.
fn nothing_in_common(a: &Results, b: &Results) -> String {
    let all = |results: &Results, what: fn(&Figure) -> String| -> BTreeSet<String> {
        results.figures.iter().map(what).collect()
    };
    let list = |values: &BTreeSet<String>| {
        let shown: Vec<&str> = values.iter().take(8).map(String::as_str).collect();
        let more = if values.len() > 8 { ", ..." } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let machines = |results| all(results, |f| f.key.place.machine.clone());
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
        ("experiments", |f| f.key.place.experiment.clone()),
        ("machines", |f| f.key.place.machine.clone()),
        ("variants", |f| f.key.place.variant.clone()),
        ("numbers of threads", |f| f.key.place.threads_text()),
        ("tables", |f| f.key.place.table.clone()),
    ];
    for (name, what) in dimensions {
        let (of_a, of_b) = (all(a, what), all(b, what));
        if of_a.is_disjoint(&of_b) {
            return format!("nothing in common: {name}: A has {}, B {}", list(&of_a), list(&of_b));
        }
    }
    let count = |results: &Results| results.figures.len();
    format!(
        "nothing in common: none of A's {} figures and B's {} has the same experiment, machine, \
         variant, threads, metric and unit",
        count(a),
        count(b)
    )
}
