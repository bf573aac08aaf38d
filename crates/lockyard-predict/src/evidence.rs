//! Errors of this model for published tables to which it was not fitted, by kind of scenario.
//!
//! A prediction is printed together with the errors of its kind. An interval from seeds and inputs
//! does not cover mechanisms that the model lacks. The errors do, because they compare predicted
//! figures with published ones. They are in `data/evidence.csv`. A test writes that file from the
//! results of all tables, and checks that it is up to date.
//!
//! Three kinds of rows are left out: rows that the publisher doubts, rows that repeat another one
//! in a different unit, and the table of a lock in a loop without work. The figures of that table
//! hardly depend on the number of threads. So its errors are small, and say little about other
//! programs.

use crate::placement::MachinePlacement;
use crate::simulate::has_siblings;
use lockyard_results::details::{EvidenceDetail, SimulatedDetail};
use lockyard_results::statistics;
use lockyard_scenarios::{Object, ObjectKind, Script, Variant};
use lockyard_sim::Machine;

/// Errors by kind.
const EVIDENCE: &str = include_str!("../data/evidence.csv");

/// Kind of a system.
///
/// In a microbenchmark, all operations are alike, each task has its own CPU, and nothing disturbs
/// the run. Scripts of whole programs state things that their publishers do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// A microbenchmark of reference counts.
    Counts,
    /// A microbenchmark of other things, such as locks.
    Others,
    /// A whole program.
    Program,
}

/// Kind of a predicted cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Kind of the system.
    pub system: System,
    /// `true` if two tasks are SMT siblings of a core. How much of a line siblings share is not
    /// settled.
    pub has_siblings: bool,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] = [
        Kind { system: System::Counts, has_siblings: false },
        Kind { system: System::Counts, has_siblings: true },
        Kind { system: System::Others, has_siblings: false },
        Kind { system: System::Others, has_siblings: true },
        Kind { system: System::Program, has_siblings: false },
        Kind { system: System::Program, has_siblings: true },
    ];

    /// Returns the kind of a cell of a script.
    pub fn of(
        script: &Script,
        variant: &Variant,
        machine: &Machine,
        placement: &MachinePlacement,
        threads: usize,
    ) -> Kind {
        let is_program = variant.work_varies
            || variant.guests.is_some()
            || variant.walks()
            || variant.tables().next().is_some()
            || script.samples.is_some();
        let counts = |object: &Object| {
            matches!(object.kind, ObjectKind::LockRef { .. } | ObjectKind::Page { .. })
        };
        let system = match is_program {
            true => System::Program,
            false if variant.objects.iter().any(counts) => System::Counts,
            false => System::Others,
        };
        Kind { system, has_siblings: has_siblings(machine, placement, threads) }
    }

    /// Returns the kind of a published cell, by its names. Returns `None` if no shipped script or
    /// no shipped machine has this name.
    pub fn of_published(
        experiment: &str,
        machine: &str,
        variant: &str,
        threads: Option<usize>,
    ) -> Option<Kind> {
        let script = Script::shipped(experiment)?;
        let machine = script.profile.machine.as_deref().unwrap_or(machine);
        let machine = Machine::shipped(machine)?;
        let variant = script.variant(variant)?;
        let placement = MachinePlacement::Order(script.order);
        Some(Kind::of(&script, variant, &machine, &placement, script.tasks(threads)?))
    }

    /// Returns the name for results and for display.
    pub fn name(self) -> &'static str {
        match (self.system, self.has_siblings) {
            (System::Counts, false) => "microbenchmarks of reference counts",
            (System::Counts, true) => {
                "microbenchmarks of reference counts with SMT siblings in use"
            }
            (System::Others, false) => "microbenchmarks without reference counts",
            (System::Others, true) => {
                "microbenchmarks without reference counts and with SMT siblings in use"
            }
            (System::Program, false) => "whole programs",
            (System::Program, true) => "whole programs with SMT siblings in use",
        }
    }

    /// Returns the errors of this kind, from the shipped evidence.
    pub fn evidence(self) -> EvidenceDetail {
        let found = read(EVIDENCE).into_iter().find(|evidence| evidence.kind == self.name());
        found.unwrap_or_else(|| EvidenceDetail {
            kind: self.name().to_owned(),
            ..EvidenceDetail::default()
        })
    }
}

/// Reads the evidence of each kind. Skips lines that are not evidence.
fn read(text: &str) -> Vec<EvidenceDetail> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let number = |text: &str| text.parse::<f64>().ok();
    let evidence = |line: csv::StringRecord| {
        Some(EvidenceDetail {
            kind: line.get(0)?.to_owned(),
            cells: line.get(1)?.parse().ok()?,
            median_abs_error: line.get(2).and_then(number),
            p90_abs_error: line.get(3).and_then(number),
        })
    };
    reader.records().filter_map(|line| evidence(line.ok()?)).collect()
}

/// Returns the text of the evidence file for these errors of published cells.
pub fn file(errors: &[(Kind, f64)]) -> String {
    let mut text = String::from(
        "# Errors of predictions, by kind of scenario (crates/lockyard-predict/src/evidence.rs).\n\
         # Written from all published tables; CONTRIBUTING.md has the command.\n\
         kind,cells,median_abs_error,p90_abs_error\n",
    );
    for kind in Kind::ALL {
        let of_kind = errors.iter().filter(|(of, _)| *of == kind);
        let of_kind: Vec<f64> = of_kind.map(|(_, error)| error.abs()).collect();
        let number = |found: Option<f64>| found.map(|e| format!("{e:.3}")).unwrap_or_default();
        text += &format!(
            "{},{},{},{}\n",
            kind.name(),
            of_kind.len(),
            number(statistics::median(&of_kind)),
            number(statistics::quantile(&of_kind, 0.9))
        );
    }
    text
}

