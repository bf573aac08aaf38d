//! The columns of results: a row a column. Tables for readers, Markdown, CSV and pages loop over
//! them. JSON has all details of a row anyway.
//!
//! Markdown and CSV have this order. A screen has predictions first.

use super::cell_format::Print;
use super::of_row::{
    fairness, measured, ratio, siblings_apart, simulated, simulated_sleeps, sleeps, waits,
};
use crate::details::{CountersDetail, CpuTimeDetail, HandoversDetail, PhaseShare, PresenceDetail};
use crate::fairness::{Fairness, Waits};
use crate::row::{Measured, Row};

/// Tables that have columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Published figures.
    Published,
    /// Predicted figures.
    Predicted,
    /// Comparison of a prediction with something else.
    Compared,
    /// Measured figures.
    Measured,
    /// Threads and waits.
    Threads,
    /// Presence, hand-overs, counters.
    Probes,
    /// CPU time by phase.
    Phases,
    /// CSV only.
    Csv,
}

/// Condition for the column in CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InCsv {
    /// None.
    Always,
    /// A row has a value.
    IfKnown,
    /// The same, if no row was published.
    IfOwn,
}

/// Condition for the column in a table for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// None.
    Always,
    /// A row has a value.
    IfKnown,
    /// A row has a value above zero.
    IfPositive,
    /// A row has a value or a published figure.
    BesidePublished,
}

/// A number of a row: its name in CSV, and a function that returns it. Without a name, CSV leaves
/// the number out.
pub type Value = (&'static str, fn(&Row) -> Option<f64>);

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Table that has it.
    pub group: Group,
    /// Title, with the unit if the rows have another one.
    pub title: &'static str,
    /// Title on a screen.
    pub on_screen: &'static str,
    /// Numbers that a cell shows.
    pub values: &'static [Value],
    /// Format of a cell.
    pub print: Print,
    /// Condition in CSV.
    pub csv: InCsv,
    /// Condition in tables.
    pub shown: Shown,
    /// For a column of pages: JSON pointers to its numbers, relative to the row.
    pub on_page: Option<&'static str>,
}

const fn column(
    group: Group,
    title: &'static str,
    print: Print,
    values: &'static [Value],
) -> Column {
    Column {
        group,
        title,
        on_screen: title,
        values,
        print,
        csv: InCsv::IfOwn,
        shown: Shown::IfKnown,
        on_page: None,
    }
}

/// Returns a column that only CSV has.
const fn only_csv(csv: InCsv, values: &'static [Value]) -> Column {
    column(Group::Csv, "", Print::Figure, values).csv(csv)
}

impl Column {
    const fn csv(mut self, csv: InCsv) -> Column {
        self.csv = csv;
        self
    }

    const fn shown(mut self, shown: Shown) -> Column {
        self.shown = shown;
        self
    }

    const fn on_screen(mut self, title: &'static str) -> Column {
        self.on_screen = title;
        self
    }

    const fn on_page(mut self, pointers: &'static str) -> Column {
        self.on_page = Some(pointers);
        self
    }
}

