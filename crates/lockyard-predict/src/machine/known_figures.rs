//! Simulation of known figures of a machine that are not its inputs.
//!
//! A machine file's `[checks]` are published figures of the machine, or of a related one. Each name
//! below is simulated in the way in which the tool behind the figure measures. Some names of the
//! format ([`lockyard_sim::machine::CHECK_NAMES`]) are figures that are not simulated; the output
//! names them. A figure that is itself an input of the file (`input = true`) shows that the input
//! was met, and is not counted.

use crate::interruptible;
use crate::machine::hierarchy;
use comfy_table::{CellAlignment, Table};
use lockyard::platform::{Ordering, Word};
use lockyard_results::render::{self, Format, Screen};
use lockyard_results::statistics;
use lockyard_sim::{Machine, RunEnd, SimulatedU64, Simulation, now, stop_requested};
use lockyard_support::jobs;
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

/// Version of the JSON format.
const SCHEMA: &str = "lockyard-machine-check-1";

/// Number of hand-overs in a ping-pong, and of loads in a chain.
const TURNS: u64 = 1000;

/// Note about a machine whose figures cannot show an error.
const ONLY_INPUTS: &str =
    "All simulated figures are inputs: they cannot show how accurate the machine is.";

/// Figure of a machine in nanoseconds; `None` if the machine has no such distance.
type Figure = fn(&Machine) -> Option<f64>;

/// Names that `[checks]` may contain, in addition to the figures of [`hierarchy`], with their
/// simulations.
const KNOWN: &[(&str, Figure)] = &[
    ("atomic_add_uncontended", |m| Some(uncontended(m))),
    ("ping_pong_same_core", |m| sibling(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_same_socket", |m| neighbour(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_same_socket_p10", |m| neighbour(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_same_socket_p90", |m| neighbour(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_other_complex", |m| other_complex(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_remote", |m| remote(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_remote_p10", |m| remote(m).and_then(|place| ping_pong(m, place, 0))),
    ("ping_pong_remote_p90", |m| remote(m).and_then(|place| ping_pong(m, place, 0))),
    ("load_modified_same_socket", |m| neighbour(m).map(|place| load(m, place, 0))),
    ("load_modified_remote", |m| remote(m).map(|place| load(m, place, 1))),
    ("load_modified_remote_homed_writer", |m| remote(m).map(|place| load(m, place, 1))),
    ("load_modified_remote_homed_reader", |m| remote(m).map(|place| load(m, place, 0))),
    ("atomic_add_two_threads", |m| neighbour(m).map(|place| rate(m, place, false))),
    ("compare_exchange_two_threads", |m| neighbour(m).map(|place| rate(m, place, true))),
];

/// A figure of a machine file, with its simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Name in the file.
    pub name: String,
    /// The published figure.
    pub published: f64,
    /// Unit of the figure.
    pub unit: String,
    /// The simulated figure; `None` if it cannot be simulated.
    pub simulated: Option<f64>,
    /// `true` if the figure is an input of the file.
    pub is_input: bool,
    /// Source of the figure.
    pub source: String,
}

impl Checked {
    /// Returns the simulated figure divided by the published one, minus 1.
    pub fn error(&self) -> Option<f64> {
        self.simulated.map(|simulated| simulated / self.published - 1.0)
    }
}

fn sibling(machine: &Machine) -> Option<usize> {
    (machine.threads_per_core() > 1).then(|| machine.cores())
}

/// Returns another core of the first complex.
fn neighbour(machine: &Machine) -> Option<usize> {
    (machine.cores_per_complex() > 1).then_some(1)
}

/// Returns a core of another complex of the first socket.
fn other_complex(machine: &Machine) -> Option<usize> {
    let complex = machine.cores_per_complex();
    (machine.cores() / machine.sockets() > complex).then_some(complex)
}

/// Returns a core of another socket.
fn remote(machine: &Machine) -> Option<usize> {
    (machine.sockets() > 1).then(|| machine.cores() / machine.sockets())
}

/// Runs all threads to their end, or to an interrupt. After an interrupt the figure is meaningless,
/// and the caller has to check for that.
fn finish(simulation: &mut Simulation) {
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished | RunEnd::Cancelled), "{outcome}");
}