/// Sentence about the order in which assumptions and errors came.
const CAVEAT: &str = "Some of its assumptions were made after errors on these tables were seen \
                      (docs/evidence/assumptions.md).";

/// Returns sentences about the errors of the rows' kinds, without repetitions.
pub fn sentences<'d>(details: impl Iterator<Item = &'d SimulatedDetail>) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut knows = false;
    for evidence in details.filter_map(|detail| detail.evidence.as_ref()) {
        let sentence = sentence(evidence);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
        knows |= evidence.median_abs_error.is_some();
    }
    if knows {
        sentences.push(CAVEAT.to_owned());
    }
    sentences
}

fn sentence(evidence: &EvidenceDetail) -> String {
    let kind = &evidence.kind;
    match (evidence.median_abs_error, evidence.p90_abs_error) {
        (Some(median), Some(p90)) => format!(
            "On tables it was not fitted on, this model's median error is {:.0} % for this kind \
             of scenario (p90 {:.0} %): {kind}, {} published figures.",
            median * 100.0,
            p90 * 100.0,
            evidence.cells
        ),
        _ => format!(
            "The error for this kind of scenario is not known ({kind}): no published table tells it."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Order;

    fn shipped(experiment: &str, machine: &str, variant: &str, threads: usize) -> Kind {
        Kind::of_published(experiment, machine, variant, Some(threads)).expect("it is published")
    }

    #[test]
    fn published_cells_are_of_the_kinds_of_their_tables() {
        let kind = |system, has_siblings| Kind { system, has_siblings };
        let of_fstat2 = |threads| shipped("fstat2", "cascade-lake-2s24c2t", "lockref", threads);
        assert_eq!(of_fstat2(48), kind(System::Counts, false));
        assert_eq!(of_fstat2(96), kind(System::Counts, true));
        let page = shipped("page-ref", "zen4-7840u", "xadd", 4);
        assert_eq!(page.system, System::Counts);
        let of_loop = shipped("spin-loop/same-node/embedded", "westmere-ex-4s10c", "ticket", 4);
        assert_eq!(of_loop, kind(System::Others, false));
        let samples = shipped("stat-degradation", "sapphire-rapids", "lockref", 16);
        assert_eq!(samples.system, System::Program);
        let guests = shipped("dbench/overcommit-2x", "sandy-bridge-32c-kvm", "ticket", 16);
        assert_eq!(guests.system, System::Program);
        assert_eq!(Kind::of_published("fstat2", "cascade-lake-2s24c2t", "none", Some(1)), None);
        assert_eq!(Kind::of_published("none", "cascade-lake-2s24c2t", "lockref", Some(1)), None);
    }

    #[test]
    fn an_own_script_is_a_whole_program_unless_its_operations_are_alike() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let of = |head: &str, order| {
            let text = format!(
                "name = \"s\"\n{head}\n[[steps]]\ndo = \"pause\"\n[[variants]]\nname = \"v\"\n"
            );
            let script = Script::parse("s.toml", &text).expect("it is a script");
            let placement = MachinePlacement::Order(order);
            Kind::of(&script, &script.variants[0], &machine, &placement, 2)
        };
        let program = Kind { system: System::Program, has_siblings: false };
        assert_eq!(of("", Order::SiblingsLast), program);
        let alike = of("work_varies = false", Order::Fill);
        assert_eq!(alike, Kind { system: System::Others, has_siblings: true });
        // The errors of reference counts say nothing about it.
        assert_eq!(alike.evidence().median_abs_error, None);
    }

    #[test]
    fn a_file_has_the_quantiles_of_each_kind_and_is_read_again() {
        let [micro, .., program, unknown] = Kind::ALL;
        let mut errors: Vec<(Kind, f64)> =
            (1..=11).map(|n| (micro, f64::from(n) / 100.0)).collect();
        errors.push((program, -0.5));
        let found = read(&file(&errors));
        assert_eq!(found.len(), Kind::ALL.len());
        let of = |kind: Kind| found.iter().find(|e| e.kind == kind.name()).expect("it is there");
        let figures = |kind| (of(kind).cells, of(kind).median_abs_error, of(kind).p90_abs_error);
        assert_eq!(figures(micro), (11, Some(0.06), Some(0.1)));
        assert_eq!(figures(program), (1, Some(0.5), Some(0.5)), "an error has no sign");
        assert_eq!(figures(unknown), (0, None, None));
        assert_eq!(
            sentence(of(micro)),
            "On tables it was not fitted on, this model's median error is 6 % for this kind of \
             scenario (p90 10 %): microbenchmarks of reference counts, 11 published figures."
        );
        assert!(sentence(of(unknown)).contains("is not known (whole programs with SMT"));
        let detail = |kind| SimulatedDetail { evidence: Some(of(kind).clone()), ..<_>::default() };
        let both = [detail(micro), detail(program), detail(micro)];
        let said = sentences(both.iter());
        assert_eq!((said.len(), said[2].as_str()), (3, CAVEAT), "each once");
        assert_eq!(sentences([detail(unknown)].iter()).len(), 1, "no error, no caveat");
    }

    #[test]
    fn the_shipped_evidence_has_every_kind() {
        assert_eq!(read(EVIDENCE).len(), Kind::ALL.len());
        for kind in Kind::ALL {
            let evidence = kind.evidence();
            assert_eq!(evidence.cells > 0, evidence.median_abs_error.is_some(), "{evidence:?}");
            assert!(evidence.median_abs_error <= evidence.p90_abs_error, "{evidence:?}");
        }
        assert!(Kind::ALL[0].evidence().cells > 20 && Kind::ALL[4].evidence().cells > 20);
    }
}