/// The columns.
pub const COLUMNS: &[Column] = &[
    column(Group::Published, "published", Print::Figure, &[("published", |row| row.published)])
        .csv(InCsv::Always)
        .on_page("published"),
    column(Group::Predicted, "predicted", Print::Figure, &[("predicted", |row| row.predicted)])
        .csv(InCsv::Always)
        .shown(Shown::BesidePublished)
        .on_page("predicted"),
    column(
        Group::Predicted,
        "interval",
        Print::Interval,
        &[
            ("predicted_low", |row| Some(simulated(row)?.interval?.low)),
            ("predicted_high", |row| Some(simulated(row)?.interval?.high)),
        ],
    )
    .csv(InCsv::IfKnown)
    .on_page("detail/simulated/interval/low detail/simulated/interval/high"),
    column(Group::Compared, "error", Print::Error, &[("error", Row::error)])
        .csv(InCsv::Always)
        .shown(Shown::BesidePublished)
        .on_page("error"),
    column(
        Group::Compared,
        "siblings apart",
        Print::Figure,
        &[("siblings_share_nothing", siblings_apart)],
    )
    .csv(InCsv::IfKnown)
    .on_screen("siblings\napart"),
    only_csv(InCsv::Always, &[("trivial", |row| row.trivial)]),
    column(
        Group::Measured,
        "measured here",
        Print::Figure,
        &[("measured", |row| of_measured(row, |m| m.value))],
    )
    .csv(InCsv::Always)
    .on_screen("measured")
    .on_page("measured"),
    column(
        Group::Measured,
        "interval",
        Print::Interval,
        &[
            ("ci_low", |row| of_measured(row, |m| m.ci_low)),
            ("ci_high", |row| of_measured(row, |m| m.ci_high)),
        ],
    )
    .csv(InCsv::Always)
    .on_page("ci_low ci_high"),
    only_csv(InCsv::Always, &[("samples", |row| of_measured(row, |m| m.samples as f64))]),
    only_csv(
        InCsv::IfKnown,
        &[
            ("start_order_spread", |row| Some(simulated(row)?.start_orders?.spread)),
            ("usl_lambda", |row| Some(row.details.law?.lambda)),
            ("usl_sigma", |row| Some(row.details.law?.sigma)),
            ("usl_kappa", |row| Some(row.details.law?.kappa)),
            ("usl_knee", |row| row.details.law?.knee),
        ],
    ),
    only_csv(
        InCsv::IfOwn,
        &[
            ("bootstrap_low", |row| Some(measured(row)?.bootstrap?.low)),
            ("bootstrap_high", |row| Some(measured(row)?.bootstrap?.high)),
        ],
    ),
    column(Group::Measured, "ratio", Print::Ratio, &[("ratio", |row| Some(ratio(row)?.value))]),
    column(
        Group::Measured,
        "interval",
        Print::RatioInterval,
        &[
            ("ratio_ci_low", |row| Some(ratio(row)?.ci_low)),
            ("ratio_ci_high", |row| Some(ratio(row)?.ci_high)),
        ],
    ),
    thread("slowest / mean", Print::Ratio, &[("fairness_minimum", |row| fair(row, |f| f.minimum))]),
    thread("fastest / mean", Print::Ratio, &[("fairness_maximum", |row| fair(row, |f| f.maximum))]),
    thread("Jain", Print::Ratio, &[("fairness_jain", |row| fair(row, |f| f.jain))]),
    thread("wait 50 %, ns", Print::Whole, &[("wait_p50_ns", |row| wait(row, |w| w.p50))]),
    thread("90 %", Print::Whole, &[("wait_p90_ns", |row| wait(row, |w| w.p90))]),
    thread("99 %", Print::Whole, &[("wait_p99_ns", |row| wait(row, |w| w.p99))]),
    thread("99.9 %", Print::Whole, &[("wait_p999_ns", |row| wait(row, |w| w.p999))]),
    thread("longest", Print::Whole, &[("wait_maximum_ns", |row| wait(row, |w| Some(w.maximum)))]),
    // Most locks never sleep.
    thread("sleeps / op", Print::Sleeps, &[("sleeps", sleeps)]).shown(Shown::IfPositive),
    thread("predicted sleeps / op", Print::Sleeps, &[("predicted_sleeps", simulated_sleeps)])
        .shown(Shown::IfPositive),
    probe(
        "all ran",
        Print::Shares,
        &[
            ("all_threads_ran_least", |row| Some(presence(row)?.all_threads_ran_least)),
            ("all_threads_ran_most", |row| Some(presence(row)?.all_threads_ran_most)),
        ],
    ),
    only_csv(
        InCsv::IfOwn,
        &[("ready_and_not_running", |row| presence(row)?.ready_and_not_running)],
    ),
    probe(
        "preempted",
        Print::Count,
        &[("preemptions", |row| Some(presence(row)?.preemptions? as f64))],
    ),
    probe(
        "from same thread",
        Print::Share,
        &[("handover_same_thread", |row| handovers(row)?.same_thread)],
    ),
    probe("same CPU", Print::Share, &[("handover_same_cpu", |row| handovers(row)?.same_cpu)]),
    probe(
        "same core",
        Print::SomeShare,
        &[("handover_same_core", |row| handovers(row)?.same_core)],
    ),
    probe(
        "same complex",
        Print::SomeShare,
        &[("handover_same_complex", |row| handovers(row)?.same_complex)],
    ),
    probe(
        "same socket",
        Print::SomeShare,
        &[("handover_same_socket", |row| handovers(row)?.same_socket)],
    ),
    probe("remote", Print::SomeShare, &[("handover_remote", |row| handovers(row)?.remote)]),
    probe("recording", Print::Share, &[("handover_recording", |row| handovers(row)?.recording)]),
    probe(
        "cycles / op",
        Print::PerOperation,
        &[("cycles_per_operation", |row| counters(row)?.cycles_per_operation)],
    ),
    probe(
        "instructions / op",
        Print::PerOperation,
        &[("instructions_per_operation", |row| counters(row)?.instructions_per_operation)],
    ),
    probe(
        "per cycle",
        Print::Hundredths,
        &[("instructions_per_cycle", |row| counters(row)?.instructions_per_cycle)],
    ),
    probe(
        "cache references / op",
        Print::PerOperation,
        &[("cache_references_per_operation", |row| counters(row)?.cache_references_per_operation)],
    ),
    probe(
        "cache misses / op",
        Print::PerOperation,
        &[("cache_misses_per_operation", |row| counters(row)?.cache_misses_per_operation)],
    ),
    phase(
        "between",
        &[
            ("cpu_between_share", |row| Some(of_phase(row, "between")?.share)),
            ("", |row| Some(of_phase(row, "between")?.half_width)),
        ],
    ),
    phase(
        "working",
        &[
            ("cpu_working_share", |row| Some(of_phase(row, "working")?.share)),
            ("", |row| Some(of_phase(row, "working")?.half_width)),
        ],
    ),
    phase(
        "waiting",
        &[
            ("cpu_waiting_share", |row| Some(of_phase(row, "waiting")?.share)),
            ("", |row| Some(of_phase(row, "waiting")?.half_width)),
        ],
    ),
    phase(
        "holding",
        &[
            ("cpu_holding_share", |row| Some(of_phase(row, "holding")?.share)),
            ("", |row| Some(of_phase(row, "holding")?.half_width)),
        ],
    ),
    phase(
        "releasing",
        &[
            ("cpu_releasing_share", |row| Some(of_phase(row, "releasing")?.share)),
            ("", |row| Some(of_phase(row, "releasing")?.half_width)),
        ],
    ),
    cpu_time("CPU time, s", Print::Hundredths, &[("cpu_seconds", |row| Some(cpu(row)?.seconds))]),
    cpu_time("samples", Print::Count, &[("cpu_samples", |row| Some(cpu(row)?.samples as f64))]),
    cpu_time(
        "sampler",
        Print::Share,
        &[("cpu_sampler_share", |row| Some(cpu(row)?.sampler_share))],
    ),
    cpu_time("cost", Print::Hundredths, &[("cpu_cost_ratio", |row| cpu(row)?.cost_ratio)]),
];