/// Returns the nanoseconds of an addition to a word that no other thread uses.
pub fn uncontended(machine: &Machine) -> f64 {
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let cycles = Rc::new(Cell::new(0));
    let out = Rc::clone(&cycles);
    simulation.spawn(0, move || {
        word.fetch_add(1, Ordering::Relaxed);
        let begin = now();
        for _ in 0..TURNS {
            word.fetch_add(1, Ordering::Relaxed);
        }
        out.set(now() - begin);
    });
    finish(&mut simulation);
    machine.nanoseconds(cycles.get()) / TURNS as f64
}

/// Returns the nanoseconds per hand-over of a word. Hardware thread 0 and `place` change the word
/// in turn, each by a compare-exchange that it retries until it succeeds.
pub fn ping_pong(machine: &Machine, place: usize, home: usize) -> Option<f64> {
    Some(ping_pong_between(machine, [0, place], home))
}

/// Returns the nanoseconds per hand-over between two cores of a complex. `None` if a complex has
/// one core.
pub(crate) fn hand_over(machine: &Machine) -> Option<f64> {
    ping_pong(machine, neighbour(machine)?, 0)
}

/// Returns the nanoseconds per hand-over of a word between two hardware threads, as [`ping_pong`].
pub fn ping_pong_between(machine: &Machine, places: [usize; 2], home: usize) -> f64 {
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let word = simulation.place(SimulatedU64::new(0), 64, home);
    for (me, place) in (0u64..).zip(places) {
        let word = word.clone();
        simulation.spawn(place, move || {
            for _ in 0..TURNS {
                while word
                    .compare_exchange(me, 1 - me, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
                {}
            }
        });
    }
    finish(&mut simulation);
    machine.nanoseconds(simulation.now()) / (2 * TURNS) as f64
}

/// Returns the nanoseconds of a load by hardware thread 0 of a line that `writer` has modified. The
/// line's home is the writer's socket (`home` 1) or the reader's (0).
pub fn load(machine: &Machine, writer: usize, home: usize) -> f64 {
    const LINES: usize = 64;
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let words: Vec<_> =
        (0..LINES).map(|_| simulation.place(SimulatedU64::new(0), 64, home)).collect();
    let written = words.clone();
    simulation.spawn_at(writer, 0, move || {
        for word in &written {
            word.fetch_add(1, Ordering::Relaxed);
        }
    });
    finish(&mut simulation);
    let cycles = Rc::new(Cell::new(0));
    let out = Rc::clone(&cycles);
    simulation.spawn_at(0, simulation.now() + 1000, move || {
        let begin = now();
        for word in &words {
            word.load(Ordering::Relaxed);
        }
        out.set(now() - begin);
    });
    finish(&mut simulation);
    machine.nanoseconds(cycles.get()) / LINES as f64
}

/// Returns the nanoseconds per operation of hardware threads 0 and `place` together on one word.
/// With `exchange`, the operation is a load and an addition by compare-exchange, otherwise an
/// addition.
pub fn rate(machine: &Machine, place: usize, exchange: bool) -> f64 {
    const WINDOW_NS: f64 = 200_000.0;
    let runs: Vec<f64> = (1..=5)
        .map(|seed| {
            let mut simulation = interruptible(Simulation::new(machine, seed));
            let word = simulation.place(SimulatedU64::new(0), 64, 0);
            let starts = simulation.random_starts(2);
            for (&start, place) in starts.iter().zip([0, place]) {
                let word = word.clone();
                simulation.spawn_at(place, start, move || {
                    while !stop_requested() {
                        if exchange {
                            let mut seen = word.load(Ordering::Relaxed);
                            while let Err(found) = word.compare_exchange(
                                seen,
                                seen + 1,
                                Ordering::Relaxed,
                                Ordering::Relaxed,
                            ) {
                                seen = found;
                            }
                        } else {
                            word.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            let both_there = starts[0].max(starts[1]);
            simulation.run_until(both_there);
            let before = simulation.setup(|| word.load(Ordering::Relaxed));
            simulation.run_until(both_there + machine.cycles(WINDOW_NS));
            let count = simulation.setup(|| word.load(Ordering::Relaxed)) - before;
            simulation.request_stop();
            finish(&mut simulation);
            WINDOW_NS / count as f64
        })
        .collect();
    statistics::mean(&runs).unwrap_or(f64::NAN)
}

/// Returns the figures of the machine's file with their simulations. Figures that an interrupt left
/// unfinished are missing.
pub fn check(machine: &Machine) -> Vec<Checked> {
    let one = |check: &lockyard_sim::Parameter| {
        let name = check.name.trim_start_matches("checks.");
        let published = check.value.number().unwrap_or(f64::NAN);
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        Checked {
            name: name.to_owned(),
            published,
            unit: check.unit.clone(),
            simulated: (check.unit == "ns")
                .then(|| match known {
                    Some((_, simulate)) => simulate(machine),
                    None => hierarchy::figure(machine, name),
                })
                .flatten(),
            is_input: check.is_input,
            source: check.source.clone().or(check.assumed.clone()).unwrap_or_default(),
        }
    };
    // An interrupt makes the current figure invalid.
    machine.checks().iter().map(one).take_while(|_| !jobs::interrupted()).collect()
}

/// Figures of some machines.
#[derive(Debug)]
pub struct Checks<'m> {
    all: Vec<(&'m Machine, Vec<Checked>)>,
    /// Number of figures in their files.
    pub asked: usize,
}

impl<'m> Checks<'m> {
    /// Simulates the figures of machines. After an interrupt some are missing.
    pub fn of(machines: &'m [Machine]) -> Checks<'m> {
        let asked = machines.iter().map(|machine| machine.checks().len()).sum();
        let check = |machine: &'m Machine| (machine, check(machine));
        let begun = |(_, rows): &(&Machine, Vec<Checked>)| !rows.is_empty() || !jobs::interrupted();
        Checks { all: machines.iter().map(check).take_while(begun).collect(), asked }
    }

    /// Number of figures whose simulation is finished.
    pub fn finished(&self) -> usize {
        self.all.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// Returns the figures as text, for a screen or for programs.
    pub fn render(&self, format: Format, screen: &Screen) -> String {
        let partial = self.finished() < self.asked;
        match format {
            Format::Json => json_text(&self.all, partial.then_some(self.asked)),
            Format::Csv => csv_text(&self.all, partial),
            Format::Table | Format::Markdown => {
                let (finished, asked) = (self.finished(), self.asked);
                let head = format!("Partial: interrupted, with {finished} of {asked} figures.\n\n");
                let head = if partial { head } else { String::new() };
                head + &table_text(&self.all, format, screen)
            }
        }
    }
}

/// Returns the rows as JSON. If some are missing, `asked` is the number of requested figures.
fn json_text(all: &[(&Machine, Vec<Checked>)], asked: Option<usize>) -> String {
    let rows: Vec<_> = all
        .iter()
        .flat_map(|(machine, rows)| {
            rows.iter().map(|row| {
                json!({
                    "machine": machine.name(),
                    "figure": row.name,
                    "published": row.published,
                    "unit": row.unit,
                    "simulated": row.simulated,
                    "error": row.error(),
                    "input": row.is_input,
                    "source": row.source,
                })
            })
        })
        .collect();
    let notes = all.iter().filter(|(machine, _)| !machine.notes().is_empty());
    let notes: serde_json::Map<String, serde_json::Value> =
        notes.map(|(machine, _)| (machine.name().to_owned(), machine.notes().into())).collect();
    let about = json!({ "lockyard": env!("CARGO_PKG_VERSION"), "machine_notes": notes });
    let mut object = json!({ "schema": SCHEMA, "environment": about, "rows": rows });
    if let Some(asked) = asked {
        render::mark_partial(&mut object, "interrupted", rows.len(), asked);
    }
    render::pretty(&object)
}

fn csv_text(all: &[(&Machine, Vec<Checked>)], partial: bool) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail, and all records have the same length.
    let header = ["machine", "figure", "published", "unit", "simulated", "error", "input"];
    let _ = writer.write_record(header.into_iter().chain(partial.then_some("partial")));
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    for (machine, rows) in all {
        for row in rows {
            let fields = [
                machine.name(),
                &row.name,
                &row.published.to_string(),
                &row.unit,
                &number(row.simulated),
                &number(row.error()),
                if row.is_input { "true" } else { "false" },
            ];
            let _ = writer.write_record(fields.into_iter().chain(partial.then_some("true")));
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn table_text(all: &[(&Machine, Vec<Checked>)], format: Format, screen: &Screen) -> String {
    let mut text = String::new();
    let mut errors = Vec::new();
    for (machine, rows) in all {
        let mut table = Table::new();
        table.set_header(["figure", "unit", "published", "simulated", "error", ""]);
        for column in 2..5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in rows {
            let error = row.error().map(|e| format!("{:+.1} %", e * 100.0));
            let note = match (row.is_input, row.simulated) {
                (true, _) => "an input",
                (false, None) => "not simulated",
                (false, Some(_)) => "",
            };
            if let (false, Some(error)) = (row.is_input, row.error()) {
                errors.push(error.abs());
            }
            table.add_row([
                row.name.clone(),
                row.unit.clone(),
                format!("{:.1}", row.published),
                row.simulated.map(|s| format!("{s:.1}")).unwrap_or_default(),
                error.unwrap_or_default(),
                note.to_owned(),
            ]);
        }
        text.push_str(&format!("{}: {}\n\n", machine.name(), machine.title()));
        for note in machine.notes() {
            text.push_str(&format!("Note: {note}\n\n"));
        }
        if rows.is_empty() {
            text.push_str("Its file has no figures to compare with.\n\n");
            continue;
        }
        text.push_str(&format!("{}\n", screen.figures_in(&table, 2, format)));
        if rows.iter().all(|row| row.is_input || row.simulated.is_none()) {
            text.push_str(&format!("  {ONLY_INPUTS}\n"));
        }
        for row in rows {
            text.push_str(&format!("  {}: {}\n", row.name, row.source));
        }
        text.push('\n');
    }
    if let Some(median) = statistics::median(&errors) {
        text.push_str(&format!(
            "{} figures that are not inputs: median |error| {:.1} %, largest {:.1} %. Every pair \
            of cores at one distance \
             costs the same here, so 10th and 90th percentiles show the spread that is not \
             modelled.\n",
            errors.len(),
            median * 100.0,
            errors.iter().copied().fold(0.0, f64::max) * 100.0
        ));
    }
    screen.wrap_in(text, format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_sim::machine::{CHECK_NAMES, walked_kib};

    #[test]
    fn every_figure_that_is_simulated_may_stand_in_a_file() {
        for (name, _) in KNOWN {
            assert!(CHECK_NAMES.contains(name), "{name}");
        }
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let simulated = |name: &str| {
            let elsewhere = || hierarchy::figure(&machine, name).is_some();
            KNOWN.iter().any(|(known, _)| *known == name) || elsewhere()
        };
        for name in CHECK_NAMES {
            assert_eq!(simulated(name), !name.starts_with("calibration_cell"), "{name}");
        }
    }

    #[test]
    fn every_machine_is_checked_on_a_figure_that_is_no_input_or_says_that_it_has_none() {
        for name in Machine::names() {
            let machine = Machine::shipped(name).expect("it is shipped");
            for row in check(&machine) {
                assert!(row.published > 0.0, "{name} {}", row.name);
                let cached = row.name.starts_with("load_") || walked_kib(&row.name).is_some();
                let known = cached || KNOWN.iter().any(|(known, _)| *known == row.name);
                assert!(known == row.simulated.is_some(), "{name} {}", row.name);
                if row.is_input && row.unit == "ns" {
                    let error = row.error().expect("an input is simulated");
                    let most = match (name, row.name.as_str()) {
                        // On one core the figure changes in steps of more than a nanosecond.
                        (_, "ping_pong_same_core") => 0.15,
                        // `socket_leg` comes from this figure, under the assumption that the other
                        // sockets answer immediately (see its file).
                        ("westmere-ex-4s10c", "load_memory_remote") => 0.1,
                        _ => 0.06,
                    };
                    assert!(error.abs() < most, "{name} {}: {error}", row.name);
                }
            }
            let counted =
                check(&machine).iter().any(|row| !row.is_input && row.simulated.is_some());
            let text = Checks::of(std::slice::from_ref(&machine))
                .render(Format::Table, &Screen::default());
            assert_eq!(text.contains(ONLY_INPUTS), !counted, "{text}");
            assert_eq!(text.contains("median |error|"), counted, "{text}");
        }
    }

    #[test]
    fn an_uncontended_addition_costs_what_the_file_says() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        assert!((uncontended(&machine) - 7.0).abs() < 1e-9, "21 cycles at 3 GHz");
    }
}