const fn thread(title: &'static str, print: Print, values: &'static [Value]) -> Column {
    column(Group::Threads, title, print, values).shown(Shown::Always)
}

const fn probe(title: &'static str, print: Print, values: &'static [Value]) -> Column {
    column(Group::Probes, title, print, values)
}

const fn phase(title: &'static str, values: &'static [Value]) -> Column {
    cpu_time(title, Print::ShareWithin, values)
}

const fn cpu_time(title: &'static str, print: Print, values: &'static [Value]) -> Column {
    column(Group::Phases, title, print, values).shown(Shown::Always)
}

fn of_measured(row: &Row, of: fn(&Measured) -> f64) -> Option<f64> {
    row.measured.as_ref().map(of)
}

fn fair(row: &Row, of: fn(Fairness) -> f64) -> Option<f64> {
    fairness(row).map(of)
}

fn wait(row: &Row, of: fn(Waits) -> Option<u64>) -> Option<f64> {
    Some(of(waits(row)?)? as f64)
}

fn presence(row: &Row) -> Option<PresenceDetail> {
    measured(row)?.presence
}

fn handovers(row: &Row) -> Option<HandoversDetail> {
    measured(row)?.handovers
}

fn counters(row: &Row) -> Option<CountersDetail> {
    measured(row)?.counters
}

fn cpu(row: &Row) -> Option<&CpuTimeDetail> {
    measured(row)?.cpu_time.as_ref()
}

fn of_phase<'r>(row: &'r Row, name: &str) -> Option<&'r PhaseShare> {
    cpu(row)?.phases.iter().find(|phase| phase.phase == name)
}
